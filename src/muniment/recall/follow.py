"""Keeping an index in step with its corpus: catching up, writing segments, merging, starting over.

All that the word index and the vector index have in common; `word_follow` and `vector_follow` say what is kept of a
row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

from muniment.base.errors import StorageError
from muniment.recall import files, manifest, packing
from muniment.recall.columns import GONE, LIVE, PAST, STATUS
from muniment.recall.corpus import Corpus, RowOf, Watermark
from muniment.recall.files import Piece
from muniment.recall.manifest import Manifest
from muniment.recall.segments import Array

TAIL_ROWS, BACKLOG = manifest.TAIL_ROWS, manifest.BACKLOG
FAN_OUT = 4  # segments of a size that are merged into one of the next
DEAD_SHARE = 4  # a segment with one row in so many out of place is rewritten
PICKED = 1024  # rows asked for at a time
BROKEN_OFF = (-1, -1, -1)  # no manifest looks like this

PieceOf = TypeVar("PieceOf", bound=Piece)


class RowStates(Protocol):
    """What is kept per row, by row number."""

    last: int
    state: Array

    def reserve(self, last: int) -> None:
        """Makes room for rows up to this one."""

    def set_status(self, row: int, status: int) -> None:
        """Makes a known row live, past or gone."""

    def searchable(self, past: bool) -> Array:
        """Which rows a search may return, by row number."""
        ...


class RowTail(Protocol):
    """The newest rows."""

    def __len__(self) -> int: ...

    def __contains__(self, number: object, /) -> bool: ...


class Follower(ABC, Generic[RowOf, PieceOf]):
    """The state of an index as one process sees it.

    Attributes:
        manifest: The files that it has mapped.
        segments: Those on disk, and in memory (nameless) where they could not be written yet.
        columns: What each row counts for.
        tail: The newest rows, in no segment yet.
        last_ord: The last row that is in it.
        last_change: The last change of the corpus that is in it.
    """

    WHAT: ClassVar[str]  # as errors name the index
    SUFFIX: ClassVar[str]  # of its files
    BLOCK_ROWS: ClassVar[int]  # rows of a segment, of many that are taken at once
    columns: RowStates
    tail: RowTail
    _signature: manifest.Signature | None

    def __init__(self, folder: Path, corpus: Corpus[RowOf], fingerprint: str) -> None:
        self.folder, self.corpus, self.fingerprint = folder, corpus, fingerprint
        self._forgotten: set[int] = set()
        self._reset(0)

    # -- what an index says of itself

    @abstractmethod
    def aside(self, corpus: Corpus[RowOf]) -> Follower[RowOf, PieceOf]:
        """Another follower of the same folder, that reads this corpus."""

    @abstractmethod
    def _empty(self) -> None:
        """Makes `columns` and `tail` anew, without rows."""

    @abstractmethod
    def _take_block(self, block: list[RowOf], *, many: bool) -> None:
        """New rows: into the tail, or, of many, into a segment."""

    @abstractmethod
    def _lacking(self, changed: Mapping[int, bool]) -> list[int]:
        """Which rows that became live (or past, by row number) have to be read again."""

    @abstractmethod
    def _take_again(self, rows: Sequence[RowOf]) -> None:
        """Rows that `_lacking` named, none of them gone, as they are now."""

    @abstractmethod
    def _drop(self, number: int) -> None:
        """Takes a row out of the tail; nothing is left of it to search."""

    @abstractmethod
    def _misplaced(self, number: int) -> int:
        """How many rows of segment `number` would not be in it if it were made now."""

    @abstractmethod
    def _flush_tail(self) -> None:
        """The tail into segments."""

    @abstractmethod
    def _merge(self, group: list[PieceOf]) -> None:
        """Replaces segments by one with the rows that still belong."""

    @abstractmethod
    def _map(self, path: Path) -> PieceOf:
        """Opens a segment file."""

    @abstractmethod
    def _load_columns(self, parts: list[packing.Arrays]) -> RowStates:
        """`columns` as their files hold them, the base first."""

    @abstractmethod
    def _write_columns(self, new: Manifest) -> None:
        """Writes `columns`, or what changed in them, and names the files in the manifest to come."""

    def _moved(self) -> None:
        """Rows changed: forgets what was found out about them."""
        self._masks: dict[bool, Array] = {}

    def _renew(self) -> None:
        """Segments changed, or rows."""
        self._moved()

    def _before_merges(self) -> None:
        """What a merge needs done after the tail became segments."""

    def _break_off(self) -> None:
        """Maintenance broke off: what it wrote counts for nothing, and what is there is opened the next time."""
        self._signature = BROKEN_OFF

    # -- state

    def _reset(self, generation: int) -> None:
        self.manifest = Manifest(self.fingerprint, generation)
        self.segments: list[PieceOf] = []
        self.last_ord = self.last_change = 0
        self._written = 0
        self._signature = None
        self._seen: Watermark | None = None
        self._empty()
        self._renew()

    def searchable(self, past: bool) -> Array:
        """Which rows a search may return, by row number."""
        found = self._masks.get(past)
        if found is None:
            found = self._masks[past] = self.columns.searchable(past)
            if self._seen is not None:  # the caller's view of the corpus may be older than the index
                found[self._seen.last_ord + 1 :] = False
        return found

    def close(self) -> None:
        """Forgets everything; mapped files go with the last reference."""
        self._reset(0)

    # -- catching up

    def refresh(self) -> None:
        """Sees what other processes wrote, then what the corpus has more than that."""
        mark = self.corpus.watermark()
        if manifest.signature(self.folder) != self._signature:
            self._load()
        elif mark == self._seen:
            return
        if mark.generation != self.manifest.generation:
            self._reset(mark.generation)
            self._signature = manifest.signature(self.folder)
        if mark.last_ord - self.last_ord > BACKLOG:
            self._seen = mark
            try:
                if self.maintain(None):
                    return
            except StorageError:
                self._load()  # what can't be written is kept in memory
        self._catch_up(mark)

    def _catch_up(self, mark: Watermark) -> None:
        before = (self.last_ord, self.last_change)
        self._advance(mark, mark.last_ord, many=mark.last_ord - self.last_ord > BACKLOG)
        moved = self._seen is None or before != (self.last_ord, self.last_change) or self._seen != mark
        self._seen = mark
        if moved:
            self._forget()
            self._moved()

    def _advance(self, mark: Watermark, upto: int, *, many: bool) -> None:
        """New rows, then what changed in those that were here before: the new ones come as they are now."""
        known = self.last_ord
        if upto > known:
            if not known:
                self.last_change = mark.last_change
            rows = iter(self.corpus.rows(known, upto))
            while block := list(islice(rows, self.BLOCK_ROWS)):
                self._take_block(block, many=many)
            self.columns.reserve(upto)
            self.last_ord = upto
        if mark.last_change > self.last_change:
            self._change(self.corpus.changes(self.last_change, mark.last_change), known)
            self.last_change = mark.last_change

    def _change(self, changes: Iterable[tuple[int, int, bool, bool]], known: int) -> None:
        """Rows (up to `known`) that became live, past or gone; some of them are read again."""
        latest = {number: (live, gone) for _, number, live, gone in changes if 0 < number <= known}
        for number, (live, gone) in latest.items():
            if gone:
                self._set_gone(number)
            else:
                self.columns.set_status(number, LIVE if live else PAST)
        again = self._lacking({number: live for number, (live, gone) in latest.items() if not gone})
        for first in range(0, len(again), PICKED):
            rows = self.corpus.pick(again[first : first + PICKED])
            self._take_again([row for row in rows if not row.gone])

    def forget(self, ords: Sequence[int]) -> None:
        """Makes rows unsearchable at once, whatever the corpus says of them."""
        self._forgotten.update(number for number in ords if number > 0)
        self._forget()
        self._moved()

    def _forget(self) -> None:
        for number in self._forgotten:
            if number <= self.columns.last:
                self._set_gone(number)

    def _set_gone(self, number: int) -> None:
        self.columns.set_status(number, GONE)
        if number in self.tail:
            self._drop(number)

    # -- files

    def _load(self) -> None:
        """Opens what the manifest names; starts over if that is not an index of this corpus and these settings."""
        for _ in range(100):
            signature = manifest.signature(self.folder)
            self._reset(self.manifest.generation)
            self._signature = signature
            if signature is None:
                return
            opened = files.open_index(self.folder, self.fingerprint, self._map, self._load_columns)
            if opened is None:
                if manifest.signature(self.folder) != signature:
                    continue  # replaced while it was opened: the files named before may be gone
                return
            self.manifest, self.segments, self.columns = opened
            self.last_ord, self.last_change = self.manifest.last_ord, self.manifest.last_change
            self.columns.reserve(self.last_ord)
            self._renew()
            return

    def maintain(self, budget: int | None) -> bool:
        """See `FollowingIndex.maintain`."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with manifest.lock(self.folder) as mine:
                if not mine:
                    return False
                self._maintain(budget)
                return True
        except BaseException as error:
            self._break_off()
            if isinstance(error, OSError):
                raise files.wrapped(error, self.WHAT) from error
            raise

    def _maintain(self, budget: int | None) -> None:
        mark = self.corpus.watermark()
        if manifest.signature(self.folder) != self._signature:
            self._load()
        stale = mark.last_ord < self.manifest.last_ord or mark.last_change < self.manifest.last_change
        if mark.generation != self.manifest.generation or stale:
            serial = self.manifest.serial
            self._reset(mark.generation)
            self.manifest.serial = serial
        while mark.last_ord - self.last_ord > BACKLOG:  # each block committed: a break loses little
            self._advance(mark, min(mark.last_ord, self.last_ord + self.BLOCK_ROWS), many=True)
            self._settle(None)
        self._catch_up(mark)
        self._forget()
        self._forgotten.clear()
        if self.due(budget) or len(self.tail) >= TAIL_ROWS or any(not s.name for s in self.segments):
            self._settle(budget)
        self._renew()

    def _settle(self, budget: int | None) -> None:
        """The tail into segments, merges that are due, and a new manifest.

        The tail always goes with it: the manifest says that all rows up to `last_ord` are in the files.
        """
        self._flush_tail()
        self._before_merges()
        for group in self.due(budget):
            if all(
                segment in self.segments for segment in group
            ):  # none went into the merge of another group
                self._merge(group)
        self._commit()

    def due(self, budget: int | None) -> list[list[PieceOf]]:
        """Groups of segments to merge now, the smallest first."""
        groups: list[list[PieceOf]] = []
        levels: dict[tuple[bool, int], list[PieceOf]] = {}
        for number, segment in enumerate(self.segments):
            rows = len(segment.ords)
            gone = bool(((self.columns.state[segment.ords] & STATUS) == GONE).any())
            if gone or self._misplaced(number) * DEAD_SHARE > rows:
                if budget is None or rows <= budget:
                    groups.append([segment])
                continue
            level = max(0, (rows // TAIL_ROWS).bit_length() - 1) // 2
            levels.setdefault((segment.past, level), []).append(segment)
        for key in sorted(levels):
            if len(levels[key]) >= FAN_OUT:
                rows = sum(len(segment.ords) for segment in levels[key])
                if budget is None or rows <= budget:
                    groups.append(levels[key])
        return groups

    def _new_path(self, kind: str) -> Path:
        """Where a new segment goes; no file of the present manifest has that name."""
        self._written += 1
        return self.folder / f"{kind}-{self.manifest.serial + 1}-{self._written}{self.SUFFIX}"

    def _write_segments(self) -> None:
        """Writes the segments that are only in memory, and maps them."""
        for number, segment in enumerate(self.segments):
            if not segment.name:
                path = self._new_path(segment.kind)
                packing.write(path, segment.arrays, segment.meta)
                self.segments[number] = self._map(path)

    def _commit(self) -> None:
        """Writes what is new and replaces the manifest."""
        old = self.manifest
        self._write_segments()
        new = Manifest(old.analyzer, old.generation, self.last_ord, self.last_change, old.serial + 1)
        new.segments = [segment.name for segment in self.segments]
        new.sizes = {segment.name: segment.size for segment in self.segments}
        self._write_columns(new)
        new.save(self.folder)
        files.sweep(self.folder, new, self.SUFFIX)
        self.manifest, self._written = new, 0
        self._signature = manifest.signature(self.folder)
