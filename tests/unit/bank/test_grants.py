"""Shared banks on one installation: who may do what is decided by the bank, and asked with the caller's own key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muniment.agent import Agent
from muniment.bank import Bank
from muniment.base.errors import (
    Ambiguous,
    BankFrozen,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    NotPermitted,
    RefusedKey,
    StorageError,
    UnknownAgent,
    UnknownBank,
    UnknownRecord,
    WaitingForKey,
)
from muniment.base.ids import cid_text, parse_cid
from muniment.granting import Terms, decide, grant
from muniment.identity.did import parse_did, to_did
from muniment.ledger.control import Grant, Revoke
from muniment.ledger.levels import ADMIN, Level, parse_level
from muniment.memory import Memory
from muniment.peer import Peer
from muniment.refs import drop_ref, put_ref, refs
from muniment.remembering import Draft, remember
from muniment.revoking import settle_expired, share_keys
from muniment.testing.clock import START_MS
from muniment.testing.ledger import Cast
from muniment.writing import Writer

HOUR = 3_600_000
ASKED = [{"role": "user", "content": "tell me about the nix build"}]
CAST = Cast()
MakePeer = Callable[..., Peer]


@pytest.fixture
def ben(peer: Peer, ava: Agent) -> Agent:
    """A second agent."""
    return peer.agent("ben", create=True)


@pytest.fixture
def cleo(peer: Peer, ben: Agent) -> Agent:
    """A third one."""
    return peer.agent("cleo", create=True)


@pytest.fixture
def team(ava: Agent, ben: Agent) -> Memory:
    """A bank that ava founded, with one record."""
    ava.banks.new("team", description="how we work")
    memory = ava.bank("team")
    memory.remember("we build with nix", key="build")
    return memory


def key_of(agent: Agent) -> bytes:
    """Its public key."""
    return parse_did(agent.did)


def state_of(peer: Peer, agent: Agent, by: Agent, bank: str = "team") -> list[tuple[str, str]]:
    """Level and state of an agent's keys, as `members` shows them."""
    return [(one.level, one.state) for one in by.banks.members(bank) if one.did == agent.did]


def texts(memory: Memory) -> set[str]:
    """What is live in it."""
    return {record.text for record in memory.list(limit=1000)}


def controls(memory: Memory) -> int:
    """How many control entries there are."""
    return memory.verify().control


# Founding


def test_who_founds_holds_the_bank_and_nobody_else_does(team: Memory, ava: Agent, ben: Agent) -> None:
    """The founder is admin(0); another agent of the same installation reads, writes and lists nothing."""
    assert [(m.name, m.level) for m in ava.banks.members("team")] == [("ava", "admin(0)")]
    stranger = ben.bank("team")
    for call in (
        lambda: stranger.recall("nix"),
        lambda: stranger.get("build"),
        stranger.list,
        lambda: stranger.remember("x"),
        lambda: stranger.forget("build"),
        stranger.stats,
        stranger.verify,
        lambda: ben.banks.members("team"),
        lambda: ben.banks.grant("team", "ben", "read"),
        lambda: ben.banks.rekey("team"),
    ):
        with pytest.raises(NotPermitted):
            call()


def test_a_recovery_key_stands_above_everybody(peer: Peer, ava: Agent) -> None:
    """With a cold key the founder is admin(1), and the cold key admin(0)."""
    cold = to_did(CAST["carol"])
    ava.banks.new("team", recovery=cold)
    assert {m.did: m.level for m in ava.banks.members("team")} == {cold: "admin(0)", ava.did: "admin(1)"}
    with pytest.raises(NotPermitted):
        ava.banks.revoke("team", cold)


def test_a_recovery_key_is_another_key(ava: Agent) -> None:
    """A key can't stand above itself, and a word is no key."""
    with pytest.raises(InvalidInput):
        ava.banks.new("team", recovery=ava.did)
    with pytest.raises(RefusedKey):
        ava.banks.new("team", recovery="did:key:nobody")


