"""Following a corpus of vectors: rows become vectors with signatures, and the newest vector of a row counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from muniment.recall import packing
from muniment.recall.columns import GONE, LIVE, PAST, STATUS
from muniment.recall.corpus import Corpus
from muniment.recall.follow import Follower
from muniment.recall.manifest import Manifest
from muniment.recall.vector_corpus import Array, VectorRow, unpack_vectors
from muniment.recall.vector_segments import (
    IN_TAIL,
    NOWHERE,
    Merged,
    Segment,
    States,
    make_segment,
)

TAIL_MOST = (
    2048  # from here on the tail becomes a segment in memory, so that searches need not compare it all
)


class VectorFollower(Follower[VectorRow, Segment]):
    """See `Follower`.

    Attributes:
        tail: The newest vectors, float16 by row number.
        unusable: Vectors met that are none: of a wrong length, with infinities, or all zero.
        version: Counts up whenever a search may find something else.
    """

    WHAT = "the vector index"
    SUFFIX = ".vectors"
    BLOCK_ROWS = 16384
    columns: States
    tail: dict[int, Array]

    def __init__(self, folder: Path, corpus: Corpus[VectorRow], dimension: int, fingerprint: str) -> None:
        self.dimension = dimension
        self.version = 0
        super().__init__(folder, corpus, fingerprint)

    def aside(self, corpus: Corpus[VectorRow]) -> VectorFollower:
        """See `Follower`."""
        return VectorFollower(self.folder, corpus, self.dimension, self.fingerprint)

    # -- state

    def _empty(self) -> None:
        self.columns, self.tail = States(), {}
        self.unusable = 0

    def _moved(self) -> None:
        super()._moved()
        self.version += 1

    def _renew(self) -> None:
        """Finds anew where each row is."""
        self.columns.place(self.segments, list(self.tail))
        self._moved()

    def _break_off(self) -> None:
        super()._break_off()
        self._renew()  # all rows are still in memory, though not where they were

    # -- catching up

    def _take_block(self, block: list[VectorRow], *, many: bool) -> None:
        self.columns.reserve(block[-1].ord)
        ords = np.array([row.ord for row in block], np.int64)
        self.columns.state[ords] = [GONE if r.gone else LIVE if r.live else PAST for r in block]
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
        self.columns.where[ords] = IN_TAIL

    def _relieve(self) -> None:
        """A tail that grew long becomes a segment in memory."""
        if len(self.tail) >= TAIL_MOST:
            self._flush_tail()
            self._renew()

    def _lacking(self, changed: Mapping[int, bool]) -> list[int]:
        """All: their vectors may have come, changed or gone."""
        return list(changed)

    def _take_again(self, rows: Sequence[VectorRow]) -> None:
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
        self.columns.set_withdrawn(number, True)
        self.columns.where[number] = NOWHERE

    def vector(self, number: int) -> Array | None:
        """The vector (float16) that counts for a row, whatever its state."""
        if not 0 < number <= self.columns.last:
            return None
        where = int(self.columns.where[number])
        if where == NOWHERE:
            return None
        if where == IN_TAIL:
            return self.tail[number]
        segment = self.segments[where]
        found: Array = segment.rows[segment.positions(np.array([number]))[0]]
        return found

    # -- files

    def _map(self, path: Path) -> Segment:
        return Segment.open(path, self.dimension)

    def _load_columns(self, parts: list[packing.Arrays]) -> States:
        return States(parts[0]["state"])

    def _write_columns(self, new: Manifest) -> None:
        new.base = f"states-{new.serial}{self.SUFFIX}"
        state = {"state": self.columns.state[: self.columns.last + 1]}
        new.sizes[new.base] = packing.write(self.folder / new.base, state, {})

    def _misplaced(self, number: int) -> int:
        return int(np.count_nonzero(self.columns.where[self.segments[number].ords] != number))

    def _before_merges(self) -> None:
        self._write_segments()  # a merge reads mapped files: vectors of a large bank are never all in memory
        self._renew()

    def _flush_tail(self) -> None:
        if not self.tail:
            return
        ords = np.array(sorted(self.tail), np.int64)
        rows = np.stack([self.tail[number] for number in ords.tolist()])
        self.columns.state[ords] &= STATUS
        self.segments.append(make_segment(ords, rows, self.segments))
        self.tail = {}

    def _merge(self, group: list[Segment]) -> None:
        """Replaces segments by one file with the rows that still count."""
        numbers = [number for number, segment in enumerate(self.segments) if segment in group]
        sources = [(self.segments[n], self.columns.kept(self.segments[n], n)) for n in numbers]
        made = []
        if sum(len(kept) for _, kept in sources):
            made = [Merged(sources, self.segments, self.dimension).write(self._new_path(Segment.kind))]
        self.segments = [segment for segment in self.segments if segment not in group] + made
        self.columns.place(self.segments, list(self.tail))
