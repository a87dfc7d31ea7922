"""The gate: each call is asked of authority with the caller's own key, and what a key can't open it does not see."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from muniment.agent import Agent
from muniment.bank import Bank
from muniment.base import codec
from muniment.base.errors import (
    BankFrozen,
    NotPermitted,
    ReadOnlyBank,
    UnknownRecord,
    WaitingForKey,
)
from muniment.base.ids import parse_version
from muniment.identity.keys import box
from muniment.ledger.acts import Remember
from muniment.ledger.control import Control, EpochId, Erase, Grant, Revoke, Share
from muniment.ledger.entry import Header, header_bytes
from muniment.ledger.levels import parse_level
from muniment.peer import OWNER, Peer
from muniment.project import Projector
from muniment.receiving import Receiver
from muniment.remembering import Draft
from muniment.testing.clock import TickingClock
from muniment.writing import Writer

HOUR = 3_600_000
Door = Callable[[str], Agent]


@pytest.fixture
def owner(peer: Peer, ava: Agent) -> bytes:
    """The owner's key: admin(0) in the agent's bank."""
    key = peer._made_store().meta(OWNER)
    assert isinstance(key, bytes)
    return key


@pytest.fixture
def door(peer: Peer, bank: Bank) -> Door:
    """An agent's bank as another key of this peer, by name, sees it; the key is made on first use."""
    made: dict[str, Agent] = {}

    def open_door(name: str) -> Agent:
        if name not in made:
            made[name] = Agent(name, peer.host.keyring.create(label=name), bank, peer.name_of)
        return made[name]

    return open_door


def decide(bank: Bank, by: bytes, *acts: Control, rekey: bool = True) -> None:
    """Control acts of a key, and an epoch for whoever may read then."""
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        Writer(bank, by).commit_control(authority, list(acts), now)
        if rekey:
            Writer(bank, by).start_epoch(bank.authority, bank.host.clock.now_ms())


def grant(bank: Bank, by: bytes, to: Agent, level: str, **more: Any) -> None:
    """A grant, and an epoch for the readers of then."""
    decide(bank, by, Grant(to._key, parse_level(level), **more))


def revoke(bank: Bank, by: bytes, whom: Agent) -> None:
    """A revocation that keeps what is here, and an epoch without the key."""
    decide(bank, by, Revoke(whom._key, bank.store.tips(whom._key)))


READS: dict[str, Callable[[Agent, str], Any]] = {
    "recall": lambda agent, _: agent.recall("tea"),
    "recall by recency": lambda agent, _: agent.recall(""),
    "get": lambda agent, ref: agent.get(ref),
    "list": lambda agent, _: agent.list(),
    "history": lambda agent, ref: agent.history(ref),
    "why": lambda agent, ref: agent.why("tea", ref),
    "stats": lambda agent, _: agent.stats(),
    "verify": lambda agent, _: agent.verify(),
}  # fmt: skip
WRITES: dict[str, Callable[[Agent, str], Any]] = {
    "remember": lambda agent, _: agent.remember("mine"),
    "remember many": lambda agent, _: agent.remember_many([Draft("mine")]),
    "forget": lambda agent, ref: agent.forget(ref),
    "undo": lambda agent, ref: agent.forget(ref, undo=True),
    "claim": lambda agent, _: agent.claim(),
}


@pytest.mark.parametrize("level", [None, "relay", "read", "write", "admin(2)"])
@pytest.mark.parametrize("call", [*READS, *WRITES])
def test_each_call_needs_its_level(
    ava: Agent, bank: Bank, owner: bytes, door: Door, level: str | None, call: str
) -> None:
    """Reading needs read, writing needs write; below that NotPermitted says what is held and what is needed."""
    made = ava.remember("tea", key="k")
    guest = door("guest")
    if level is not None:
        grant(bank, owner, guest, level)
    needed = "read" if call in READS else "write"
    allowed = level is not None and parse_level(level).allows(parse_level(needed).code)
    entries = ava.stats().entries
    if call == "undo" and allowed:
        guest.forget(made.id)
    work = lambda: (READS | WRITES)[call](guest, made.id)  # noqa: E731
    if allowed:
        work()
        return
    with pytest.raises(NotPermitted) as caught:
        work()
    assert needed in caught.value.message + caught.value.next_step
    assert ("no member" if level is None else level) in caught.value.message
    assert ava.stats().entries == entries
    assert [r.text for r in ava.list()] == ["tea"]


