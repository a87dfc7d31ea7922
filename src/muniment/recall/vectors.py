"""The vector index of a bank: exact cosines of the candidates that 1-bit signatures find, followed row by row.

Vectors are mapped float16 rows, so that a large bank takes address space and page cache rather than memory. Few rows
are compared exactly; many by their signatures first, and the best of those exactly. There is no graph: a new
row is found at once. Processes, files and damage are dealt with as in the word index (`lexical`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from muniment.base.errors import InvalidInput
from muniment.recall.corpus import Corpus
from muniment.recall.fusion import Background
from muniment.recall.index import FollowingIndex
from muniment.recall.signatures import BLOCK, Nearest, Probe, distances, unit
from muniment.recall.vector_corpus import Array, VectorRow, direction
from muniment.recall.vector_follow import VectorFollower
from muniment.recall.vector_segments import CHUNK, IN_TAIL, chunks

EXACT_ROWS = 2000  # up to so many rows are compared exactly
RESCORED = 1000  # candidates of the signatures that are compared exactly, at least
PER_HIT = 15  # and so many for each hit asked for: fewer lose some of the last ones
SHARE = 200  # and one in so many of the rows that are searched
SCREENED = (
    20  # one in so many is left by the first look at the signatures, and at least twice what is rescored
)
SPARSE = 8  # one row in so many allowed, or fewer: only their signatures are looked at
SAMPLED = 512  # rows that the background is measured on, at most
OFFSETS = (1, 2, 3, 5, 8, 13, 21, 34)  # pairs of sampled rows so far apart stand for random pairs


class Near(NamedTuple):
    """A hit: the row number and its cosine with the query, above 0 and at most 1."""

    ord: int
    cosine: float


@dataclass(frozen=True, slots=True)
class VectorStats:
    """Size of an index: live rows with a vector, segments, bytes on disk, rows in memory, unusable vectors met."""

    records: int
    segments: int
    bytes: int
    tail: int
    unusable: int


class VectorIndex(FollowingIndex[VectorFollower]):
    """The vector index in a folder, of one model. Thread-safe.

    Args:
        folder: Where its files are; made when something is written.
        corpus: What it follows.
        dimension: Of every vector of the model, 1 or more.
        model: Its name: files that another model made are not used.

    Raises:
        InvalidInput: The dimension has no meaning.
    """

    SHORT_ROWS = 1 << 14

    def __init__(self, folder: Path, corpus: Corpus[VectorRow], dimension: int, *, model: str = "") -> None:
        if dimension < 1:
            raise InvalidInput(f"dimension {dimension}", "A vector has at least one number.")
        self.dimension, self.model = dimension, model
        fingerprint = f"vectors 1 {dimension} {model}"
        super().__init__(VectorFollower(Path(folder), corpus, dimension, fingerprint))
        self._sample: tuple[int, Array] = (-1, np.zeros((0, dimension), np.float32))

    def search(self, query: Array, limit: int, allow: Array | None = None, past: bool = False) -> list[Near]:
        """The rows nearest to a query, the best first, of equal ones the newer; call `refresh` first.

        Args:
            query: (dimension,) numbers of any length but 0.
            limit: Hits at most.
            allow: Boolean by row number: only these may be hits. Rows beyond its end are not allowed.
            past: Look at versions that are no longer live too.

        Raises:
            WrongDimension: The query has another number of dimensions.
            InvalidInput: It is no finite vector, or zero.
        """
        asked = self._unit(query)
        with self._lock:
            allowed = self._allowed(allow, past)
            if limit <= 0 or not len(rows := self._candidates(asked, limit, allowed)):
                return []
            found = self._cosines(asked, rows)
        near = np.flatnonzero(found > 0)
        best = near[np.lexsort((-rows[near], -found[near]))][:limit]
        return [Near(*pair) for pair in zip(rows[best].tolist(), found[best].tolist(), strict=True)]

    def cosines(self, query: Array, ords: Sequence[int], *, past: bool = False) -> list[float | None]:
        """The cosine of each of these rows with a query, as `search` would give it, negative ones too.

        Returns:
            None for rows that a search could never return; errors as `search`.
        """
        asked = self._unit(query)
        with self._lock:
            mask = self._follower.searchable(past)
            rows = np.asarray(ords, np.int64)
            known = rows[(rows > 0) & mask.take(rows, mode="clip") & (rows < len(mask))]
            found = dict(zip(known.tolist(), self._cosines(asked, known).tolist(), strict=True))
        return [found.get(number) for number in ords]

    def explain(self, query: Array, number: int, *, past: bool = False) -> float | None:
        """The cosine of one row with a query, whatever its rank; None if a search could never return it."""
        return self.cosines(query, [number], past=past)[0]

    def background(self, query: Array | None = None) -> Background:
        """How similar live rows are that have nothing to do with each other; or a query with rows in general.

        Measured on up to `SAMPLED` rows at even distances: the same rows give the same figures.

        Args:
            query: As in `search`; None for pairs of rows.
        """
        asked = None if query is None else self._unit(query)
        with self._lock:
            sample = self._sampled()
        if asked is not None:
            found = sample @ asked
        else:
            apart = [offset for offset in OFFSETS if offset < len(sample)]
            pairs = [np.einsum("ij,ij->i", sample[offset:], sample[:-offset]) for offset in apart]
            found = np.concatenate(pairs) if pairs else np.zeros(0, np.float32)
        if not len(found):
            return Background(0.0, 0.0, len(sample))
        return Background(float(found.mean()), float(found.std()), len(sample))

    def stats(self) -> VectorStats:
        """How large it is."""
        with self._lock:
            follower = self._follower
            return VectorStats(
                records=int(np.count_nonzero(follower.searchable(past=False))),
                segments=len(follower.segments),
                bytes=sum(follower.manifest.sizes.values()),
                tail=len(follower.tail),
                unusable=follower.unusable,
            )

    def close(self) -> None:
        """See `FollowingIndex`."""
        with self._lock:
            super().close()
            self._sample = (-1, self._sample[1][:0])

    # -- parts of a search

    def _unit(self, query: Array) -> Array:
        return direction(query, self.dimension).astype(np.float32)

    def _candidates(self, asked: Array, limit: int, allowed: Array) -> Array:
        """Row numbers to compare exactly: all that are allowed if they are few, else those with near signatures."""
        count = int(np.count_nonzero(allowed))
        keep = max(RESCORED, PER_HIT * limit, count // SHARE)
        if count <= max(EXACT_ROWS, keep):
            return np.flatnonzero(allowed)
        follower = self._follower
        probes = [Probe(asked, segment.mean) for segment in follower.segments]
        left = self._screen(probes, allowed, count, max(2 * keep, count // SCREENED))
        if len(left) > keep:
            guesses = np.zeros(len(left), np.float32)
            where = follower.columns.where[left]
            for number in np.unique(where).tolist():
                here = np.flatnonzero(where == number)
                segment = follower.segments[number]
                guesses[here] = probes[number].estimate(segment.signs.take(segment.positions(left[here])))
            left = left[np.argpartition(-guesses, keep - 1)[:keep]]
        tail = np.array(sorted(follower.tail), np.int64)
        return np.concatenate([left, tail[allowed[tail]] if len(tail) else tail])

    def _screen(self, probes: Sequence[Probe], allowed: Array, count: int, keep: int) -> Array:
        """The rows in segments, of those allowed, whose signatures differ least from the query's."""
        where = self._follower.columns.where
        nearest = Nearest(keep)
        some = np.flatnonzero(allowed) if count * SPARSE <= len(allowed) else None
        for number, segment in reversed(list(enumerate(self._follower.segments))):
            bits, signature = segment.signs.bits, probes[number].bits
            if some is not None:
                mine = some[where[some] == number]
                places = segment.positions(mine)
                for part in chunks(len(mine), BLOCK):
                    nearest.offer(mine[part], distances(bits[:, places[part]], signature))
                continue
            among = segment.masked(allowed)
            if not segment.whole(where, number):
                among = among & (where[segment.ords] == number)
            for part in chunks(len(segment.ords), BLOCK):
                nearest.offer(segment.ords[part], distances(bits[:, part], signature), among[part])
        return nearest.take().astype(np.int64)

    def _rows(self, ords: Array) -> Array:
        """The vectors (float16) of rows that have one."""
        follower = self._follower
        rows = np.empty((len(ords), self.dimension), np.float16)
        where = follower.columns.where[ords]
        for number in np.unique(where).tolist():
            here = np.flatnonzero(where == number)
            if number == IN_TAIL:
                rows[here] = [follower.tail[n] for n in ords[here].tolist()]
            else:
                segment = follower.segments[number]
                rows[here] = segment.rows[segment.positions(ords[here])]
        return rows

    def _cosines(self, asked: Array, ords: Array) -> Array:
        """Exact cosines (float32) of rows that have a vector; equal vectors get equal ones, wherever they stand."""
        found = np.zeros(len(ords), np.float32)
        for part in chunks(len(ords), CHUNK):
            rows = self._rows(ords[part]).astype(np.float32)
            size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            found[part] = np.einsum("ij,j->i", rows, asked) / size
        return np.clip(found, -1.0, 1.0)

    def _sampled(self) -> Array:
        """Unit rows (float32) at even distances in the bank; measured again when it has moved."""
        follower = self._follower
        if self._sample[0] != follower.version:
            last, step = follower.columns.last, 1
            while last // step > SAMPLED:
                step *= 2
            ords = np.arange(step, last + 1, step)
            ords = ords[follower.searchable(past=False)[ords]] if len(ords) else ords
            self._sample = (follower.version, unit(self._rows(ords)))
        return self._sample[1]
