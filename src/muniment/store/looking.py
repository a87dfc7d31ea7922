"""Looking at files without changing a byte of them: nothing is upgraded, tidied or copied out of a log."""

from __future__ import annotations

import struct
from pathlib import Path

from muniment.base.errors import FutureFormat, StoreBusy, StoreReadOnly
from muniment.base.ids import BankId
from muniment.store import migrate
from muniment.store.connection import Connections
from muniment.store.migrate import BANK, PEER, Kind
from muniment.store.packs import PackIndex
from muniment.store.peer import PeerStore
from muniment.store.sqlite import SqliteStore, whose

_VERSION_AT = 60  # of SQLite's `user_version` in a file's header


def format_of(path: Path) -> int:
    """The schema version in a file's header; 0 where it can't be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_VERSION_AT + 4)
    except OSError:
        return 0
    return int(struct.unpack_from(">I", head, _VERSION_AT)[0]) if len(head) == _VERSION_AT + 4 else 0


def look_at_peer(path: Path, busy_ms: int) -> PeerStore:
    """The file `peer.db`, to be read.

    Raises:
        StoreReadOnly: Its schema is older: opening it to be used brings it up to date.
        StorageError: As `PeerStore.open`.
    """
    return PeerStore(path, _looked(path, PEER, busy_ms))


def look_at_bank(path: Path, bank: BankId, busy_ms: int) -> SqliteStore:
    """A bank's file, to be read.

    Raises:
        StoreReadOnly: Its schema is older.
        StorageError: As `SqliteStore.open`.
    """
    connections = _looked(path, BANK, busy_ms)
    try:
        found, salt = whose(connections, bank)
    except BaseException:
        connections.close()
        raise
    return SqliteStore(path, connections, found, salt)


def look_at_packs(path: Path, busy_ms: int) -> PackIndex:
    """The index of the packs, to be read.

    Raises:
        StorageError: As its subclasses name it.
    """
    return PackIndex(path, Connections(path, busy_ms=busy_ms))


def damage(store: SqliteStore | PeerStore) -> str | None:
    """What SQLite's quick check says of the pages of a file; None if nothing. Reads all of it."""
    said = [str(row[0]) for row in store.link().run("PRAGMA quick_check(3)")]
    return None if said == ["ok"] else "; ".join(said)


def shorten_log(path: Path, kind: Kind, busy_ms: int) -> bool:
    """Copy a log into its file and cut it to nothing; False while somebody reads the past."""
    connections = migrate.opened(path, kind, busy_ms=busy_ms, make=False)
    try:
        connections.scrub()
    except StoreBusy:
        return False
    finally:
        connections.close()
    return True


def _looked(path: Path, kind: Kind, busy_ms: int) -> Connections:
    migrate.recognise(path, kind)
    connections = Connections(path, busy_ms=busy_ms)
    try:
        _check_format(connections, kind)
    except BaseException:
        connections.close()
        raise
    return connections


def _check_format(connections: Connections, kind: Kind) -> None:
    version = int(connections.link().run("PRAGMA user_version")[0][0])
    if version > kind.latest:
        found = f"{connections.path} has format {version}, this version knows up to {kind.latest}"
        raise FutureFormat(found, "Update muniment.")
    if version < kind.latest:
        found = f"{connections.path} has format {version}, this version writes {kind.latest}"
        raise StoreReadOnly(found, "Run `muniment doctor --repair`.")
