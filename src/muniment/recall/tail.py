"""The newest rows, in memory: looked up like a segment, turned into one when they are many."""

from __future__ import annotations

import numpy as np

from muniment.recall.analyzer import SEPARATOR, Document
from muniment.recall.segments import EMPTY, Array


class Tail:
    """Rows that are in no segment yet."""

    past = False
    name = ""
    size = 0

    def __init__(self) -> None:
        self.documents: dict[int, Document] = {}
        self._holders: dict[bytes, dict[int, int]] = {}
        self._surfaces: dict[bytes, list[bytes]] = {}
        self._ready: dict[bytes, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def ords(self) -> Array:
        """Its rows, ascending."""
        return np.array(sorted(self.documents), np.int32)

    @property
    def terms(self) -> int:
        """How many terms it knows."""
        return len(self._holders)

    def add(self, number: int, document: Document) -> None:
        """Puts a row in; one that is here already is replaced."""
        if number in self.documents:
            self.remove(number)
        self.documents[number] = document
        for key, count in document.counts.items():
            holders = self._holders.get(key)
            if holders is None:
                self._holders[key] = {number: count}
                stem, separator, _ = key.partition(SEPARATOR)
                if separator:
                    self._surfaces.setdefault(stem, []).append(key)
            else:
                holders[number] = count
        self._ready.clear()

    def remove(self, number: int) -> None:
        """Takes a row out."""
        for key in self.documents.pop(number).counts:
            del self._holders[key][number]
        self._ready.clear()

    def lookup(self, key: bytes) -> tuple[Array, Array]:
        """(rows, occurrences) of a key; empty arrays if it is unknown."""
        found = self._ready.get(key)
        if found is None:
            holders = self._holders.get(key)
            if not holders:
                return EMPTY, EMPTY
            rows = sorted(holders)
            counts = np.array([holders[row] for row in rows], np.int64)
            found = self._ready[key] = (np.array(rows, np.int32), counts)
        return found

    def surfaces(self, stem: bytes) -> list[tuple[Array, Array]]:
        """Postings of all surfaces of a stem that differ from it."""
        return [self.lookup(key) for key in self._surfaces.get(stem, ())]

    def terms_of(self, rows: Array) -> dict[bytes, tuple[Array, Array]]:
        """Postings of some of its rows, key -> (rows, occurrences)."""
        wanted = set(rows.tolist())
        found: dict[bytes, tuple[Array, Array]] = {}
        for key, holders in self._holders.items():
            kept = sorted(row for row in holders if row in wanted)
            if kept:
                found[key] = (np.array(kept, np.int32), np.array([holders[row] for row in kept], np.int64))
        return found
