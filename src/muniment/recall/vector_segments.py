"""Where vectors are kept: immutable mapped segments, the newest rows in memory, and what each row counts for.

A segment holds row numbers (int32, ascending), vectors (float16, row by row), their signatures and the mean that those
were taken against. A row that changed its vector stands in several sources; the newest counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from muniment.base.errors import StoreCorrupt
from muniment.recall import packing
from muniment.recall.columns import GONE, LIVE, PAST, STATUS
from muniment.recall.signatures import Signatures, sign, unit, words_of
from muniment.recall.vector_corpus import Array

WITHDRAWN = 4  # beside the status: what the segments hold of the row counts no more
NOWHERE, IN_TAIL = -1, -2  # instead of the number of a segment
CHUNK = 1024  # rows made float32 at a time
SIGNED = 2048  # rows signed at a time: bounds the memory that a merge takes
SAMPLE = 4096  # rows that a mean is taken of, at most
GROWTH = 4  # a mean serves segments of up to so many times the rows that it was taken of


class Segment:
    """A mapped (or in-memory) segment; safe to share between threads.

    Attributes:
        name: File name; empty while only in memory.
        size: Bytes of the file.
        ords: (n,) int32 row numbers, ascending.
        rows: (n, dimension) float16.
        signs: Signatures of the rows.
        mean: (dimension,) float32 that the signatures were taken against.
        spread: For how many rows that mean was made.
    """

    kind = "rows"  # what its file name begins with
    past = False  # rows of any state stand in it

    def __init__(
        self, arrays: packing.Arrays, dimension: int, spread: int, name: str = "", size: int = 0
    ) -> None:
        self.arrays, self.spread, self.name, self.size = arrays, spread, name, size
        self.ords: Array = arrays["ords"]
        self.mean: Array = arrays["mean"]
        self.rows: Array = arrays["rows"].reshape(-1, dimension)
        bits = arrays["bits"].reshape(words_of(dimension), -1)
        self.signs = Signatures(bits, arrays["scale"], arrays["offset"])
        count = len(self.ords)
        # Row numbers without a gap: a mask by row number is then a slice.
        self.dense = count > 0 and int(self.ords[-1]) - int(self.ords[0]) + 1 == count

    @classmethod
    def open(cls, path: Path, dimension: int) -> Segment:
        """Maps a segment file; errors as `packing.read`, and `StoreCorrupt` if its parts don't fit together."""
        arrays, meta, size = packing.read(path)
        segment = cls(arrays, dimension, int(meta["spread"]), path.name, size)
        ords = segment.ords
        signs = segment.signs
        sizes = {len(segment.rows), signs.bits.shape[1], len(signs.scale), len(signs.offset)}
        if len(segment.mean) != dimension or sizes != {len(ords)} or (len(ords) and ords[0] < 1):
            raise StoreCorrupt(f"{path.name} holds arrays that do not fit together")
        if (ords[1:] <= ords[:-1]).any():
            raise StoreCorrupt(f"{path.name} holds rows out of order")
        return segment

    @property
    def meta(self) -> dict[str, int]:
        """What stands beside the arrays in its file."""
        return {"spread": self.spread}

    def masked(self, mask: Array) -> Array:
        """A mask by row number (long enough for all its rows) as one by position."""
        if self.dense:
            first = int(self.ords[0])
            part: Array = mask[first : first + len(self.ords)]
            return part
        found: Array = mask[self.ords]
        return found

    def whole(self, where: Array, number: int) -> bool:
        """Whether all its vectors count, as source `number`."""
        return bool((self.masked(where) == number).all())

    def positions(self, ords: Array) -> Array:
        """Where these rows (all of them its own) stand."""
        if self.dense:
            found: Array = ords - self.ords[0]
            return found
        return np.searchsorted(self.ords, ords)