@pytest.mark.parametrize("name", ["", " x", "-x", "a\nb", "n" * 65, "AVA", "Team"])
def test_a_name_is_free_and_can_be_typed(ava: Agent, team: Memory, name: str) -> None:
    """No bank takes the name of a bank or an agent of this installation, whatever the case."""
    with pytest.raises((InvalidInput, LimitExceeded)):
        ava.banks.new(name)


def test_the_owner_founds_too(peer: Peer, ava: Agent) -> None:
    """The owner's key can hold a bank, and grants agents."""
    peer.banks.new("house")
    peer.banks.grant("house", "ava", "write")
    ava.bank("house").remember("the door code changed")
    assert [m.name for m in peer.banks.members("house")] == ["owner", "ava"]


# Levels


def test_a_reader_reads_what_was_there_and_writes_nothing(team: Memory, ava: Agent, ben: Agent) -> None:
    """A grant of read opens the past; writing, forgetting and granting stay shut."""
    ava.banks.grant("team", "ben", "read")
    assert ben.bank("team").recall("nix")[0].record.text == "we build with nix"
    with pytest.raises(NotPermitted):
        ben.bank("team").remember("x")
    with pytest.raises(NotPermitted):
        ben.bank("team").forget("build")
    with pytest.raises(NotPermitted):
        ben.banks.grant("team", "ben", "write")


def test_a_relay_neither_reads_nor_writes(team: Memory, ava: Agent, ben: Agent) -> None:
    """A relay gets no key: it may pass on what it can't read."""
    ava.banks.grant("team", "ben", "relay")
    for call in (lambda: ben.bank("team").list(), lambda: ben.bank("team").remember("x")):
        with pytest.raises(NotPermitted):
            call()
    bank = team._bank
    assert bank.authority.boxes_for(key_of(ben)) == []


def test_a_writer_writes_and_is_named(team: Memory, ava: Agent, ben: Agent) -> None:
    """Provenance is relative to who asks: one's own words are `self`, the other's `peer`."""
    ava.banks.grant("team", "ben", "write")
    ben.bank("team").remember("ben likes tea", key="tea")
    seen = {agent.name: agent.bank("team").get("tea") for agent in (ava, ben)}
    assert (seen["ava"].source, seen["ava"].kind, seen["ava"].author_name) == ("peer", "granted", "ben")
    assert (seen["ben"].source, seen["ben"].kind, seen["ben"].author_name) == ("self", "self_noted", "ben")
    assert [hit.record.key for hit in ava.bank("team").recall("tea", source="peer")] == ["tea"]
    assert [hit.record.key for hit in ben.bank("team").recall("nix", source="peer")] == ["build"]


def test_granting_again_changes_nothing(team: Memory, ava: Agent, ben: Agent, peer: Peer) -> None:
    """A second grant of the same is no entry; a ref that is missing is written all the same."""
    ava.banks.grant("team", "ben", "read")
    before = controls(team)
    drop_ref(ben._bank, key_of(ben), team._bank.id)
    again = ava.banks.grant("team", "ben", "read")
    assert (again.done, again.entry, controls(team)) == ("unchanged", None, before)
    assert [ref.name for ref in refs(ben._bank, key_of(ben))] == ["team"]


def test_a_smaller_grant_narrows_and_keeps_history(team: Memory, ava: Agent, ben: Agent) -> None:
    """From write to read: what was written stays, what would be written now is refused."""
    ava.banks.grant("team", "ben", "write")
    ben.bank("team").remember("honest work")
    ava.banks.grant("team", "ben", "read")
    assert texts(team) == {"we build with nix", "honest work"}
    assert state_of(ava.peer, ben, ava) == [("read", "standing")]
    with pytest.raises(NotPermitted):
        ben.bank("team").remember("x")
    assert team.verify().void == 0


