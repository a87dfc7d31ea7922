"""Query terms met with the index: who holds each, in how many live rows, and how often in given rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from muniment.recall.analyzer import QueryTerm
from muniment.recall.columns import Columns
from muniment.recall.segments import EMPTY, Array

Lists = list[tuple[Array, Array]]
SMALL = 4096  # shorter lists of one term are joined into one


class Source(Protocol):
    """A segment or the tail."""

    past: bool

    @property
    def terms(self) -> int:
        """How many terms it knows."""
        ...

    def lookup(self, key: bytes) -> tuple[Array, Array]:
        """(rows ascending, occurrences) of a key."""
        ...

    def surfaces(self, stem: bytes) -> Lists:
        """Postings of the surfaces of a stem that differ from it."""
        ...


@dataclass(slots=True)
class Place:
    """A source and what of it doesn't count.

    Attributes:
        source: Where postings are.
        dead: Its rows that are not live, ascending (of live segments and the tail).
    """

    source: Source
    dead: Array


class Term:
    """One query term and its postings.

    Attributes:
        query: What was asked for.
        lists: (rows, occurrences) of each place; rows that no longer count may be among them.
        df: Live rows that hold it.
        idf: ln((N - df + 0.5) / (df + 0.5) + 1).
    """

    __slots__ = ("_exact", "_places", "dead", "df", "idf", "lists", "query")

    def __init__(self, query: QueryTerm, places: Sequence[Place], columns: Columns, past: bool) -> None:
        self.query = query
        self._places = places
        self._exact: tuple[Lists, Lists] | None = None
        self.df = 0
        self.dead: Lists = []
        lists: Lists = []
        for place in places:
            rows, counts = place.source.lookup(query.key)
            if not len(rows):
                continue
            if place.source.past:
                rows, counts = _past_only(rows, counts, columns)
            else:
                hits = common(rows, place.dead)
                self.df += len(rows) - len(hits)
                if len(hits):
                    self.dead.append((rows[hits], counts[hits]))
                    if not past and len(rows) <= SMALL:
                        rows, counts = np.delete(rows, hits), np.delete(counts, hits)
            if len(rows):
                lists.append((rows, counts))
        self.lists = _join(lists)
        n = columns.live
        self.idf = math.log((n - self.df + 0.5) / (self.df + 0.5) + 1.0)

    def occurrences(self, rows: Array) -> Array:
        """How often each of the rows (ascending) holds the stem, int64."""
        return occurrences(self.lists, rows)

    def exact(self, rows: Array, stems: Array) -> Array:
        """How often each of the rows (ascending) holds one of the exact forms asked for, int64.

        Args:
            rows: Row numbers.
            stems: `occurrences(rows)`, which the caller has already.
        """
        if self._exact is None:
            self._exact = self._find_exact()
        wanted, others = self._exact
        found = occurrences(wanted, rows)
        if self.query.key in self.query.surfaces:
            # A form equal to its stem has no postings of its own: it is what the other forms leave.
            found = found + stems - occurrences(others, rows)
        return found

    def _find_exact(self) -> tuple[Lists, Lists]:
        """(postings of the forms asked for, of all forms that differ from the stem if that is asked for too)."""
        key = self.query.key
        wanted: Lists = []
        others: Lists = []
        for place in self._places:
            wanted += [place.source.lookup(key + b"\0" + s) for s in self.query.surfaces if s != key]
            if key in self.query.surfaces:
                others += place.source.surfaces(key)
        return [w for w in wanted if len(w[0])], [o for o in others if len(o[0])]


def common(rows: Array, some: Array) -> Array:
    """Positions in `rows` of those that are in `some` too (both ascending)."""
    if not len(rows) or not len(some):
        return EMPTY
    if len(rows) < len(some):
        at = some.searchsorted(rows)
        at[at == len(some)] = 0
        return np.flatnonzero(some[at] == rows)
    at = rows.searchsorted(some)
    at[at == len(rows)] = 0
    found: Array = at[rows[at] == some]
    return found


def occurrences(lists: Lists, rows: Array) -> Array:
    """Summed occurrences in the rows (ascending, each once), int64."""
    total = np.zeros(len(rows), np.int64)
    for held, counts in lists:
        if len(held) * 4 < len(rows):
            at = rows.searchsorted(held)
            at[at == len(rows)] = 0
            hit = rows[at] == held
            total[at[hit]] += counts[hit]
        else:
            at = held.searchsorted(rows)
            at[at == len(held)] = 0
            hit = held[at] == rows
            total[hit] += counts[at[hit]]
    return total


def _past_only(rows: Array, counts: Array, columns: Columns) -> tuple[Array, Array]:
    """Without rows whose postings are elsewhere by now (they came back to life)."""
    stay = columns.in_past(rows)
    return (rows, counts) if stay.all() else (rows[stay], counts[stay])


def _join(lists: Lists) -> Lists:
    """Short lists made one, so that many small segments cost little."""
    short = [pair for pair in lists if len(pair[0]) <= SMALL]
    if len(short) < 2:
        return lists
    rows = np.concatenate([r for r, _ in short])
    counts = np.concatenate([c.astype(np.int64) for _, c in short])
    order = np.argsort(rows, kind="stable")
    return [pair for pair in lists if len(pair[0]) > SMALL] + [(rows[order], counts[order])]
