"""Keeping the vector index in step with the corpus, in the manner of the word index (`follow`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from muniment.base.errors import StorageError
from muniment.recall import files, manifest, packing
from muniment.recall.columns import GONE, LIVE, PAST, STATUS
from muniment.recall.corpus import Watermark
from muniment.recall.follow import BROKEN_OFF
from muniment.recall.manifest import Manifest
from muniment.recall.vector_corpus import Array, VectorCorpus, VectorRow, unpack_vectors
from muniment.recall.vector_segments import (
    IN_TAIL,
    NOWHERE,
    SUFFIX,
    Merged,
    Segment,
    States,
    make_segment,
)

TAIL_ROWS = 512  # from here on maintenance turns the tail into a segment
TAIL_MOST = 2048  # from here on it becomes one in memory, so that searches need not compare it all
BACKLOG = 4096  # more rows than this to catch up with go straight into segments
BLOCK_ROWS = 16384  # rows of one such segment
FAN_OUT = 4  # segments of a size that are merged into one of the next
DEAD_SHARE = 4  # a segment with one row in so many replaced or withdrawn is rewritten
PICKED = 1024  # rows asked for at a time


class VectorFollower:
    """The state of an index as one process sees it.

    Attributes:
        manifest: The files that it has mapped.
        segments: Those on disk, and in memory (nameless) where they could not be written yet.
        states: What each row counts for.
        tail: The newest vectors, float16 by row number.
        unusable: Vectors met that are none: of a wrong length, with infinities, or all zero.
        version: Counts up whenever a search may find something else.
    """

    def __init__(self, folder: Path, corpus: VectorCorpus, dimension: int, fingerprint: str) -> None:
        self.folder, self.corpus, self.dimension, self.fingerprint = folder, corpus, dimension, fingerprint
        self._forgotten: set[int] = set()
        self.version = 0
        self._reset(0)

    # -- state

    def _reset(self, generation: int) -> None:
        self.manifest = Manifest(self.fingerprint, generation)
        self.states = States()
        self.segments: list[Segment] = []
        self.tail: dict[int, Array] = {}
        self.last_ord = self.last_change = 0
        self.unusable = 0
        self._written = 0
        self._signature: manifest.Signature | None = None
        self._seen: Watermark | None = None
        self._renew()

    def _renew(self) -> None:
        """Segments changed: finds anew where each row is."""
        self.states.place(self.segments, list(self.tail))
        self._moved()

    def _moved(self) -> None:
        """Rows changed."""
        self.version += 1
        self._masks: dict[bool, Array] = {}

    def searchable(self, past: bool) -> Array:
        """Which rows a search may return, by row number."""
        found = self._masks.get(past)
        if found is None:
            # The caller's view of the corpus may be older than the index: what came later stays out.
            upto = self.states.last if self._seen is None else self._seen.last_ord
            found = self._masks[past] = self.states.searchable(past, upto)
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
        known = self._take_new(mark)
        if mark.last_change > self.last_change:
            self._change(self.corpus.changes(self.last_change, mark.last_change), known)
            self.last_change = mark.last_change
        moved = self._seen is None or before != (self.last_ord, self.last_change) or self._seen != mark
        self._seen = mark
        if moved:
            self._forget()
            self._moved()

    def _take_new(self, mark: Watermark, upto: int | None = None) -> int:
        """Takes in new rows; returns up to which row changes still have to be followed."""
        known = self.last_ord
        upto = mark.last_ord if upto is None else upto
        if upto > known:
            if not known:  # rows come as they are now: what changed before is in them
                self.last_change = mark.last_change
            self._take(self.corpus.vectors(known, upto), many=upto - known > BACKLOG)
            self.states.reserve(upto)
            self.last_ord = upto
        return known

    def _take(self, rows: Iterable[VectorRow], *, many: bool) -> None:
        """New rows: into the tail, or many into segments."""
        source = iter(rows)
        while block := list(islice(source, BLOCK_ROWS)):
            self.states.reserve(block[-1].ord)
            ords = np.array([row.ord for row in block], np.int64)
            self.states.state[ords] = [GONE if r.gone else LIVE if r.live else PAST for r in block]
            matrix, usable = unpack_vectors([None if r.gone else r.vector for r in block], self.dimension)
            self.unusable += sum(r.vector is not None and not r.gone for r in block) - len(matrix)
            if many and len(matrix):
                self.segments.append(make_segment(ords[usable], matrix, self.segments))
            elif len(matrix):
                self._add(ords[usable], matrix)
        if many:
            self._renew()
        self._relieve()

    def _add(self, ords: Array, matrix: Array) -> None:
        """Puts vectors into the tail."""
        self.tail.update(zip(ords.tolist(), matrix.copy(), strict=True))
        self.states.where[ords] = IN_TAIL

    def _relieve(self) -> None:
        """A tail that grew long becomes a segment in memory."""
        if len(self.tail) >= TAIL_MOST:
            self._flush_tail()
            self._renew()

    def _change(self, changes: Iterable[tuple[int, int, bool, bool]], known: int) -> None:
        """Rows (up to `known`) that became live, past or gone, or whose vector came, changed or went."""
        latest = {number: (live, gone) for _, number, live, gone in changes if 0 < number <= known}
        again = []
        for number, (live, gone) in latest.items():
            if gone:
                self._set_gone(number)
            else:
                self.states.set_status(number, LIVE if live else PAST)
                again.append(number)
        for first in range(0, len(again), PICKED):
            rows = [row for row in self.corpus.pick(again[first : first + PICKED]) if not row.gone]
            matrix, usable = unpack_vectors([row.vector for row in rows], self.dimension)
            self.unusable += sum(row.vector is not None for row in rows) - len(matrix)
            vectors = iter(matrix)
            for row, good in zip(rows, usable.tolist(), strict=True):
                self._set_vector(row.ord, next(vectors) if good else None)
        self._relieve()

    def _set_vector(self, number: int, vector: Array | None) -> None:
        """A row's vector as it is now; nothing happens if it is the one that is here."""
        held = self.vector(number)
        if vector is None:
            if held is not None:
                self._drop(number)
        elif held is None or not np.array_equal(held, vector):
            self._add(np.array([number]), vector.reshape(1, -1))

    def _drop(self, number: int) -> None:
        """What is here of a row's vector counts no more."""
        self.tail.pop(number, None)
        self.states.set_withdrawn(number, True)
        self.states.where[number] = NOWHERE

    def vector(self, number: int) -> Array | None:
        """The vector (float16) that counts for a row, whatever its state."""
        if not 0 < number <= self.states.last:
            return None
        where = int(self.states.where[number])
        if where == NOWHERE:
            return None
        if where == IN_TAIL:
            return self.tail[number]
        segment = self.segments[where]
        found: Array = segment.rows[segment.positions(np.array([number]))[0]]
        return found

    def forget(self, ords: Sequence[int]) -> None:
        """Makes rows unsearchable at once, whatever the corpus says of them."""
        self._forgotten.update(number for number in ords if number > 0)
        self._forget()
        self._moved()

    def _forget(self) -> None:
        for number in self._forgotten:
            if number <= self.states.last:
                self._set_gone(number)

    def _set_gone(self, number: int) -> None:
        self.states.set_status(number, GONE)
        if number in self.tail:
            self._drop(number)

    # -- files

    def _load(self) -> None:
        """Opens what the manifest names; starts over if that is not an index of this corpus and model."""
        for _ in range(100):
            signature = manifest.signature(self.folder)
            self._reset(self.manifest.generation)
            self._signature = signature
            if signature is None:
                return
            opened = self._open()
            if opened is None:
                if manifest.signature(self.folder) != signature:
                    continue  # replaced while it was opened: the files named before may be gone
                return
            self.manifest, self.segments, self.states = opened
            self.last_ord, self.last_change = self.manifest.last_ord, self.manifest.last_change
            self._renew()
            return

    def _open(self) -> tuple[Manifest, list[Segment], States] | None:
        """What the manifest names, mapped; None if any of it is missing, damaged, or of another model."""
        try:
            found = Manifest.load(self.folder)
            if found.analyzer != self.fingerprint:
                return None
            segments = [Segment.open(self.folder / name, self.dimension) for name in found.segments]
            arrays, _, size = packing.read(self.folder / found.base)
            sizes = {segment.name: segment.size for segment in segments} | {found.base: size}
            states = States(arrays["state"])
            past_end = any(len(s.ords) and int(s.ords[-1]) > states.last for s in segments)
            if sizes != found.sizes or past_end:
                return None
            return found, segments, states
        except (StorageError, OSError, ValueError, KeyError, IndexError, TypeError):
            return None  # derived data: made again from the corpus

    def maintain(self, budget: int | None) -> bool:
        """See `VectorIndex.maintain`."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with manifest.lock(self.folder) as mine:
                if not mine:
                    return False
                self._maintain(budget)
                return True
        except BaseException as error:
            self._renew()  # all rows are still in memory, though not where they were
            self._signature = (
                BROKEN_OFF  # what was written counts for nothing: open what is there the next time
            )
            if isinstance(error, OSError):
                raise files.wrapped(error, "the vector index") from error
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
            upto = min(mark.last_ord, self.last_ord + BLOCK_ROWS)
            known = self._take_new(mark, upto)
            if known:
                self._change(self.corpus.changes(self.last_change, mark.last_change), known)
                self.last_change = mark.last_change
            self._settle(None)
        self._catch_up(mark)
        self._forget()
        self._forgotten.clear()
        self._renew()
        if self.due(budget) or len(self.tail) >= TAIL_ROWS or any(not s.name for s in self.segments):
            self._settle(budget)
        self._renew()

    def _settle(self, budget: int | None) -> None:
        """The tail into a segment, merges that are due, and a new manifest."""
        self._flush_tail()
        self._name_segments()
        self._renew()
        for group in self.due(budget):
            self._merge(group)
        self._commit()

    def _flush_tail(self) -> None:
        if not self.tail:
            return
        ords = np.array(sorted(self.tail), np.int64)
        rows = np.stack([self.tail[number] for number in ords.tolist()])
        self.states.state[ords] &= STATUS
        self.segments.append(make_segment(ords, rows, self.segments))
        self.tail = {}

    def due(self, budget: int | None) -> list[list[Segment]]:
        """Groups of segments to merge now, the smallest first."""
        groups: list[list[Segment]] = []
        levels: dict[int, list[Segment]] = {}
        for number, segment in enumerate(self.segments):
            gone = bool((self.states.status(segment.ords) == GONE).any())
            wrong = int(np.count_nonzero(self.states.where[segment.ords] != number))
            if gone or wrong * DEAD_SHARE > len(segment.ords):
                if budget is None or len(segment.ords) <= budget:
                    groups.append([segment])
                continue
            level = max(0, (len(segment.ords) // TAIL_ROWS).bit_length() - 1) // 2
            levels.setdefault(level, []).append(segment)
        for key in sorted(levels):
            if len(levels[key]) >= FAN_OUT:
                rows = sum(len(segment.ords) for segment in levels[key])
                if budget is None or rows <= budget:
                    groups.append(levels[key])
        return groups

    def _merge(self, group: list[Segment]) -> None:
        """Replaces segments by one file with the rows that still count."""
        numbers = [number for number, segment in enumerate(self.segments) if segment in group]
        sources = [(self.segments[n], self.states.kept(self.segments[n], n)) for n in numbers]
        made = []
        if sum(len(kept) for _, kept in sources):
            made = [Merged(sources, self.segments, self.dimension).write(self._new_path())]
        self.segments = [segment for segment in self.segments if segment not in group] + made
        self.states.place(self.segments, list(self.tail))

    def _new_path(self) -> Path:
        self._written += 1
        return self.folder / f"rows-{self.manifest.serial + 1}-{self._written}{SUFFIX}"

    def _name_segments(self) -> None:
        """Writes the segments that are only in memory, and maps them."""
        for number, segment in enumerate(self.segments):
            if not segment.name:
                path = self._new_path()
                packing.write(path, segment.arrays, segment.meta)
                self.segments[number] = Segment.open(path, self.dimension)

    def _commit(self) -> None:
        """Replaces the manifest by one that names what is there now."""
        old = self.manifest
        new = Manifest(old.analyzer, old.generation, self.last_ord, self.last_change, old.serial + 1)
        new.segments = [segment.name for segment in self.segments]
        new.sizes = {segment.name: segment.size for segment in self.segments}
        new.base = f"states-{new.serial}{SUFFIX}"
        state = {"state": self.states.state[: self.states.last + 1]}
        new.sizes[new.base] = packing.write(self.folder / new.base, state, {})
        new.save(self.folder)
        files.sweep(self.folder, new, SUFFIX)
        self.manifest, self._written = new, 0
        self._signature = manifest.signature(self.folder)
