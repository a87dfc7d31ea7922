"""All connections of this process to one SQLite file: transactions, threads, forks, folders that can't be written."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import apsw

from muniment.base.errors import StorageError, StoreReadOnly
from muniment.store.link import CHECKPOINT_PAGES, Link, translate

_pools: weakref.WeakSet[Connections] = weakref.WeakSet()
_leaked: list[Link] = []  # a forked process must not close what it inherited
_inherited: set[tuple[int, int]] = set()


def _before_fork() -> None:
    for pool in list(_pools):
        pool.release()


def _in_child() -> None:
    for pool in list(_pools):
        pool.disown()


@functools.cache
def _hook_forks() -> None:
    """Once a process, and not on import."""
    if hasattr(os, "register_at_fork"):  # where processes can fork
        os.register_at_fork(before=_before_fork, after_in_child=_in_child)


class Connections:
    """All connections of this process to one file, one for each thread that asks.

    A process that forks lets go of the forking thread's connection first, since SQLite's locks belong to a
    process and its memory of them would be wrong in the child. If other threads hold connections at that
    moment, the child refuses to open the file rather than to damage it.

    Attributes:
        checkpoints: How many times the log was copied at the end of a write by this process.
    """

    def __init__(self, path: Path, *, busy_ms: int, readonly: bool = False) -> None:
        self.path, self.busy_ms = path, busy_ms
        self.readonly = readonly
        self.checkpoints = 0
        self._accepted = not self._has_log()  # with nothing in a log, closing leaves the file as it is anyway
        self._closed = False
        self._local = threading.local()
        self._links: weakref.WeakSet[Link] = weakref.WeakSet()
        _hook_forks()
        _pools.add(self)

    def link(self) -> Link:
        """This thread's connection, opened on first use.

        Raises:
            StorageError: The file can't be opened, or was closed by `close`.
        """
        link: Link | None = getattr(self._local, "link", None)
        if link is not None and link.pid == os.getpid() and not self._closed:
            if link.seen is None or link.reading or link.seen == self._print():
                return link
            link.close()  # the owner of the folder wrote to it since
        if self._closed:
            raise StorageError(f"{self.path} is closed", "Open it again.")
        return self._connect()

    def _connect(self) -> Link:
        access = self._access()
        with contextlib.suppress(OSError):
            stat = self.path.stat()
            if (stat.st_dev, stat.st_ino) in _inherited:
                step = "Open the bank after the fork, or start the process with `spawn`."
                raise StorageError(
                    f"{self.path} was in use by another thread when this process was forked", step
                )
        link = Link(self.path, access, self.busy_ms)
        if self._accepted:
            link.accept()
        self._local.link = link
        link.seen = self._print() if access == "immutable" else None
        self._links.add(link)
        return link

    def accept(self) -> None:
        """Say that the file was found to be what was asked for; before, closing leaves every byte as it is."""
        self._accepted = True
        link = self.link()
        link.accept()
        if link.access == "rw" and link.run("PRAGMA journal_mode") != [("wal",)]:
            link.run("PRAGMA journal_mode = WAL")  # some ways of copying a file with other programs drop it

    def _access(self) -> str:
        writable = os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        if not self.readonly and writable:
            return "rw"
        if os.access(self.path.parent, os.W_OK) or self._has_log():
            return "ro"
        return "immutable"

    def _has_log(self) -> bool:
        return _size(self.path.with_name(self.path.name + "-wal")) > 0

    def file_bytes(self) -> int:
        """Bytes on the disk: the file and its log."""
        return _size(self.path) + _size(self.path.with_name(self.path.name + "-wal"))

    def _print(self) -> tuple[int, int, bool]:
        try:
            stat = self.path.stat()
        except OSError:
            return 0, 0, False  # gone: opening it again says so
        return stat.st_mtime_ns, stat.st_size, self._has_log()

    @contextlib.contextmanager
    def write(self) -> Iterator[Link]:
        """One transaction that may write; nested ones are part of the outer one.

        Raises:
            StorageError: As its subclasses name it; nothing was kept.
        """
        link = self.link()
        if link.writing:
            link.writing += 1
            try:
                yield link
            except BaseException:
                link.failed = True  # also if the outer one goes on: half of a write is never kept
                raise
            finally:
                link.writing -= 1
            return
        if link.reading:
            raise StorageError("a write can't begin inside a read", "Leave `read()` first.")
        if self.readonly:
            raise StoreReadOnly(f"{self.path} was opened to be read", "Open it without `readonly`.")
        link.begin()
        link.writing, link.failed = 1, False
        try:
            yield link
            link.commit()
        except BaseException:
            link.rollback()
            raise
        finally:
            link.writing = 0
        if link.log_pages >= link.checkpoint_at:
            self._tidy(link)

    def _tidy(self, link: Link) -> None:
        # The write is acknowledged whatever comes of this; a disk that fails here fails the next write too.
        # A reader may keep the log from beginning anew: not at each write, then, but after as many pages again.
        link.checkpoint_at = link.log_pages + CHECKPOINT_PAGES
        with contextlib.suppress(apsw.Error):
            link.checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
            self.checkpoints += 1

    @contextlib.contextmanager
    def read(self) -> Iterator[Link]:
        """One snapshot, taken at the first row read; nested ones and those inside a write share it.

        Raises:
            StorageError: As its subclasses name it.
        """
        link = self.link()
        if link.writing or link.reading:
            link.reading += 1
            try:
                yield link
            finally:
                link.reading -= 1
            return
        link.run("BEGIN")
        link.reading = 1
        try:
            yield link
        finally:
            link.reading = 0
            link.end_read()

    def writer(self) -> Link:
        """This thread's connection inside an open `write()`.

        Raises:
            StorageError: No write is open.
        """
        link = self.link()
        if not link.writing:
            raise StorageError("rows are only changed inside `write()`", "Open one: `with store.write():`.")
        return link

    def scrub(self) -> None:
        """Copy the whole log into the main file and cut it to nothing: no page of the past stays.

        Raises:
            StoreBusy: A reader still looks at the past.
        """
        link = self.link()
        if link.writing or link.reading:
            raise StorageError("the log can't be emptied inside a write or read", "Leave it first.")
        if self.readonly:
            raise StoreReadOnly(f"{self.path} was opened to be read", "Open it without `readonly`.")
        try:
            link.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            raise translate(error, self.path, self.busy_ms, link.connection.system_errno) from error

    def close(self) -> None:
        """Close the connections of all threads; harmless when done twice."""
        self._closed = True
        pid = os.getpid()
        for link in list(self._links):
            if link.pid == pid:
                link.close()
        self._links.clear()
        self._local = threading.local()

    def release(self) -> None:
        """Close this thread's connection if it is idle; the next call opens another."""
        link: Link | None = getattr(self._local, "link", None)
        if link is not None and link.pid == os.getpid() and not link.writing and not link.reading:
            self._links.discard(link)
            del self._local.link
            link.close()

    def disown(self) -> None:
        """In a forked child: keep inherited connections from ever being used or closed."""
        links = list(self._links)
        if links:
            _leaked.extend(links)
            with contextlib.suppress(OSError):
                stat = self.path.stat()
                _inherited.add((stat.st_dev, stat.st_ino))
        self._links.clear()
        self._local = threading.local()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # a log goes when the last connection closes