def test_a_reader_sees_what_was_there_before_it(ava: Agent, bank: Bank, owner: bytes, door: Door) -> None:
    """The newest epoch opens all older ones: a new reader recalls old memories, and new ones."""
    ava.remember("old tea")
    grant(bank, owner, door("guest"), "read")
    ava.remember("new tea")
    assert {hit.record.text for hit in door("guest").recall("tea")} == {"old tea", "new tea"}
    assert {record.source for record in door("guest").list()} == {"self"}


def test_without_an_epoch_key_a_reader_sees_nothing(ava: Agent, bank: Bank, owner: bytes, door: Door) -> None:
    """Leave alone opens nothing: before a key is sealed to it a reader's answers are empty; a share opens them."""
    made = ava.remember("tea")
    guest = door("guest")
    decide(bank, owner, Grant(guest._key, parse_level("read")), rekey=False)
    assert guest.recall("tea") == []
    assert guest.recall("") == []
    assert guest.list() == []
    with pytest.raises(UnknownRecord):
        guest.get(made.id)
    assert guest.why("tea", made.id).hit is None
    epoch = bank.authority.epoch_heads[0]
    key = bank.epoch_keys(owner).get(bank.authority, epoch)
    assert key is not None
    decide(bank, ava._key, Share(epoch, guest._key, box(guest._key, key, bytes(range(32)))), rekey=False)
    assert [hit.record.text for hit in guest.recall("tea")] == ["tea"]
    assert guest.get(made.id).text == "tea"


def test_a_key_that_does_not_match_its_commitment_opens_nothing(
    ava: Agent, bank: Bank, owner: bytes, door: Door
) -> None:
    """A share of another key is refused by whoever gets it; the right one, later, opens."""
    ava.remember("tea")
    guest = door("guest")
    decide(bank, owner, Grant(guest._key, parse_level("read")), rekey=False)
    epoch = bank.authority.epoch_heads[0]
    decide(bank, owner, Share(epoch, guest._key, box(guest._key, b"x" * 32, bytes(32))), rekey=False)
    decide(bank, owner, Share(epoch, guest._key, b"no box at all".ljust(80, b"\0")), rekey=False)
    decide(
        bank,
        owner,
        Share(EpochId(epoch.entry, 9), guest._key, box(guest._key, b"x" * 32, bytes(32))),
        rekey=False,
    )
    assert guest.recall("tea") == []
    key = bank.epoch_keys(owner).get(bank.authority, epoch)
    assert key is not None
    decide(bank, owner, Share(epoch, guest._key, box(guest._key, key, bytes(32))), rekey=False)
    assert [hit.record.text for hit in guest.recall("tea")] == ["tea"]


def test_a_revoked_key_is_refused_at_once(ava: Agent, bank: Bank, owner: bytes, door: Door) -> None:
    """From the revocation on every call of the key is refused, on doors opened before too; what it wrote stays."""
    guest = door("guest")
    grant(bank, owner, guest, "write")
    made = guest.remember("guest tea", key="g")
    assert ava.get("g").source == "peer"
    revoke(bank, owner, guest)
    for name, call in (READS | WRITES).items():
        with pytest.raises(NotPermitted):
            call(guest, made.id)
        assert name
    assert ava.get(made.id).text == "guest tea"
    assert [hit.record.text for hit in ava.recall("tea")] == ["guest tea"]


def test_a_revoked_reader_holds_no_key_of_what_comes_after(
    ava: Agent, bank: Bank, owner: bytes, door: Door
) -> None:
    """A revocation starts a new epoch: the keys that the revoked one held do not open what is written next."""
    guest = door("guest")
    grant(bank, owner, guest, "read")
    ava.remember("before")
    revoke(bank, owner, guest)
    made = ava.remember("after")
    row = bank.store.version_at(parse_version(made.version))
    assert row is not None
    assert bank.opener(guest._key).remembered([row]) == [None]
    assert [act.text for act in bank.opener(ava._key).remembered([row]) if act] == ["after"]


def test_granted_again_a_key_reads_and_writes_again(ava: Agent, bank: Bank, owner: bytes, door: Door) -> None:
    """A new lease after a revocation opens what came in between too, by words as well."""
    guest = door("guest")
    grant(bank, owner, guest, "write")
    guest.remember("first tea")
    revoke(bank, owner, guest)
    ava.remember("between tea")
    grant(bank, owner, guest, "write")
    guest.remember("second tea")
    assert {hit.record.text for hit in guest.recall("tea")} == {"first tea", "between tea", "second tea"}


