"""Who may act for an agent from afar: its key, its controller's, and nobody else; tokens, bound names, replays."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

import muniment.store
from muniment.agent import Agent
from muniment.bank import Bank
from muniment.base.errors import (
    Ambiguous,
    InvalidInput,
    LimitExceeded,
    NotFound,
    NotPermitted,
    Overloaded,
    RefusedSignature,
)
from muniment.bindings import bind, bound_key
from muniment.callers import Callers, find_agent
from muniment.identity.did import to_did
from muniment.identity.http_signatures import Claim
from muniment.identity.keys import keypair
from muniment.ledger.control import Revoke
from muniment.peer import Peer
from muniment.replays import Replays
from muniment.store import visitors
from muniment.store.visitors import BindingRow
from muniment.tokens import Tokens
from muniment.writing import Writer

from .conftest import Clock, MakePeer

OTHER = keypair(bytes(32)).public
DAY = 86_400_000


def test_an_agent_acts_for_itself(peer: Peer, ava: Agent) -> None:
    """Its own key needs no name, and takes its own."""
    callers = Callers(peer)
    for named in (None, "AVA", ava.did):
        caller = callers.of(ava._key, named)
        assert (caller.agent.did, caller.role) == (ava.did, "agent")
    assert callers.of(ava._key).agent is callers.of(ava._key).agent  # opened once


def test_a_controller_acts_for_its_agents(peer: Peer, ava: Agent) -> None:
    """One agent needs no name; several do."""
    callers, owner = Callers(peer), peer.owner()
    assert callers.of(owner).agent.did == ava.did
    peer.agent("ben", create=True)
    with pytest.raises(Ambiguous):
        callers.of(owner)
    assert callers.of(owner, "ben").role == "controller"
    callers.known(owner)


def test_a_stranger_and_an_unknown_name_look_the_same(peer: Peer, ava: Agent) -> None:
    """Nothing tells whether an agent exists."""
    callers = Callers(peer)
    said = set()
    for key, named in (
        (OTHER, None),
        (OTHER, "ava"),
        (OTHER, "eve"),
        (ava._key, "eve"),
        (ava._key, "did:x:y"),
    ):
        with pytest.raises(NotPermitted) as caught:
            callers.of(key, named)
        said.add(caught.value.message)
    assert len(said) == 1
    with pytest.raises(NotPermitted):
        callers.known(OTHER)


def test_a_controller_whose_right_was_taken_back_acts_no_more(peer: Peer, ava: Agent, bank: Bank) -> None:
    """The bank's own authority is asked each time; no row of the peer says otherwise."""
    callers, owner = Callers(peer), peer.owner()
    assert callers.of(owner, "ava").role == "controller"
    with bank.write() as authority:
        revoked = [Revoke(owner, bank.store.tips(owner))]
        Writer(bank, owner).commit_control(authority, revoked, bank.host.clock.now_ms())
    with pytest.raises(NotPermitted):
        callers.of(owner, "ava")
    with pytest.raises(NotPermitted):
        callers.of(owner, "ava", writes=False)
    assert callers.of(ava._key).role == "agent"


def test_a_did_is_bound_by_the_agents_own_signature(peer: Peer, ava: Agent) -> None:
    """A row without it, or with that of another DID, leads nowhere."""
    made = bind(peer, ava, "did:web:example.com:ava")
    assert made.to_json() == {"did": "did:web:example.com:ava", "agent": "ava", "key": ava.did}
    assert bound_key(peer, made.did) == ava._key
    found = find_agent(peer, made.did)
    assert found is not None
    assert found.did == ava.did
    row = peer.made_store().visitors.bound(made.did)
    assert row is not None
    peer.made_store().visitors.bind(BindingRow("did:web:evil.com", ava._key, row.signature, 1))
    assert bound_key(peer, "did:web:evil.com") is None
    assert find_agent(peer, "did:web:evil.com") is None


@pytest.mark.parametrize(
    "did", ["ava", "did:", "did:web", "did:Web:x", "did:x:", "did:x:a b", "did:x:a#b", "did:key:z6Mk"]
)
def test_what_is_no_did_is_not_bound(peer: Peer, ava: Agent, did: str) -> None:
    """A fragment, a blank, another case; and a did:key, which names its own key."""
    with pytest.raises(InvalidInput):
        bind(peer, ava, did)
    with pytest.raises(LimitExceeded):
        bind(peer, ava, "did:x:" + "y" * 600)


# Tokens


def test_a_token_is_shown_once_and_kept_as_a_hash(peer: Peer, ava: Agent) -> None:
    """No byte of its secret is in the file, in a list, or in a repr."""
    made = Tokens(peer).new(ava, "write", label="the phone")
    assert made.secret is not None
    assert re.fullmatch(r"mun_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", made.secret)
    secret = made.secret.split("_", 2)[2]
    assert secret not in repr(made)
    (listed,) = Tokens(peer).list()
    assert (listed.secret, listed.id, listed.label, listed.state) == (None, made.id, "the phone", "live")
    assert secret not in json.dumps(listed.to_json())
    peer.close()
    for path in peer.home.rglob("peer.db*"):
        assert secret.encode() not in path.read_bytes()


def test_a_token_gives_what_it_says(peer: Peer, ava: Agent) -> None:
    """Reading is part of writing, and not the other way round."""
    tokens = Tokens(peer)
    reads, writes = tokens.new(ava, "read"), tokens.new(ava, "write")
    for made, need in ((reads, "read"), (writes, "read"), (writes, "write")):
        assert tokens.check(made.secret or "", need).did == ava.did  # type: ignore[arg-type]
    with pytest.raises(NotPermitted):
        tokens.check(reads.secret or "", "write")


