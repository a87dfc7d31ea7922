"""What the store in memory knows of the archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from muniment.base.ids import EntryId
from muniment.store.base import Naming, NamingRow
from muniment.store.memory_entries import MemoryEntries
from muniment.store.shelf import Shelf


class MemoryShelves(MemoryEntries):
    """The part of `MemoryStore` that lets bodies go and shelves versions."""

    def release_bodies(self, places: Iterable[tuple[int, int]]) -> None:
        self._writer()
        for place in places:
            self._drop(self._bodies, place)
            self._drop(self._absent, place)
            self._put(self._released, place, None)

    def trace(self, ords: Iterable[int]) -> None:
        self._writer()
        for ord in ords:
            self._put(self._traces, ord, None)

    def traces(self) -> list[int]:
        return sorted(self._traces)

    def untrace(self, ords: Iterable[int]) -> None:
        self._writer()
        for ord in ords:
            self._drop(self._traces, ord)

    def note_orders(self, seen: Mapping[EntryId, int]) -> None:
        self._writer()
        for entry, at in seen.items():
            if entry not in self._orders:
                self._put(self._orders, entry, at)

    def orders(self) -> Mapping[EntryId, int]:
        return dict(self._orders)

    def remains(self) -> Iterator[str]:
        """There is no file."""
        return iter(())

    def released(self, *, after: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, int]]:
        yield from (place for place in sorted(self._released) if place > after)

    def compact(self) -> None:
        """There is no file that could shrink."""

    def shelve(self, ord: int, shelf: Shelf) -> None:
        self._writer()
        if shelf == (False, False):
            self._drop(self._shelves, ord)
        else:
            self._put(self._shelves, ord, shelf)

    def shelves(self, ords: Sequence[int]) -> Mapping[int, Shelf]:
        return {ord: self._shelves[ord] for ord in ords if ord in self._shelves}

    def archive_acts(self) -> Iterator[NamingRow]:
        yield from sorted(
            (row for row in self._namings if row.kind is Naming.ARCHIVE), key=lambda row: (row.seq, row.act)
        )
