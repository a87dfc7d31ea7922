"""How well a ranking answers: pure functions over ranked rows and the set of relevant ones."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

CUT = 10
RESAMPLES = 4000
Array = np.ndarray[Any, Any]


def recall(ranked: Sequence[int], relevant: Collection[int], cut: int = CUT) -> float:
    """The share of the relevant ones among the first `cut`."""
    return len(set(ranked[:cut]) & set(relevant)) / len(relevant)


def hit(ranked: Sequence[int], relevant: Collection[int], cut: int = CUT) -> float:
    """any@k: 1.0 if at least one relevant one is among the first `cut`."""
    return float(not set(ranked[:cut]).isdisjoint(relevant))


def ndcg(ranked: Sequence[int], relevant: Collection[int], cut: int = CUT) -> float:
    """NDCG with binary gains: 1 / log2(rank + 1) for each relevant one, by the most that can be had."""
    gain = math.fsum(1 / math.log2(i + 2) for i, row in enumerate(ranked[:cut]) if row in relevant)
    return gain / math.fsum(1 / math.log2(i + 2) for i in range(min(cut, len(relevant))))


def best_of(ranked: Sequence[int], groups: Sequence[int]) -> list[int]:
    """Groups (of row n: `groups[n - 1]`) by the rank of their best row."""
    return list(dict.fromkeys(groups[row - 1] for row in ranked))


def interval(values: Array, resamples: int = RESAMPLES, seed: int = 11) -> tuple[float, float, float]:
    """Mean and 95 % interval by bootstrap over questions; the same numbers every time.

    For a paired comparison, give it the differences.
    """
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(values), (resamples, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5])
    return float(values.mean()), float(low), float(high)


def tokens(texts: Sequence[str]) -> float:
    """About how many tokens of a language model: a quarter of the characters."""
    return sum(len(text) for text in texts) / 4
