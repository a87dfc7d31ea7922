"""`packs.db`: which pack holds which payload, on this peer (design section 9). Derived: packs carry directories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from muniment.base.ids import CID_PREFIX, BlobName, VersionId
from muniment.store import migrate
from muniment.store.connection import Connections
from muniment.store.link import Row
from muniment.store.migrate import Kind

PACKS = Kind("pack index", int.from_bytes(b"MUNX"), Path(__file__).parent / "schema" / "packs")


_SELECT = "SELECT name, size, root, added, idle, ours FROM packs "


class PackRow(NamedTuple):
    """A pack: its blob's name, its size, the root over its chunks, when it came, since when nothing needs it (ms).

    `ours` is False for one that was found in a store, which may be shared, and was never needed here.
    """

    name: BlobName
    size: int
    root: bytes
    added_ms: int
    idle_ms: int | None
    ours: bool = True


class Place(NamedTuple):
    """Where a payload lies: in which pack, from which byte, and how many."""

    pack: BlobName
    start: int
    length: int


class Slot(NamedTuple):
    """A payload of a pack: its pointer, its first byte, and how many."""

    pointer: BlobName
    start: int
    length: int


class PackIndex:
    """The index of one peer's packs, for many threads and processes at once. Each method is one transaction."""

    def __init__(self, path: Path, connections: Connections) -> None:
        self.path = path
        self._connections = connections

    @classmethod
    def open(cls, path: Path, *, busy_ms: int = 10_000) -> PackIndex:
        """Open the file, or make it, in a folder that is there.

        Raises:
            StorageError: As its subclasses name it.
        """
        return cls(path, migrate.opened(path, PACKS, busy_ms=busy_ms, make=True))

    def close(self) -> None:
        """Close the connections of all threads; harmless when done twice."""
        self._connections.close()

    def add(self, row: PackRow, slots: Sequence[tuple[BlobName, int, int]]) -> None:
        """Note a pack and its payloads (pointer, first byte, length); once more changes nothing."""
        with self._connections.write() as link:
            link.run(
                "INSERT OR IGNORE INTO packs (name, size, root, added, idle, ours) VALUES (?, ?, ?, ?, ?, ?)",
                (row.name, row.size, row.root, row.added_ms, row.idle_ms, int(row.ours)),
            )
            ((number,),) = link.run("SELECT id FROM packs WHERE name = ?", (row.name,))
            link.run_many(
                "INSERT OR IGNORE INTO payloads (pointer, pack, start, length) VALUES (?, ?, ?, ?)",
                [(pointer, number, start, length) for pointer, start, length in sorted(slots)],
            )

    def drop(self, name: BlobName) -> None:
        """Forget a pack and its payloads."""
        with self._connections.write() as link:
            link.run("DELETE FROM payloads WHERE pack = (SELECT id FROM packs WHERE name = ?)", (name,))
            link.run("DELETE FROM packs WHERE name = ?", (name,))

    def places(self, pointer: bytes) -> list[Place]:
        """Every place where a payload lies."""
        sql = (
            "SELECT k.name, p.start, p.length FROM payloads p JOIN packs k ON k.id = p.pack"
            " WHERE p.pointer = ? ORDER BY k.id"
        )
        return [Place(BlobName(n), s, m) for n, s, m in self._connections.link().run(sql, (pointer,))]

    def packs(self) -> list[PackRow]:
        """All packs, in the order in which they came."""
        return [_row(row) for row in self._connections.link().run(_SELECT + "ORDER BY id")]

    def pack(self, name: bytes) -> PackRow | None:
        """One pack, or None."""
        rows = self._connections.link().run(_SELECT + "WHERE name = ?", (name,))
        return _row(rows[0]) if rows else None

    def pointers(self, name: bytes) -> Iterator[BlobName]:
        """The payloads of a pack."""
        sql = "SELECT pointer FROM payloads WHERE pack = (SELECT id FROM packs WHERE name = ?)"
        for (pointer,) in self._connections.link().run(sql, (name,)):
            yield BlobName(pointer)

    def slots(self, name: BlobName) -> list[Slot]:
        """The payloads of a pack in the order in which they lie there."""
        sql = (
            "SELECT pointer, start, length FROM payloads WHERE pack = (SELECT id FROM packs WHERE name = ?)"
            " ORDER BY start"
        )
        return [Slot(BlobName(p), s, m) for p, s, m in self._connections.link().run(sql, (name,))]

    def rest(self, name: BlobName, since_ms: int) -> None:
        """Note since when nothing needs a pack."""
        with self._connections.write() as link:
            link.run("UPDATE packs SET idle = ? WHERE name = ?", (since_ms, name))

    def need(self, name: BlobName) -> None:
        """Note that something needs a pack."""
        row = self.pack(name)
        if row is not None and (row.idle_ms is not None or not row.ours):
            with self._connections.write() as link:
                link.run("UPDATE packs SET idle = NULL, ours = 1 WHERE name = ?", (name,))

    def figures(self) -> tuple[int, int, int]:
        """Packs, payloads, and bytes of the packs."""
        sql = "SELECT count(*), (SELECT count(*) FROM payloads), coalesce(sum(size), 0) FROM packs"
        packs, payloads, size = self._connections.link().run(sql)[0]
        return packs, payloads, size

    def use(self, days: Mapping[VersionId, int]) -> None:
        """Note on which day (since 1970) versions were last recalled."""
        with self._connections.write() as link:
            link.run_many(
                "INSERT INTO uses (version, day) VALUES (?, ?)"
                " ON CONFLICT (version) DO UPDATE SET day = max(day, excluded.day)",
                [(_named(version), day) for version, day in sorted(days.items())],
            )

    def last_used(self, version: VersionId) -> int | None:
        """The day on which a version was last recalled, if that was noted."""
        rows = self._connections.link().run("SELECT day FROM uses WHERE version = ?", (_named(version),))
        return int(rows[0][0]) if rows else None


def _row(row: Row) -> PackRow:
    name, size, root, added, idle, ours = row
    return PackRow(BlobName(name), size, root, added, idle, ours == 1)


def _named(version: VersionId) -> bytes:
    return version.entry[len(CID_PREFIX) :] + bytes([version.act])
