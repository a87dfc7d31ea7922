"""A witness outside the folder, and a read path that shows nothing that was edited behind its back."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from muniment.agent import Agent
from muniment.base.errors import FutureFormat, InvalidInput, RolledBack, StoreCorrupt
from muniment.peer import Peer

MakePeer = Callable[..., Peer]
READS: dict[str, Callable[[Agent], object]] = {
    "get": lambda agent: agent.get("deadline"),
    "list": lambda agent: agent.list(),
    "recall": lambda agent: agent.recall("deadline"),
    "recall, newest": lambda agent: agent.recall(),
    "history": lambda agent: agent.history("deadline"),
}


@pytest.fixture
def witness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the witness lies: beside the homes, not in them."""
    path = tmp_path / "elsewhere" / "witness"
    path.parent.mkdir()
    monkeypatch.setenv("MUNIMENT_WITNESS", str(path))
    return path


def filled(peer: Peer) -> str:
    """Three memories; the path of the bank's file."""
    agent = peer.agent("ava", create=True)
    for text in ("one", "two"):
        agent.remember(text)
    agent.remember("The deadline is 1 June", key="deadline")
    path = peer.home / "banks" / f"{agent.bank_id}.db"
    peer.close()
    return str(path)


def sql(path: str, *statements: str) -> None:
    """Edit a bank's file behind its back."""
    link = apsw.Connection(path)
    for statement in statements:
        link.execute(statement)
    link.close()


def opened(home: Path) -> Agent:
    """The agent, in a peer that has read nothing so far."""
    return Peer(home).agent("ava")


# The read path proves what it shows


EDITS = {
    "a body": "UPDATE bodies SET sealed = zeroblob(length(sealed))",
    "a body of another memory": (
        "UPDATE bodies SET sealed = (SELECT sealed FROM bodies b WHERE b.place < bodies.place"
        " ORDER BY place DESC LIMIT 1)"
        " WHERE place = (SELECT max(place) FROM bodies)"
    ),
    "the author of a row": (
        "UPDATE versions SET author = (SELECT id FROM authors WHERE id <> versions.author LIMIT 1)"
    ),
    "when it was said": "UPDATE versions SET created = created + 1",
    "when it was signed": "UPDATE versions SET at = at + 65536",
    "the record": "UPDATE versions SET record = zeroblob(16) WHERE ord = (SELECT max(ord) FROM versions)",
    "that a tool said it": "UPDATE versions SET tool = 1 - tool",
    "that it was recalled": "UPDATE versions SET recalled = 1 - recalled",
    "its type": "UPDATE versions SET type = CAST('skill' AS BLOB)",
    "the bytes of the entry": "UPDATE entries SET envelope = CAST(envelope || X'00' AS BLOB) WHERE control = 0",
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("read", ["list", "recall, newest", "history"])
def test_what_was_edited_is_never_shown(tmp_path: Path, edit: str, read: str) -> None:
    """Each field that callers see is held against the signature; one that differs is an error, not a gap."""
    home = tmp_path / "home"
    sql(filled(Peer(home)), EDITS[edit])
    with pytest.raises(StoreCorrupt):
        READS[read](opened(home))


@pytest.mark.parametrize("read", READS)
def test_an_untouched_bank_is_read_as_before(tmp_path: Path, witness: Path, read: str) -> None:
    """Proving changes nothing for who reads what was written."""
    home = tmp_path / "home"
    filled(Peer(home))
    assert READS[read](opened(home))
    assert witness.exists()


def test_a_control_entry_that_nobody_signed_gives_nobody_a_right(tmp_path: Path) -> None:
    """A grant or an epoch written into the file is no entry: authority is not asked about it."""
    home = tmp_path / "home"
    path = filled(Peer(home))
    link = apsw.Connection(path)
    ((seq, envelope),) = list(
        link.execute("SELECT seq, envelope FROM entries WHERE control = 1 ORDER BY seq LIMIT 1,1")
    )
    forged = envelope[:-1] + bytes([envelope[-1] ^ 1])  # another signature
    digest = hashlib.sha256(forged).digest()
    link.execute("UPDATE entries SET envelope = ?, id = ? WHERE seq = ?", (forged, digest, seq))
    link.close()
    with pytest.raises(StoreCorrupt, match="bad signature"):
        opened(home).list()
    report = opened(home).verify()
    assert not report.ok
    assert [reason for _, reason in report.refused] == ["bad signature"]
    assert len(report.missing) == 1  # the entry that the others name as their epoch's


# The witness


def test_an_older_copy_of_the_folder_is_named_with_both_tips(tmp_path: Path, witness: Path) -> None:
    """Everything in it is genuine; only the witness knows that it was newer."""
    home = tmp_path / "home"
    filled(Peer(home))
    shutil.copytree(home, tmp_path / "copy")
    with Peer(home) as peer:
        peer.agent("ava").remember("written after the copy")
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "copy", home)
    with pytest.raises(RolledBack, match="has seen the tip bafyrei"):
        opened(home).list()
    with pytest.raises(RolledBack):
        opened(home).remember("on top of it")  # which would make the copy the newest
    report = opened(home).verify()
    assert not report.ok
    assert report.rolled_back[0][1] == opened(home).did