def test_a_larger_grant_takes_the_place_of_a_smaller_one(team: Memory, ava: Agent, ben: Agent) -> None:
    """From read to write and on to admin, and back to relay, which loses the key."""
    for level in ("read", "write", "admin"):
        ava.banks.grant("team", "ben", level)
    assert state_of(ava.peer, ben, ava) == [("admin(1)", "standing")]
    ava.banks.grant("team", "ben", "relay")
    assert state_of(ava.peer, ben, ava) == [("relay", "standing")]
    with pytest.raises(NotPermitted):
        ben.bank("team").list()
    current = team._bank.authority.current_epoch(ava._bank.host.clock.now_ms())
    assert current is not None
    assert key_of(ben) not in team._bank.authority.epochs[current].recipients


def test_nobody_grants_as_much_as_it_holds(team: Memory, ava: Agent, ben: Agent, cleo: Agent) -> None:
    """Only strictly weaker levels: an admin(1) makes no admin(1), and touches no admin(0)."""
    ava.banks.grant("team", "ben", "admin(1)")
    with pytest.raises(NotPermitted):
        ben.banks.grant("team", "cleo", "admin(1)")
    with pytest.raises(NotPermitted):
        ben.banks.grant("team", "ava", "read")
    with pytest.raises(NotPermitted):
        ben.banks.revoke("team", "ava")
    ben.banks.grant("team", "cleo", "admin(2)")
    assert cleo.bank("team").recall("nix")


# Names


def test_a_bank_from_elsewhere_shadows_no_name(peer: Peer, team: Memory, ava: Agent, ben: Agent) -> None:
    """Where two banks are called alike, the name is refused with both ids; an id still leads to its bank."""
    ben.banks.new("other")
    other = parse_cid(ben.bank("other").bank_id)
    peer.made_store().rename_bank(other, "team")  # type: ignore[arg-type] - as an import would call it
    with pytest.raises(Ambiguous) as caught:
        ava.bank("team")
    assert set(caught.value.choices) == {team.bank_id, cid_text(other)}  # type: ignore[arg-type]
    with pytest.raises(Ambiguous):
        ava.banks.grant("team", "ben", "read")
    assert ava.bank(team.bank_id).get("build")
    ava.banks.rename(team.bank_id, "crew")
    assert ava.bank("crew").bank_id == team.bank_id


def test_who_is_meant(peer: Peer, team: Memory, ava: Agent, ben: Agent) -> None:
    """A DID, an agent's name, a name given to a key; nobody else."""
    ava.banks.grant("team", ben.did, "read")
    assert state_of(peer, ben, ava) == [("read", "standing")]
    peer.made_store().set_name(CAST["kim"], "Kim")
    assert ava.banks.grant("team", "kim", "read").keys[0].did == to_did(CAST["kim"])
    with pytest.raises(UnknownAgent):
        ava.banks.grant("team", "eve", "read")
    peer.made_store().set_name(CAST["wim"], "kim")
    with pytest.raises(Ambiguous):
        ava.banks.grant("team", "kim", "read")


def test_an_agents_name_means_all_of_its_keys(peer: Peer, team: Memory, ava: Agent, ben: Agent) -> None:
    """A key of the agent on another installation is granted and revoked with the one that is here."""
    second = to_did(CAST["second"])
    peer.banks.grant("ben", second, "write", as_agent=True)
    done = ava.banks.grant("team", "ben", "write")
    assert {key.did for key in done.keys} == {ben.did, second}
    assert ava.banks.grant("team", second, "write").done == "unchanged"
    assert {key.did for key in ava.banks.revoke("team", "ben").keys} == {ben.did, second}


# Refs


