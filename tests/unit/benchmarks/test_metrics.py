"""The measures of the benchmarks, against cases worked out by hand."""

import numpy as np
import pytest
from benchmarks import metrics


class TestRecall:
    @pytest.mark.parametrize(
        ("ranked", "relevant", "cut", "wanted"),
        [
            ([1, 2, 3], {1, 3}, 1, 0.5),
            ([1, 2, 3], {1, 3}, 2, 0.5),
            ([1, 2, 3], {1, 3}, 3, 1.0),
            ([1, 2, 3], {4}, 10, 0.0),
            ([], {4}, 10, 0.0),
            (list(range(20)), set(range(20)), 10, 0.5),  # no more than half of them fit
        ],
    )
    def test_is_the_share_of_the_relevant_among_the_first(self, ranked, relevant, cut, wanted):
        assert metrics.recall(ranked, relevant, cut) == wanted

    def test_any_is_all_or_nothing(self):
        assert metrics.hit([5, 6, 7], {7, 8, 9}, 3) == 1.0
        assert metrics.hit([5, 6, 7], {7, 8, 9}, 2) == 0.0


class TestNdcg:
    def test_all_first_is_1(self):
        assert metrics.ndcg([3, 1, 2], {1, 3}) == pytest.approx(1.0)

    def test_a_single_one_at_rank_3_is_a_half(self):
        assert metrics.ndcg([1, 2, 3], {3}) == pytest.approx(0.5)  # 1 / log2(4)

    def test_ranks_1_and_3_of_two(self):
        # (1 + 1 / 2) by the best (1 + 1 / log2(3)) = 1.5 / 1.63093
        assert metrics.ndcg([7, 1, 8], {7, 8}) == pytest.approx(0.919721, abs=1e-6)

    def test_the_best_that_can_be_had_ends_at_the_cut(self):
        assert metrics.ndcg(list(range(20)), set(range(20)), 10) == pytest.approx(1.0)

    def test_what_comes_behind_the_cut_counts_nothing(self):
        assert metrics.ndcg([*range(10), 99], {99}) == 0.0


def test_the_rank_of_a_session_is_that_of_its_best_turn():
    """Later turns of the same session add nothing."""
    sessions = [1, 1, 2, 2, 3]  # of the rows 1 to 5
    assert metrics.best_of([4, 1, 3, 2], sessions) == [2, 1]


class TestInterval:
    def test_values_that_do_not_differ_leave_no_doubt(self):
        assert metrics.interval(np.full(30, 0.25)) == (0.25, 0.25, 0.25)

    def test_it_is_as_wide_as_theory_says_and_the_same_each_time(self):
        values = np.array([0.0, 1.0] * 200)
        mean, low, high = metrics.interval(values)
        assert mean == 0.5
        # 1.96 standard errors of 0.5 / sqrt(400)
        assert (low, high) == (pytest.approx(0.451, abs=0.006), pytest.approx(0.549, abs=0.006))
        assert metrics.interval(values) == (mean, low, high)


def test_a_token_is_four_characters():
    """An estimate, but the same for all."""
    assert metrics.tokens(["abcd", "ab", "cd"]) == 2.0
