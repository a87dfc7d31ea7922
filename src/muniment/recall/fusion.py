"""From two rankings to one: by words and by meaning. Pure functions over row numbers, scores and cosines.

`rrf` is reciprocal rank fusion as it is commonly defined. `convex` adds two scores that are both in 0..1, weighted; and
because an embedder may know nothing of a bank, `Gate` lets its weight depend on evidence: do the records that the words
found stand out by their cosines too? Words and vectors have nothing in common but the meaning, so vectors that know
nothing agree with the words no more often than chance allows, and are then given (nearly) no weight. The figures behind
the constants are printed by `benchmarks/fusion.py`. `stands` is the floor, on raw evidence of one record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from muniment.base.errors import InvalidInput

RRF_K = 60
NEIGHBOURS = 0.25  # how much of a neighbour's cosine counts


class Background(NamedTuple):
    """What cosines look like where there is nothing to find.

    Attributes:
        mean: Of the cosines.
        spread: Their standard deviation; 0 if it is not known.
        rows: How many rows were looked at.
    """

    mean: float
    spread: float
    rows: int

    def sigmas(self, cosine: float) -> float:
        """How many standard deviations a cosine stands above the mean; 0 if that is not known."""
        return (cosine - self.mean) / self.spread if self.spread > 0 else 0.0


class Around(Protocol):
    """Neighbours of rows (see `lexical.Around`): the row before, the row after (0: none), and how much they count."""

    @property
    def before(self) -> Sequence[int]:
        """The row before each."""
        ...

    @property
    def after(self) -> Sequence[int]:
        """The row after each."""
        ...

    @property
    def share(self) -> Sequence[float]:
        """How much of its context counts for each, 0..1."""
        ...


class Fused(NamedTuple):
    """A record in the common ranking.

    Attributes:
        ord: Its row number.
        score: (1 - weight) * words + weight * meaning * (1 - deference * words), 0..1.
        words: Its word score by the best one, 0..1.
        meaning: What stands for its meaning (its cosine, or that in its conversation) between the background (0) and
            the best one (1).
    """

    ord: int
    score: float
    words: float
    meaning: float


@dataclass(frozen=True, slots=True)
class Gate:
    """How much the meaning counts, by how far the words agree with it (chosen in `benchmarks/fusion.py`).

    Attributes:
        most: Weight of an embedder that agrees, 0 to 0.5.
        deference: How far the meaning of a record counts less because its words speak already, 0..1. At 1 the best
            record by words stays first whatever anything means, and meaning orders what follows.
        doubt: Agreement up to which it is taken for chance: of vectors without meaning, 1 query in 700 has more.
            Records found by meaning alone are then listed behind those that the words found.
        sure: Agreement from which the full weight is given: 1 in 30,000 has more.
        hits: How many of the best records by words are asked.
    """

    most: float = 0.35
    deference: float = 1.0
    doubt: float = 3.0
    sure: float = 4.0
    hits: int = 50

    def weight(self, agreement: float) -> float:
        """The weight of the meaning, 0 to `most`, growing with the agreement."""
        return self.most * min(1.0, max(0.0, (agreement - self.doubt) / (self.sure - self.doubt)))

    @property
    def lead(self) -> float:
        """A record whose word score leads all others by this share of its own is never overtaken, whatever it means."""
        return 1 - (1 - 2 * self.most) / (1 - self.most - self.most * self.deference)


def rrf(
    lists: Iterable[Sequence[int]], k: int = RRF_K, times: Mapping[int, int] | None = None
) -> list[tuple[int, float]]:
    """Reciprocal rank fusion: the sum of 1 / (k + rank) over the lists that hold a record, ranks from 1.

    Args:
        lists: Row numbers, the best first, none twice in a list; a record in one list only stays.
        k: The constant; 60 by convention.
        times: Of the rows: of equal scores the later comes first, then the greater row number.

    Raises:
        InvalidInput: k is negative, or a row is twice in a list.
    """
    if k < 0:
        raise InvalidInput(f"k={k}", "Use k of 0 or more; 60 is usual.")
    scores: dict[int, float] = {}
    for ranked in lists:
        if len(set(ranked)) != len(ranked):
            raise InvalidInput("a record stands twice in one list", "Give each record its best rank only.")
        for rank, number in enumerate(ranked, 1):
            scores[number] = scores.get(number, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], *_newer(pair[0], times)))


def convex(
    words: Sequence[tuple[int, float]],
    cosines: Mapping[int, float],
    weight: float,
    background: float = 0.0,
    *,
    deference: float = 0.0,
    times: Mapping[int, int] | None = None,
) -> list[Fused]:
    """The weighted sum of both scores, each brought to 0..1.

    A word score is divided by the best one: alone or equal to all others it is 1, missing it is 0. A cosine is placed
    between the background (0; also what is below it, and what is missing) and the best one (1); where none is above
    the background, all are 0. With weight 0, or without cosines, the ranking is that of the words, untouched; without
    words it is that of the cosines.

    Args:
        words: (row, score of 0 or more), the best first.
        cosines: By row: those near to the query, and those of the rows in `words`, as far as they have a vector.
        weight: Of the meaning, 0..1.
        background: The cosine that says nothing; see `VectorIndex.background`.
        deference: The meaning of a record counts less by so much of its word score, 0..1.
        times: Of the rows: of equal scores the later comes first, then the greater row number.

    Returns:
        The best first: all rows of `words`, and those of `cosines` that are above the background and above 0.

    Raises:
        InvalidInput: A number is out of its range, or both so large that more words would lower a score.
    """
    if not (0 <= weight <= 1 and 0 <= deference <= 1 and (not deference or weight * (1 + deference) <= 1)):
        raise InvalidInput(
            f"weight={weight}, deference={deference} out of range",
            "Use 0 (words alone) to 1 (meaning alone); weight * (1 + deference) may be 1 at most.",
        )
    said = _shares(words)
    meant = _above(cosines, background) if weight > 0 else {}
    if weight <= 0 or not meant:
        return [Fused(number, share, share, meant.get(number, 0.0)) for number, share in said.items()]
    if not words:
        weight = 1.0
    fused = [
        Fused(number, (1 - weight) * share + weight * near * (1 - deference * share), share, near)
        for number in said | meant
        for share, near in ((said.get(number, 0.0), meant.get(number, 0.0)),)
    ]
    return sorted(fused, key=lambda one: (-one.score, *_newer(one.ord, times)))


def _shares(words: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Word scores as shares of the best one."""
    best = max((score for _, score in words), default=0.0)
    return {number: score / best if best > 0 else 0.0 for number, score in words}