def test_a_ref_opens_nothing(peer: Peer, team: Memory, ava: Agent, ben: Agent) -> None:
    """A ref that was left behind after a revoke neither reads nor writes, nor is the bank shown unasked."""
    ava.banks.grant("team", "ben", "write")
    assert ben.session("talk").attach("team")
    assert "we build with nix" in ben.session("talk").context(ASKED)
    ava.banks.revoke("team", "ben")
    put_ref(ben._bank, key_of(ben), team._bank.id, "team", "write")
    for call in (lambda: ben.bank("team").recall("nix"), lambda: ben.bank("team").remember("x")):
        with pytest.raises(NotPermitted):
            call()
    assert ben.session("talk").context(ASKED) == ""


def test_an_attachment_without_a_grant_shows_nothing(team: Memory, ava: Agent, ben: Agent) -> None:
    """Attaching is a look-up aid: nothing is recalled before the grant, and all of it after."""
    session = ben.session("talk")
    session.attach("team")
    assert session.context(ASKED) == ""
    ava.banks.grant("team", "ben", "read")
    assert "we build with nix (from ava, peer," in session.context(ASKED)


def test_a_grant_leaves_a_ref_and_a_revoke_takes_it_away(team: Memory, ava: Agent, ben: Agent) -> None:
    """The ref stands in the granted agent's own bank, by the bank's id."""
    ava.banks.grant("team", "ben", "read")
    assert refs(ben._bank, key_of(ben)) == [(team.bank_id, "team", "read")]
    assert ava.banks.revoke("team", "ben").ref is False
    assert refs(ben._bank, key_of(ben)) == []


@pytest.mark.parametrize("before", [None, "read"])
def test_a_ref_that_fails_rolls_the_grant_back(make_peer: MakePeer, before: str | None) -> None:
    """The grant is undone to what stood before: nothing, or the earlier level."""
    peer = make_peer("broken", checked=False)
    ava, ben = peer.agent("ava", create=True), peer.agent("ben", create=True)
    ava.banks.new("team")
    if before is not None:
        ava.banks.grant("team", "ben", before)
    path = peer.home / "banks" / f"{ben.bank_id}.db"
    peer.close()
    path.rename(path.with_suffix(".away"))
    ava = peer.agent("ava")
    with pytest.raises(StorageError) as caught:
        ava.banks.grant("team", ben.did, "write")
    assert "rolled back" in "".join(caught.value.__notes__)
    held = [(m.level, m.state) for m in ava.banks.members("team") if m.did == ben.did]
    assert held == ([("write", "cut")] if before is None else [(before, "standing")])
    path.with_suffix(".away").rename(path)
    if before is not None:
        assert peer.agent("ben").bank("team").list() == []
    peer.close()


# An agent's own bank


def test_an_agents_own_memory_is_granted_like_any_bank(ava: Agent, ben: Agent) -> None:
    """`grant ava ben read`: ben reads ava's memory, under ava's provenance, and writes nothing there."""
    ava.remember("the door code is 4711", key="door")
    ava.banks.grant("ava", "ben", "read")
    found = ben.bank("ava").get("door")
    assert (found.text, found.source) == ("the door code is 4711", "self")
    with pytest.raises(NotPermitted):
        ben.bank("ava").remember("x")
    ava.banks.revoke("ava", "ben")
    with pytest.raises(NotPermitted):
        ben.bank("ava").get("door")


def test_a_guests_words_never_hide_the_agents(ava: Agent, ben: Agent) -> None:
    """Somebody who may write in an agent's memory is a peer there, and hides nothing of the agent's."""
    ava.remember("tea", key="drink")
    ava.banks.grant("ava", "ben", "write")
    ben.bank("ava").remember("coffee", key="drink")
    assert ava.get("drink").text == "tea"
    assert {record.source for record in ava.list()} == {"self", "peer"}


def test_an_agent_can_not_revoke_its_controller(peer: Peer, ava: Agent) -> None:
    """The owner stands above the agent; the agent below it may leave, and only with force."""
    with pytest.raises(NotPermitted):
        ava.banks.revoke("ava", "owner")
    peer.banks.revoke("ava", "ava")
    with pytest.raises(NotPermitted):
        ava.remember("x")


# Delegation


