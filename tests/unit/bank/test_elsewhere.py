"""One key signs on one installation: copies, restored backups and lost journals are told, never welded in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from muniment.agent import Agent
from muniment.base.errors import KeyUsedElsewhere, NotPermitted
from muniment.base.ids import EntryId, parse_version
from muniment.ledger.control import Revoke
from muniment.ledger.entry import reload
from muniment.peer import OWNER, Peer
from muniment.receiving import Receiver
from muniment.remembering import Draft
from muniment.testing.clock import TickingClock
from muniment.testing.entropy import SeededEntropy
from muniment.writing import Writer


def texts(agent: Agent) -> set[str]:
    """What an agent remembers."""
    return {record.text for record in agent.list(limit=1000)}


class Folders:
    """A peer folder, and copies of it in other states."""

    def __init__(self, place: Path, clock: TickingClock) -> None:
        self.place, self.clock, self.count = place, clock, 0

    def open(self, name: str) -> Peer:
        """Open one."""
        self.count += 1
        return Peer(
            self.place / name, clock=self.clock, entropy=SeededEntropy(f"{name}{self.count}".encode())
        )

    def agent(self, name: str) -> Any:
        """Open one for a `with` block; gives the agent."""
        folders = self

        class Opened:
            def __enter__(self) -> Agent:
                self.peer = folders.open(name)
                return self.peer.agent("ava", create=True)

            def __exit__(self, *_: object) -> None:
                assert self.peer.agent("ava").check() == []
                self.peer.close()

        return Opened()

    def owner(self, name: str) -> bytes:
        """The owner's key in a folder."""
        with self.open(name) as peer:
            key = peer._made_store().meta(OWNER)
            assert isinstance(key, bytes)
            return key

    def copy(self, source: str, target: str) -> None:
        """Copy a whole folder."""
        shutil.copytree(self.place / source, self.place / target)

    def bank(self, name: str) -> Path:
        """The bank's file in a folder."""
        (path,) = (self.place / name / "banks").glob("*.db")
        return path


@pytest.fixture
def folders(tmp_path: Path, clock: TickingClock) -> Folders:
    """A folder `a` with an agent that remembers one thing."""
    made = Folders(tmp_path, clock)
    with made.agent("a") as ava:
        ava.remember("first")
    return made


def carry(source: Agent, target: Agent) -> None:
    """Carry everything from one copy of a bank to another."""
    receiver = Receiver(target._bank)
    for row in list(source._bank.store.entries()):
        places = [(row.seq, act) for act in range(len(reload(row.envelope).header.acts))]
        receiver.take(row.envelope, source._bank.store.bodies(places))


def test_writing_goes_on_over_closing_and_opening(folders: Folders) -> None:
    """Nobody is suspected who only closes and opens a folder."""
    for number in range(5):
        with folders.agent("a") as ava:
            ava.remember(f"note {number}")
            ava.remember_many([Draft("x", key="k"), Draft(f"y {number}", key="k")])
    with folders.agent("a") as ava:
        assert len(texts(ava)) == 7


def test_a_restored_backup_of_the_bank_is_told_and_claimed(folders: Folders) -> None:
    """The file of yesterday under the journal of today: writing stops, reading goes on, `claim` joins and goes on."""
    backup = folders.bank("a").read_bytes()
    with folders.agent("a") as ava:
        ava.remember("second")
        ava.remember("third")
    folders.bank("a").write_bytes(backup)
    with folders.agent("a") as ava:
        assert texts(ava) == {"first"}
        assert [hit.record.text for hit in ava.recall("first")] == ["first"]
        for write in (lambda: ava.remember("no"), lambda: ava.forget(ava.list()[0].id)):
            with pytest.raises(KeyUsedElsewhere) as caught:
                write()
            assert "key mine" in caught.value.next_step
        assert texts(ava) == {"first"}
        ava.claim()
        assert ava.remember("fourth").created
    with folders.agent("a") as ava:
        ava.remember("fifth")
        assert texts(ava) == {"first", "fourth", "fifth"}
        assert ava.verify().ok


