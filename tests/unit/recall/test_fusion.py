"""Fusion: rank sums, weighted sums, the gate on the meaning, and the floor."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from muniment.base.errors import InvalidInput
from muniment.recall.fusion import (
    UNASKED,
    Background,
    Evidence,
    Floor,
    Fused,
    Gate,
    agreement,
    convex,
    fuse,
    in_context,
    rrf,
    stands,
)
from muniment.recall.lexical import Around

UNKNOWN = Background(0.0, 0.0, 0)
USUAL = Background(0.1, 0.1, 500)


def order(fused: list[Fused]) -> list[int]:
    """The rows in order."""
    return [one.ord for one in fused]


def test_rank_sums_are_those_of_the_definition() -> None:
    """1 / (60 + rank) summed over the lists, ranks from 1; a record of one list stays."""
    found = rrf([[7, 8, 9], [9, 7]])
    assert found == [(7, 1 / 61 + 1 / 62), (9, 1 / 63 + 1 / 61), (8, 1 / 62)]
    assert rrf([]) == rrf([[], []]) == []
    assert rrf([[4]], k=0) == [(4, 1.0)]


def test_equal_rank_sums_go_by_time_then_by_row() -> None:
    """Mirrored lists tie: the later one is first, and of one time the greater row number."""
    assert [number for number, _ in rrf([[1, 2], [2, 1]])] == [2, 1]
    assert [number for number, _ in rrf([[1, 2], [2, 1]], times={1: 5, 2: 4})] == [1, 2]


def test_rank_sums_refuse_nonsense() -> None:
    """A record twice in a list, or a negative constant, is named."""
    with pytest.raises(InvalidInput):
        rrf([[1, 1]])
    with pytest.raises(InvalidInput):
        rrf([[1]], k=-1)


def test_a_convex_sum_by_hand() -> None:
    """Word scores by the best, cosines between the background and the best, weighted."""
    found = convex([(1, 8.0), (2, 4.0)], {2: 0.7, 3: 0.4, 4: 0.1, 1: 0.05}, 0.4, background=0.1)
    assert order(found) == [2, 1, 3]
    assert [one.score for one in found] == pytest.approx([0.6 * 0.5 + 0.4, 0.6, 0.4 * 0.5])
    assert found[2] == Fused(3, pytest.approx(0.2), 0.0, pytest.approx(0.5))


def test_a_record_says_less_by_meaning_the_more_it_says_by_words() -> None:
    """With deference the meaning of a full word match counts only in part."""
    found = convex([(1, 2.0), (2, 1.0)], {1: 1.0, 2: 1.0}, 0.4, deference=0.5)
    assert [one.score for one in found] == pytest.approx([0.6 + 0.4 * 0.5, 0.3 + 0.4 * 0.75])


@pytest.mark.parametrize(
    ("scores", "shares"), [([5.0], [1.0]), ([2.0, 2.0], [1.0, 1.0]), ([0.0, 0.0], [0.0, 0.0])]
)
def test_single_equal_and_empty_scores_have_a_meaning(scores: list[float], shares: list[float]) -> None:
    """Alone or equal, a score is the best there is; scores of 0 say nothing."""
    words = list(enumerate(scores, 1))
    assert [one.words for one in convex(words, {}, 0.5)] == shares
    assert [one.meaning for one in convex([], dict(words), 0.5)] == [share for share in shares if share]


def test_weight_zero_is_words_alone() -> None:
    """The order of the words stands as it is, ties included, whatever the cosines say."""
    words = [(3, 2.0), (9, 1.0), (4, 1.0), (7, 0.5)]
    assert order(convex(words, {7: 1.0, 50: 0.9}, 0.0)) == [3, 9, 4, 7]
    assert (
        order(convex(words, {}, 0.5)) == order(convex(words, {7: 0.1}, 0.5, background=0.2)) == [3, 9, 4, 7]
    )


def test_without_words_the_meaning_ranks() -> None:
    """Cosines above the background, the best first; what is below it or not positive is left out."""
    assert order(convex([], {1: 0.3, 2: 0.9, 3: 0.1}, 0.2, background=0.1)) == [2, 1]
    assert order(convex([], {1: -0.1, 2: 0.2}, 0.2, background=-0.5)) == [2]
    assert order(fuse([], {1: 0.3, 2: 0.9}, UNKNOWN)) == [2, 1]
    assert fuse([], {}, UNKNOWN) == convex([], {}, 1.0) == []


@pytest.mark.parametrize(
    ("weight", "deference"), [(-0.1, 0), (1.1, 0), (0.6, 0.8), (0.5, 1.1), (float("nan"), 0)]
)
def test_weights_out_of_range_are_named(weight: float, deference: float) -> None:
    """So is a deference that would let more words lower a score."""
    with pytest.raises(InvalidInput):
        convex([(1, 1.0)], {1: 1.0}, weight, deference=deference)


def test_agreement_counts_standard_errors() -> None:
    """The weighted sum of how far hits stand above the background, by what chance would scatter it."""
    cosines = {1: 0.3, 2: 0.2, 3: 0.1}
    assert agreement([(1, 1.0)], cosines, USUAL) == pytest.approx(2.0)
    assert agreement([(1, 2.0), (2, 1.0), (9, 5.0)], cosines, USUAL) == pytest.approx(
        (2 * 2 + 1) / math.sqrt(5)
    )
    assert agreement([(3, 1.0), (1, 1.0)], cosines, USUAL, hits=1) == pytest.approx(0.0)
    assert agreement([], cosines, USUAL) == agreement([(1, 1.0)], cosines, UNKNOWN) == 0.0
    assert agreement([(1, 0.0)], cosines, USUAL) == 0.0


def test_vectors_without_meaning_do_not_pass_the_gate() -> None:
    """Of 3,000 queries with random vectors fewer than one in 200 gets any weight, whatever the dimension."""
    rng = np.random.default_rng(1)
    passed = 0
    for turn in range(300):
        rows = rng.standard_normal((400, (8, 64, 384)[turn % 3]))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        for query in rng.standard_normal((10, rows.shape[1])):
            cosines = rows @ (query / np.linalg.norm(query))
            words = [(n, 10.0 / (1 + i)) for i, n in enumerate(rng.permutation(400)[:50].tolist())]
            background = Background(float(cosines.mean()), float(cosines.std()), 400)
            found = agreement(words, dict(enumerate(cosines.tolist())), background)
            passed += Gate().weight(found) > 0
    assert passed < 15


def test_an_embedder_that_knows_nothing_leaves_the_words_as_they_are() -> None:
    """Without agreement the words' order stands, and what only the cosines found follows behind it."""
    words = [(1, 9.0), (2, 8.9), (3, 1.0)]
    cosines = {1: 0.1, 2: 0.1, 3: 0.1, 8: 0.5, 9: 0.4}
    found = fuse(words, cosines, USUAL)
    assert order(found) == [1, 2, 3, 8, 9]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(0 <= one.score <= 1 for one in found)