def _above(cosines: Mapping[int, float], background: float) -> dict[int, float]:
    """Cosines above the background and 0, as shares of the best one's height above the background."""
    height = max(cosines.values(), default=background) - background
    if height <= 0:
        return {}
    return {
        number: (cosine - background) / height
        for number, cosine in cosines.items()
        if cosine > background and cosine > 0
    }


def _newer(number: int, times: Mapping[int, int] | None) -> tuple[int, int]:
    return (-(times or {}).get(number, 0), -number)


def agreement(
    words: Sequence[tuple[int, float]], cosines: Mapping[int, float], background: Background, hits: int = 50
) -> float:
    """How far the best records by words stand out by their cosines, in standard errors of chance.

    Each record's cosine is taken in standard deviations above the query's background, and the sum, weighted by word
    scores, is divided by what it would scatter if the vectors had nothing to do with the words: a number that is then
    normally distributed around 0 with spread 1, whatever the model, its dimension and its scale of cosines.

    Args:
        words: (row, score of 0 or more), the best first.
        cosines: By row; rows without one are left out.
        background: Of this query: `VectorIndex.background(query)`.
        hits: How many of the words' best are asked.

    Returns:
        The agreement; 0 if nothing is known.
    """
    known = [(score, cosines[number]) for number, score in words[:hits] if number in cosines]
    size = math.sqrt(math.fsum(score * score for score, _ in known))
    if size <= 0:
        return 0.0
    return math.fsum(score * background.sigmas(cosine) for score, cosine in known) / size


