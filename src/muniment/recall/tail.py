"""The newest rows, in memory: looked up like a segment, turned into one when they are many."""

from __future__ import annotations

import numpy as np

from muniment.recall.analyzer import SEPARATOR, Document
from muniment.recall.segments import Array


class Tail:
    """Rows that are in no segment yet."""

    past = False
    name = ""
    size = 0

    def __init__(self) -> None:
        self.documents: dict[int, Document] = {}
        self._slots: dict[bytes, int] = {}
        self._holders: list[dict[int, int]] = []
        self._surfaces: dict[int, list[tuple[bytes, int]]] = {}
        self._ready: dict[int, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return len(self.documents)

    def __contains__(self, number: object) -> bool:
        return number in self.documents

    @property
    def ords(self) -> Array:
        """Its rows, ascending."""
        return np.array(sorted(self.documents), np.int32)

    @property
    def terms(self) -> int:
        """How many terms it knows."""
        return len(self._slots)

    def add(self, number: int, document: Document) -> None:
        """Puts a row in; one that is here already is replaced."""
        if number in self.documents:
            self.remove(number)
        self.documents[number] = document
        slots, holders = self._slots, self._holders
        for key, count in document.counts.items():
            slot = slots.get(key)
            if slot is None:
                slot = self._new_slot(key)
            holders[slot][number] = count
        self._ready.clear()

    def _new_slot(self, key: bytes) -> int:
        slot = self._slots.setdefault(key, len(self._holders))
        if slot == len(self._holders):
            self._holders.append({})
            stem, separator, surface = key.partition(SEPARATOR)
            if separator:
                self._surfaces.setdefault(self._new_slot(stem), []).append((surface, slot))
        return slot

    def remove(self, number: int) -> None:
        """Takes a row out."""
        for key in self.documents.pop(number).counts:
            del self._holders[self._slots[key]][number]
        self._ready.clear()

    def find(self, key: bytes) -> int:
        """The slot of a key, or -1."""
        return self._slots.get(key, -1)

    def postings(self, slot: int) -> tuple[Array, Array]:
        """(rows ascending, occurrences) of a slot."""
        found = self._ready.get(slot)
        if found is None:
            holders = self._holders[slot]
            rows = sorted(holders)
            counts = np.array([holders[row] for row in rows], np.int64)
            found = self._ready[slot] = (np.array(rows, np.int32), counts)
        return found

    def surfaces(self, slot: int) -> list[tuple[bytes, int]]:
        """(surface, slot) of all surfaces of a stem (by its slot) that differ from it."""
        return self._surfaces.get(slot, [])

    def terms_of(self, rows: Array) -> dict[bytes, tuple[Array, Array]]:
        """Postings of some of its rows, key -> (rows, occurrences)."""
        wanted = set(rows.tolist())
        found: dict[bytes, tuple[Array, Array]] = {}
        for key, slot in self._slots.items():
            holders = self._holders[slot]
            kept = sorted(row for row in holders if row in wanted)
            if kept:
                found[key] = (np.array(kept, np.int32), np.array([holders[row] for row in kept], np.int64))
        return found