def test_an_embedder_that_agrees_settles_what_is_close_and_adds() -> None:
    """A record a little behind by words and far ahead by meaning moves up; one that no word found comes in between."""
    words = [(1, 9.0), (2, 7.0), (3, 6.5), *((n, 1.0) for n in range(4, 12))]
    cosines = {1: 0.3, 2: 0.3, 3: 0.9, **dict.fromkeys(range(4, 12), 0.3), 99: 0.95}
    found = order(fuse(words, cosines, USUAL))
    assert found[:4] == [1, 3, 2, 99]


def test_neighbours_and_favours_stand_for_a_meaning_too() -> None:
    """A quarter of what the neighbours have above the background, and the whole by its weight; never from below."""
    cosines = {1: 0.3, 2: 0.5, 3: 0.0}
    found = in_context(cosines, [1, 2, 3, 4], 0.1, Around([0, 1, 2, 3], [2, 3, 0, 0], [1.0, 1.0, 0.5, 1.0]))
    assert found == pytest.approx({1: 0.3 + 0.25 * 0.4, 2: 0.5 + 0.25 * (0.2 - 0.1), 3: 0.0 + 0.125 * 0.4})
    assert in_context(cosines, [1, 3], 0.1, None, [2.0, 2.0]) == pytest.approx({1: 0.5, 3: 0.0})


def test_the_best_by_words_is_never_overtaken() -> None:
    """Whatever the cosines, the best record by words stays first; with less deference a smaller lead can be lost."""
    assert Gate().lead == pytest.approx(0.0)
    for gate in (Gate(), Gate(deference=0.8)):
        for lead, agreed in itertools.product((gate.lead + 0.01, 0.5, 1.0), (3.1, 3.5, 50.0)):
            words = [(1, 1.0), (2, 1.0 - lead), (3, max(0.0, 1.0 - lead - 0.1))]
            weight = gate.weight(agreed)
            worst = {1: 0.1, 2: 1.0, 3: 0.99, 4: 1.0}
            assert order(convex(words, worst, weight, 0.1, deference=gate.deference))[0] == 1
    gate = Gate(deference=0.8)
    close = [(1, 1.0), (2, 1.0 - gate.lead + 0.01)]
    assert order(convex(close, {2: 1.0}, gate.most, deference=gate.deference))[0] == 2


def test_the_gate_opens_with_agreement() -> None:
    """No weight up to `doubt`, all of it from `sure` on, in between more with more."""
    gate = Gate(most=0.3, doubt=2.0, sure=4.0)
    assert [gate.weight(x) for x in (-9.0, 2.0, 3.0, 4.0, 99.0)] == pytest.approx([0, 0, 0.15, 0.3, 0.3])


def test_the_floor_never_cuts_a_record_with_a_rare_word() -> None:
    """A query term of document frequency 10 or less is enough, whatever else is missing."""
    assert stands(Evidence(0.0, 10, -1.0), USUAL)
    assert not stands(Evidence(0.0, 11, -1.0), USUAL)
    assert not stands(Evidence(0.0, 1, None), USUAL, Floor(rare=0))
    assert not stands(Evidence(0.3, 1, None), USUAL, UNASKED)


def test_the_floor_takes_words_or_meaning_or_a_part_of_each() -> None:
    """Enough idf mass, enough cosine above the background, or half of both."""
    floor = Floor(mass=0.4, sigmas=3.0)
    assert stands(Evidence(0.4), UNKNOWN, floor)
    assert not stands(Evidence(0.39), UNKNOWN, floor)
    assert stands(Evidence(0.0, None, 0.41), USUAL, floor)
    assert not stands(Evidence(0.0, None, 0.39), USUAL, floor)
    assert stands(Evidence(0.21, 50, 0.26), USUAL, floor)
    assert not stands(Evidence(0.19, 50, 0.24), USUAL, floor)
    assert stands(Evidence(0.4, 50, -0.9), USUAL, floor), "a low cosine speaks against nothing"
    assert not stands(Evidence(0.0, None, -0.1), Background(-0.9, 0.1, 9), floor), (
        "nor does one below zero speak for"
    )
