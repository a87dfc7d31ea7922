"""Invites: a claim asks and grants nothing; who could grant anyway answers it, by its own clock."""

from __future__ import annotations

import pytest

from muniment.agent import Agent
from muniment.bank import Bank
from muniment.base.errors import InvalidInput, LimitExceeded, Malformed, MunimentError, NotPermitted
from muniment.identity.did import parse_did
from muniment.invites import NewInvite, answer_claim, invite_text, make_claim, make_invite, withdraw
from muniment.ledger.control import Revoke
from muniment.ledger.levels import Level, parse_level
from muniment.peer import Peer
from muniment.testing.clock import START_MS

HOUR = 3_600_000
READ, WRITE = parse_level("read"), parse_level("write")


class Door:
    """A bank of ava's, and what the other agents do with its invites."""

    def __init__(self, peer: Peer, ava: Agent) -> None:
        self.peer, self.ava = peer, ava
        ava.banks.new("team")
        ava.bank("team").remember("we build with nix")
        self.bank: Bank = ava.bank("team")._bank
        self.key = parse_did(ava.did)

    def claim(self, invite: NewInvite, by: Agent, seed: bytes | None = None) -> bytes:
        """An agent's claim."""
        host = self.peer.host
        return make_claim(
            self.bank.id, invite.id, seed or invite.seed, parse_did(by.did), host.keyring, host.entropy
        )

    def answer(self, claim: bytes, by: bytes | None = None) -> bool:
        """Ava answers, or another key; whether anything was written."""
        return answer_claim(self.bank, by or self.key, claim).entry is not None

    def level(self, agent: Agent) -> Level | None:
        """What an agent holds."""
        return self.bank.authority.level(parse_did(agent.did), self.peer.host.clock.now_ms())


@pytest.fixture
def door(peer: Peer, ava: Agent) -> Door:
    """The bank."""
    return Door(peer, ava)


@pytest.fixture
def ben(peer: Peer, ava: Agent) -> Agent:
    """Somebody who is invited."""
    return peer.agent("ben", create=True)


@pytest.fixture
def eve(peer: Peer, ava: Agent) -> Agent:
    """Somebody who is not."""
    return peer.agent("eve", create=True)


def test_who_is_answered_gets_the_level_and_the_keys(door: Door, ben: Agent) -> None:
    """The grant names the invite; the epoch keys go to the joiner, and none to the invite's key."""
    invite = make_invite(door.bank, door.key, WRITE)
    assert door.level(ben) is None
    assert door.answer(door.claim(invite, ben))
    assert door.level(ben) == WRITE
    assert ben.bank("team").recall("nix")[0].record.source == "peer"
    ben.bank("team").remember("thank you")
    authority = door.bank.authority
    assert authority.boxes_for(authority.invites[invite.id].act.key) == []
    assert door.level(ben) == WRITE


def test_a_claim_alone_is_nothing(door: Door, ben: Agent) -> None:
    """Making one opens nothing."""
    door.claim(make_invite(door.bank, door.key, READ), ben)
    with pytest.raises(NotPermitted):
        ben.bank("team").list()


def test_uses_are_counted(door: Door, ben: Agent, eve: Agent) -> None:
    """One use is for one key; the same key again changes nothing and uses nothing up."""
    invite = make_invite(door.bank, door.key, READ, uses=1)
    assert door.answer(door.claim(invite, ben))
    assert not door.answer(door.claim(invite, ben))
    with pytest.raises(NotPermitted, match="used up"):
        door.answer(door.claim(invite, eve))
    assert door.level(ben) == READ


def test_trace_8_a_leaked_ticket_throws_out_nobody_and_lets_nobody_in_later(
    door: Door, ben: Agent, eve: Agent
) -> None:
    """Two months later a second claim by the same secret is refused, and the member stays."""
    invite = make_invite(door.bank, door.key, READ)
    door.answer(door.claim(invite, ben))
    door.peer.host.clock.ms += 60 * 24 * HOUR  # type: ignore[attr-defined]
    with pytest.raises(NotPermitted):
        door.answer(door.claim(invite, eve))
    assert door.level(ben) == READ
    assert door.level(eve) is None


def test_an_invite_ends_by_the_answerers_clock(door: Door, ben: Agent) -> None:
    """A day is the default."""
    invite = make_invite(door.bank, door.key, READ)
    claim = door.claim(invite, ben)
    door.peer.host.clock.ms += 25 * HOUR  # type: ignore[attr-defined]
    with pytest.raises(NotPermitted, match="expired"):
        door.answer(claim)
    assert [one.state for one in door.ava.banks.invites("team")] == ["expired"]


