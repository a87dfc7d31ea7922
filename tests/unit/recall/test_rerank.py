"""The second opinion on a ranking: what it may move, and what it may not."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.recall.rerank import LEAST, Trust, agreement, rerank

SCORES = [1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
finite = st.floats(allow_nan=False, allow_infinity=False)
pairs = st.lists(st.tuples(st.floats(0, 1), finite), min_size=1, max_size=60)


def order(scores: list[float]) -> list[int]:
    """Places by score, equal ones as they were."""
    return sorted(range(len(scores)), key=lambda at: -scores[at])


def test_one_that_agrees_lifts_what_it_rates_highest() -> None:
    """The second and the third change places where the reranker says so clearly."""
    second = [9.0, 3.0, 8.0, 5.0, 4.0, 2.0, 1.0, 0.0]
    new = rerank(SCORES, second)
    assert order(new)[:3] == [0, 2, 1]
    assert new[2] == pytest.approx(0.65 * 0.6 + 0.35 * (0.1 + 0.9 * 8 / 9))


def test_one_that_says_the_same_of_all_moves_nothing() -> None:
    """Not a single score."""
    assert rerank(SCORES, [3.0] * 8) == SCORES


def test_one_that_says_the_opposite_moves_nothing() -> None:
    """What contradicts the ranking is not believed."""
    assert rerank(SCORES, [-score for score in SCORES]) == SCORES


def test_few_records_are_no_evidence() -> None:
    """Two or three agree by chance."""
    few = SCORES[: LEAST - 1]
    assert rerank(few, [float(n) for n in range(len(few), 0, -1)]) == few


def test_random_scores_are_seldom_believed() -> None:
    """Beyond `doubt` one question in six, and the full weight one in forty."""
    rng = random.Random(7)
    scores = [1 / (1 + n) for n in range(50)]
    weights = [Trust().weight(agreement(scores, [rng.gauss(0, 1) for _ in scores])) for _ in range(2000)]
    assert 0.12 < sum(weight > 0 for weight in weights) / 2000 < 0.20
    assert sum(weight == Trust().most for weight in weights) / 2000 < 0.05


@given(pairs)
def test_new_scores_stay_between_the_old_ones(given_pairs: list[tuple[float, float]]) -> None:
    """So what stood behind the reranked ones stays behind them."""
    scores, second = [a for a, _ in given_pairs], [b for _, b in given_pairs]
    new = rerank(scores, second)
    assert len(new) == len(scores)
    assert min(scores) - 1e-9 <= min(new)
    assert max(new) <= max(scores) + 1e-9


@given(pairs, st.integers(-100, 100), st.sampled_from([0.25, 2.0, 64.0]))
def test_the_scale_of_the_reranker_does_not_matter(
    given_pairs: list[tuple[float, float]], shift: int, times: float
) -> None:
    """Logits, probabilities or stars: what counts is their order and their distances."""
    scores, second = [a for a, _ in given_pairs], [float(round(b) % 1000) for _, b in given_pairs]
    moved = [shift + times * value for value in second]
    assert rerank(scores, moved) == pytest.approx(rerank(scores, second), abs=1e-6)


@given(pairs)
def test_a_better_rating_never_costs_a_place_among_equals(given_pairs: list[tuple[float, float]]) -> None:
    """Of two records that the ranking holds for equal, the one that the reranker prefers is not behind."""
    scores, second = [0.5 if a < 0.5 else a for a, _ in given_pairs], [b for _, b in given_pairs]
    new = rerank(scores, second)
    for a in range(len(scores)):
        for b in range(len(scores)):
            if scores[a] == scores[b] and second[a] > second[b]:
                assert new[a] >= new[b]