def test_expiry_closes_the_door(
    ava: Agent, bank: Bank, owner: bytes, door: Door, clock: TickingClock
) -> None:
    """From its end on a lease opens nothing, and the agent's next write leaves the key out."""
    guest = door("guest")
    grant(bank, owner, guest, "write", until=clock.ms + HOUR)
    guest.remember("in time")
    clock.advance(2 * HOUR)
    for call in (READS | WRITES).values():
        with pytest.raises(NotPermitted):
            call(guest, "k")
    assert ava.remember("later").created
    assert guest._key not in {
        key for key, _ in bank.authority.epochs[bank.authority.epoch_heads[0]].act.boxes
    }
    assert len(ava.list()) == 2


def test_a_writer_waits_where_the_readers_changed(ava: Agent, bank: Bank, owner: bytes, door: Door) -> None:
    """A writer who is no admin can't seal for new readers: WaitingForKey, until an admin writes."""
    guest, other = door("guest"), door("other")
    grant(bank, owner, guest, "write")
    guest.remember("sealed")
    decide(bank, owner, Grant(other._key, parse_level("read")), rekey=False)
    with pytest.raises(WaitingForKey) as caught:
        guest.remember("not yet")
    assert caught.value.next_step
    assert [r.text for r in ava.list()] == ["sealed"]
    ava.remember("an admin starts an epoch by writing")
    assert guest.remember("not yet").created
    assert len(other.list()) == 3


def test_the_newest_readers_get_a_key_by_the_agents_next_write(
    ava: Agent, bank: Bank, owner: bytes, door: Door
) -> None:
    """An agent in its own bank is admin: its next write starts the epoch that a grant made necessary."""
    ava.remember("old")
    decide(bank, owner, Grant(door("guest")._key, parse_level("read")), rekey=False)
    heads = bank.authority.epoch_heads
    ava.remember("new")
    assert bank.authority.epoch_heads != heads
    assert len(door("guest").list()) == 2
    count = ava.stats().entries
    ava.remember("newer")
    assert ava.stats().entries == count + 1


def test_provenance_is_derived_from_keys(
    ava: Agent, bank: Bank, owner: bytes, door: Door, peer: Peer
) -> None:
    """self, controller, peer and tool follow from who signed; kind and names with them."""
    grant(bank, owner, door("guest"), "write")
    controller = Agent("owner", owner, bank, peer.name_of)
    ava.remember("by ava")
    controller.remember("by the owner")
    door("guest").remember("by a guest")
    ava.remember("by a tool", tool=True)
    said = {record.text: (record.source, record.kind, record.author_name) for record in ava.list()}
    assert said == {
        "by ava": ("self", "self_noted", "ava"),
        "by the owner": ("controller", "granted", "owner"),
        "by a guest": ("peer", "granted", None),
        "by a tool": ("tool", "self_noted", "ava"),
    }
    assert [r.text for r in ava.list(source="controller")] == ["by the owner"]
    assert [r.text for r in ava.list(author=door("guest").did)] == ["by a guest"]
    assert [r.text for r in ava.list(source="peer", kind="granted")] == ["by a guest"]


def test_a_guest_never_hides_own_words(ava: Agent, bank: Bank, owner: bytes, door: Door) -> None:
    """In an agent's bank a peer's version of a key stands beside the agent's, which is the one shown."""
    grant(bank, owner, door("guest"), "write")
    ava.remember("the door code is 1", key="code")
    door("guest").remember("the door code is 2", key="code")
    assert ava.get("code").text == "the door code is 1"
    assert ava.get("code").conflict
    assert {hit.record.source for hit in ava.recall("door code")} == {"self", "peer"}
    ava.remember("the door code is 3", key="code")
    assert [hit.record.text for hit in ava.recall("door code")] == ["the door code is 3"]


def test_two_who_say_the_same_are_one_record_with_two_authors(
    ava: Agent, bank: Bank, owner: bytes, door: Door
) -> None:
    """Equal words under one key by two keys are no conflict."""
    grant(bank, owner, door("guest"), "write")
    door("guest").remember("tea", key="k")
    with bank.write() as authority:  # as if both had written at once: neither names the other
        act = Remember(bytes(16), "tea", 1, key="k")  # type: ignore[arg-type]
        _, seq = Writer(bank, ava._key).commit_acts(authority, [act], bank.host.clock.now_ms())
        Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), [act])
    record = ava.get("k")
    assert not record.conflict
    assert set(record.authors) == {ava.did, door("guest").did}
    assert len(ava.recall("tea")) <= 2