def test_a_withdrawn_invite_is_answered_no_more(door: Door, ben: Agent, eve: Agent) -> None:
    """Who was let in stays."""
    invite = make_invite(door.bank, door.key, READ, uses=2)
    door.answer(door.claim(invite, ben))
    door.ava.banks.withdraw("team", invite_text(invite.id))
    with pytest.raises(NotPermitted, match="withdrawn"):
        door.answer(door.claim(invite, eve))
    assert door.level(ben) == READ
    assert [one.state for one in door.ava.banks.invites("team")] == ["withdrawn"]
    with pytest.raises(InvalidInput):
        withdraw(door.bank, door.key, invite.id)


def test_an_invite_lets_nobody_in_again(door: Door, ben: Agent) -> None:
    """A member who was revoked can't come back by the invite that let it in."""
    invite = make_invite(door.bank, door.key, READ, uses=5)
    door.answer(door.claim(invite, ben))
    door.ava.banks.revoke("team", "ben")
    with pytest.raises(NotPermitted, match="revoked"):
        door.answer(door.claim(invite, ben))


def test_a_claim_without_the_secret_is_refused(door: Door, ben: Agent, eve: Agent) -> None:
    """Another seed, or a claim of another joiner with its key exchanged."""
    invite = make_invite(door.bank, door.key, READ)
    with pytest.raises(Malformed):
        door.answer(door.claim(invite, ben, seed=bytes(32)))
    stolen = door.claim(invite, ben).replace(parse_did(ben.did), parse_did(eve.did))
    with pytest.raises(Malformed):
        door.answer(stolen)
    assert door.level(eve) is None


def test_only_the_strong_answer_and_invite(door: Door, ben: Agent, eve: Agent) -> None:
    """A writer invites nobody; an invite is answered by who could grant its level."""
    door.ava.banks.grant("team", "ben", "write")
    with pytest.raises(NotPermitted):
        make_invite(door.bank, parse_did(ben.did), READ)
    invite = make_invite(door.bank, door.key, parse_level("admin(1)"))
    door.ava.banks.grant("team", "ben", "admin(1)")
    with pytest.raises(NotPermitted):
        door.answer(door.claim(invite, eve), parse_did(ben.did))
    with pytest.raises(NotPermitted):
        make_invite(door.bank, door.key, parse_level("admin(0)"))


def test_the_holder_of_a_delegable_lease_invites_within_it(door: Door, ben: Agent, eve: Agent) -> None:
    """What it gives ends when its own lease does, and it may withdraw what it made."""
    ends = START_MS + 100 * HOUR
    door.ava.banks.grant("team", "ben", "write", delegable=True, until=ends)
    invite = make_invite(door.bank, parse_did(ben.did), READ, uses=2)
    door.answer(door.claim(invite, eve), parse_did(ben.did))
    (member,) = [m for m in door.ava.banks.members("team") if m.name == "eve"]
    assert member.until_ms == ends
    withdraw(door.bank, parse_did(ben.did), invite.id)
    assert door.ava.banks.invites("team")[0].state == "withdrawn"


def test_an_invite_of_a_revoked_admin_is_none(door: Door, ben: Agent, eve: Agent) -> None:
    """An invite stands as long as who made it could; what lies outside its cut never did."""
    door.ava.banks.grant("team", "ben", "admin")
    invite = make_invite(door.bank, parse_did(ben.did), READ)
    with door.bank.write() as authority:
        from muniment.granting import decide

        assert authority.invites
        decide(door.bank, door.key, [Revoke(parse_did(ben.did))], door.peer.host.clock.now_ms())
    with pytest.raises(NotPermitted, match="no such invite"):
        door.answer(door.claim(invite, eve))


def test_an_invite_for_less_than_one_holds_changes_nothing(door: Door, ben: Agent) -> None:
    """A writer who claims a reader's invite stays a writer."""
    door.ava.banks.grant("team", "ben", "write")
    invite = make_invite(door.bank, door.key, READ)
    assert not door.answer(door.claim(invite, ben))
    assert door.level(ben) == WRITE


@pytest.mark.parametrize(("uses", "until"), [(0, None), (70_000, None), (1, START_MS - 1)])
def test_an_invite_has_a_meaning(door: Door, uses: int, until: int | None) -> None:
    """At least one use, not too many, and an end to come."""
    with pytest.raises((InvalidInput, LimitExceeded)):
        make_invite(door.bank, door.key, READ, uses=uses, until=until)


def test_the_secret_is_shown_once(door: Door) -> None:
    """It is in no list and in no repr."""
    made = door.ava.banks.invite("team")
    assert made.secret not in repr(made)
    assert made.secret not in str([one.to_json() for one in door.ava.banks.invites("team")])
    raw = make_invite(door.bank, door.key, READ)
    assert raw.seed.hex() not in repr(raw)
    assert repr(raw.seed) not in repr(raw)


@pytest.mark.parametrize("ref", ["", "x", "bafyrei/0"])
def test_an_unknown_invite_is_told(door: Door, ref: str) -> None:
    """Withdrawing what is not there is an error that says so."""
    with pytest.raises(MunimentError):
        door.ava.banks.withdraw("team", ref)