def test_who_holds_a_delegable_lease_lets_its_own_agents_in(
    peer: Peer, team: Memory, ava: Agent, ben: Agent, cleo: Agent
) -> None:
    """As a peer does that was let in with write: it grants up to its own level, and takes back what it gave."""
    ava.banks.grant("team", "ben", "write", delegable=True)
    ben.banks.grant("team", "cleo", "write")
    cleo.bank("team").remember("cleo was here")
    assert "cleo was here" in texts(team)
    with pytest.raises(NotPermitted):
        ben.banks.grant("team", "owner", "admin")
    with pytest.raises(NotPermitted):
        ben.banks.grant("team", "owner", "read", delegable=True)
    with pytest.raises(NotPermitted):
        ben.banks.revoke("team", "ava")
    done = ben.banks.revoke("team", "cleo")
    assert (done.done, done.sealed) == ("revoked", False)
    with pytest.raises(NotPermitted):
        cleo.bank("team").list()


def test_a_delegable_lease_that_ends_gives_nothing_longer(
    peer: Peer, team: Memory, ava: Agent, ben: Agent, cleo: Agent
) -> None:
    """What is given under it ends with it at the latest."""
    ends = peer.host.clock.now_ms() + HOUR
    ava.banks.grant("team", "ben", "write", delegable=True, until=ends)
    with pytest.raises(NotPermitted):
        ben.banks.grant("team", "cleo", "read")
    with pytest.raises(NotPermitted):
        ben.banks.grant("team", "cleo", "read", until=ends + 1)
    ben.banks.grant("team", "cleo", "read", until=ends)


def test_writers_wait_for_a_key_until_an_admin_writes(
    team: Memory, ava: Agent, ben: Agent, cleo: Agent
) -> None:
    """After a revoke by who is no admin nobody but an admin can seal; `old_epoch` does not wait."""
    ava.banks.grant("team", "ben", "write", delegable=True)
    ben.banks.grant("team", "cleo", "read")
    ben.banks.revoke("team", "cleo")
    assert [b.state for b in ben.banks.list() if b.name == "team"] == ["waiting for a key"]
    with pytest.raises(WaitingForKey):
        ben.bank("team").remember("must wait")
    ben.bank("team").remember("under the old key", old_epoch=True)
    team.remember("an admin's write")
    ben.bank("team").remember("goes on")
    assert texts(team) >= {"under the old key", "an admin's write", "goes on"}


def test_a_reader_who_lacks_the_key_gets_it_from_any_reader(
    peer: Peer, team: Memory, ava: Agent, ben: Agent, cleo: Agent
) -> None:
    """A share needs no strength and changes no level."""
    ava.banks.grant("team", "cleo", "read")
    bank = team._bank
    with bank.write() as authority:  # a grant that brings no key, as of a program that is in a hurry
        act = Grant(key_of(ben), parse_level("read"))
        Writer(bank, key_of(ava)).commit_control(authority, [act], peer.host.clock.now_ms())
    assert ben.bank("team").list() == []
    assert cleo.banks.rekey("team", reader="ben").done == "shared the key"
    assert texts(ben.bank("team")) == {"we build with nix"}
    assert cleo.banks.rekey("team", reader="ben").done == "unchanged"
    with pytest.raises(NotPermitted):
        share_keys(bank, key_of(cleo), CAST["eve"])


# Expiry


def test_expiry_shuts_the_door_and_the_next_admin_write_cuts(
    peer: Peer, team: Memory, ava: Agent, ben: Agent
) -> None:
    """From then on nothing is read or written; until an admin's peer cuts the key, `members` says so."""
    clock = peer.host.clock
    ava.banks.grant("team", "ben", "write", until=clock.now_ms() + HOUR)
    ben.bank("team").remember("in time")
    clock.ms += 2 * HOUR  # type: ignore[attr-defined]
    for call in (lambda: ben.bank("team").list(), lambda: ben.bank("team").remember("too late")):
        with pytest.raises(NotPermitted):
            call()
    assert state_of(peer, ben, ava) == [("write", "expired, cut pending")]
    team.remember("the admin writes")
    assert state_of(peer, ben, ava) == [("write", "cut")]
    assert texts(team) == {"we build with nix", "in time", "the admin writes"}
    current = team._bank.authority.current_epoch(clock.now_ms())
    assert current is not None
    assert key_of(ben) not in team._bank.authority.epochs[current].recipients


