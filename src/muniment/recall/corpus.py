"""What an index needs to know of a bank: its versions in order of arrival, and which of them are live.

An index keeps nothing that can't be read again from here. `ListCorpus` is the whole contract in memory as the word
index reads it, for tests and benchmarks (`vector_corpus.ListVectors` as the vector index does); a bank offers the same
over its store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

PART = 1024  # rows that `Guarded` reads at a time


class AnyRow(Protocol):
    """One version of a record, whatever an index reads of it.

    Attributes:
        ord: Number in order of local arrival: 1, 2, 3 …, dense, never used again.
        live: Whether it counts as of now; else it is searched by `past` only.
        gone: Erased or void: never searchable, and taken out of the index at the next maintenance.
    """

    @property
    def ord(self) -> int:
        """Its number."""
        ...

    @property
    def live(self) -> bool:
        """Whether it counts."""
        ...

    @property
    def gone(self) -> bool:
        """Whether it has to go."""
        ...


RowOf = TypeVar("RowOf", bound=AnyRow)


class Row(NamedTuple):
    """One version of a record, as the word index sees it.

    Attributes:
        ord: See `AnyRow`, as for `live` and `gone`.
        live: Whether it counts.
        gone: Whether its words have to go.
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


class Corpus(Protocol[RowOf]):
    """The rows of a bank, readable as often as needed."""

    def watermark(self) -> Watermark:
        """How far it is; one cheap call. Another `generation` voids everything that was read before."""
        ...

    def rows(self, after: int, upto: int) -> Iterator[RowOf]:
        """Rows with `after < ord <= upto` in order, each as it is now.

        Those without anything to index may be left out where the index says so.
        """
        ...

    def pick(self, ords: Sequence[int]) -> list[RowOf]:
        """The rows of these numbers, in any order; unknown ones are left out."""
        ...

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """(change number, ord, live, gone), in order, of rows that changed after they were added.

        A change of liveness, or a vector that is made later than its record, replaced or withdrawn.
        """
        ...


class Guarded(Generic[RowOf]):
    """A corpus whose every call is made under a lock, its answers whole: for work aside in another thread."""

    def __init__(self, corpus: Corpus[RowOf], lock: AbstractContextManager[object]) -> None:
        self._corpus, self._lock = corpus, lock

    def watermark(self) -> Watermark:
        """See `Corpus`."""
        with self._lock:
            return self._corpus.watermark()

    def rows(self, after: int, upto: int) -> Iterator[RowOf]:
        """See `Corpus`."""
        while after < upto:
            with self._lock:
                part = list(self._corpus.rows(after, min(after + PART, upto)))
            yield from part
            after += PART

    def pick(self, ords: Sequence[int]) -> list[RowOf]:
        """See `Corpus`."""
        with self._lock:
            return self._corpus.pick(ords)

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """See `Corpus`."""
        with self._lock:
            return iter(list(self._corpus.changes(after, upto)))


class ListRows(Generic[RowOf]):
    """A corpus in memory, whatever its rows are."""

    def __init__(self, generation: int = 1) -> None:
        self.generation = generation
        self._rows: list[RowOf] = []
        self._changes: list[tuple[int, bool, bool]] = []
        self._erased: set[int] = set()

    def set_live(self, number: int, live: bool) -> None:
        """Makes a row live, or superseded; one that was erased stays gone."""
        if number not in self._erased:
            self._change(number, live=live, gone=False)

    def erase(self, number: int) -> None:
        """Takes what the row holds away for good."""
        self._erased.add(number)
        self._change(number, live=False, gone=True)
        self._rows[number - 1] = self._bare(self._rows[number - 1])

    def void(self, number: int) -> None:
        """Makes the row count for nothing; `set_live` brings it back."""
        self._change(number, live=False, gone=True)

    def _change(self, number: int, *, live: bool, gone: bool) -> None:
        self._rows[number - 1] = self._counting(self._rows[number - 1], live, gone)
        self._changes.append((number, live, gone))

    def _counting(self, row: RowOf, live: bool, gone: bool) -> RowOf:
        """The row in another state."""
        raise NotImplementedError

    def _bare(self, row: RowOf) -> RowOf:
        """The row without what is indexed of it."""
        raise NotImplementedError

    def watermark(self) -> Watermark:
        """See `Corpus`."""
        return Watermark(len(self._rows), len(self._changes), self.generation)

    def rows(self, after: int, upto: int) -> Iterator[RowOf]:
        """See `Corpus`."""
        yield from self._rows[max(0, after) : upto]

    def pick(self, ords: Sequence[int]) -> list[RowOf]:
        """See `Corpus`."""
        return [self._rows[number - 1] for number in ords if 0 < number <= len(self._rows)]

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """See `Corpus`."""
        for number in range(max(0, after), min(upto, len(self._changes))):
            row, live, gone = self._changes[number]
            yield number + 1, row, live, gone


class ListCorpus(ListRows[Row]):
    """The words of a bank in memory."""

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

    def _counting(self, row: Row, live: bool, gone: bool) -> Row:
        return row._replace(live=live, gone=gone)

    def _bare(self, row: Row) -> Row:
        return row._replace(parts=(), speakers=())
