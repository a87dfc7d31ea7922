"""A new key in place of an old one: the memory stays the agent's, and a thief's branch is left out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.agent import Agent
from muniment.base.errors import InvalidInput, KeyUsedElsewhere, NotPermitted
from muniment.identity.did import parse_did, to_did
from muniment.peer import Peer
from muniment.receiving import Receiver
from muniment.rotation import _PENDING
from muniment.testing.clock import TickingClock
from muniment.testing.entropy import SeededEntropy
from muniment.testing.ledger import Cast

MakePeer = Callable[..., Peer]
CAST = Cast()


def texts(agent: Agent) -> set[str]:
    """What it remembers."""
    return {record.text for record in agent.list(limit=1000)}


def test_the_memory_stays_the_agents_own(peer: Peer, ava: Agent) -> None:
    """The bank's id, the words, and provenance `self` go over to the new key; the old one is cut."""
    ava.remember("before", key="k")
    ava.session("talk").attach(peer.banks.new("house").id)
    done = peer.keys.rotate("ava")
    fresh = peer.agent("ava")
    assert (done.old, done.new, fresh.bank_id) == (ava.did, fresh.did, ava.bank_id)
    fresh.remember("after")
    assert {record.source for record in fresh.list()} == {"self"}
    assert fresh.get("k").author_name == "ava"
    assert [bank.name for bank in fresh.session("talk").attached()] == ["house"]
    with pytest.raises(NotPermitted):
        ava.remember("by the old key")
    with pytest.raises(NotPermitted):
        ava.recall("before")
    assert fresh.verify().void == 0


def test_it_is_one_control_act_before_the_new_key_seals(peer: Peer, ava: Agent) -> None:
    """One entry grants, hands over the keys and cuts; one starts the epoch without the old key."""
    before = ava.verify().control
    peer.keys.rotate("ava")
    assert peer.agent("ava").verify().control == before + 2


def test_rotating_again_goes_on(peer: Peer, ava: Agent) -> None:
    """The chain of keys is one agent."""
    ava.remember("first")
    for _ in range(3):
        peer.keys.rotate("ava")
        peer.agent("ava").remember("more")
    agent = peer.agent("ava")
    assert {record.source for record in agent.list()} == {"self"}
    roles = [key.role for key in peer.keys.list()]
    assert roles == ["owner", "retired", "retired", "retired", "agent"]
    assert [(m.level, m.state) for m in agent.banks.members("ava") if m.did == agent.did] == [
        ("admin(1)", "standing")
    ]


def test_shared_banks_follow_where_this_peer_may(peer: Peer, ava: Agent) -> None:
    """Founded by the agent: it goes on one weaker. By the owner: as it was. By another: an admin has to."""
    ava.banks.new("mine")
    ava.bank("mine").remember("in mine")
    peer.banks.new("house")
    peer.banks.grant("house", "ava", "write")
    ben = peer.agent("ben", create=True)
    ben.banks.new("bens")
    ben.banks.grant("bens", "ava", "write")
    done = peer.keys.rotate("ava")
    banks = {bank.id: bank.name for bank in peer.agent("ava").banks.list()}
    assert ({banks[b] for b in done.moved}, {banks[b] for b in done.left}) == ({"mine", "house"}, {"bens"})
    fresh = peer.agent("ava")
    assert fresh.bank("mine").recall("in mine")[0].record.source == "self"
    assert {b.name: b.level for b in fresh.banks.list()} == {
        "ava": "admin(1)", "ben": None, "mine": "admin(1)", "house": "write", "bens": None,
    }  # fmt: skip
    ben.banks.grant("bens", "ava", "write")
    fresh.bank("bens").remember("back again")


def test_an_agent_alone_comes_out_weaker(peer: Peer) -> None:
    """Without its controller's key here it signs for itself, one level down."""
    agent = peer.new_agent("solo", controller=to_did(CAST["carol"]))
    agent.remember("mine")
    peer.keys.rotate("solo")
    fresh = peer.agent("solo")
    assert fresh.get(fresh.list()[0].id).source == "self"
    held = {m.did: m.level for m in fresh.banks.members("solo") if m.state == "standing"}
    assert held == {to_did(CAST["carol"]): "admin(0)", fresh.did: "admin(2)"}


def test_a_rotation_that_was_cut_short_is_finished(make_peer: MakePeer) -> None:
    """A kill after the entry was signed and before the peer noted it: the next to open the folder notes it."""
    peer = make_peer("cut short")
    ava = peer.agent("ava", create=True)
    old = parse_did(ava.did)
    peer.keys.rotate("ava")
    new = parse_did(peer.agent("ava").did)
    store = peer.made_store()
    store.replace_key(new, old)  # as before
    store.set_meta(_PENDING, old + new)
    peer.close()
    assert parse_did(peer.agent("ava").did) == new
    assert peer.made_store().meta(_PENDING) is None
    peer.agent("ava").remember("goes on")


def test_a_rotation_that_never_was_is_forgotten(make_peer: MakePeer) -> None:
    """A kill before the entry was signed: the old key goes on."""
    peer = make_peer("never was")
    ava = peer.agent("ava", create=True)
    peer.made_store().set_meta(_PENDING, parse_did(ava.did) + CAST["eve"])
    peer.close()
    assert peer.agent("ava").did == ava.did
    peer.agent("ava").remember("goes on")


def test_not_mine_leaves_the_thiefs_branch_out(tmp_path: Path, clock: TickingClock) -> None:
    """Trace 11: a copy of the folder signs on; what this installation signed stays, and nothing else."""

    def opened(name: str) -> Peer:
        return Peer(tmp_path / name, clock=clock, entropy=SeededEntropy(name.encode()))

    with opened("home") as peer:
        peer.agent("ava", create=True).remember("honest")
    shutil.copytree(tmp_path / "home", tmp_path / "thief")
    with opened("thief") as peer:
        thief = peer.agent("ava")
        thief.remember("forged")
        parcels = [
            (row.envelope, thief._bank.store.bodies([(row.seq, 0)] if not row.control else []))
            for row in thief._bank.store.entries()
        ]
    with opened("home") as peer:
        ava = peer.agent("ava")
        ava.remember("honest too")
        for envelope, bodies in parcels:
            Receiver(ava._bank).take(envelope, bodies)
        assert "forged" in texts(ava)
        with pytest.raises(KeyUsedElsewhere):
            ava.remember("stopped")
        peer.keys.rotate("ava", not_mine=True)
        fresh = peer.agent("ava")
        fresh.remember("goes on")
        assert texts(fresh) == {"honest", "honest too", "goes on"}
        assert fresh.verify().void == 1
        assert fresh.check() == []


def test_not_mine_needs_the_journal(make_peer: MakePeer) -> None:
    """Without it nobody can tell what was signed here, and nothing is cut on a guess."""
    peer = make_peer("no journal")
    ava = peer.agent("ava", create=True)
    ava.remember("kept")
    peer.close()
    shutil.rmtree(peer.home / "journal")
    with pytest.raises(InvalidInput):
        peer.keys.rotate("ava", not_mine=True)
    assert texts(peer.agent("ava")) == {"kept"}
