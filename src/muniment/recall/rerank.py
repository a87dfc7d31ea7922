"""From a ranking and a second opinion on its best records to one order. Pure functions over scores.

A reranker may be better than the ranking, or know nothing of a bank's language or subject; so its weight depends on
evidence, as that of the meaning does in `fusion`: how far it agrees with the ranking beyond what chance would give. One
that gives random scores moves little, one that gives one score for all moves nothing. The figures behind the constants
are in `docs/benchmarks.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 4  # so few records are no evidence


@dataclass(frozen=True, slots=True)
class Trust:
    """How much a reranker counts (chosen in `benchmarks/rerank.py`).

    Attributes:
        most: Its weight where it agrees, 0..1.
        doubt: Agreement up to which it counts nothing; random scores have more for 1 question in 6.
        sure: Agreement from which it has its full weight.
    """

    most: float = 0.35
    doubt: float = 1.0
    sure: float = 2.0

    def weight(self, agreement: float) -> float:
        """The weight, 0 to `most`."""
        return self.most * min(1.0, max(0.0, (agreement - self.doubt) / (self.sure - self.doubt)))


def agreement(scores: Sequence[float], second: Sequence[float]) -> float:
    """How far two scorings of the same records agree, in standard errors of chance: r * sqrt(n).

    0 where there are fewer than `LEAST` records, or one of the two says the same of all.
    """
    count = len(scores)
    if count < LEAST:
        return 0.0
    first, other = _apart(scores), _apart(second)
    size = math.sqrt(math.fsum(a * a for a in first) * math.fsum(b * b for b in other))
    if size <= 0 or not math.isfinite(size):
        return 0.0
    return math.fsum(a * b for a, b in zip(first, other, strict=True)) / size * math.sqrt(count)


def _apart(values: Sequence[float]) -> list[float]:
    """Each value less the mean, by the span of all: no square of it is infinite or lost."""
    low, span = min(values), max(values) - min(values)
    shares = [(value - low) / span if 0 < span < math.inf else 0.0 for value in values]
    mean = math.fsum(shares) / len(shares)
    return [share - mean for share in shares]


def rerank(scores: Sequence[float], second: Sequence[float], trust: Trust | None = None) -> list[float]:
    """New scores for the best records of a ranking, between the least and the greatest of the old ones.

    So what stood behind them stays behind them, and the scale of the scores stays as well.

    Args:
        scores: Of the ranking, the best first.
        second: The reranker's, on any scale, in the same order.
        trust: The weights; None for the usual ones.

    Returns:
        (1 - weight) * score + weight * (the second one, brought to the same span); the old ones where the weight is 0.
    """
    trust = trust or Trust()
    weight = trust.weight(agreement(scores, second))
    if weight <= 0:
        return list(scores)
    low, high = min(scores), max(scores)
    least, span = min(second), max(second) - min(second)
    return [
        (1 - weight) * score + weight * (low + (high - low) * (other - least) / span)
        for score, other in zip(scores, second, strict=True)
    ]
