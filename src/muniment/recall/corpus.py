"""What the word index needs to know of a bank: its versions in order of arrival, and which of them are live.

The index keeps nothing that can't be read again from here. `ListCorpus` is the whole contract in memory, for tests and
benchmarks; a bank offers the same over its store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

PART = 1024  # rows that `Guarded` reads at a time


@dataclass(frozen=True, slots=True)
class Row:
    """One version of a record, as the word index sees it.

    Attributes:
        ord: Number in order of local arrival: 1, 2, 3 …, dense, never used again.
        live: Whether it counts as of now; else it is searched by `past` only.
        gone: Erased or void: never searchable, its words leave the index at the next maintenance.
        session: Small number of its conversation, 1, 2, 3 … in order of first use; 0 for none.
        place: Order inside the conversation (milliseconds); equal ones go by `ord`.
        parts: Key, title, text, tags, aliases: joined by spaces they are what is ranked.
        speakers: Who said it, by name and by role ("user", "assistant"), as far as that is known.
    """

    ord: int
    live: bool
    gone: bool
    session: int
    place: int
    parts: tuple[str, ...]
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far a corpus is: its last row and change, and which making of its tables this is.

    Attributes:
        last_ord: Its last row, 0 if it has none.
        last_change: The number of its last change of liveness, 0 if there was none.
        generation: A number that no other corpus, and no other making of this one, is likely to have (random, say):
            an index of another generation is never used.
    """

    last_ord: int
    last_change: int
    generation: int


class Corpus(Protocol):
    """The rows of a bank, readable as often as needed."""

    def watermark(self) -> Watermark:
        """How far it is; one cheap call. Another `generation` voids everything that was read before."""
        ...

    def rows(self, after: int, upto: int) -> Iterator[Row]:
        """Rows with `after < ord <= upto` in order, each as live as it is now."""
        ...

    def pick(self, ords: Sequence[int]) -> list[Row]:
        """The rows of these numbers, in any order; unknown ones are left out."""
        ...

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """(change number, ord, live, gone) of rows whose liveness changed after they were added, in order."""
        ...

    def session(self, number: int) -> list[tuple[int, int]]:
        """(place, ord) of the live members of a conversation, in order."""
        ...


class Guarded:
    """A corpus whose every call is made under a lock, its answers whole: for work aside in another thread."""

    def __init__(self, corpus: Corpus, lock: AbstractContextManager[object]) -> None:
        self._corpus, self._lock = corpus, lock

    def watermark(self) -> Watermark:
        """See `Corpus`."""
        with self._lock:
            return self._corpus.watermark()

    def rows(self, after: int, upto: int) -> Iterator[Row]:
        """See `Corpus`."""
        while after < upto:
            with self._lock:
                part = list(self._corpus.rows(after, min(after + PART, upto)))
            yield from part
            after += PART

    def pick(self, ords: Sequence[int]) -> list[Row]:
        """See `Corpus`."""
        with self._lock:
            return self._corpus.pick(ords)

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """See `Corpus`."""
        with self._lock:
            return iter(list(self._corpus.changes(after, upto)))

    def session(self, number: int) -> list[tuple[int, int]]:
        """See `Corpus`."""
        with self._lock:
            return self._corpus.session(number)


class ListCorpus:
    """A corpus in memory."""

    def __init__(self, generation: int = 1) -> None:
        self.generation = generation
        self._rows: list[Row] = []
        self._changes: list[tuple[int, bool, bool]] = []
        self._erased: set[int] = set()

    def add(
        self,
        *parts: str,
        session: int = 0,
        place: int | None = None,
        live: bool = True,
        gone: bool = False,
        speakers: Iterable[str] = (),
    ) -> int:
        """Appends a row and returns its `ord`; `place` defaults to the `ord`."""
        number = len(self._rows) + 1
        place = number if place is None else place
        self._rows.append(Row(number, live, gone, session, place, parts, tuple(speakers)))
        return number

    def extend(self, texts: Iterable[str], session: int = 0) -> None:
        """Appends one row a text."""
        for text in texts:
            self.add(text, session=session)

    def set_live(self, number: int, live: bool) -> None:
        """Makes a row live, or superseded; one that was erased stays gone."""
        if number not in self._erased:
            self._change(number, live, False)

    def erase(self, number: int) -> None:
        """Takes the row's words away for good."""
        self._erased.add(number)
        self._change(number, False, True)
        self._rows[number - 1] = replace(self._rows[number - 1], parts=(), speakers=())

    def void(self, number: int) -> None:
        """Makes the row count for nothing; `set_live` brings it back."""
        self._change(number, False, True)

    def _change(self, number: int, live: bool, gone: bool) -> None:
        self._rows[number - 1] = replace(self._rows[number - 1], live=live, gone=gone)
        self._changes.append((number, live, gone))

    def watermark(self) -> Watermark:
        """See `Corpus`."""
        return Watermark(len(self._rows), len(self._changes), self.generation)

    def rows(self, after: int, upto: int) -> Iterator[Row]:
        """See `Corpus`."""
        yield from self._rows[max(0, after) : upto]

    def pick(self, ords: Sequence[int]) -> list[Row]:
        """See `Corpus`."""
        return [self._rows[number - 1] for number in ords if 0 < number <= len(self._rows)]

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """See `Corpus`."""
        for number in range(max(0, after), min(upto, len(self._changes))):
            row, live, gone = self._changes[number]
            yield number + 1, row, live, gone

    def session(self, number: int) -> list[tuple[int, int]]:
        """See `Corpus`."""
        members = [(row.place, row.ord) for row in self._rows if row.session == number and row.live]
        return sorted(members)
