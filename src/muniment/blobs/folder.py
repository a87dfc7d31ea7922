"""Blobs in a folder: one file each, whole or not there, on the disk when `put` returns.

A blob is written beside its place, synced, renamed, and the folder is synced: after a crash its name leads to
all of its bytes or to nothing. What a crash leaves are files that begin with a dot; `sweep` takes them away.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from muniment.base.errors import (
    BlobStoreUnavailable,
    InvalidInput,
    LimitExceeded,
    StorageError,
    StoreFull,
    StoreReadOnly,
)
from muniment.base.ids import BlobName, parse_blob
from muniment.base.limits import LIMITS
from muniment.blobs.base import BlobInfo, check_size, damaged, fan_out, name_of, unknown

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DRAFT = ".draft-"
_STALE_S = 24 * 3600  # a draft of a crash; nobody writes for a day


class FolderBlobs:
    """Blobs as files in two levels of folders; the folder is made by the first `put`.

    Args:
        folder: Where.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.place = str(folder)

    def put(self, data: bytes) -> BlobName:
        check_size(data)
        name = name_of(data)
        path = self._path(name)
        with contextlib.suppress(FileNotFoundError):
            if self._bytes(path, name) == data:
                self._sync_new(path.parent)  # another writer may have been killed before it synced
                return name
        draft = path.with_name(f"{_DRAFT}{secrets.token_hex(8)}")
        try:
            self._make(path.parent)
            _write(draft, data)
            draft.replace(path)
            self._sync_new(path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise _explain(error, path) from error
        return name

    def get(self, name: BlobName) -> bytes:
        try:
            data = self._bytes(self._path(name), name)
        except FileNotFoundError:
            raise unknown(name, self.place) from None
        if name_of(data) != name:
            raise damaged(name, self.place)
        return data

    def read(self, name: BlobName, start: int, length: int) -> bytes:
        path = self._path(name)
        if length > LIMITS.blob_bytes:
            raise LimitExceeded("blob bytes", LIMITS.blob_bytes, length)
        try:
            handle = os.open(path, os.O_RDONLY | _SAFELY)
        except FileNotFoundError:
            raise unknown(name, self.place) from None
        except OSError as error:
            raise _explain(error, path) from error
        try:
            with os.fdopen(handle, "rb") as file:
                file.seek(start)
                part = file.read(length)
        except OSError as error:
            raise _explain(error, path) from error
        if len(part) != length:
            raise damaged(name, self.place)
        return part

    def has(self, name: BlobName) -> bool:
        return self._stat(name) is not None

    def size(self, name: BlobName) -> int:
        found = self._stat(name)
        if found is None:
            raise unknown(name, self.place)
        return found.st_size

    def delete(self, name: BlobName) -> bool:
        path = self._path(name)
        try:
            path.unlink()
            _sync(path.parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _explain(error, path) from error
        return True

    def list(self) -> Iterator[BlobInfo]:
        for path in self._files():
            try:
                name = parse_blob(path.name)
                found = path.stat()
            except (InvalidInput, FileNotFoundError):
                continue
            yield BlobInfo(name, found.st_size, found.st_mtime_ns // 1_000_000)

    def sweep(self) -> int:
        """Take away what crashes left, a day later; how many files that were."""
        gone = 0
        for path in self._files():
            with contextlib.suppress(OSError):
                if path.name.startswith(_DRAFT) and time.time() - path.stat().st_mtime > _STALE_S:
                    path.unlink()
                    gone += 1
        return gone

    def close(self) -> None:
        """No file stays open."""

    def _path(self, name: bytes) -> Path:
        outer, inner, file = fan_out(name)
        return self._folder / outer / inner / file

    def _stat(self, name: BlobName) -> os.stat_result | None:
        path = self._path(name)
        try:
            return path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _explain(error, path) from error

    def _bytes(self, path: Path, name: bytes) -> bytes:
        try:
            handle = os.open(path, os.O_RDONLY | _SAFELY)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _explain(error, path) from error
        try:
            with os.fdopen(handle, "rb") as file:
                if os.fstat(file.fileno()).st_size > LIMITS.blob_bytes:
                    raise damaged(name, self.place)
                return file.read()
        except OSError as error:
            raise _explain(error, path) from error

    def _files(self) -> Iterator[Path]:
        for outer in _folders(self._folder):
            for inner in _folders(outer):
                with contextlib.suppress(FileNotFoundError):
                    yield from sorted(inner.iterdir())

    def _make(self, folder: Path) -> None:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        for one in reversed(missing):
            one.mkdir(0o700, exist_ok=True)
            _sync(one.parent)

    def _sync_new(self, folder: Path) -> None:
        _sync(folder)


def _folders(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted(folder.iterdir()):
            if len(path.name) == 2 and path.is_dir() and not path.is_symlink():
                yield path


def _write(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, 0o600)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # where folders can't be synced
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _explain(error: OSError, path: Path) -> StorageError:
    if error.errno in _FULL:
        return StoreFull(f"no space is left to write {path}", "Free some space, then repeat the command.")
    if error.errno in _READ_ONLY:
        step = "Give your user the right to read and write it, or set `archive.store` to another place."
        return StoreReadOnly(f"{path} can't be used: {error.strerror}", step)
    step = "Check the disk and the folder; `archive.store` in config.yaml says where blobs are kept."
    return BlobStoreUnavailable(f"{path}: {error.strerror or error}", step)
