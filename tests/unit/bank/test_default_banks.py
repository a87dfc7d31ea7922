"""`default_memory_banks`: made, granted and attached once; what was taken back is not given again by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muniment.base.errors import InvalidInput, NotPermitted
from muniment.config import DefaultBank, from_mapping
from muniment.identity.did import parse_did
from muniment.peer import Peer
from muniment.refs import refs

MakePeer = Callable[..., Peer]
CONFIG = "default_memory_banks:\n  - conventions\n  - {name: facts, level: read}\n"


def entries(peer: Peer) -> int:
    """How many entries all banks hold."""
    store = peer.made_store()
    return sum(peer.bank(row.bank).store.figures().entries for row in store.banks(unlisted=True))


def test_they_are_there_at_the_first_session(make_peer: MakePeer) -> None:
    """Missing banks are made by the owner, the agent is granted, its own bank says so, and they are attached."""
    peer = make_peer(config=CONFIG)
    ava = peer.agent("ava", create=True)
    session = ava.session("talk")
    assert [bank.name for bank in session.attached()] == ["conventions", "facts"]
    ava.bank("conventions").remember("we build with nix")
    with pytest.raises(NotPermitted):
        ava.bank("facts").remember("x")
    assert [(ref.name, ref.level) for ref in refs(ava._bank, parse_did(ava.did))] == [
        ("conventions", "write"),
        ("facts", "read"),
    ]
    assert [b.level for b in peer.banks.list() if b.kind == "shared"] == ["admin(0)", "admin(0)"]


def test_a_restart_writes_nothing(make_peer: MakePeer) -> None:
    """No grant and no ref is written twice, however often the agent's sessions begin."""
    peer = make_peer(config=CONFIG)
    peer.agent("ava", create=True).session("talk")
    before = entries(peer)
    peer.close()
    for name in ("talk", "talk", "other"):
        peer.agent("ava").session(name)
    peer.reload()
    assert entries(peer) == before
    assert [bank.name for bank in peer.agent("ava").session("other").attached()] == ["conventions", "facts"]


def test_what_was_revoked_is_not_granted_again(make_peer: MakePeer) -> None:
    """Nor after a restart, a reload, or a new key of the agent."""
    peer = make_peer(config=CONFIG)
    peer.agent("ava", create=True).session("talk")
    peer.banks.revoke("conventions", "ava")
    peer.close()
    peer.reload()
    peer.keys.rotate("ava")
    ava = peer.agent("ava")
    ava.session("talk")
    peer.reload()
    with pytest.raises(NotPermitted):
        ava.bank("conventions").list()
    assert ava.bank("facts").list() == []


def test_what_was_detached_stays_detached(make_peer: MakePeer) -> None:
    """In that session; another one begins with it."""
    peer = make_peer(config=CONFIG)
    ava = peer.agent("ava", create=True)
    ava.session("talk").detach("facts")
    assert [bank.name for bank in ava.session("talk").attached()] == ["conventions"]
    peer.reload()
    assert [bank.name for bank in ava.session("talk").attached()] == ["conventions"]
    assert len(ava.session("other").attached()) == 2


def test_a_reload_serves_open_sessions(make_peer: MakePeer) -> None:
    """A bank that the settings name by now is made, granted and attached to the sessions that there are."""
    peer = make_peer(config=CONFIG)
    ava = peer.agent("ava", create=True)
    session = ava.session("talk")
    (peer.home / "config.yaml").write_text(CONFIG + "  - news\n", "utf-8")
    assert [bank.name for bank in session.attached()] == ["conventions", "facts"]
    peer.reload()
    assert [bank.name for bank in session.attached()] == ["conventions", "facts", "news"]


def test_a_deleted_bank_is_not_made_again(make_peer: MakePeer) -> None:
    """It stays away until it is undeleted."""
    peer = make_peer(config=CONFIG)
    ava = peer.agent("ava", create=True)
    ava.session("talk")
    ava.banks.delete("facts")
    peer.reload()
    assert [b.name for b in ava.banks.list(all=True) if b.name == "facts"] == ["facts"]
    assert [bank.name for bank in ava.session("new").attached()] == ["conventions"]


def test_a_bank_that_is_there_is_taken(make_peer: MakePeer) -> None:
    """Two agents that name one bank share it; a bank whose owner is somebody else is for that one to grant."""
    peer = make_peer(config="default_memory_banks: {ava: [facts], ben: [{name: facts, level: read}, bens]}\n")
    ava, ben = peer.agent("ava", create=True), peer.agent("ben", create=True)
    ava.banks.new("bens")
    ava.session("a")
    ben.session("b")
    ava.bank("facts").remember("the sky is blue")
    assert [hit.record.author_name for hit in ben.bank("facts").recall("sky")] == ["ava"]
    with pytest.raises(NotPermitted):
        ben.bank("bens").list()
    with pytest.raises(NotPermitted):
        peer.reload()
    ava.banks.grant("bens", "ben", "read")
    peer.reload()
    assert [bank.name for bank in ben.session("b").attached()] == ["bens", "facts"]


def test_looking_makes_nothing(make_peer: MakePeer) -> None:
    """Banks are made when an agent's session begins or one of them is asked for, and not before."""
    peer = make_peer(config=CONFIG)
    ava = peer.agent("ava", create=True)
    ava.remember("x")
    assert [b.name for b in ava.banks.list()] == ["ava"]
    ava.bank("facts")
    assert [b.name for b in ava.banks.list()] == ["ava", "conventions", "facts"]


@pytest.mark.parametrize(
    "value",
    [
        "conventions",
        3,
        [3],
        [""],
        [{"level": "read"}],
        [{"name": "x", "level": "admin"}],
        [{"name": "x", "color": "red"}],
        {"ava": "conventions"},
        {3: ["x"]},
        [["x"]],
    ],
)
def test_what_has_no_meaning_is_refused(value: object) -> None:
    """The message names the setting."""
    with pytest.raises(InvalidInput, match="default_memory_banks"):
        from_mapping({"default_memory_banks": value}, "config.yaml")


def test_names_and_levels_are_read() -> None:
    """A bare name is write; a list by agents is for these."""
    read = from_mapping({"default_memory_banks": {"ava": ["x", {"name": "y", "level": "read"}]}}, "c")
    assert read.default_memory_banks == (DefaultBank("x", "write", "ava"), DefaultBank("y", "read", "ava"))
    assert from_mapping({"default_memory_banks": ["x"]}, "c").default_memory_banks == (DefaultBank("x"),)