def test_the_owner_says_that_a_restored_copy_counts(tmp_path: Path, witness: Path) -> None:
    """`key mine` joins what is there and begins the witness anew."""
    home = tmp_path / "home"
    filled(Peer(home))
    shutil.copytree(home, tmp_path / "copy")
    opened(home).remember("lost")
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "copy", home)
    opened(home).claim()
    agent = opened(home)
    assert len(agent.list()) == 3
    assert agent.remember("goes on").created


@pytest.mark.parametrize(
    "edit",
    [
        ["DELETE FROM entries WHERE seq = (SELECT max(seq) FROM entries)"],
        ["DELETE FROM entries WHERE seq = 4"],
        ["UPDATE entries SET seq = 99 WHERE seq = 4", "UPDATE entries SET seq = 4 WHERE seq = 3",
         "UPDATE entries SET seq = 3 WHERE seq = 99"],
    ],
)  # fmt: skip
def test_entries_taken_out_or_moved_are_noticed_at_the_first_read(
    tmp_path: Path, witness: Path, edit: list[str]
) -> None:
    """Whatever else was made to fit in the file."""
    home = tmp_path / "home"
    sql(filled(Peer(home)), "PRAGMA foreign_keys = 0", *edit)
    with pytest.raises(RolledBack):
        opened(home).list()


def test_a_store_that_is_ahead_of_its_witness_is_well(tmp_path: Path, witness: Path) -> None:
    """A write that was killed before its witness was written costs nothing; the next one makes up for it."""
    home = tmp_path / "home"
    filled(Peer(home))
    before = witness.read_bytes()
    opened(home).remember("three")
    after = json.loads(witness.read_bytes())
    witness.write_bytes(before)
    agent = opened(home)
    assert len(agent.list()) == 4
    agent.remember("four")
    (bank,) = json.loads(witness.read_bytes())["banks"].values()
    assert bank["entries"] == next(iter(after["banks"].values()))["entries"] + 1


def test_two_processes_write_one_witness(tmp_path: Path, witness: Path) -> None:
    """Each adds what it finds in the bank, so neither takes back what the other noted."""
    home = tmp_path / "home"
    filled(Peer(home))
    first, second = opened(home), opened(home)
    for number in range(3):
        first.remember(f"first {number}")
        second.remember(f"second {number}")
    assert len(opened(home).list()) == 9


def test_a_bank_that_is_missing_is_named(tmp_path: Path, witness: Path) -> None:
    """A folder that began anew looks well from within; the witness knows what was there."""
    home = tmp_path / "home"
    filled(Peer(home))
    (finding,) = [found for found in Peer(home).doctor() if found.name == "witness"]
    assert finding.status == "ok"
    (bank,) = json.loads(witness.read_bytes())["banks"]
    shutil.rmtree(home)
    (finding,) = [found for found in Peer(home).doctor() if found.name == "witness"]
    assert (finding.status, bank in finding.detail) == ("fail", True)


def test_a_witness_in_the_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be put back together with what it is to witness."""
    monkeypatch.setenv("MUNIMENT_WITNESS", "witness")
    with pytest.raises(InvalidInput, match="lies in the peer folder"):
        Peer(tmp_path / "home")


def test_the_setting_does_the_same(tmp_path: Path) -> None:
    """`witness:` in the config, relative to the folder."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("witness: ../witness\n", "utf-8")
    filled(Peer(home))
    assert (tmp_path / "witness").exists()


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"", StoreCorrupt),
     (b"{}", StoreCorrupt), (b"[1]", StoreCorrupt), (b"\xff", StoreCorrupt),
     (b'{"muniment": "witness", "version": 1, "banks": {"b": {"chain": "00", "entries": 1, "tips": {}}}}',
      StoreCorrupt),
     (b'{"muniment": "witness", "version": 2}', FutureFormat)],
)  # fmt: skip
def test_a_damaged_witness_is_no_witness_that_all_is_well(
    tmp_path: Path, witness: Path, data: bytes, error: type[Exception]
) -> None:
    """It is an error, not an empty one."""
    home = tmp_path / "home"
    filled(Peer(home))
    witness.write_bytes(data)
    with pytest.raises(error):
        opened(home).list()
