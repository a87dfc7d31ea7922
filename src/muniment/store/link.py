"""One connection to SQLite: pragmas, lock waits, interned numbers, and errors by their names.

Everything that SQLite can raise leaves this module as one of the storage errors, with the file and the
next step.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from muniment.base.errors import (
    ForeignFile,
    InvalidInput,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
)

Row = tuple[Any, ...]

# Pages in the log from which the end of a write copies them to the main file, if nobody is in the way.
CHECKPOINT_PAGES = 4096  # 16 MiB
_LOG_BYTES = 64 << 20  # what the log file may keep on the disk once it has been copied

_NO_SPACE = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_NO_LEAVE = {errno.EROFS, errno.EACCES, errno.EPERM}


# Damage can also make text of what was written as bytes; then it is Python that finds it unreadable.
_WRONG = (apsw.Error, UnicodeDecodeError)


def translate(
    error: apsw.Error | UnicodeDecodeError, path: Path, busy_ms: int = 0, system_errno: int = 0
) -> StorageError | InvalidInput:
    """The error of ours that says what SQLite's says.

    Args:
        error: What SQLite raised.
        path: The file, for the message.
        busy_ms: The lock wait that was configured, in milliseconds.
        system_errno: What the operating system gave as the cause, 0 if it was not asked.
    """
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        step = "Try again when the other process is done, or wait longer (`busy_ms`)."
        return StoreBusy(f"{path} stayed locked by another writer or reader for {busy_ms} ms", step)
    code = getattr(error, "extendedresult", 0)
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and system_errno in _NO_SPACE):
        return StoreFull(
            f"no space is left to write {path}", "Free some space and do it again; nothing was kept."
        )
    if isinstance(
        error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError
    ) or (isinstance(error, apsw.IOError) and system_errno in _NO_LEAVE):
        step = "Check who owns the file and its folder, and whether the disk is mounted for writing."
        return StoreReadOnly(f"{path} can't be opened or written here ({error})", step)
    if isinstance(error, apsw.NotADBError):
        return ForeignFile(
            f"{path} is not a file of muniment", "Name another file; this one is left as it is."
        )
    if isinstance(error, apsw.ConstraintError):
        return InvalidInput(f"a row contradicts what {path} holds ({error})")
    damaged = isinstance(error, apsw.CorruptError | apsw.SQLError | apsw.FormatError | apsw.MismatchError)
    damaged = damaged or isinstance(error, UnicodeDecodeError)
    if damaged or code in (apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS):
        step = "Run `muniment check`; restore the file from a backup or fetch the bank from another peer."
        return StoreCorrupt(f"{path} is damaged ({error})", step)
    return StorageError(
        f"{path}: {type(error).__name__}: {error}", "Look at the disk's health and free memory."
    )


def _patience(busy_ms: int) -> Callable[[int], bool]:
    """A busy handler that looks every few milliseconds; SQLite's own sleeps up to 100 ms between looks."""
    deadline = 0.0

    def wait(tries: int) -> bool:
        nonlocal deadline
        now = time.monotonic()
        if tries == 0:
            deadline = now + busy_ms / 1000
        if now >= deadline:
            return False
        time.sleep(min(deadline - now, 0.001 * min(tries + 1, 5)))
        return True

    return wait