def test_settling_keeps_what_a_key_holds_besides(peer: Peer, team: Memory, ava: Agent, ben: Agent) -> None:
    """A write that ended leaves the read that has not."""
    clock = peer.host.clock
    ava.banks.grant("team", "ben", "read")
    ava.banks.grant("team", "ben", "write", until=clock.now_ms() + HOUR)
    clock.ms += 2 * HOUR  # type: ignore[attr-defined]
    assert settle_expired(team._bank, key_of(ben)) is None
    done = settle_expired(team._bank, key_of(ava))
    assert done is not None
    assert done.keys == (key_of(ben),)
    assert settle_expired(team._bank, key_of(ava)) is None
    assert state_of(peer, ben, ava) == [("read", "standing")]
    assert ben.bank("team").recall("nix")


def test_a_grant_for_a_time_takes_the_place_of_one_for_good(
    peer: Peer, team: Memory, ava: Agent, ben: Agent
) -> None:
    """The same level until tomorrow is less than the same level: it narrows."""
    ava.banks.grant("team", "ben", "read")
    ends = peer.host.clock.now_ms() + HOUR
    ava.banks.grant("team", "ben", "read", until=ends)
    assert [(m.until_ms) for m in ava.banks.members("team") if m.did == ben.did] == [ends]
    peer.host.clock.ms += 2 * HOUR  # type: ignore[attr-defined]
    with pytest.raises(NotPermitted):
        ben.bank("team").list()


# Revoking


def test_what_comes_after_a_revoke_is_sealed_to_others(team: Memory, ava: Agent, ben: Agent) -> None:
    """The revoked reader's keys open what was there before, and nothing after."""
    ava.banks.grant("team", "ben", "read")
    ava.banks.revoke("team", "ben")
    team.remember("a new secret")
    bank = team._bank
    authority, mine = bank.authority, bank.epoch_keys(key_of(ben))
    newest = authority.current_epoch(START_MS)
    assert newest is not None
    assert mine.get(authority, newest) is None
    assert any(mine.get(authority, epoch) for epoch in authority.epochs if epoch != newest)


def test_a_revoke_lists_whom_the_target_let_in_and_cascades(
    team: Memory, ava: Agent, ben: Agent, cleo: Agent
) -> None:
    """A mole stays, and is named; with cascade it goes in the same entry."""
    ava.banks.grant("team", "ben", "admin")
    ben.banks.grant("team", "cleo", "write")
    told = ava.banks.revoke("team", "ben")
    assert [key.name for key in told.let_in] == ["cleo"]
    assert cleo.bank("team").recall("nix")
    ava.banks.grant("team", "ben", "admin")
    gone = ava.banks.revoke("team", "ben", cascade=True)
    assert {key.name for key in gone.keys} == {"ben", "cleo"}
    with pytest.raises(NotPermitted):
        cleo.bank("team").list()


def test_the_last_admin_stays_unless_forced(team: Memory, ava: Agent, ben: Agent) -> None:
    """Then the bank is frozen: members go on, and nothing can be granted."""
    ava.banks.grant("team", "ben", "write")
    with pytest.raises(NotPermitted):
        ava.banks.revoke("team", "ava")
    with pytest.raises(NotPermitted):
        ava.banks.grant("team", "ava", "write")
    ava.banks.revoke("team", "ava", force=True)
    assert [b.state for b in ben.banks.list() if b.name == "team"] == ["frozen"]
    with pytest.raises(BankFrozen):
        ben.banks.rekey("team")
    assert ben.bank("team").recall("nix")


