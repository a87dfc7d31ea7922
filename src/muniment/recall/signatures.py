"""1-bit signatures of vectors: one bit a dimension, above or below the mean; and what can be told from them.

First the query's own signature is compared 64 bits at a time: the share of differing bits grows with the angle between
the two as seen from the mean. Of the rows that this leaves, the cosine is then estimated from the query's numbers and
the row's bits, each row's bits standing for numbers of one size: (query - mean) . signs * scale, where scale makes the
estimate exact for the row itself, plus what the row has in common with the mean. That is much closer, and still reads
48 bytes of a row of 384 dimensions. (The estimator is RaBitQ's, Gao and Long 2024, without the rotation.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

BLOCK = 16384  # rows compared at a time: their intermediate counts stay in the cache
_BYTES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)
# (8, 256): +1 where the bit of a byte is set, else -1
_PATTERNS = np.array([[1 if byte >> bit & 1 else -1 for byte in range(256)] for bit in range(8)], np.float32)


def words_of(dimension: int) -> int:
    """64-bit words of a signature."""
    return -(-dimension // 64)


class Signatures(NamedTuple):
    """Of n rows.

    Attributes:
        bits: (words, n) uint64: word by word, so that a scan runs along memory. Bits beyond the dimension are 0.
        scale: (n,) float32, the size of the numbers that the bits stand for.
        offset: (n,) float32, the row's part of the cosine that lies along the mean.
    """

    bits: Array
    scale: Array
    offset: Array

    def take(self, places: Array) -> Signatures:
        """Those at these positions."""
        return Signatures(self.bits[:, places], self.scale[places], self.offset[places])


def unit(rows: Array) -> Array:
    """Rows at length 1, float32; none may be zero."""
    found = rows.astype(np.float32)
    found /= np.sqrt(np.einsum("ij,ij->i", found, found)).reshape(-1, 1)
    return found


def sign(rows: Array, mean: Array) -> Signatures:
    """Signatures of rows.

    Args:
        rows: (n, dimension), unit length.
        mean: (dimension,) float32, what counts as the middle.
    """
    apart = rows - mean
    sizes = np.abs(apart).sum(axis=1)
    squares = np.einsum("ij,ij->i", apart, apart)
    scale = np.divide(squares, sizes, out=np.zeros(len(rows), np.float32), where=sizes > 0)
    offset = np.einsum("ij,j->i", apart, mean)
    return Signatures(_pack(apart > 0), scale.astype(np.float32), offset.astype(np.float32))


def _pack(above: Array) -> Array:
    """(n, dimension) bool as (words, n) uint64."""
    bits = np.packbits(above, axis=1, bitorder="little")
    padded = np.zeros((len(above), 8 * words_of(above.shape[1])), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view("<u8").astype(np.uint64, copy=False).T)


class Probe:
    """A query, prepared to be compared with signatures that were taken against one mean.

    Args:
        query: (dimension,) float32, unit length.
        mean: (dimension,) float32.

    Attributes:
        bits: (words,) uint64, its own signature.
    """

    def __init__(self, query: Array, mean: Array) -> None:
        apart = query - mean
        self.bits: Array = _pack((apart > 0).reshape(1, -1))[:, 0]
        self._constant = np.float32(query @ mean)
        padded = np.zeros(64 * words_of(len(query)), np.float32)
        padded[: len(query)] = apart
        # What each value of each byte of a signature adds: (bytes, 256).
        self._table = padded.reshape(-1, 8) @ _PATTERNS

    def estimate(self, rows: Signatures) -> Array:
        """(n,) float32: roughly the cosines of rows with the query."""
        bytes_of = np.ascontiguousarray(rows.bits.T).astype("<u8", copy=False).view(np.uint8)
        total = np.zeros(len(rows.scale), np.float32)
        for place, values in enumerate(self._table):
            total += values[bytes_of[:, place]]
        total *= rows.scale
        total += rows.offset
        total += self._constant
        return total


def distances(bits: Array, query: Array) -> Array:
    """In how many bits each signature differs from one.

    Args:
        bits: (words, n) uint64, at most `BLOCK` or so for speed.
        query: (words,) uint64.

    Returns:
        (n,) uint16.
    """
    count = bits.shape[1]
    total = np.zeros(count, np.uint16)
    differing = np.empty(count, np.uint64)
    for first in range(0, len(bits), 3):  # three words have at most 192 bits: their sum fits one byte
        part: Array | None = None
        for word in range(first, min(first + 3, len(bits))):
            np.bitwise_xor(bits[word], query[word], out=differing)
            counted = _count(differing)
            if part is None:
                part = counted
            else:
                part += counted
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
