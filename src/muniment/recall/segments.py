"""Segments: the sorted vocabulary of a set of rows and, for each term, who holds it how often.

Vocabulary keys are in byte order; the first eight bytes of each are kept as big-endian numbers, so that a look-up is
one binary search over integers and, among equal heads, a few comparisons of bytes. Postings are row numbers (int32,
ascending) and occurrences (the narrowest type that holds them all: nothing is clipped). For conversations the segment
also keeps, per term, runs of (conversation, summed occurrences).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from muniment.recall import packing
from muniment.recall.analyzer import SEPARATOR

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
        self._heads, self._blob, self._ends = arrays["heads"], arrays["blob"], arrays["key_starts"]
        self._starts, self._rows, self._counts = arrays["starts"], arrays["rows"], arrays["counts"]
        self.with_sessions = "session_starts" in arrays

    @classmethod
    def open(cls, path: Path) -> Segment:
        """Maps a segment file; errors as `packing.read`."""
        arrays, meta, size = packing.read(path)
        return cls(arrays, past=bool(meta["past"]), name=path.name, size=size)

    @property
    def terms(self) -> int:
        """How many terms it knows."""
        return len(self._heads)

    def key(self, slot: int) -> bytes:
        """The vocabulary key of a slot."""
        return bytes(self._blob[int(self._ends[slot]) : int(self._ends[slot + 1])])

    def keys(self) -> Iterator[bytes]:
        """All keys in byte order."""
        blob, ends = bytes(self._blob), self._ends.tolist()
        return (blob[a:b] for a, b in zip(ends, ends[1:], strict=False))

    def place(self, key: bytes) -> int:
        """The first slot whose key is not less than `key`."""
        head = np.uint64(int.from_bytes(key[:8].ljust(8, b"\0"), "big"))
        low = int(self._heads.searchsorted(head))
        if low == len(self._heads) or self._heads[low] != head:
            return low
        high = int(self._heads.searchsorted(head, "right"))
        while low < high:
            middle = (low + high) // 2
            if self.key(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, key: bytes) -> int:
        """The slot of a key, or -1."""
        slot = self.place(key)
        return slot if slot < len(self._heads) and self.key(slot) == key else -1

    def postings(self, slot: int) -> tuple[Array, Array]:
        """(rows, occurrences) of a slot."""
        a, b = int(self._starts[slot]), int(self._starts[slot + 1])
        return self._rows[a:b], self._counts[a:b]

    def lookup(self, key: bytes) -> tuple[Array, Array]:
        """(rows, occurrences) of a key; empty arrays if it is unknown."""
        slot = self.find(key)
        return self.postings(slot) if slot >= 0 else (EMPTY, EMPTY)

    def surfaces(self, stem: bytes) -> list[tuple[Array, Array]]:
        """Postings of all surfaces of a stem that differ from it."""
        slot = self.find(stem) + 1
        found = []
        if slot:
            low = stem + SEPARATOR
            while slot < len(self._heads) and self.key(slot).startswith(low):
                found.append(self.postings(slot))
                slot += 1
        return found

    def sessions(self, key: bytes) -> tuple[Array, Array]:
        """(conversation, summed occurrences) runs of a key; a conversation may come more than once."""
        slot = self.find(key) if self.with_sessions else -1
        if slot < 0:
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
    """Runs of neighbouring postings of one term and one conversation, occurrences summed; surfaces left out."""
    sessions = session_of[postings.rows]
    lengths = np.diff(postings.starts)
    plain = np.fromiter((SEPARATOR not in key for key in postings.keys), np.bool_, len(postings.keys))
    keep = np.repeat(plain, lengths) & (sessions > 0)
    term = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)[keep]
    sessions, counts = sessions[keep], postings.counts[keep].astype(np.int64)
    if not len(sessions):
        return {}
    first = np.flatnonzero(np.r_[True, (term[1:] != term[:-1]) | (sessions[1:] != sessions[:-1])])
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.bincount(term[first], minlength=len(lengths)), out=starts[1:])
    return {
        "session_starts": starts,
        "session_ids": sessions[first].astype(np.int32),
        "session_counts": narrow(np.add.reduceat(counts, first)),
    }
