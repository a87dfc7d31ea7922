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

    def find(self, key: bytes) -> int:
        """The slot of a key, or -1."""
        ...

    def postings(self, slot: int) -> tuple[Array, Array]:
        """(rows ascending, occurrences) of a slot."""
        ...

    def surfaces(self, slot: int) -> list[tuple[bytes, int]]:
        """(surface, slot) of the surfaces of a stem that differ from it."""
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
        found: (source, slot) wherever it is known.
        lists: (rows, occurrences); rows that no longer count may be among them.
        dead: (rows, occurrences) of those, from places of live rows.
        df: Live rows that hold it.
        idf: ln((N - df + 0.5) / (df + 0.5) + 1).
    """

    __slots__ = ("_exact", "dead", "df", "found", "idf", "lists", "query")

    def __init__(self, query: QueryTerm, places: Sequence[Place], columns: Columns, past: bool) -> None:
        self.query = query
        self.found: list[tuple[Source, int]] = []
        self._exact: tuple[Lists, Lists] | None = None
        self.df = 0
        self.dead: Lists = []
        lists: Lists = []
        for place in places:
            slot = place.source.find(query.key)
            if slot < 0:
                continue
            self.found.append((place.source, slot))
            rows, counts = place.source.postings(slot)
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
        found = occurrences(wanted, rows) if wanted else np.zeros(len(rows), np.int64)
        if self.query.key in self.query.surfaces:
            # A form equal to its stem has no postings of its own: it is what the other forms leave.
            found += stems
            if others:
                found -= occurrences(others, rows)
        return found

    def _find_exact(self) -> tuple[Lists, Lists]:
        """(postings of the forms asked for, of all forms that differ from the stem if that is asked for too)."""
        asked = self.query.surfaces
        plain = self.query.key in asked
        wanted: Lists = []
        others: Lists = []
        for source, slot in self.found:
            for surface, place in source.surfaces(slot):
                if surface in asked:
                    wanted.append(source.postings(place))
                if plain:
                    others.append(source.postings(place))
        return _join(wanted), _join(others)


def common(rows: Array, some: Array) -> Array:
    """Positions in `rows` of those that are in `some` too (both ascending)."""
    if not len(rows) or not len(some):
        return EMPTY
    if len(rows) < len(some):
        return np.flatnonzero(some.take(some.searchsorted(rows), mode="clip") == rows)
    at = rows.searchsorted(some)
    found: Array = at[rows.take(at, mode="clip") == some]
    return found


def occurrences(lists: Lists, rows: Array) -> Array:
    """Summed occurrences in the rows (ascending, each once), int64."""
    total = np.zeros(len(rows), np.int64)
    for held, counts in lists:
        if len(held) * 4 < len(rows):
            at = rows.searchsorted(held)
            hit = rows.take(at, mode="clip") == held
            total[at[hit]] += counts[hit]
        else:
            at = held.searchsorted(rows)
            total += counts.take(at, mode="clip") * (held.take(at, mode="clip") == rows)
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
    long = [pair for pair in lists if len(pair[0]) > SMALL]
    rows = np.concatenate([r for r, _ in short])
    counts = np.concatenate([c for _, c in short])
    step = rows[1:] - rows[:-1]
    if step.min(initial=1) <= 0:  # rows that came back to life, or several forms in one row
        order = np.argsort(rows, kind="stable")
        rows, counts = rows[order], counts[order].astype(np.int64)
        first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
        rows, counts = rows[first], np.add.reduceat(counts, first)
    return [*long, (rows, counts)]
