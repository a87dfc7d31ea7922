"""1-bit signatures of vectors: one bit a dimension, above or below the mean; compared 64 at a time.

The share of bits in which two signatures differ grows with the angle between the two vectors as seen from the mean, so
a scan of signatures finds candidates that are then compared exactly. A signature of 384 dimensions has 48 bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BLOCK = 16384  # rows compared at a time: their intermediate counts stay in the cache
_BYTES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


def words_of(dimension: int) -> int:
    """64-bit words of a signature."""
    return -(-dimension // 64)


def sign(rows: Array, mean: Array) -> Array:
    """Signatures of rows.

    Args:
        rows: (n, dimension) of any float type.
        mean: (dimension,) what counts as the middle.

    Returns:
        (words, n) uint64: word by word, so that a scan runs along memory. Bits beyond the dimension are 0.
    """
    bits = np.packbits(rows > mean, axis=1, bitorder="little")
    padded = np.zeros((len(rows), 8 * words_of(rows.shape[1])), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view("<u8").astype(np.uint64, copy=False).T)


def distances(signs: Array, query: Array) -> Array:
    """In how many bits each signature differs from one.

    Args:
        signs: (words, n) uint64, at most `BLOCK` or so for speed.
        query: (words,) uint64.

    Returns:
        (n,) uint16.
    """
    count = signs.shape[1]
    total = np.zeros(count, np.uint16)
    differing = np.empty(count, np.uint64)
    for first in range(0, len(signs), 3):  # three words have at most 192 bits: their sum fits one byte
        part: Array | None = None
        for word in range(first, min(first + 3, len(signs))):
            np.bitwise_xor(signs[word], query[word], out=differing)
            bits = _count(differing)
            if part is None:
                part = bits
            else:
                part += bits
        total += part if part is not None else np.uint16(0)
    return total


def _count_by_table(words: Array) -> Array:
    """Set bits of each word, by bytes: for numpy 1, which can't count them itself."""
    found: Array = _BYTES[words.view(np.uint8).reshape(-1, 8)].sum(axis=1, dtype=np.uint8)
    return found


_count = getattr(np, "bitwise_count", _count_by_table)


class Nearest:
    """Collects the positions with the smallest distances out of many blocks.

    Args:
        keep: How many.
    """

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._bar = np.iinfo(np.uint16).max  # what a distance must be below; falls as the collection fills
        self._held = 0
        self._places: list[Array] = []
        self._distances: list[Array] = []

    def offer(self, places: Array, found: Array, among: Array | None = None) -> None:
        """Takes in a block.

        Args:
            places: (n,) what the entries are called.
            found: (n,) uint16 distances.
            among: (n,) bool, which entries count; None for all.
        """
        good = found < self._bar
        if among is not None:
            good &= among
        at = np.flatnonzero(good)
        if not len(at):
            return
        self._places.append(places[at])
        self._distances.append(found[at])
        self._held += len(at)
        if self._held > 2 * self._keep:
            self._cut()

    def _cut(self) -> None:
        places, distances = np.concatenate(self._places), np.concatenate(self._distances)
        if len(places) > self._keep:
            best = np.argpartition(distances, self._keep - 1)[: self._keep]
            places, distances = places[best], distances[best]
            self._bar = int(distances.max())
        self._places, self._distances, self._held = [places], [distances], len(places)

    def take(self) -> Array:
        """The places collected, in no order."""
        if not self._places:
            return np.zeros(0, np.int64)
        self._cut()
        return self._places[0]
