"""The default store: one SQLite file per bank, self-contained, for many threads and processes at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from muniment.base.errors import ForeignFile, StoreCorrupt
from muniment.base.ids import BankId, cid_text, is_cid
from muniment.store import migrate
from muniment.store.base import Problem, Progress
from muniment.store.check import compare
from muniment.store.connection import Connections
from muniment.store.entries import EntryTables
from muniment.store.free_pages import copies
from muniment.store.link import Link
from muniment.store.migrate import BANK, Kind
from muniment.store.namings import NamingTables
from muniment.store.shelves import ShelfTables
from muniment.store.vectors import VectorTables
from muniment.store.versions import VersionTables

SALT_BYTES = 16


class SqliteStore(EntryTables, VersionTables, NamingTables, VectorTables, ShelfTables):
    """A bank in one SQLite file.

    Threads and processes may share it: each thread has a connection of its own, writers queue, and readers
    see what others wrote in their next call. Copy the file while nobody has it open, or together with
    its `-wal` file.

    Attributes:
        path: The file.
        bank: The bank that it holds.
        salt: 16 bytes of this file alone, for `facet`.
    """

    def __init__(self, path: Path, connections: Connections, bank: BankId, salt: bytes) -> None:
        self.path, self.bank, self.salt = path, bank, salt
        self._connections = connections

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        bank: BankId,
        *,
        salt: bytes | None = None,
        busy_ms: int = 10_000,
        kind: Kind = BANK,
    ) -> SqliteStore:
        """Make a new file for `bank` and open it.

        Args:
            path: Where; its folder must be there, and no file.
            bank: The id of the bank's founding entry.
            salt: 16 bytes for `facet`, drawn at random by default.
            busy_ms: How long to wait for a lock, in milliseconds.
            kind: The application id and schema; other ones are for tests.

        Raises:
            InvalidInput: A file is there already.
            StorageError: As its subclasses name it; no file was made.
        """
        salted = os.urandom(SALT_BYTES) if salt is None else salt
        rows = {"bank": bank, "salt": salted, "generation": 1, "first_ord": 0, "first_change": 0}

        def fill(link: Link) -> None:
            link.run_many("INSERT INTO meta (name, value) VALUES (?, ?)", list(rows.items()))

        migrate.create(Path(path), kind, fill)
        return cls.open(path, bank=bank, busy_ms=busy_ms, kind=kind)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        bank: BankId | None = None,
        busy_ms: int = 10_000,
        readonly: bool = False,
        kind: Kind = BANK,
    ) -> SqliteStore:
        """Open a bank's file; an older schema is backed up and brought up to date first.

        In a folder that can't be written, reading works: without a log beside the file it is read as it is,
        and read again when it changes; with a log, its shared memory file must be there too.

        Args:
            path: The file.
            bank: The bank that it must hold; None takes any.
            busy_ms: How long to wait for a lock, in milliseconds.
            readonly: Refuse writes, and never upgrade.
            kind: The application id and schema; other ones are for tests.

        Raises:
            NotFound: There is no such file.
            ForeignFile | FutureFormat: It is not ours, or newer; it is left as it is.
            StorageError: As its other subclasses name it.
        """
        place = Path(path)
        migrate.recognise(place, kind)
        connections = Connections(place, busy_ms=busy_ms, readonly=readonly)
        try:
            migrate.upgrade(connections, kind)
            found, salt = whose(connections, bank)
            connections.accept()
        except BaseException:
            connections.close()
            raise
        return cls(place, connections, found, salt)

    def link(self) -> Link:
        """This thread's connection."""
        return self._connections.link()

    @property
    def checkpoints(self) -> int:
        """How many times writes by this object copied the log into the main file; each costs more syncs."""
        return self._connections.checkpoints

    def close(self) -> None:
        """Close the connections of all threads; the last one of all copies the log into the file."""
        self._connections.close()

    def scrub(self) -> None:
        """Empty the log, so that nothing erased is left in it. Do it soon after `erase_bodies` is committed.

        Copies of the file from before an upgrade go too: they hold what was erased since.

        Raises:
            StoreBusy: Somebody still reads the past; nothing is lost, do it again.
        """
        self._finish_compacting()
        self._connections.scrub()
        for copy in copies(self._connections.path):
            copy.unlink(missing_ok=True)

    def check(self, progress: Progress | None = None) -> list[Problem]:
        """Compare pages, hashes and rows with each other; an empty list is a clean bank."""
        return compare(self, progress)

    def _damage(self) -> Iterator[str]:
        """What SQLite itself finds wrong with the file's pages, indexes and references."""
        link = self._connections.link()
        for (said,) in link.run("PRAGMA integrity_check"):
            if said != "ok":
                yield said
        for table, row, parent, _ in link.run("PRAGMA foreign_key_check"):
            yield f"row {row} of {table} points to nothing in {parent}"


def whose(connections: Connections, bank: BankId | None) -> tuple[BankId, bytes]:
    """The bank and the salt that an open file names."""
    meta: dict[str, Any] = dict(connections.link().run("SELECT name, value FROM meta"))
    found, salt = meta.get("bank", b""), meta.get("salt")
    if not is_cid(found) or not isinstance(salt, bytes):
        raise StoreCorrupt(
            f"{connections.path} does not say which bank it holds", "Restore it from a backup."
        )
    if bank is not None and found != bank:
        step = "Put each bank's file back in its place."
        raise ForeignFile(f"{connections.path} holds bank {cid_text(found)}, not {cid_text(bank)}", step)
    return BankId(found), salt
