"""Segments: the sorted vocabulary of a set of rows and, for each term, who holds it how often.

Vocabulary keys are in byte order; the first eight bytes of each are kept as big-endian numbers, so that a look-up is
one binary search over integers and, among equal heads, a few comparisons of bytes. Postings are row numbers (int32,
ascending) and occurrences (the narrowest type that holds them all: nothing is clipped). For conversations the segment
also keeps, per term, (conversation, summed occurrences).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from muniment.recall import packing
from muniment.recall.analyzer import SEPARATOR
from muniment.recall.speakers import FIELD

Array = np.ndarray[Any, Any]
EMPTY = np.zeros(0, np.int32)


@dataclass(slots=True)
class Postings:
    """Terms in byte order with who holds them.

    Attributes:
        keys: Vocabulary keys, ascending.
        starts: int64, one more than keys: the slice of each term in `rows` and `counts`.
        rows: int32 row numbers, ascending within a term.
        counts: Occurrences, beside `rows`.
    """

    keys: Sequence[bytes]
    starts: Array
    rows: Array
    counts: Array


class Segment:
    """A mapped (or in-memory) segment; safe to share between threads.

    Attributes:
        name: File name; empty while only in memory.
        past: Whether it holds rows that are no longer live.
        ords: Its rows, ascending.
    """

    def __init__(self, arrays: packing.Arrays, *, past: bool, name: str = "", size: int = 0) -> None:
        self.name, self.past, self.size, self.arrays = name, past, size, arrays
        self.ords: Array = arrays["ords"]
        self.terms = len(arrays["heads"])  # how many it knows
        # Single numbers are read faster through plain views than through arrays.
        self._heads, self._ends, self._starts, self._text = (
            memoryview(arrays[name])  # type: ignore[arg-type]
            for name in ("heads", "key_starts", "starts", "blob")
        )
        self._rows, self._counts = arrays["rows"], arrays["counts"]
        self.with_sessions = "session_starts" in arrays

    @classmethod
    def open(cls, path: Path) -> Segment:
        """Maps a segment file; errors as `packing.read`."""
        arrays, meta, size = packing.read(path)
        return cls(arrays, past=bool(meta["past"]), name=path.name, size=size)

    @property
    def kind(self) -> str:
        """What its file name begins with."""
        return "past" if self.past else "live"

    @property
    def meta(self) -> dict[str, bool]:
        """What stands beside the arrays in its file."""
        return {"past": self.past}

    def key(self, slot: int) -> bytes:
        """The vocabulary key of a slot."""
        return self._text[self._ends[slot] : self._ends[slot + 1]].tobytes()

    def keys(self) -> Iterator[bytes]:
        """All keys in byte order."""
        blob, ends = self._text.tobytes(), self._ends.tolist()
        return (blob[a:b] for a, b in zip(ends, ends[1:], strict=False))

    def find(self, key: bytes) -> int:
        """The slot of a key, or -1."""
        head = int.from_bytes(key[:8].ljust(8, b"\0"), "big")
        low = bisect_left(self._heads, head)
        if low == self.terms or self._heads[low] != head:
            return -1
        if self.key(low) == key:
            return low
        high = bisect_right(self._heads, head, low)
        low = bisect_left(range(high), key, low + 1, key=self.key)
        return low if low < high and self.key(low) == key else -1

    def postings(self, slot: int) -> tuple[Array, Array]:
        """(rows, occurrences) of a slot."""
        a, b = self._starts[slot], self._starts[slot + 1]
        return self._rows[a:b], self._counts[a:b]

    def surfaces(self, slot: int) -> list[tuple[bytes, int]]:
        """(surface, slot) of all surfaces of a stem (by its slot) that differ from it: they stand right behind it."""
        low = self.key(slot) + SEPARATOR
        found = []
        slot += 1
        while slot < self.terms and (key := self.key(slot)).startswith(low):
            found.append((key[len(low) :], slot))
            slot += 1
        return found

    def sessions(self, slot: int) -> tuple[Array, Array]:
        """(conversations, summed occurrences) of a slot, each conversation once."""
        if not self.with_sessions:
            return EMPTY, EMPTY
        starts = self.arrays["session_starts"]
        a, b = int(starts[slot]), int(starts[slot + 1])
        return self.arrays["session_ids"][a:b], self.arrays["session_counts"][a:b]


def segment_arrays(postings: Postings, ords: Array, session_of: Array | None) -> packing.Arrays:
    """The arrays of a segment.

    Args:
        postings: What it holds.
        ords: Its rows, ascending, int32.
        session_of: Conversation by row number (0: none); None leaves conversations out.
    """
    lengths = np.fromiter((len(key) for key in postings.keys), np.int64, len(postings.keys))
    ends = np.zeros(len(postings.keys) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    heads = b"".join(key[:8].ljust(8, b"\0") for key in postings.keys)
    arrays: packing.Arrays = {
        "ords": ords.astype(np.int32, copy=False),
        "heads": np.frombuffer(heads, ">u8").astype(np.uint64),
        "key_starts": ends.astype(np.uint32 if ends[-1] < 2**32 else np.int64),
        "blob": np.frombuffer(b"".join(postings.keys), np.uint8),
        "starts": postings.starts.astype(np.int64, copy=False),
        "rows": postings.rows.astype(np.int32, copy=False),
        "counts": narrow(postings.counts),
    }
    if session_of is not None:
        arrays |= _session_arrays(postings, session_of)
    return arrays


def narrow(counts: Array) -> Array:
    """The counts in the narrowest unsigned type that holds them."""
    top = int(counts.max()) if len(counts) else 0
    return counts.astype(np.uint8 if top < 256 else np.uint16 if top < 65536 else np.uint32, copy=False)


def _session_arrays(postings: Postings, session_of: Array) -> packing.Arrays:
    """Conversations of each term with summed occurrences; surfaces and speakers left out."""
    sessions = session_of[postings.rows]
    lengths = np.diff(postings.starts)
    kept = (SEPARATOR not in key and not key.startswith(FIELD) for key in postings.keys)
    plain = np.fromiter(kept, np.bool_, len(postings.keys))
    keep = np.repeat(plain, lengths) & (sessions > 0)
    pairs = np.repeat(np.arange(len(lengths), dtype=np.int64) << 32, lengths)[keep] | sessions[keep]
    counts = postings.counts[keep].astype(np.int64)
    if not len(pairs):
        return {}
    pairs, counts = _sum_runs(pairs, counts)
    if (pairs[1:] <= pairs[:-1]).any():  # conversations that go on at the same time, or came out of order
        order = np.argsort(pairs, kind="stable")
        pairs, counts = _sum_runs(pairs[order], counts[order])
    return {
        "session_starts": pairs.searchsorted(np.arange(len(lengths) + 1, dtype=np.int64) << 32),
        "session_ids": (pairs & 0xFFFFFFFF).astype(np.int32),
        "session_counts": narrow(counts),
    }


def _sum_runs(pairs: Array, counts: Array) -> tuple[Array, Array]:
    """Equal neighbours made one, their counts summed."""
    first = np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]])
    return pairs[first], np.add.reduceat(counts, first)
