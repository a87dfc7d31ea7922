"""The best rows for a query: exact, without scoring them all.

Terms are taken from the rarest to the commonest. The rows of each are scored in full (float32) until a row that holds
none of them can't reach the best `limit` any more, whatever it holds of the rest. What is left are candidates; those
whose upper bound falls short are dropped, and the others are scored again in float64 by the formula of `scoring`.
Bounds are widened by more than float32 can be off, so that no row is lost to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from muniment.recall.analyzer import Query
from muniment.recall.scoring import Parts, Scorer, order
from muniment.recall.segments import EMPTY, Array

SLACK = 1e-4  # relative error allowed to float32 sums of up to a thousand terms
FIRST = 40  # candidates scored exactly to raise the bar before the many are
BLOCK = 4096  # candidates scored exactly at a time
HOT = 256  # conversations taken whole, and records of each, at most
ONE = np.float32(1)
TIERS = 3  # of one-token queries: holds it exactly, shares the stem, stands near


@dataclass(slots=True)
class Found:
    """Rows in order of rank with their scores, and their tiers (0 for queries of several tokens)."""

    parts: Parts
    tiers: Array


class Touched(NamedTuple):
    """Rows that were looked at, with what weighs their scores; `session` None without context.

    Attributes:
        rows: The rows, each once.
        session: The conversation that counts for each, 0 for none.
        weight: What the whole score of each is multiplied by; None where nothing is favoured.
    """

    rows: Array
    session: Array | None
    weight: Array | None


@dataclass(slots=True)
class Workspace:
    """A score per row, all zero between searches, kept so that a search need not clear it."""

    scores: Array = field(default_factory=lambda: np.zeros(0, np.float32))

    def fit(self, size: int) -> Array:
        """At least `size` zeros."""
        if len(self.scores) < size:
            self.scores = np.zeros(size + size // 8, np.float32)
        return self.scores


class Search:
    """One search: `run` gives the ranking."""

    def __init__(
        self, query: Query, scorer: Scorer, allowed: Array, limit: int, space: Workspace, *, past: bool
    ) -> None:
        self.query, self.scorer, self.allowed, self.limit, self.past = query, scorer, allowed, limit, past
        self.scores = space.fit(len(allowed))
        self.context = scorer.context
        self.columns = scorer.columns
        exact, window, self.loners, self.near = scorer.formula.exact, 0.0, False, ONE * 0
        if self.context is not None:
            window = self.context.window
            self.sessions = scorer.sessions.astype(np.float32)
            self.loners = past or scorer.columns.members < scorer.columns.live  # rows without a conversation
            self.near = np.float32(
                window if self.context.neighbours else 0.0
            )  # of a neighbour's sum, at most
        self.window, self.exact = np.float32(window), np.float32(1 + exact)
        self.upper = 1 + window + exact  # what a row's own sum adds at most, times
        self.most = scorer.most  # the greatest weight that a row can have
        self.touched: list[Touched] = []
        self.needed = self._needed()
        self.bar = 0.0
        self.rest = 0.0

    def run(self) -> Found:
        """The ranking."""
        found = self.scorer.terms
        terms = sorted((i for i, term in enumerate(found) if term.lists), key=lambda i: -found[i].idf)
        try:
            if self.query.single:
                return self._by_tiers(terms)
            self._accumulate(terms)
            best = self._refine(self._candidates(near=True), self.limit)
            return Found(best, np.zeros(len(best.rows), np.int64))
        finally:
            for one in self.touched:
                self.scores[one.rows] = 0

    # -- scoring holders

    def _accumulate(self, terms: list[int]) -> None:
        """Adds up the rows of terms until the rest can't bring in a row that was not seen."""
        weights = self.scorer.weights
        for n, i in enumerate(terms):
            self.rest = sum(weights[j] for j in terms[n:])
            if n and self._can_stop():
                return
            for rows, counts in self.scorer.terms[i].lists:
                self._add(rows, counts, weights[i])
        self.rest = 0.0

    def _needed(self) -> Array | None:
        """Where few rows are allowed: the mask of those whose sums matter, they and their neighbours."""
        if np.count_nonzero(self.allowed) * 8 > len(self.allowed):
            return None
        if self.context is None:
            return self.allowed
        rows = np.flatnonzero(self.allowed)
        needed = self.allowed.copy()
        needed[self.columns.before[rows]] = True
        needed[self.columns.after[rows]] = True
        return needed

    def _add(self, rows: Array, counts: Array, weight: float) -> None:
        if self.needed is not None:
            some = np.flatnonzero(self.needed[rows])
            rows, counts = rows[some], counts[some]
        counts = counts.astype(np.float32)
        length = self.columns.length[rows].astype(np.float32)
        norm = length * np.float32(self.scorer.slope)
        norm += np.float32(self.scorer.floor)
        norm += counts
        counts *= np.float32(weight)
        counts /= norm
        counts += self.scores[rows]
        self.scores[rows] = counts
        seen = self._touch(rows)
        self.touched.append(seen)
        self._raise_bar(self._sum(seen, counts, counts, ONE, self._share(rows, length)), rows)

    def _touch(self, rows: Array) -> Touched:
        """Rows with what weighs their scores."""
        weight = self.scorer.weight(rows, np.float32)
        if self.context is None:
            return Touched(rows, None, weight)
        session: Array = self.columns.session[rows]
        if self.past:
            session = np.where(self.columns.is_live(rows), session, 0)
        return Touched(rows, session, weight)

    def _share(self, rows: Array, length: Array) -> Array | None:
        """How much of their context counts for rows of these lengths (float32); None where there is none."""
        if self.context is None:
            return None
        full = np.float32(self.context.full)
        np.maximum(length, full, out=length)
        share: Array = np.divide(full, length, out=length)
        return np.where(self.columns.session[rows] > 0, share, ONE) if self.loners else share

    def _sum(
        self, seen: Touched, scores: Array, nearby: Array, exact: np.float32, share: Array | None
    ) -> Array:
        """The bound of rows' whole scores.

        Args:
            seen: The rows.
            scores: Their own sums.
            nearby: The sums of what stands in their windows.
            exact: What their own sums are multiplied by for exact forms.
            share: How much of their context counts; None for all of it.
        """
        sums: Array = scores * exact
        if seen.session is not None:
            near = nearby * self.window
            near += self.sessions[seen.session]
            if self.loners:
                near += np.where(seen.session > 0, np.float32(0), np.float32(self.scorer.ratio) * scores)
            if share is not None:
                near *= share
            sums += near
        if seen.weight is not None:
            sums *= seen.weight
        return sums

    def _raise_bar(self, least: Array, rows: Array) -> None:
        """Lifts the score that a row must reach to be among the best."""
        ok = self.allowed[rows]
        if not ok.all():
            least = least[ok]
        k = self.limit
        if len(least) >= k:
            self.bar = max(self.bar, float(np.partition(least, len(least) - k)[len(least) - k]) * (1 - SLACK))

    def _can_stop(self) -> bool:
        """Whether rows that hold none of the terms so far, nor stand near one that does, are out of the running."""
        ratio = self.scorer.ratio if self.loners else 0.0
        alone = self.rest * (self.upper + ratio) * self.most * (1 + SLACK)
        if alone > self.bar:
            return False
        if self.context is None:
            return True
        hot = np.flatnonzero(self.sessions > self.bar / self.most - self.rest * self.upper * (1 + SLACK))
        if not len(hot):
            return True
        if len(hot) > HOT:
            return False
        # Few conversations are so much to the point that any of their records may win: take them whole.
        members = self.columns.members_of(hot, HOT)
        if members is None:
            return False
        self.touched.append(self._touch(members))
        return True

    # -- candidates

    def _candidates(self, near: bool) -> Array:
        """Allowed rows that may be among the best: those touched and, with `near`, their neighbours."""
        if not self.touched:
            return EMPTY
        seen = self._all_touched()
        rows, scores = seen.rows, self.scores[seen.rows]
        most: Array = scores + np.float32(self.rest)
        bar = np.float32(self.bar * (1 - SLACK))
        if not near or not self.near:
            return distinct(self._able(rows[self._sum(seen, most, most, self.exact, None) >= bar]))
        before, after = self.columns.before[rows], self.columns.after[rows]
        left, right = self.scores[before], self.scores[after]
        own = rows[self._sum(seen, most, most + left + right, self.exact, None) >= bar]
        own = own[self.allowed[own]]
        # A neighbour that was touched is here itself. One that was not lives by its two neighbours alone: from the
        # side of the better one, twice its score is enough. How its own weight is, is looked at afterwards.
        beside = self.near * (2 * scores) + self.sessions[seen.session]
        pairs = (beside + np.float32(self.rest * self.upper)) * np.float32(self.most) >= bar
        others = np.concatenate([before[pairs & (left == 0)], after[pairs & (right == 0)]])
        return distinct(np.concatenate([own, self._able(others)]))

    def _all_touched(self) -> Touched:
        """All rows that were touched, those of several terms several times."""
        if len(self.touched) == 1:
            return self.touched[0]
        rows, sessions, weights = zip(*self.touched, strict=True)
        return Touched(
            np.concatenate(rows),
            None if self.context is None else np.concatenate(sessions),
            np.concatenate(weights) if self.scorer.favours else None,
        )

    def _able(self, rows: Array) -> Array:
        """The allowed ones of the rows that may be among the best."""
        rows = rows[self.allowed[rows]]
        able: Array = rows[self._most(rows) >= self.bar]
        return able

    def _most(self, rows: Array) -> Array:
        """What rows can reach at most."""
        scores = self.scores[rows] + np.float32(self.rest)
        nearby = scores
        if self.context is not None and self.near:
            nearby = scores + self.scores[self.columns.before[rows]] + self.scores[self.columns.after[rows]]
        share = self._share(rows, self.columns.length[rows].astype(np.float32))
        most = self._sum(self._touch(rows), scores, nearby, self.exact, share)
        most *= np.float32(1 + SLACK)
        return most

    def _refine(self, rows: Array, limit: int) -> Parts:
        """The best of the candidates (ascending row numbers), scored exactly, in order."""
        if limit <= 0 or not len(rows):
            return self.scorer.nothing()
        first = FIRST + limit
        if len(rows) <= first:
            return self._best(self.scorer.parts(rows), limit)
        # The most promising come first: their exact scores lift the bar for all others.
        most = self._most(rows)
        turn = np.argpartition(most, len(most) - first)
        best = self._best(self.scorer.parts(np.sort(rows[turn[-first:]])), limit)
        rows, most = rows[turn[:-first]], most[turn[:-first]]
        while len(rows):
            if len(best.rows) >= limit:
                able = most >= float(best.total[-1]) * (1 - SLACK)
                rows, most = rows[able], most[able]
            if len(rows) > BLOCK:
                turn = np.argpartition(most, len(most) - BLOCK)
                rows, most = rows[turn], most[turn]
            part = np.sort(rows[-BLOCK:])
            rows, most = rows[:-BLOCK], most[:-BLOCK]
            if len(part):
                best = self._best(best.join(self.scorer.parts(part)), limit)
        return best

    def _best(self, parts: Parts, limit: int) -> Parts:
        """The best of scored rows, in order; those without a query word in them or beside them are none."""
        turn = order(parts.total, self.columns.place[parts.rows], parts.rows)
        turn = turn[(parts.word + parts.window)[turn] > 0]
        return parts.take(turn[:limit])

    # -- one-token queries

    def _by_tiers(self, terms: list[int]) -> Found:
        """Exact holders first, then rows that share a stem, then rows that stand near one."""
        for i in terms:
            for rows, counts in self.scorer.terms[i].lists:
                self._add(rows, counts, self.scorer.weights[i])
        self.bar = 0.0
        holders = self._candidates(near=False)
        exact = holders[self._holds_exactly(holders)]
        best = self._refine(exact, self.limit)
        tiers = [2] * len(best.rows)
        for tier in (1, 0):
            left = self.limit - len(best.rows)
            if left <= 0 or (tier == 0 and self.context is None):
                break
            rows = holders if tier else self._candidates(near=True)
            rows = rows[np.isin(rows, exact if tier else holders, assume_unique=True, invert=True)]
            more = self._refine(rows, left)
            best = best.join(more)
            tiers += [tier] * len(more.rows)
        return Found(best, np.array(tiers, np.int64))

    def _holds_exactly(self, rows: Array) -> Array:
        return holds_exactly(self.query, self.scorer, rows)


def holds_exactly(query: Query, scorer: Scorer, rows: Array) -> Array:
    """Which rows (ascending) hold the one token asked for in the form asked for."""
    whole = np.ones(len(rows), np.bool_)
    for term in scorer.terms:
        if term.query.key in query.needed:
            held = term.occurrences(rows)
            whole &= (term.exact(rows, held) if term.query.surfaces else held) > 0
    return whole


def distinct(rows: Array) -> Array:
    """The rows in ascending order, each once."""
    rows = np.sort(rows)
    fresh = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=fresh[1:])
    return rows[fresh]