def test_a_frozen_bank_goes_on_in_a_fork(team: Memory, ava: Agent, ben: Agent, cleo: Agent) -> None:
    """The fork has what counts, and its members as they stood; who had signed is kept in the metadata."""
    ava.banks.grant("team", "ben", "write")
    ava.banks.grant("team", "cleo", "read")
    ava.banks.revoke("team", "ava", force=True)
    info = ben.banks.fork("team", "team 2")
    assert (info.level, info.description) == ("admin(0)", "how we work")
    assert {m.name: m.level for m in ben.banks.members("team 2")} == {"ben": "admin(0)", "cleo": "read"}
    record = cleo.bank("team 2").get("build")
    assert record.metadata["forked"]["author"] == ava.did
    with pytest.raises(NotPermitted):
        ava.banks.fork("team", "mine")


def test_revoking_who_holds_nothing_is_told(team: Memory, ava: Agent) -> None:
    """Nothing is signed for nothing."""
    before = controls(team)
    with pytest.raises(InvalidInput):
        ava.banks.revoke("team", "ben")
    assert controls(team) == before


def test_anybody_may_leave(team: Memory, ava: Agent, ben: Agent) -> None:
    """A reader revokes itself; it needs nobody's leave."""
    ava.banks.grant("team", "ben", "read")
    ben.banks.revoke("team", "ben")
    assert state_of(ava.peer, ben, ava) == [("read", "cut")]


def test_adopting_takes_back_what_a_cut_left_out(peer: Peer, team: Memory, ava: Agent, ben: Agent) -> None:
    """What stood outside the cut counts again, with what leads to it; who is weaker than the cutter can't."""
    ava.banks.grant("team", "ben", "write")
    ben.bank("team").remember("inside")
    bank, key = team._bank, key_of(ben)
    inside = bank.store.tips(key)
    ben.bank("team").remember("outside, first")
    ben.bank("team").remember("outside, second")
    (last,) = bank.store.tips(key)
    with bank.write():
        decide(bank, key_of(ava), [Revoke(key, inside)], peer.host.clock.now_ms())
    assert texts(team) == {"we build with nix", "inside"}
    with pytest.raises(NotPermitted):
        ben.banks.adopt("team", cid_text(last))
    with pytest.raises(UnknownRecord):
        ava.banks.adopt("team", ava.bank_id)
    ava.banks.adopt("team", cid_text(last))
    assert texts(team) == {"we build with nix", "inside", "outside, first", "outside, second"}
    with pytest.raises(NotPermitted):
        ben.bank("team").remember("still out")
    with pytest.raises(InvalidInput):
        ava.banks.adopt("team", cid_text(last))


def test_granting_again_does_not_bring_back_what_was_cut(
    peer: Peer, team: Memory, ava: Agent, ben: Agent
) -> None:
    """Trace 3: a key is revoked because it leaked, then granted anew; the thief's entries stay void."""
    ava.banks.grant("team", "ben", "write")
    ben.bank("team").remember("honest")
    bank, key = team._bank, key_of(ben)
    honest = bank.store.tips(key)
    ben.bank("team").remember("forged")
    with bank.write():
        decide(bank, key_of(ava), [Revoke(key, honest)], peer.host.clock.now_ms())
    ava.banks.grant("team", "ben", "write")
    assert texts(team) == {"we build with nix", "honest"}
    ben.bank("team").remember("honest again")
    assert "honest again" in texts(team)
    assert "forged" not in texts(team)


# Away and back


