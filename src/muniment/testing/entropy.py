"""Randomness that repeats, for tests. Never for keys that guard anything."""

from __future__ import annotations

import builtins
import hashlib


class SeededEntropy:
    """The same bytes for the same seed, whatever the sizes asked for (BLAKE2b in counter mode)."""

    def __init__(self, seed: int | builtins.bytes = 0) -> None:
        self._key = hashlib.blake2b(seed if isinstance(seed, bytes) else str(seed).encode()).digest()
        self._count = 0
        self._left = b""

    def bytes(self, n: int) -> builtins.bytes:
        """The next `n` bytes of the stream."""
        parts = [self._left]
        size = len(self._left)
        while size < n:
            parts.append(hashlib.blake2b(self._count.to_bytes(8, "big"), key=self._key).digest())
            self._count += 1
            size += 64
        data = b"".join(parts)
        self._left = data[n:]
        return data[:n]