def test_an_erased_memory_is_nowhere(ava: Agent, bank: Bank) -> None:
    """After an erase nothing recalls, lists or opens it, by any state, moment or name; the entry still verifies."""
    made = ava.remember("secret tea", key="k")
    ava.remember("other tea")
    moment = bank.host.clock.now_ms()
    ava.recall("secret")
    decide(bank, ava._key, Erase((parse_version(made.version),)), rekey=False)
    states = ("live", "superseded", "forgotten")
    assert ava.recall("secret") == []
    assert ava.recall("secret", as_of=moment) == []
    assert [r.text for r in ava.list(states=states)] == ["other tea"]
    assert [r.text for r in ava.list(as_of=moment)] == ["other tea"]
    assert ava.history("k") == []
    for ref in ("k", made.id, made.version):
        with pytest.raises(UnknownRecord):
            ava.get(ref)
    assert ava.verify().ok
    assert ava.check(rebuild=True) == []
    assert [r.text for r in ava.list(states=states)] == ["other tea"]
    assert bank.store.bodies([(row.seq, 0) for row in bank.store.entries(control=False)])[0] is None


def test_erasing_one_of_a_batch_leaves_the_others(ava: Agent, bank: Bank) -> None:
    """The other acts of the entry keep their effect, after a rebuild too."""
    made = ava.remember_many([Draft("one tea"), Draft("two tea"), Draft("three tea")])
    decide(bank, ava._key, Erase((parse_version(made[1].version),)), rekey=False)
    for _ in range(2):
        assert {hit.record.text for hit in ava.recall("tea")} == {"one tea", "three tea"}
        assert ava.get(made[2].version).text == "three tea"
        assert ava.check(rebuild=True) == []


def test_a_writer_can_not_erase_the_agents_words(ava: Agent, bank: Bank, owner: bytes, door: Door) -> None:
    """An erase of another key's version by a writer is void; the words stay."""
    made = ava.remember("tea")
    guest = door("guest")
    grant(bank, owner, guest, "write")
    decide(bank, guest._key, Erase((parse_version(made.version),)), rekey=False)
    assert [hit.record.text for hit in ava.recall("tea")] == ["tea"]
    assert ava.get(made.id).text == "tea"


def test_a_bank_of_a_newer_version_can_be_read(ava: Agent, bank: Bank, owner: bytes) -> None:
    """An unknown control act of a member makes the bank read-only here; recall goes on."""
    ava.remember("tea")
    header = Header(bank.id, owner, bank.store.tips(owner), bank.authority.heads, bank.store.last_at(1 << 62) + 1, ctl=(
        Erase((parse_version(ava.list()[0].version),)),))  # fmt: skip
    fields = codec.decode(header_bytes(header), 1 << 20) | {"ctl": [{"k": 99, "what": 1}]}
    signed = codec.encode(fields)
    envelope = codec.encode([signed, bank.host.keyring.sign(owner, codec.ENTRY, signed)])
    Receiver(bank).take(envelope, [])
    with pytest.raises(ReadOnlyBank) as caught:
        ava.remember("more")
    assert "update" in caught.value.next_step.lower()
    assert [hit.record.text for hit in ava.recall("tea")] == ["tea"]


def test_a_frozen_bank_goes_on(ava: Agent, bank: Bank, owner: bytes, door: Door) -> None:
    """With every admin gone members read and write on under the epoch they have, and nothing can be granted."""
    guest = door("guest")
    grant(bank, owner, guest, "write")
    decide(bank, owner, Revoke(ava._key, bank.store.tips(ava._key)), rekey=False)
    with bank.write() as authority:
        Writer(bank, owner).start_epoch(authority, bank.host.clock.now_ms())
    decide(bank, owner, Revoke(owner, bank.store.tips(owner)), rekey=False)
    assert bank.authority.frozen(bank.host.clock.now_ms())
    assert [r.text for r in guest.list()] == []
    with pytest.raises(NotPermitted):
        ava.remember("no")
    with pytest.raises((BankFrozen, NotPermitted)):
        bank.authority.check_control(owner, bank.host.clock.now_ms())
    with pytest.raises(WaitingForKey):
        guest.remember("the epoch was sealed to one who left")


def test_a_failed_write_leaves_no_control_act_behind(
    ava: Agent, bank: Bank, owner: bytes, door: Door
) -> None:
    """What a transaction that was undone decided is not in force, in memory or on the disk."""
    guest = door("guest")
    with contextlib.suppress(RuntimeError), bank.write() as authority:
        Writer(bank, owner).commit_control(
            authority, [Grant(guest._key, parse_level("write"))], bank.host.clock.now_ms()
        )
        bank.authority.check_write(guest._key, bank.host.clock.now_ms())
        raise RuntimeError
    with pytest.raises(NotPermitted):
        guest.remember("no")
    assert ava.remember("yes").created
    assert ava.verify().void == 0
