"""A Merkle tree over the chunks of a blob: each chunk is proved by itself (RFC 9162, 2.1; design section 9).

Leaves are SHA-256 of 0x00 and a chunk, inner nodes of 0x01 and both sides, so no chunk can be shown for a node.
Pure: bytes in, hashes out.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

CHUNK = 64 * 1024  # bytes of a chunk; the last one is shorter
HASH_BYTES = 32


def leaf_hash(chunk: bytes) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\0" + chunk).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def chunk_count(size: int) -> int:
    """How many chunks `size` bytes have; nothing has none."""
    return -(-size // CHUNK)


def chunk_length(size: int, number: int) -> int:
    """How many bytes chunk `number` (from 0) has; 0 where there is none."""
    return max(0, min(CHUNK, size - number * CHUNK)) if number >= 0 else 0


def leaves_of(data: bytes) -> list[bytes]:
    """The leaf hashes of a blob."""
    view = memoryview(data)
    return [leaf_hash(bytes(view[at : at + CHUNK])) for at in range(0, len(data), CHUNK)]


def _split(count: int) -> int:
    """The largest power of two below `count`."""
    return 1 << (count - 1).bit_length() - 1


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The Merkle tree hash (RFC 9162, 2.1.1)."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    at = _split(len(leaves))
    return _node(root_of(leaves[:at]), root_of(leaves[at:]))


def path_of(leaves: Sequence[bytes], number: int) -> list[bytes]:
    """The inclusion path of a leaf, from the bottom up (RFC 9162, 2.1.3.1)."""
    if len(leaves) <= 1:
        return []
    at = _split(len(leaves))
    if number < at:
        return [*path_of(leaves[:at], number), root_of(leaves[at:])]
    return [*path_of(leaves[at:], number - at), root_of(leaves[:at])]


def proves(root: bytes, count: int, number: int, leaf: bytes, path: Sequence[bytes]) -> bool:
    """Whether a path leads from a leaf to the root of a tree of `count` leaves (RFC 9162, 2.1.3.2)."""
    if not 0 <= number < count or any(len(step) != HASH_BYTES for step in path):
        return False
    place, last, found = number, count - 1, leaf
    for step in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = _node(step, found)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            found = _node(found, step)
        place, last = place >> 1, last >> 1
    return last == 0 and hmac.compare_digest(found, root)
