"""What custody needs of the rest of the peer: a folder and entropy, handed in by the floors above."""

from __future__ import annotations

import builtins
from contextlib import AbstractContextManager
from typing import Protocol


class Entropy(Protocol):
    """Where random bytes come from."""

    def bytes(self, n: int) -> builtins.bytes:
        """`n` bytes that nobody can predict."""
        ...


class Folder(Protocol):
    """What custody needs of the peer folder: small files replaced whole, a lock, a cheap sign of change."""

    def stamp(self, name: str) -> object | None:
        """A value that changes when the file does; None where there is no file."""
        ...

    def read(self, name: str, limit: int) -> bytes | None:
        """The whole file, or None."""
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Put `data` in its place, whole or not at all, on the disk on return."""
        ...

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Keep all other processes from replacing it."""
        ...

    def tighten(self, name: str) -> bool:
        """Close the file to others; True if it was open to them."""
        ...

    def place(self, name: str) -> str:
        """Its path, for messages."""
        ...
