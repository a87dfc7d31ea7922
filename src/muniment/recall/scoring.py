"""The score of a record, in float64: the one formula of the word ranking.

With u = occurrences / (k1 * (1 - b + b * length / average length)) and f(u) = u / (1 + u), a term weighs
w = idf * (k1 + 1) * times asked, and a record scores

    word     = sum of w * f(u) + exact * sum of w * f(u of the exact forms)
    window   = weight * sum of w * f(u + neighbours * (u of the live record before + u of the one after))
    session  = weight * sum of v * g(occurrences in the whole conversation)

where f(u) * (k1 + 1) is BM25's term frequency part, g is the same for conversations (own k1 and b, length and average
over conversations with live words), and v = (k1 + 1) * ln((C - c + 0.5) / (c + 0.5) + 1) with c of C conversations
holding the term. A record without a conversation (or no longer live) is its own window, and its conversation part is
its word part without the exact forms, times sum of v / sum of w. Context counts only if a live record has a
conversation, and never for a record that neither holds a query word nor stands next to one that does. A long record of
a conversation says itself what it is about: above `full` words its window and session parts shrink as full / length.

The whole is multiplied by the weight of each `Favour` that concerns the record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from muniment.recall.columns import Columns
from muniment.recall.favours import Favour
from muniment.recall.matching import Term
from muniment.recall.segments import Array, Segment


@dataclass(frozen=True, slots=True)
class ContextWeights:
    """How much a record's conversation counts (chosen in `benchmarks/locomo.py`).

    Attributes:
        window: Weight of the record together with its two neighbours.
        neighbours: How much of a neighbour's occurrences count in the window, 0..1.
        session: Weight of the whole conversation.
        k1: Saturation of occurrences in a conversation.
        b: Length normalisation of conversations.
        full: Words up to which a record's context counts in full; of longer ones in proportion less.
        people: What window and session are multiplied by in a bank of conversations between people: their lines are
            shorter and say less alone than what is written to an assistant, or by one.
    """

    window: float = 1.0
    neighbours: float = 0.75
    session: float = 1.5
    k1: float = 3.0
    b: float = 0.4
    full: float = 100.0
    people: float = 2.0

    def among_people(self) -> ContextWeights:
        """The weights for a bank of conversations between people."""
        return replace(self, window=self.window * self.people, session=self.session * self.people)


@dataclass(frozen=True, slots=True)
class Formula:
    """The constants of one search; `context` None leaves conversations out."""

    k1: float = 1.5
    b: float = 0.75
    exact: float = 0.2
    context: ContextWeights | None = None


@dataclass(slots=True)
class Parts:
    """Scores of rows, float64.

    Attributes:
        rows: The rows.
        word: From their own words.
        window: From them and their neighbours.
        session: From their conversations.
        weight: What their sum is multiplied by.
        own: (terms, rows): each term's share of `word`.
        held: (terms, rows): occurrences.
    """

    rows: Array
    word: Array
    window: Array
    session: Array
    weight: Array
    own: Array
    held: Array

    @property
    def total(self) -> Array:
        """The weighted sum of all parts."""
        total: Array = self.weight * (self.word + self.window + self.session)
        return total

    def take(self, at: Array) -> Parts:
        """Those at these positions."""
        parts = (self.rows[at], self.word[at], self.window[at], self.session[at], self.weight[at])
        return Parts(*parts, self.own[:, at], self.held[:, at])

    def join(self, other: Parts) -> Parts:
        """These and then the others."""
        pairs = zip(
            (self.rows, self.word, self.window, self.session, self.weight),
            (other.rows, other.word, other.window, other.session, other.weight),
            strict=True,
        )
        rows, word, window, session, weight = (np.concatenate(pair) for pair in pairs)
        own, held = (
            np.concatenate(pair, axis=1) for pair in ((self.own, other.own), (self.held, other.held))
        )
        return Parts(rows, word, window, session, weight, own, held)


class Scorer:
    """Scores rows for one query.

    Attributes:
        weights: w of each term.
        sessions: Weighted session part by conversation (float64); empty without context.
        ratio: sum of v / sum of w, times the session weight: what session-less rows get of their word part.
        favours: What the question favours.
        most: The greatest weight that they can give a row together, 1 or more.
        best: The greatest score that any record could reach.
    """

    def __init__(
        self, terms: Sequence[Term], formula: Formula, columns: Columns, favours: Sequence[Favour] = ()
    ) -> None:
        self.terms, self.formula, self.columns, self.favours = terms, formula, columns, favours
        self.most = math.prod(max(1.0, favour.weight) for favour in favours)
        self.context = formula.context if columns.members else None
        k1 = formula.k1
        self.weights = [term.idf * (k1 + 1) * term.query.weight for term in terms]
        self.column = np.array(self.weights).reshape(-1, 1)
        self.floor = k1 * (1 - formula.b)
        self.slope = k1 * formula.b / max(1.0, columns.words / max(1, columns.live))
        self.sessions: Array = np.zeros(1)
        self.ratio = 0.0
        mass = sum(self.weights)
        self.best = mass * (1 + formula.exact)
        if self.context is not None and mass > 0:
            top = self._score_sessions(self.context)
            self.ratio = top / mass
            self.best += mass * self.context.window + top
        self.best *= self.most

    def nothing(self) -> Parts:
        """The parts of no row."""
        none, table = np.zeros(0), np.zeros((len(self.terms), 0))
        return Parts(np.zeros(0, np.int32), none, none, none, none, table, table.astype(np.int64))

    def weight(self, rows: Array, kind: type[np.floating[Any]] = np.float64) -> Array | None:
        """What the scores of these rows are multiplied by, as numbers of a kind; None where nothing is favoured."""
        found: Array | None = None
        place = self.columns.place[rows] if any(f.edges is not None for f in self.favours) else rows
        for favour in self.favours:
            part = np.where(favour.concerns(rows, place), kind(favour.weight), kind(1))
            found = part if found is None else found * part
        return found

    def share(self, rows: Array) -> Array:
        """How much of their context counts for these rows, float64, 0..1."""
        full = 1.0 if self.context is None else self.context.full
        found: Array = full / np.maximum(self.columns.length[rows], full)
        return np.where(self.columns.session[rows] > 0, found, 1.0)

    def parts(self, rows: Array) -> Parts:
        """All parts of the scores of the rows (ascending, each once)."""
        context, columns = self.context, self.columns
        if context is None:
            norm = self._norm(rows)
            held = self._held(rows)
            near = np.zeros(len(rows))
        else:
            before, after = columns.before[rows], columns.after[rows]
            needed = np.concatenate([rows, before, after])
            needed.sort()
            needed = needed[np.append(True, needed[1:] != needed[:-1])] if len(needed) else needed
            own, left, right = (needed.searchsorted(some) for some in (rows, before, after))
            norms, counts = self._norm(needed), self._held(needed)
            norm, held = norms[own], counts[:, own]
            u = counts / norms  # entry 0, no row, holds nothing
            u = u[:, own] + context.neighbours * (u[:, left] + u[:, right])
            share = self.share(rows)
            near = share * context.window * (self.column * (u / (1 + u))).sum(axis=0)
        parts = self.column * (held / (held + norm))
        word = parts.sum(axis=0)
        session = np.zeros(len(rows)) if context is None else share * self._session_part(rows, word)
        if self.formula.exact:
            same = np.array([t.exact(rows, h) for t, h in zip(self.terms, held, strict=True)])
            same = same.reshape(held.shape)
            extra = self.formula.exact * (self.column * (same / (same + norm)))
            parts += extra
            word = word + extra.sum(axis=0)
        weight = self.weight(rows)
        weight = np.ones(len(rows)) if weight is None else weight
        return Parts(rows, word, near, session, weight, parts, held)

    def _norm(self, rows: Array) -> Array:
        norm: Array = self.floor + self.slope * self.columns.length[rows]
        return np.maximum(norm, 1e-12)  # with b = 1 a row without words has none

    def _held(self, rows: Array) -> Array:
        """(terms, rows): occurrences."""
        table = np.array([term.occurrences(rows) for term in self.terms], np.int64)
        return table.reshape(len(self.terms), len(rows))

    def _session_part(self, rows: Array, plain: Array) -> Array:
        columns = self.columns
        member = (columns.session[rows] > 0) & columns.is_live(rows)
        part: Array = np.where(
            member, self.sessions[np.where(member, columns.session[rows], 0)], self.ratio * plain
        )
        return part

    def _score_sessions(self, context: ContextWeights) -> float:
        """Fills `sessions`; returns the greatest value that any could reach."""
        words = self.columns.session_words()
        alive = int(np.count_nonzero(words > 0))  # of numbers that are no booleans, counting is slow
        average = max(1.0, float(words.sum()) / max(1, alive))
        norm = np.maximum(context.k1 * (1 - context.b + context.b / average * words), 1e-12)
        self.sessions = np.zeros(len(words))
        held = np.zeros(len(words))
        top = 0.0
        for term in self.terms:
            ids = self._count_sessions(term, held)
            holders = int(np.count_nonzero(held > 0))
            # Few conversations are gone through by number; `ids` may name one twice, to the same effect.
            some: Array | slice = ids if len(ids) * 4 < len(held) else slice(None)
            counts = held[some]
            weight = context.session * (context.k1 + 1) * term.query.weight
            weight *= math.log((alive - holders + 0.5) / (holders + 0.5) + 1.0)
            self.sessions[some] += weight * (counts / (counts + norm[some]))
            held[ids] = 0
            top += weight
        return top

    def _count_sessions(self, term: Term, held: Array) -> Array:
        """Adds a term's occurrences in live rows to `held`, by conversation; returns which it touched."""
        session = self.columns.session
        touched = []
        for source, slot in term.found:
            if isinstance(source, Segment):
                ids, counts = source.sessions(slot)
                held[ids] += counts
            else:
                rows, counts = source.postings(slot)
                ids = session[rows]
                np.add.at(held, ids, counts)
            touched.append(ids)
        for rows, counts in term.dead:
            np.subtract.at(held, session[rows], counts.astype(np.float64))
        held[0] = 0
        return np.concatenate(touched) if touched else np.zeros(0, np.int32)


def order(score: Array, place: Array, rows: Array) -> Array:
    """Positions by score, the best first; of equal ones the later, then the one that came later."""
    return np.lexsort((-rows.astype(np.int64), -place, -score))
