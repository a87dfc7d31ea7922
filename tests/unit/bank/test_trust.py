"""Trust: whose words come unasked, and what others' words weigh; derived from signatures, chosen by the agent."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.agent import Agent
from muniment.base.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.memory import Memory
from muniment.peer import Peer
from muniment.trust import DEFAULTS, TrustConfig

ASKED = [{"role": "user", "content": "when is the harbour dredged?"}]


@pytest.fixture
def team(peer: Peer, ava: Agent) -> dict[str, Agent]:
    """Three agents in one bank, each with a word on the same thing, one of them from a tool."""
    agents = {"ava": ava, **{name: peer.agent(name, create=True) for name in ("ben", "cleo")}}
    ava.banks.new("team")
    for name in ("ben", "cleo"):
        ava.banks.grant("team", name, "write")
    for name, agent in agents.items():
        agent.bank("team").remember(f"the harbour is dredged in spring, says {name}", key=name)
    agents["cleo"].bank("team").remember(
        "the harbour is dredged in autumn, says a tool", key="tool", tool=True
    )
    ava.session("talk").attach("team")
    ava.configure_auto_recall(max_entries=10)
    return agents


def said(agent: Agent) -> set[str]:
    """Who has a word in what is recalled unasked."""
    block = agent.session("talk").context(ASKED)
    return {
        word for word in ("ava", "ben", "cleo", "tool") if f"says {word}" in block or f"a {word}" in block
    }


def test_anybody_may_be_recalled_at_first(team: dict[str, Agent]) -> None:
    """Others' words are marked: by whom, as a peer's or a tool's, and when."""
    assert said(team["ava"]) == {"ava", "ben", "cleo", "tool"}
    block = team["ava"].session("talk").context(ASKED)
    assert "says ben (from ben, peer, 2026-01-01)" in block
    assert "says a tool (from cleo, tool, 2026-01-01)" in block
    assert "says ava (from" not in block


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"sources": ["self", "controller"]}, {"ava"}),
        ({"sources": "peer"}, {"ben", "cleo"}),
        ({"sources": "tool"}, {"tool"}),
        ({"sources": []}, set()),
        ({"blocked": ["cleo"]}, {"ava", "ben"}),
        ({"authors": "ben"}, {"ava", "ben"}),
        ({"authors": []}, {"ava"}),
        ({"authors": ["ben", "cleo"], "blocked": "ben"}, {"ava", "cleo", "tool"}),
    ],
)
def test_what_is_not_trusted_does_not_come_unasked(
    team: dict[str, Agent], changes: dict[str, Any], left: set[str]
) -> None:
    """From the next turn on; asked for, everything is still there."""
    team["ava"].configure_trust(**changes)
    assert said(team["ava"]) == left
    assert len(team["ava"].bank("team").recall("harbour")) == 4
    team["ava"].reset_trust()
    assert said(team["ava"]) == {"ava", "ben", "cleo", "tool"}


def test_weights_order_what_is_asked_for(team: dict[str, Agent]) -> None:
    """Others' words weigh less, and none is lost; the score says so."""
    bank = team["ava"].bank("team")
    plain = {hit.record.key: hit.score for hit in bank.recall("harbour spring autumn")}
    team["ava"].configure_trust(peer_weight=0.5, tool_weight="0.25")
    hits = bank.recall("harbour spring autumn")
    assert next(hit.record.key for hit in hits) == "ava"
    assert {hit.record.key for hit in hits} == set(plain)
    weighed = {hit.record.key: hit.score for hit in hits}
    assert weighed["ava"] == pytest.approx(plain["ava"])
    assert weighed["ben"] == pytest.approx(plain["ben"] / 2)
    assert weighed["tool"] == pytest.approx(plain["tool"] / 4)
    assert [hit.record.key for hit in bank.recall("harbour spring autumn", limit=1)] == ["ava"]


def test_a_weighed_ranking_misses_nobody_behind_the_first(team: dict[str, Agent], ava: Agent) -> None:
    """A record that ranks behind many heavier ones by words alone is found when these weigh little."""
    ben = team["ben"].bank("team")
    for number in range(40):
        ben.remember(f"lighthouse lighthouse {number}")
    ava.bank("team").remember("the lighthouse at the end of the long and winding coastal road", key="mine")
    assert ava.bank("team").recall("lighthouse", limit=1)[0].record.key != "mine"
    ava.configure_trust(peer_weight=0.05)
    assert ava.bank("team").recall("lighthouse", limit=1)[0].record.key == "mine"


def test_a_guest_does_not_choose_whom_the_agent_trusts(peer: Peer, ava: Agent) -> None:
    """What somebody else writes into the agent's memory under that name has no effect."""
    from muniment.identity.did import parse_did
    from muniment.values import put

    ben = peer.agent("ben", create=True)
    ava.banks.grant("ava", "ben", "write")
    put(ava._bank, parse_did(ben.did), "trust", {"sources": []})
    assert ava.trust() == DEFAULTS


@pytest.mark.parametrize(
    "changes",
    [
        {"sources": "friend"},
        {"sources": 3},
        {"authors": "nobody"},
        {"blocked": ["did:key:x"]},
        {"blocked": 3},
        {"peer_weight": 0},
        {"peer_weight": 1.5},
        {"tool_weight": "much"},
        {"colour": "red"},
        {"colour": None},
    ],
)
def test_what_has_no_meaning_is_refused(ava: Agent, changes: dict[str, Any]) -> None:
    """Nothing is written then."""
    with pytest.raises(MunimentError):
        ava.configure_trust(**changes)
    assert ava.trust() == DEFAULTS


def test_a_list_of_keys_has_a_length(peer: Peer, ava: Agent) -> None:
    """It is looked at before anything is signed."""
    from muniment.testing.ledger import Cast
    from muniment.trust import checked

    cast = Cast()
    from muniment.identity.did import to_did

    with pytest.raises(LimitExceeded):
        checked("blocked", [to_did(cast[f"key {n}"]) for n in range(1025)])
    with pytest.raises(InvalidInput):
        checked("colour", [])


def test_settings_are_kept(peer: Peer, ava: Agent) -> None:
    """They stand in the agent's bank, and None takes one back."""
    ben = peer.agent("ben", create=True)
    kept = ava.configure_trust(blocked="ben", peer_weight="0.5", sources=["tool", "self"])
    assert kept == TrustConfig(sources=("self", "tool"), blocked=(ben.did,), peer_weight=0.5)
    assert peer.agent("ava").trust() == kept
    assert ava.configure_trust(blocked=None, sources=None).peer_weight == 0.5
    assert isinstance(ava, Memory)