def test_what_was_lost_with_a_backup_comes_back_by_a_sync(folders: Folders) -> None:
    """After a claim the entries that only another replica kept are taken in, and count, without another alarm."""
    backup = folders.bank("a").read_bytes()
    with folders.agent("a") as ava:
        ava.remember("second")
    folders.copy("a", "b")
    folders.bank("a").write_bytes(backup)
    with folders.agent("a") as ava, folders.agent("b") as other:
        ava.claim()
        ava.remember("after")
        carry(other, ava)
        assert texts(ava) == {"first", "second", "after"}
        with pytest.raises(KeyUsedElsewhere):
            ava.remember("a branch that is not known yet")
        ava.claim()
        assert ava.remember("joined").created
        assert len(ava._bank.store.tips(ava._key)) == 1


def test_a_copied_folder_is_told_when_the_copies_meet(folders: Folders) -> None:
    """Two installations that sign with one key: each goes on alone, and both are stopped where they meet."""
    folders.copy("a", "b")
    with folders.agent("a") as ava, folders.agent("b") as copy:
        ava.remember("in a")
        copy.remember("in b")
        carry(copy, ava)
        with pytest.raises(KeyUsedElsewhere):
            ava.remember("no")
        assert texts(ava) == {"first", "in a", "in b"}
        carry(ava, copy)
        with pytest.raises(KeyUsedElsewhere):
            copy.remember("no")


def test_a_branch_from_the_own_tip_is_told_too(folders: Folders) -> None:
    """A copy that went on from where this one stopped is no less another installation."""
    folders.copy("a", "b")
    with folders.agent("a") as ava, folders.agent("b") as copy:
        copy.remember("in b")
        carry(copy, ava)
        with pytest.raises(KeyUsedElsewhere):
            ava.remember("no")
        assert texts(ava) == {"first", "in b"}


def test_trace_11_a_thiefs_branch_is_never_put_into_prev(folders: Folders) -> None:
    """Without a claim no entry names the thief's; so a cut with the journal's tips parts honest from forged."""
    folders.copy("a", "thief")
    with folders.agent("a") as ava, folders.agent("thief") as thief:
        ava.remember("honest")
        thief.remember("forged")
        thief.remember("forged again")
        carry(thief, ava)
        with pytest.raises(KeyUsedElsewhere):
            ava.remember("no")
        bank = ava._bank
        slot = bank.host.journal.read(bank.id, ava._key)
        assert slot is not None
        owner = folders.owner("a")
        with bank.write() as authority:
            Writer(bank, owner).commit_control(
                authority, [Revoke(ava._key, (EntryId(slot.latest),))], folders.clock.ms
            )
        with pytest.raises(NotPermitted):
            ava.list()
        states = {row.state.name for row in bank.store.versions_after(0, 99)}
        verdicts = [row.verdict.name for row in bank.store.entries(author=ava._key) if not row.control]
        assert states == {"LIVE", "VOID"}
        assert sorted(verdicts) == ["COUNTS", "COUNTS", "VOID", "VOID"]


def test_a_lost_journal_stops_nobody(folders: Folders) -> None:
    """Without a journal the bank's own marks are what is known: writing goes on from its tip."""
    shutil.rmtree(folders.place / "a" / "journal")
    with folders.agent("a") as ava:
        assert ava.remember("second").created
    with folders.agent("a") as ava:
        assert ava.remember("third").created
        assert len(ava._bank.store.tips(ava._key)) == 1


