"""Judgements of memories: which count, once, and where they are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muniment.agent import Agent
from muniment.base.errors import InvalidInput, LimitExceeded, NotPermitted, UnknownRecord
from muniment.base.ids import EntryId, VersionId
from muniment.favour import factor
from muniment.judging import Judgement, Tally, tally
from muniment.peer import Peer
from muniment.testing.shared import SharedBank


def counts(agent: Any, ref: str = "deploy") -> tuple[int, int]:
    """How a memory was judged."""
    record = agent.get(ref)
    return record.helpful, record.harmful


def test_judgements_stand_in_get_hits_and_why(ava: Agent) -> None:
    """Each place that shows a memory shows how it was judged."""
    ava.remember("build with nix", key="deploy")
    assert counts(ava) == (0, 0)
    done = ava.feedback("deploy", "helpful")
    assert (done.created, done.helpful, done.harmful) == (True, 1, 0)
    ava.feedback("deploy", "harmful")
    assert counts(ava) == (1, 1)
    hit = ava.recall("nix")[0]
    assert (hit.record.helpful, hit.record.harmful) == (1, 1)
    shown = ava.why("nix", "deploy").to_json()["hit"]["record"]
    assert (shown["helpful"], shown["harmful"]) == (1, 1)


def test_a_replay_counts_once_and_a_second_thought_takes_its_place(ava: Agent) -> None:
    """Under one id the newest judgement stands; without an id each is one of its own."""
    ava.remember("build with nix", key="deploy")
    first = ava.feedback("deploy", "helpful", id="run-1")
    again = ava.feedback("deploy", "helpful", id="run-1")
    assert (again.created, again.feedback) == (False, first.feedback)
    assert counts(ava) == (1, 0)
    ava.feedback("deploy", "harmful", id="run-1")
    assert counts(ava) == (0, 1)
    ava.feedback("deploy", "neutral", id="run-1")
    assert counts(ava) == (0, 0)
    ava.feedback("deploy", "helpful")
    ava.feedback("deploy", "helpful")
    assert counts(ava) == (2, 0)


def test_other_words_start_anew_and_the_old_ones_keep_their_counts(ava: Agent) -> None:
    """A judgement names a version: it is one of words, not of a key."""
    old = ava.remember("build with nix", key="deploy")
    ava.feedback("deploy", "helpful")
    ava.remember("build with make", key="deploy")
    assert counts(ava) == (0, 0)
    assert counts(ava, old.version) == (1, 0)


def test_a_judgement_survives_a_rebuild(ava: Agent) -> None:
    """Counts are made from the entries alone."""
    ava.remember("build with nix", key="deploy")
    ava.feedback("deploy", "helpful")
    assert ava.check(rebuild=True) == []
    assert counts(ava) == (1, 0)


def test_a_guest_does_not_judge_in_an_agents_own_bank(peer: Peer, ava: Agent) -> None:
    """As with other values, only the agent and its controller say how it is set up."""
    ben = peer.agent("ben", create=True)
    ava.remember("build with nix", key="deploy")
    SharedBank.of(peer, ava).grant(ben, "write")
    with pytest.raises(NotPermitted, match="only the agent"):
        ben.bank("ava").feedback("deploy", "harmful")
    assert counts(ava) == (0, 0)


def test_in_a_shared_bank_each_writer_has_a_voice(peer: Peer, ava: Agent) -> None:
    """The same id by two writers is two judgements; a reader has none."""
    ben, eve = peer.agent("ben", create=True), peer.agent("eve", create=True)
    team = SharedBank(peer, ava, "team")
    team.grant(ben, "write")
    team.grant(eve, "read")
    ava.bank("team").remember("build with nix", key="deploy")
    for agent in (ava, ben, ava):
        agent.bank("team").feedback("deploy", "helpful", id="run-1")
    assert counts(eve.bank("team")) == (2, 0)
    with pytest.raises(NotPermitted):
        eve.bank("team").feedback("deploy", "helpful")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: a.feedback("deploy", "great"), InvalidInput),
        (lambda a: a.feedback("nothing", "helpful"), UnknownRecord),
        (lambda a: a.feedback("deploy", "helpful", id=" "), InvalidInput),
        (lambda a: a.feedback("deploy", "helpful", id="a\nb"), InvalidInput),
        (lambda a: a.feedback("deploy", "helpful", id="x" * 129), LimitExceeded),
    ],
)
def test_what_is_refused(ava: Agent, call: Callable[[Agent], Any], error: type[Exception]) -> None:
    """An unknown judgement or record, and an id that is none."""
    ava.remember("build with nix", key="deploy")
    with pytest.raises(error):
        call(ava)
    assert counts(ava) == (0, 0)


def test_ranking_is_moved_only_where_the_settings_say_so(make_peer: Callable[..., Peer]) -> None:
    """By default two equal memories stay in their order; with a weight the helpful one comes first."""
    for weight, first in (("0", "two"), ("0.2", "one")):
        agent = make_peer(f"w{weight}", config=f"feedback_weight: {weight}\n").agent("ava", create=True)
        agent.remember("nix builds it", key="one")
        agent.remember("nix builds it", key="two")
        for _ in range(4):
            agent.feedback("one", "helpful")
        hits = agent.recall("nix")
        assert hits[0].record.key == first
        assert all(hit.score <= 1 for hit in hits)


def test_the_weight_is_bounded(make_peer: Callable[..., Peer]) -> None:
    """However often something is judged, its score moves by the weight at most."""
    assert factor(Tally(0, 0), 0.2) == 1
    assert 1.19 < factor(Tally(10_000, 0), 0.2) < 1.2
    assert 0.8 < factor(Tally(0, 10_000), 0.2) < 0.81
    with pytest.raises(InvalidInput, match="feedback_weight"):
        make_peer("over", config="feedback_weight: 0.3\n").agent("ava", create=True)


def test_a_tally_depends_on_no_order() -> None:
    """Of one voice and one id the newest counts, wherever it stands in the list."""
    place = [VersionId(EntryId(bytes([number]) * 36), 0) for number in range(4)]
    judged = [
        Judgement(b"a", "x", 1, place[0], 100),
        Judgement(b"a", "x", 2, place[1], -100),
        Judgement(b"b", "x", 1, place[2], 100),
        Judgement(b"a", None, 1, place[3], 40),
    ]
    assert tally(judged) == tally(judged[::-1]) == tally(judged * 2) == Tally(2, 1)