def mean_of(rows: Array) -> Array:
    """The mean (float32) of rows at length 1, or of `SAMPLE` of them at even distances."""
    found: Array = unit(rows[:: max(1, len(rows) // SAMPLE)]).mean(axis=0)
    return found.astype(np.float32)


def choose_mean(segments: Sequence[Segment], rows: Array) -> tuple[Array, int]:
    """(mean, spread) for a new segment: that of the largest one there is, unless the bank has outgrown it.

    One mean for all makes distances comparable between segments.
    """
    largest = max(segments, key=lambda segment: len(segment.ords), default=None)
    if largest is not None and len(rows) <= GROWTH * largest.spread:
        return largest.mean, largest.spread
    return mean_of(rows), len(rows)


def make_segment(ords: Array, rows: Array, others: Sequence[Segment]) -> Segment:
    """A segment in memory.

    Args:
        ords: (n,) ascending.
        rows: (n, dimension) float16.
        others: The segments it will stand beside.
    """
    mean, spread = choose_mean(others, rows)
    signs = _Signing(len(rows), rows.shape[1], mean)
    for part in chunks(len(rows), SIGNED):
        signs.put(part, rows[part])
    arrays = {"ords": ords.astype(np.int32), "rows": rows.reshape(-1), **signs.arrays(), "mean": mean}
    return Segment(arrays, rows.shape[1], spread)


class _Signing:
    """Signatures that are made part by part."""

    def __init__(self, count: int, dimension: int, mean: Array) -> None:
        self._mean = mean
        self._bits = np.zeros((words_of(dimension), count), np.uint64)
        self._scale, self._offset = np.zeros(count, np.float32), np.zeros(count, np.float32)

    def put(self, part: slice, rows: Array) -> None:
        """Signs some rows (float16)."""
        self._bits[:, part], self._scale[part], self._offset[part] = sign(unit(rows), self._mean)

    def arrays(self) -> packing.Arrays:
        """As they are kept in a file."""
        return {"bits": self._bits.reshape(-1), "scale": self._scale, "offset": self._offset}


class Merged:
    """Several segments as one, read piece by piece: rows are never all in memory.

    Args:
        sources: (segment, positions to keep of it, ascending); no row number is kept twice.
        others: All segments there are: see `choose_mean`.
        dimension: Of the vectors.
    """

    def __init__(
        self, sources: Sequence[tuple[Segment, Array]], others: Sequence[Segment], dimension: int
    ) -> None:
        self._segments = [segment for segment, _ in sources]
        source = np.repeat(np.arange(len(sources)), [len(kept) for _, kept in sources])
        at = np.concatenate([kept for _, kept in sources]).astype(np.int64)
        ords = np.concatenate([segment.ords[kept] for segment, kept in sources])
        order = np.argsort(ords, kind="stable")
        self.ords: Array = ords[order]
        self._source, self._at, self._dimension = source[order], at[order], dimension
        step = max(1, len(ords) // SAMPLE)
        largest = max(others, key=lambda segment: len(segment.ords))
        if len(ords) <= GROWTH * largest.spread:
            self._mean, self.spread = largest.mean, largest.spread
        else:
            self._mean, self.spread = mean_of(self._gather(slice(None, None, step))), len(ords)
        self._signs = _Signing(len(ords), dimension, self._mean)

    def _gather(self, some: slice) -> Array:
        source, at = self._source[some], self._at[some]
        rows = np.empty((len(at), self._dimension), np.float16)
        for number in np.unique(source).tolist():
            here = source == number
            rows[here] = self._segments[number].rows[at[here]]
        return rows

    def _rows(self) -> Iterator[Array]:
        for part in chunks(len(self.ords), SIGNED):
            rows = self._gather(part)
            self._signs.put(part, rows)
            yield rows.reshape(-1)

    def write(self, path: Path) -> Segment:
        """Writes it as a file and maps that."""
        count = len(self.ords)
        arrays: dict[str, Array | packing.Parts] = {
            "ords": self.ords.astype(np.int32),
            "rows": packing.Parts("float16", count * self._dimension, self._rows()),
            "mean": self._mean,
            **self._signs.arrays(),  # filled by the time their turn comes
        }
        packing.write(path, arrays, {"spread": self.spread})
        return Segment.open(path, self._dimension)


class States:
    """What each row counts for (`columns.STATUS`), and which source holds the vector that counts.

    Attributes:
        last: The greatest row number known.
        state: Status and `WITHDRAWN`, uint8 by row number.
        where: Number of a segment, `IN_TAIL` or `NOWHERE`, int16 by row number.
    """

    def __init__(self, state: Array | None = None) -> None:
        self.state: Array = np.zeros(1, np.uint8) if state is None else state.copy()
        self.last = len(self.state) - 1
        self.where: Array = np.full(len(self.state), NOWHERE, np.int16)

    def reserve(self, last: int) -> None:
        """Makes room for rows up to this one."""
        self.last = max(self.last, last)
        short = last + 1 - len(self.state)
        if short > 0:
            room = short + last // 8 + 1024
            self.state = np.append(self.state, np.zeros(room, np.uint8))
            self.where = np.append(self.where, np.full(room, NOWHERE, np.int16))

    def place(self, segments: Sequence[Segment], tail: Sequence[int]) -> None:
        """Finds anew which source each row's vector is in; later sources win."""
        self.where[:] = NOWHERE
        for number, segment in enumerate(segments):
            self.where[segment.ords] = number
        self.where[(self.state & WITHDRAWN) > 0] = NOWHERE
        if len(tail):
            self.where[np.asarray(tail)] = IN_TAIL

    def searchable(self, past: bool) -> Array:
        """Which rows a search may return, by row number: with a vector, and live (or past)."""
        status = self.state[: self.last + 1] & STATUS
        found: Array = (status == LIVE) | (status == PAST) if past else status == LIVE
        found &= self.where[: self.last + 1] != NOWHERE
        return found

    def set_status(self, row: int, status: int) -> None:
        """Makes a known row live, past or gone."""
        self.state[row] = (int(self.state[row]) & ~STATUS) | status

    def set_withdrawn(self, row: int, withdrawn: bool) -> None:
        """Says whether what segments hold of a row still counts."""
        self.state[row] = (int(self.state[row]) & STATUS) | (WITHDRAWN if withdrawn else 0)

    def status(self, rows: Array) -> Array:
        """Live, past, gone or none of each row."""
        found: Array = self.state[rows] & STATUS
        return found

    def kept(self, segment: Segment, number: int) -> Array:
        """Positions in a segment whose vectors count: not gone, and not replaced or withdrawn."""
        mine = self.where[segment.ords] == number
        mine &= self.status(segment.ords) != GONE
        return np.flatnonzero(mine)


def chunks(count: int, size: int) -> Iterator[slice]:
    """Slices of `size` that cover `count` entries."""
    return (slice(first, first + size) for first in range(0, count, size))
