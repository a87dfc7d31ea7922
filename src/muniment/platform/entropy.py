"""Randomness, from the system; the lower floors get it as arguments."""

from __future__ import annotations

import builtins
import os
from typing import Protocol


class Entropy(Protocol):
    """Where random bytes come from; tests put a seeded one in its place."""

    def bytes(self, n: int) -> builtins.bytes:
        """`n` bytes that nobody can predict."""
        ...


class SystemEntropy:
    """Random bytes of the operating system, fit for keys."""

    __slots__ = ()

    def bytes(self, n: int) -> builtins.bytes:
        """`n` bytes that nobody can predict."""
        return os.urandom(n)

    def __repr__(self) -> str:
        return "SystemEntropy()"