class Link:
    """One thread's connection, with the numbers that this thread has seen for interned bytes."""

    def __init__(self, path: Path, access: str, busy_ms: int) -> None:
        self.path, self.access, self.busy_ms = path, access, busy_ms
        self.pid = os.getpid()
        self.writing = 0  # depth of nested `write()`
        self.reading = 0
        self.failed = False
        self.log_pages = 0
        self.checkpoint_at = CHECKPOINT_PAGES
        self.seen: tuple[int, int, bool] | None = (
            None  # what an immutable file looked like when it was opened
        )
        self.numbers: dict[str, dict[bytes, int]] = {"authors": {}, "epochs": {}}
        self.keys: dict[str, dict[int, bytes]] = {"authors": {}, "epochs": {}}
        self.connection = self._open(access)

    def _open(self, access: str) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_URI | (
            apsw.SQLITE_OPEN_READWRITE if access == "rw" else apsw.SQLITE_OPEN_READONLY
        )
        # In a folder that can't be written SQLite can't share memory with writers; with no log there are none.
        more = "&immutable=1" if access == "immutable" else ""
        name = f"file:{quote(str(self.path))}?mode={'rw' if access == 'rw' else 'ro'}{more}"
        try:
            connection = apsw.Connection(name, flags=flags)
        except apsw.Error as error:
            raise translate(error, self.path, self.busy_ms) from error
        try:
            connection.set_busy_handler(_patience(self.busy_ms))
            connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            # mmap_size stays 0: a mapped file that is cut short kills the process instead of raising an error.
            for pragma in (
                "cache_size = -16384",
                "foreign_keys = 1",
                "temp_store = 2",
                "trusted_schema = 0",
                "cell_size_check = 1",
                "secure_delete = 1",
                "synchronous = 2",
                f"journal_size_limit = {_LOG_BYTES}",
            ):
                connection.execute("PRAGMA " + pragma)
            connection.wal_autocheckpoint(0)
            connection.set_wal_hook(self._committed)
        except apsw.Error as error:
            found = translate(error, self.path, self.busy_ms, connection.system_errno)
            connection.close()
            raise found from error
        return connection

    def _committed(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        if pages < self.log_pages:  # it was copied, and begins anew
            self.checkpoint_at = CHECKPOINT_PAGES
        self.log_pages = pages
        return apsw.SQLITE_OK

    def _wrong(self, error: apsw.Error | UnicodeDecodeError) -> StorageError | InvalidInput:
        try:
            cause = self.connection.system_errno
        except apsw.ConnectionClosedError:
            return StorageError(f"{self.path} is closed", "Open it again.")
        return translate(error, self.path, self.busy_ms, cause)

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute one statement and return its rows.

        Raises:
            StorageError: As `translate` names it.
        """
        try:
            return self.connection.execute(sql, values).fetchall()
        except _WRONG as error:
            raise self._wrong(error) from error

    def insert(self, sql: str, values: Sequence[Any]) -> int:
        """Execute one INSERT and return the number of its row; cheaper than RETURNING, which makes a table.

        Raises:
            StorageError: As `translate` names it.
        """
        try:
            self.connection.execute(sql, values)
        except _WRONG as error:
            raise self._wrong(error) from error
        return self.connection.last_insert_rowid()

    def column(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """The only column of a statement's rows, without a tuple around each value.

        Raises:
            StorageError: As `translate` names it.
        """
        try:
            return [value for (value,) in self.connection.execute(sql, values)]
        except _WRONG as error:
            raise self._wrong(error) from error

    def run_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Execute one statement for each of `values`.

        Raises:
            StorageError: As `translate` names it.
        """
        try:
            self.connection.executemany(sql, values)
        except _WRONG as error:
            raise self._wrong(error) from error

    def number(self, table: str, key: bytes, *, create: bool = False) -> int:
        """The small number that stands for `key` in an interning table; 0 where it has none."""
        known = self.numbers[table]
        if (number := known.get(key)) is not None:
            return number
        rows = self.run(f"SELECT id FROM {table} WHERE key = ?", (key,))
        if not rows:
            if not create:
                return 0
            rows = self.run(f"INSERT INTO {table} (key) VALUES (?) RETURNING id", (key,))
        known[key] = number = int(rows[0][0])
        return number

    def key(self, table: str, number: int) -> bytes:
        """The bytes that a number of an interning table stands for.

        Raises:
            StoreCorrupt: A row uses a number that the table does not have.
        """
        known = self.keys[table]
        if (key := known.get(number)) is not None:
            return key
        rows = self.run(f"SELECT key FROM {table} WHERE id = ?", (number,))
        if not rows:
            raise StoreCorrupt(f"{self.path}: number {number} is not in {table}", "Run `muniment check`.")
        known[number] = found = bytes(rows[0][0])
        return found

    def begin(self) -> None:
        """Start the one transaction that may write; waits for the lock."""
        self.run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make the transaction durable: one sync of the log.

        Raises:
            StorageError: A nested write failed, so that this one holds half of something.
        """
        if self.failed:
            raise StorageError("a write inside this one failed; nothing was kept", "Do it again as a whole.")
        self.run("COMMIT")

    def end_read(self) -> None:
        """Let go of the snapshot."""
        with contextlib.suppress(apsw.Error):  # damage found on the way was raised where it was met
            self.connection.execute("ROLLBACK")

    def rollback(self) -> None:
        """Undo the open transaction, if SQLite has not done so itself, and forget numbers that it gave."""
        for numbers, keys in zip(self.numbers.values(), self.keys.values(), strict=True):
            numbers.clear()
            keys.clear()
        with contextlib.suppress(apsw.Error):  # the error that led here is the one to show
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def checkpoint(self, mode: int) -> bool:
        """Copy the log into the main file as far as `mode` allows; whether all of it was copied."""
        pages, copied = self.connection.wal_checkpoint(mode=mode)
        return pages == copied

    def accept(self) -> None:
        """The file is ours: let the last connection tidy up. Until then not even a log left behind is touched."""
        self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)

    def close(self) -> None:
        """Close; the last connection of all to a file copies its log into it and removes the log."""
        with contextlib.suppress(apsw.Error):
            self.connection.close(True)
