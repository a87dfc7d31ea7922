"""A second look and a floor, over real banks: what moves, what is left out, and what is said of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muniment.agent import Agent
from muniment.base.errors import InvalidInput
from muniment.embed.rerank import CallableReranker
from muniment.peer import Peer
from muniment.remembering import Draft

MakePeer = Callable[..., Peer]
PAIRS = Path(__file__).parents[1] / "embed" / "tiny_pairs"
BOATS = [f"boat {'boat ' * n}of the harbour, number {n}" for n in range(8)]


def filled(peer: Peer) -> Agent:
    """An agent that knows of eight boats, the ones with more boats first when asked for boats."""
    agent = peer.agent("ava", create=True)
    agent.remember_many([Draft(text) for text in BOATS])
    return agent


def numbers(hits: Any) -> list[int]:
    """Which boats, in their order."""
    return [int(hit.record.text.rpartition(" ")[2]) for hit in hits]


def by_number(liked: int) -> CallableReranker:
    """Agrees with the ranking but for one boat, which it likes best."""

    def score(query: str, texts: list[str]) -> list[float]:
        found = [float(text.split()[-1]) for text in texts]
        return [1000.0 if number == liked else 10 * number for number in found]

    return CallableReranker("mine", score)


def test_a_reranker_moves_what_it_knows_better(make_peer: MakePeer) -> None:
    """It lifts a boat; scores still fall, and the hit says what the reranker gave."""
    usual = filled(make_peer("usual")).recall("boat", limit=8)
    assert numbers(usual) != sorted(numbers(usual))
    first, second = numbers(usual)[:2]
    rated = {number: 100.0 - place for place, number in enumerate(numbers(usual))}
    rated[second] = 100.5

    def score(query: str, texts: list[str]) -> list[float]:
        return [rated[int(text.split()[-1])] for text in texts]

    agent = filled(make_peer("other", reranker=CallableReranker("mine", score)))
    hits = agent.recall("boat", limit=8)
    assert hits.degraded is None
    assert {hit.signals["rerank"] for hit in hits} == set(rated.values())
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) <= usual[0].score + 1e-9
    assert [hit.signals["rank"] for hit in hits] == [float(n) for n in range(1, 9)]
    assert sorted(numbers(hits)) == sorted(numbers(usual))
    assert numbers(agent.recall("boat", limit=8, rerank=False)) == numbers(usual)
    assert "rerank" not in agent.recall("boat", rerank=False)[0].signals
    assert first in numbers(hits)


def test_a_record_beyond_the_limit_can_be_lifted_into_it(make_peer: MakePeer) -> None:
    """The best fifty are looked at, however few are asked for."""
    usual = numbers(filled(make_peer("usual")).recall("boat", limit=8))
    rated = {number: 10.0 - place for place, number in enumerate(usual)}
    rated[usual[1]] = 300.0
    seen: list[int] = []

    def score(query: str, texts: list[str]) -> list[float]:
        seen.append(len(texts))
        return [rated[int(text.split()[-1])] for text in texts]

    agent = filled(make_peer("other", reranker=CallableReranker("mine", score)))
    assert len(agent.recall("boat", limit=1)) == 1
    assert seen == [8]


def test_why_shows_what_the_reranker_gave(make_peer: MakePeer) -> None:
    """The explanation is of the ranking that recall gives."""
    agent = filled(make_peer(reranker=by_number(3)))
    hits = agent.recall("boat", limit=8)
    for hit in hits:
        why = agent.why("boat", hit.record.id)
        assert why.hit is not None
        assert why.hit.signals["rerank"] == hit.signals["rerank"]
        assert why.rank == hit.signals["rank"]
        assert why.hit.record == hit.record


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda *_: 1 / 0, "mine raised ZeroDivisionError"),
        (lambda _, texts: texts, "gave no number for each of 8 texts"),
    ],
)
def test_one_that_fails_costs_nothing_but_itself(make_peer: MakePeer, function: Any, words: str) -> None:
    """The order is that without it, and the answer says why."""
    usual = numbers(filled(make_peer("usual")).recall("boat"))
    hits = filled(make_peer("other", reranker=CallableReranker("mine", function))).recall("boat")
    assert numbers(hits) == usual
    assert hits.degraded is not None
    assert hits.degraded.startswith("not reranked: ")
    assert words in hits.degraded
    assert hits.to_json()["degraded"] == hits.degraded


def test_one_that_is_late_is_not_waited_for(make_peer: MakePeer) -> None:
    """After its time the order stays, and it is told."""
    over = threading.Event()

    def hangs(query: str, texts: list[str]) -> list[float]:
        over.wait(60)
        return [0.0] * len(texts)

    config = f"rerank:\n  backend: local\n  folder: {PAIRS}\n  timeout: 0.05\n"
    agent = filled(make_peer(config=config, reranker=CallableReranker("mine", hangs)))
    began = time.monotonic()
    hits = agent.recall("boat")
    assert time.monotonic() - began < 30
    assert hits.degraded == "not reranked: the reranker did not answer in time"
    assert len(hits) == 8
    over.set()


def test_without_one_asking_for_it_is_answered_and_said(make_peer: MakePeer) -> None:
    """As `hybrid` is without an embedder."""
    agent = filled(make_peer())
    assert agent.recall("boat").degraded is None
    assert agent.recall("boat", rerank=False).degraded is None
    hits = agent.recall("boat", rerank=True)
    assert (hits.degraded, len(hits)) == ("not reranked: no reranker is configured", 8)
    assert agent.recall("", rerank=True).degraded is None  # the newest are in no order of answers


def test_a_configured_model_is_used(make_peer: MakePeer) -> None:
    """A folder in the settings is all that it takes; `always: false` waits until it is asked for."""
    pytest.importorskip("onnxruntime", reason="needs the extra local")
    pytest.importorskip("tokenizers", reason="needs the extra local")
    block = f"rerank:\n  backend: local\n  folder: {PAIRS}\n"
    for name, more, used in (("always", "", True), ("asked", "  always: false\n", False)):
        agent = make_peer(name, config=block + more).agent("ava", create=True)
        agent.remember_many([Draft(f"boats {word}") for word in ("friday", "kim", "deploy", "tea", "sea")])
        hits = agent.recall("boats")
        assert hits.degraded is None
        assert ("rerank" in hits[0].signals) is used
        given = {hit.record.text: hit.signals["rerank"] for hit in agent.recall("boats", rerank=True)}
        assert given["boats kim"] == 12.0
        assert given["boats tea"] == 4.0


def test_a_folder_that_is_gone_is_told_and_harmless(make_peer: MakePeer, tmp_path: Path) -> None:
    """What is wrong with a model is found out when it is used."""
    config = f"rerank:\n  backend: local\n  folder: {tmp_path / 'nowhere'}\n"
    hits = filled(make_peer(config=config)).recall("boat")
    assert len(hits) == 8
    assert "model.onnx" in (hits.degraded or "")


def test_a_block_without_meaning_is_refused_when_the_settings_are_read(make_peer: MakePeer) -> None:
    """As any setting: by name, before anything is asked."""
    with pytest.raises(InvalidInput, match=r"rerank\.top has a value that it can't have"):
        make_peer(config="rerank:\n  backend: local\n  folder: x\n  top: 0\n", checked=False)


# The floor


@pytest.fixture
def named(peer: Peer) -> Agent:
    """An agent with named and nameless memories."""
    agent = peer.agent("ava", create=True)
    agent.remember("Build with nix, then copy to prod", title="Deploy process")
    agent.remember("Berlin, with the window to the river", key="user.workshop")
    agent.remember("Prefers tea", metadata={"aliases": ["Kimberley Stone", "Kim"]})
    agent.remember("The deploy of the harbour process took a day")
    return agent


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        (
            "how does the deploy process go?",
            ["Build with nix, then copy to prod"],
        ),  # by title, and nothing else
        ("which town is the workshop in?", ["Berlin, with the window to the river"]),  # what the key ends in
        ("what does kim like?", ["Prefers tea"]),  # an alias
        ("tell me of Kimberley Stone", ["Prefers tea"]),
        (
            "which day at the harbour?",
            ["The deploy of the harbour process took a day"],
        ),  # by enough words
        ("which stone bridges are there in Lisbon?", []),  # one word of many
        ("quantum chromodynamics", []),
    ],
)
def test_with_a_floor_only_what_is_named_or_known_well_enough(
    named: Agent, query: str, texts: list[str]
) -> None:
    """A name that stands whole in the question leads to its record alone; without one, mass decides."""
    assert [hit.record.text for hit in named.recall(query, floor=True)] == texts
    assert len(named.recall(query)) >= len(texts)


def test_the_floor_holds_within_filters(named: Agent) -> None:
    """A name that the filters keep out names nothing here."""
    named.remember("Kim's desk", tags=["office"])
    hits = named.recall("kim", floor=True, tags=["office"])
    assert [hit.record.text for hit in hits] == ["Kim's desk"]


def test_a_floor_under_no_question_is_none(named: Agent) -> None:
    """The newest are the newest."""
    assert len(named.recall("", floor=True)) == 4