def in_context(
    cosines: Mapping[int, float],
    rows: Iterable[int],
    background: float,
    around: Around | None = None,
    weights: Sequence[float] | None = None,
) -> dict[int, float]:
    """What stands for the meaning of rows: their cosines, those of their neighbours, and what the question favours.

    background + weight * (c + `NEIGHBOURS` * share * (c before + c after)), each c above (or below) the background; a
    neighbour without a vector adds nothing, and what is below the background is never lifted by a weight.

    Args:
        cosines: By row, neighbours too.
        rows: Whose meaning is wanted; those without a cosine are left out.
        background: The cosine that says nothing.
        around: The neighbours of `rows`, in their order.
        weights: Of `rows`, in their order, above 0.
    """
    found: dict[int, float] = {}
    for at, row in enumerate(rows):
        if row not in cosines:
            continue
        height = cosines[row] - background
        if around is not None:
            beside = (cosines[n] - background for n in (around.before[at], around.after[at]) if n in cosines)
            height += NEIGHBOURS * around.share[at] * math.fsum(beside)
        found[row] = background + (height if weights is None or height < 0 else height * weights[at])
    return found


def fuse(
    words: Sequence[tuple[int, float]],
    cosines: Mapping[int, float],
    background: Background,
    gate: Gate | None = None,
    times: Mapping[int, int] | None = None,
    meant: Mapping[int, float] | None = None,
) -> list[Fused]:
    """The default ranking: `convex` with the weight that the evidence allows.

    Where it allows none, the words' ranking stands as it is, and what only the cosines found follows behind it.

    Args:
        words: (row, score of 0 or more), the best first.
        cosines: By row: those near to the query, and those of the rows in `words`.
        background: Of this query: `VectorIndex.background(query)`.
        gate: The weights; None for the usual ones.
        times: Of the rows, to break ties.
        meant: What stands for the cosines in the ranking (see `in_context`); the evidence is the cosines' own.
    """
    gate = gate or Gate()
    weight = gate.weight(agreement(words, cosines, background, gate.hits))
    meant = cosines if meant is None else meant
    if not words:
        return convex((), meant, 1.0, background.mean, times=times)
    if weight > 0:
        return convex(words, meant, weight, background.mean, deference=gate.deference, times=times)
    left = _above(meant, background.mean)
    first = [Fused(number, share, share, left.pop(number, 0.0)) for number, share in _shares(words).items()]
    last = min(one.score for one in first)
    behind = [Fused(number, last * near, 0.0, near) for number, near in left.items()]
    return first + sorted(behind, key=lambda one: (-one.meaning, *_newer(one.ord, times)))


class Evidence(NamedTuple):
    """What speaks for one record, before anything is normalised.

    Attributes:
        mass: The share of the query's idf mass whose terms the record holds, 0..1.
        df: The document frequency of the rarest query term that it holds; None if it holds none.
        cosine: Its cosine with the query; None without vectors.
    """

    mass: float
    df: int | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Floor:
    """What evidence a record needs.

    Attributes:
        mass: So much of the query's idf mass is enough alone, above 0.
        sigmas: A cosine so far above the background is enough alone, above 0.
        rare: A record that holds a query term of at most this document frequency always stands; 0: no such right.
    """

    mass: float = 0.4
    sigmas: float = 6.0
    rare: int = 10


UNASKED = Floor(
    mass=0.5, sigmas=8.0, rare=0
)  # for what is shown without being asked for: silence costs little


def stands(evidence: Evidence, background: Background, floor: Floor | None = None) -> bool:
    """Whether a record clears the floor: by words, by meaning, or by a part of each.

    mass / floor.mass + sigmas / floor.sigmas >= 1, where a cosine below the background counts nothing (and never
    against the words). A rare word is always enough.

    Args:
        evidence: Of the record.
        background: Of this query.
        floor: What is needed; None for the usual.
    """
    floor = floor or Floor()
    if evidence.df is not None and evidence.df <= floor.rare:
        return True
    above = background.sigmas(evidence.cosine) if evidence.cosine is not None and evidence.cosine > 0 else 0.0
    return evidence.mass / floor.mass + max(0.0, above) / floor.sigmas >= 1.0