def test_a_lost_journal_does_not_hide_a_foreign_branch(folders: Folders) -> None:
    """What was received and not signed here is still told apart."""
    folders.copy("a", "b")
    with folders.agent("b") as copy:
        copy.remember("in b")
        with folders.agent("a") as ava:
            carry(copy, ava)
    shutil.rmtree(folders.place / "a" / "journal")
    with folders.agent("a") as ava, pytest.raises(KeyUsedElsewhere):
        ava.remember("no")


def test_a_journal_one_ahead_is_a_crash_and_no_theft(folders: Folders) -> None:
    """Noted in the journal and never committed: the next write goes on from the bank's tip."""
    with folders.agent("a") as ava:
        bank, key = ava._bank, ava._key
        (tip,) = bank.store.tips(key)
        bank.host.journal.record(bank.id, key, tip, EntryId(b"\x01\x71\x12\x20" + b"x" * 32))
        assert ava.remember("second").created
    with folders.agent("a") as ava:
        assert ava.remember("third").created


@pytest.mark.parametrize("size", [1, 2, 300])
def test_a_failed_batch_is_no_theft(folders: Folders, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """However many entries a transaction had noted when it was undone, the next write goes on."""
    drafts = [Draft(f"n{number}", key="k" if size == 2 else None) for number in range(size)]
    with folders.agent("a") as ava:
        bank = ava._bank
        with pytest.raises(ZeroDivisionError), bank.write():
            fail(ava, drafts)
        assert texts(ava) == {"first"}
        assert ava.remember("second").created
    with folders.agent("a") as ava:
        assert ava.remember_many(drafts)[-1].created
        assert len(ava._bank.store.tips(ava._key)) == 1


def fail(agent: Agent, drafts: list[Draft]) -> None:
    """Write, and then fail before the transaction ends."""
    agent.remember_many(drafts)
    raise ZeroDivisionError


def test_a_journal_that_lags_is_a_power_cut(folders: Folders) -> None:
    """The journal's last lines are lost and the bank's are not: what the bank knows to be signed here is taken."""
    journal = folders.place / "a" / "journal"
    folders.place.joinpath("old").mkdir()
    shutil.copytree(journal, folders.place / "old" / "journal")
    with folders.agent("a") as ava:
        ava.remember("second")
        ava.remember("third")
    shutil.rmtree(journal)
    shutil.copytree(folders.place / "old" / "journal", journal)
    with folders.agent("a") as ava:
        assert ava.remember("fourth").created
        assert len(texts(ava)) == 4


def test_claiming_needs_leave_to_write(folders: Folders) -> None:
    """A key that was cut can't claim."""
    with folders.agent("a") as ava:
        bank = ava._bank
        owner = folders.owner("a")
        with bank.write() as authority:
            Writer(bank, owner).commit_control(authority, [Revoke(ava._key)], folders.clock.ms)
        with pytest.raises(NotPermitted):
            ava.claim()


def test_a_claim_is_an_entry_of_its_own(folders: Folders) -> None:
    """It counts, joins all tips, and shows nothing in recall."""
    with folders.agent("a") as ava:
        before = ava.stats()
        claimed = ava.claim()
        assert ava.stats().entries == before.entries + 1
        assert ava.stats().records == before.records
        assert parse_version(f"{claimed}/0").entry == ava._bank.store.tips(ava._key)[0]
        assert ava.remember("more").created


@pytest.mark.parametrize("size", [1, 300])
def test_a_commit_that_recovery_brings_back_is_no_theft(folders: Folders, size: int) -> None:
    """Killed in its commit, with another writer journalled and killed after it: what comes back was signed here."""
    with folders.agent("a") as ava:
        bank, key = ava._bank, ava._key
        (tip,) = bank.store.tips(key)
        ava.remember_many([Draft(f"brought back {number}") for number in range(size)])
        bank.host.journal.record(bank.id, key, tip, EntryId(b"\x01\x71\x12\x20" + b"y" * 32))
    with folders.agent("a") as ava:
        assert ava.remember("after all").created
        assert len(ava._bank.store.tips(ava._key)) == 1