def test_a_token_ends(peer: Peer, ava: Agent, clock: Clock) -> None:
    """By its time, or when it is taken back; one without an end goes on."""
    tokens = Tokens(peer)
    short, taken, ever = tokens.new(ava, days=1), tokens.new(ava), tokens.new(ava, days=None)
    assert tokens.revoke(taken.id).state == "revoked"
    with pytest.raises(NotPermitted, match="revoked"):
        tokens.check(taken.secret or "", "read")
    tokens.check(short.secret or "", "read")
    clock.advance(2 * DAY)
    with pytest.raises(NotPermitted, match="expired"):
        tokens.check(short.secret or "", "read")
    clock.advance(1000 * DAY)
    assert tokens.check(ever.secret or "", "read").state == "live"
    with pytest.raises(NotFound):
        tokens.revoke("nothing")


def test_what_is_no_token_is_refused_alike(peer: Peer, ava: Agent) -> None:
    """A wrong secret, an unknown id and any other text look the same."""
    made = Tokens(peer).new(ava).secret or ""
    said = set()
    for text in (
        made[:-1] + ("A" if made[-1] != "A" else "B"),
        "mun_000000000000_" + "A" * 43,
        "",
        "x" * 10_000,
        "é",
    ):
        with pytest.raises(NotPermitted) as caught:
            Tokens(peer).check(text, "read")
        said.add(str(caught.value))
    assert len(said) == 1


def test_a_token_is_refused_where_its_words_have_no_meaning(
    peer: Peer, ava: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rights, label, days, and too many."""
    for more in ({"rights": "admin"}, {"label": ""}, {"label": "a\nb"}, {"days": -1}, {"days": 40_000}):
        with pytest.raises(InvalidInput):
            Tokens(peer).new(ava, **more)  # type: ignore[arg-type]
    Tokens(peer).new(ava)
    monkeypatch.setattr(visitors, "LIMITS", dataclasses.replace(visitors.LIMITS, tokens=1))
    with pytest.raises(LimitExceeded):
        Tokens(peer).new(ava)


# Replays


def claim(peer: Peer, nonce: str = "n" * 22, keyid: str = to_did(OTHER), age: int = 0) -> Claim:
    """A verified claim of now."""
    now = peer.host.clock.now_ms() // 1000
    return Claim(OTHER, keyid, nonce, now - age, now - age + 60)


def test_a_nonce_counts_once_for_each_key(peer: Peer, ava: Agent) -> None:
    """In this process and in another, which sees it at once; another key's is another one."""
    first, second = Replays(peer), Replays(peer)
    first.check(claim(peer))
    first.check(claim(peer, keyid=ava.did))
    for replays in (first, second):
        with pytest.raises(RefusedSignature, match="replayed"):
            replays.check(claim(peer))
    second.check(claim(peer, nonce="m" * 22))
    first.close()
    second.close()


def test_what_was_signed_before_the_start_is_refused(peer: Peer, ava: Agent) -> None:
    """Its nonce may have been lost with the power, so it can't be told from a replay."""
    replays = Replays(peer)
    with pytest.raises(RefusedSignature, match="before this server started"):
        replays.check(claim(peer, age=1))
    replays.close()


def test_nonces_are_forgotten_when_they_can_not_be_used_any_more(
    peer: Peer, ava: Agent, clock: Clock
) -> None:
    """The table stays as small as what is still valid."""
    replays = Replays(peer)
    for n in range(300):
        replays.check(claim(peer, nonce=f"{n:022}"))
    clock.advance(200_000)
    for n in range(300, 300 + 256):
        replays.check(claim(peer, nonce=f"{n:022}"))
    link = peer.made_store()._connections.link()
    assert link.run("SELECT count(*) FROM nonces")[0][0] <= 256 + 44
    replays.close()


def test_more_nonces_than_there_is_room_for_are_refused(
    peer: Peer, ava: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is forgotten before its time to make room; the request is not done."""
    monkeypatch.setattr(visitors, "LIMITS", dataclasses.replace(visitors.LIMITS, nonces=3))
    monkeypatch.setattr(visitors, "_PRUNE_EVERY", 1)
    replays = Replays(peer)
    for n in range(3):
        replays.check(claim(peer, nonce=f"{n:022}"))
    with pytest.raises(Overloaded):
        replays.check(claim(peer, nonce=f"{3:022}"))
    replays.close()


SCHEMA = Path(muniment.store.__file__).parent / "schema" / "peer"
SINCE = [path for path in sorted(SCHEMA.glob("*.sql")) if path.stem != "001"]


def test_a_peer_file_of_the_version_before_is_brought_up_to_date(make_peer: MakePeer, tmp_path: Path) -> None:
    """What an older version wrote gains the new tables and loses nothing."""
    peer = make_peer("old")
    name = peer.agent("ava", create=True).did
    link = peer.made_store()._connections.link()
    for table in re.findall(r"CREATE TABLE (\w+)", "".join(path.read_text("utf-8") for path in SINCE)):
        link.run(f"DROP TABLE {table}")
    link.run("PRAGMA user_version = 1")
    peer.close()
    again = make_peer("old")
    assert again.agent("ava").did == name
    assert Tokens(again).new(again.agent("ava")).state == "live"