def test_a_deleted_bank_stays_deleted_and_whole(make_peer: MakePeer) -> None:
    """Not on the list, not to be opened, also through a handle from before and after a restart; then all is back."""
    peer = make_peer("shelf")
    ava = peer.agent("ava", create=True)
    ava.banks.new("team")
    held = ava.bank("team")
    held.remember("we build with nix")
    ava.session("talk").attach("team")
    assert ava.banks.delete("team").listed is False
    for call in (held.list, lambda: held.remember("x"), lambda: ava.bank("team")):
        with pytest.raises(UnknownBank):
            call()
    with pytest.raises(UnknownBank):
        ava.banks.grant("team", "owner", "read")
    assert ava.session("talk").context(ASKED) == ""
    peer.close()
    ava = peer.agent("ava")
    assert [b.name for b in ava.banks.list()] == ["ava"]
    assert [b.listed for b in ava.banks.list(all=True) if b.name == "team"] == [False]
    with pytest.raises(InvalidInput):
        ava.banks.new("team")
    ava.banks.undelete("team")
    assert texts(ava.bank("team")) == {"we build with nix"}


def test_an_agents_own_memory_is_not_deleted(ava: Agent) -> None:
    """Nor is it called otherwise."""
    with pytest.raises(InvalidInput):
        ava.banks.delete("ava")
    with pytest.raises(InvalidInput):
        ava.banks.rename("ava", "eve")


# What one decision may hold


def test_a_decision_has_a_size(peer: Peer, team: Memory, ava: Agent) -> None:
    """An entry with more control acts than the format takes is not signed."""
    bank, before = team._bank, controls(team)
    some = [CAST[f"key {number}"] for number in range(150)]
    with pytest.raises(LimitExceeded):
        grant(bank, key_of(ava), some, Terms(parse_level("read")))
    assert controls(team) == before


def test_the_description_is_the_readers(team: Memory, ava: Agent, ben: Agent) -> None:
    """Sealed as all words are: who may not read sees the name that this installation has, and no more."""
    assert [b.description for b in ben.banks.list() if b.name == "team"] == [None]
    ava.banks.grant("team", "ben", "read")
    assert ben.banks.describe("team").description == "how we work"
    with pytest.raises(NotPermitted):
        ben.banks.describe("team", "mine now")
    assert ava.banks.describe("team", "how we really work", title="The team").title == "The team"
    assert ava.bank("team").bank_id == team.bank_id


def test_a_description_has_a_length(ava: Agent, team: Memory) -> None:
    """It is looked at before anything is made."""
    with pytest.raises(LimitExceeded):
        ava.banks.describe("team", "x" * 5000)
    with pytest.raises(LimitExceeded):
        ava.banks.new("crew", description="x" * 5000)
    assert [b.name for b in ava.banks.list()] == ["ava", "ben", "team"]


def test_every_error_says_what_to_do(team: Memory, ava: Agent, ben: Agent) -> None:
    """A refusal of a decision names the next step."""
    for call in (
        lambda: ben.banks.grant("team", "ben", "read"),
        lambda: ava.banks.revoke("team", "ben"),
        lambda: ava.banks.undelete("team"),
        lambda: ava.banks.revoke("team", "ava"),
    ):
        with pytest.raises(MunimentError) as caught:
            call()
        assert caught.value.next_step


def stronger(bank: Bank, key: bytes) -> Level | None:
    """What a key holds."""
    return bank.authority.level(key, START_MS)


def test_remembering_in_a_bank_is_one_face(team: Memory, ava: Agent, ben: Agent) -> None:
    """The records' methods and errors are those of the agent's own memory."""
    assert isinstance(ava, Memory)
    assert ava.bank(ava.bank_id) is ava
    assert team.get("build").bank == team.bank_id
    with pytest.raises(UnknownRecord):
        team.get("nothing")
    team.remember("we build with bazel", key="build")
    assert [r.text for r in team.history("build")] == ["we build with bazel", "we build with nix"]
    assert team.why("bazel", "build").rank == 1
    team.forget("build")
    assert team.recall("bazel") == []
    team.forget("build", undo=True)
    assert team.stats().records == 1
    assert remember(team._bank, key_of(ava), [Draft("x")])[0].created
    assert stronger(team._bank, key_of(ava)) == Level(ADMIN, 0)
