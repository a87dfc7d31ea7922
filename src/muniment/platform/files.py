"""Small files that must never be half written, and the system's errors in our words.

POSIX only where it locks: `fcntl` is imported when the first lock is taken.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from muniment.base.errors import ForeignFile, StorageError, StoreBusy, StoreCorrupt, StoreFull, StoreReadOnly

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05  # seconds between two tries to lock


class Stamp(NamedTuple):
    """What changes when a file is replaced or written: cheap to compare, no content read."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def explain(error: OSError, path: str | Path) -> StorageError:
    """The error to raise, `from error`, for a failed system call on `path`."""
    if error.errno in _FULL:
        return StoreFull(f"no space is left to write {path}", "Free some space, then repeat the command.")
    if error.errno in _READ_ONLY:
        return StoreReadOnly(
            f"{path} can't be used: {error.strerror}",
            "Give your user the right to read and write it, or choose another folder with --home.",
        )
    if error.errno == errno.ELOOP:
        return ForeignFile(f"{path} is a symbolic link", "Put the file itself there, not a link to it.")
    if error.errno in {errno.ENOTDIR, errno.EISDIR, errno.ENXIO}:
        return ForeignFile(
            f"{path} is not what muniment keeps there: {error.strerror}",
            "Move it away, or use another --home.",
        )
    return StorageError(f"{path}: {error.strerror or error}", "Check the disk and the folder.")


def stamp(path: str) -> Stamp | None:
    """The stamp of a file, or None where there is none; links are not followed."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path) from error
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def read_small(path: str, limit: int) -> bytes | None:
    """The whole of a plain file, or None where there is none.

    Raises:
        ForeignFile: A link, a folder or a device.
        StoreCorrupt: Longer than `limit` bytes, or it shrank while it was read.
        StoreReadOnly: It can't be read by this user.
    """
    # Without O_NONBLOCK the opening of a pipe put in place of the file would wait for ever.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path) from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ForeignFile(f"{path} is not a plain file", "Move it away; it is left as it is.")
        if found.st_size > limit:
            raise StoreCorrupt(f"{path} has {found.st_size} bytes, at most {limit} are possible")
        # A memoryview prints no content: what is read here may be a key.
        buffer = memoryview(bytearray(found.st_size))
        if _read_into(handle, buffer) != found.st_size:
            raise StoreCorrupt(f"{path} became shorter while it was read", "Repeat the command.")
        return bytes(buffer)
    except OSError as error:
        raise explain(error, path) from error
    finally:
        os.close(handle)


def _read_into(handle: int, buffer: memoryview) -> int:
    done = 0
    while done < len(buffer):
        count = os.readv(handle, [buffer[done:]])
        if not count:
            break
        done += count
    return done


def replace(path: str, data: bytes) -> None:
    """Put `data` in the place of a file: after a crash it holds the old bytes or the new ones, never a mixture.

    One writer at a time (callers hold a lock): the name of the temporary file is fixed, so that what a crash
    leaves behind is taken away by the next write. Mode 0600; on return the bytes are on the disk.

    Raises:
        StoreFull | StoreReadOnly | StorageError: The old file stands as it was.
    """
    folder, name = os.path.split(path)
    fresh = os.path.join(folder, f".{name}.new")  # noqa: PTH118
    try:
        _write_new(fresh, memoryview(data))
        os.replace(fresh, path)  # noqa: PTH105
        sync_folder(folder)
    except OSError as error:
        with suppress(OSError):
            os.unlink(fresh)  # noqa: PTH108
        raise explain(error, path) from error


def _write_new(path: str, data: memoryview) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        os.fchmod(handle, FILE_MODE)  # whatever the umask says
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: str) -> None:
    """Make a rename or a new file in the folder outlive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(path: str, wait: float) -> Iterator[None]:
    """Hold an exclusive lock on a lock file, among all processes and threads that ask for it.

    Args:
        path: The lock file; made if missing, and never taken away (removing it would let two holders in).
        wait: Seconds to wait for it.

    Raises:
        StoreBusy: Another process held it all that time.
    """
    import fcntl

    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise explain(error, path) from error
    try:
        deadline, pause = time.monotonic() + wait, _FIRST_PAUSE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise StoreBusy(
                        f"{path} was locked for {wait:g} s by another process",
                        "Wait for the other command to end, then repeat this one.",
                    ) from None
                time.sleep(min(pause, left))
                pause = min(pause * 2, _LONGEST_PAUSE)
            except OSError as error:
                raise explain(error, path) from error
        yield
    finally:
        os.close(handle)  # lets go of the lock
