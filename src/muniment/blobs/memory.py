"""Blobs in memory: for tests, and for what needs no disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from muniment.base.ids import BlobName
from muniment.blobs.base import BlobInfo, check_size, checked_name, damaged, name_of, unknown


class MemoryBlobs:
    """Blobs in a dictionary.

    Args:
        now_ms: The time of day in Unix ms; none passes unless it is given.
    """

    place = "memory"

    def __init__(self, now_ms: Callable[[], int] = lambda: 0) -> None:
        self._now = now_ms
        self._blobs: dict[BlobName, tuple[bytes, int]] = {}
        self._lock = threading.Lock()

    def put(self, data: bytes) -> BlobName:
        check_size(data)
        name = name_of(data)
        with self._lock:
            if name not in self._blobs or self._blobs[name][0] != data:
                self._blobs[name] = bytes(data), self._now()
        return name

    def get(self, name: BlobName) -> bytes:
        data = self._kept(name)
        if name_of(data) != name:
            raise damaged(name, self.place)
        return data

    def read(self, name: BlobName, start: int, length: int) -> bytes:
        part = self._kept(name)[start : start + length]
        if len(part) != length:
            raise damaged(name, self.place)
        return part

    def _kept(self, name: BlobName) -> bytes:
        checked_name(name)
        try:
            return self._blobs[name][0]
        except KeyError:
            raise unknown(name, self.place) from None

    def has(self, name: BlobName) -> bool:
        checked_name(name)
        return name in self._blobs

    def size(self, name: BlobName) -> int:
        return len(self._kept(name))

    def delete(self, name: BlobName) -> bool:
        checked_name(name)
        with self._lock:
            return self._blobs.pop(name, None) is not None

    def list(self) -> Iterator[BlobInfo]:
        for name, (data, written) in list(self._blobs.items()):
            yield BlobInfo(name, len(data), written)

    def close(self) -> None:
        """There is nothing to let go of."""
