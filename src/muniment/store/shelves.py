"""The archive in SQLite: bodies that were let go, versions on the shelf, and the room that both give back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from muniment.base.ids import EntryId
from muniment.store.connection import Connections
from muniment.store.free_pages import copies, unclean_pages
from muniment.store.link import Link
from muniment.store.select import listed
from muniment.store.shelf import Shelf

_CHUNK = 1024


def bury(link: Link, place: int) -> None:
    """Fill a body with zeros where it stands, and note the room that it takes."""
    for table in ("bodies", "late_bodies"):
        # Of the same length, so that SQLite writes over it where it stands (see the schema).
        rows = link.run(
            f"UPDATE {table} SET gone = 1, sealed = zeroblob(length(sealed))"
            " WHERE place = ? AND gone = 0 RETURNING length(sealed)",
            (place,),
        )
        if rows:
            link.run("UPDATE meta SET value = value + ? WHERE name = 'dead_bytes'", (rows[0][0],))


class ShelfTables:
    """The part of the SQLite store that knows of the archive."""

    _connections: Connections

    def release_bodies(self, places: Iterable[tuple[int, int]]) -> None:
        link = self._connections.writer()
        for seq, act in places:
            place = seq << 8 | act
            bury(link, place)
            link.run("INSERT OR IGNORE INTO released (place) VALUES (?)", (place,))
            link.run("DELETE FROM absent WHERE place = ?", (place,))

    def trace(self, ords: Iterable[int]) -> None:
        link = self._connections.writer()
        link.run_many("INSERT OR IGNORE INTO traces (ord) VALUES (?)", [(ord,) for ord in ords])

    def traces(self) -> list[int]:
        return [ord for (ord,) in self._connections.link().run("SELECT ord FROM traces ORDER BY ord")]

    def untrace(self, ords: Iterable[int]) -> None:
        link = self._connections.writer()
        link.run_many("DELETE FROM traces WHERE ord = ?", [(ord,) for ord in ords])

    def note_orders(self, seen: Mapping[EntryId, int]) -> None:
        link = self._connections.writer()
        link.run_many("INSERT OR IGNORE INTO orders (entry, seen) VALUES (?, ?)", list(seen.items()))

    def orders(self) -> Mapping[EntryId, int]:
        rows = self._connections.link().run("SELECT entry, seen FROM orders")
        return {EntryId(entry): seen for entry, seen in rows}

    def remains(self) -> Iterator[str]:
        link, path = self._connections.link(), self._connections.path
        for table in ("bodies", "late_bodies"):
            sql = f"SELECT count(*) FROM {table} WHERE gone = 1 AND sealed <> zeroblob(length(sealed))"
            if count := link.run(sql)[0][0]:
                yield f"{count} rows of {table} that are gone still hold bytes"
        size = link.run("PRAGMA page_size")[0][0]
        if count := unclean_pages(path, size):
            yield f"{count} free pages of {path.name} still hold bytes"
        for copy in copies(path):
            yield f"the older copy {copy.name} holds what was erased since"

    def released(self, *, after: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, int]]:
        last = after[0] << 8 | after[1]
        while True:
            sql = f"SELECT place FROM released WHERE place > ? ORDER BY place LIMIT {_CHUNK}"
            rows = self._connections.link().run(sql, (last,))
            for (last,) in rows:
                yield last >> 8, last & 0xFF
            if len(rows) < _CHUNK:
                return

    def compact(self) -> None:
        with self._connections.write() as link:
            # From here until the file is written anew, SQLite may have left copies of neighbours in free pages.
            link.run("UPDATE meta SET value = 1 WHERE name = 'compacting'")
            for table in ("bodies", "late_bodies"):
                link.run(f"DELETE FROM {table} WHERE gone = 1")
        self._vacuum()

    def _vacuum(self) -> None:
        self._connections.link().run("VACUUM")
        with self._connections.write() as link:
            link.run("UPDATE meta SET value = 0 WHERE name IN ('compacting', 'dead_bytes')")
        self._connections.scrub()

    def _finish_compacting(self) -> None:
        """Write the file anew where a process was killed between taking rows out and doing so."""
        if self._meta("compacting"):
            self._vacuum()

    def _meta(self, name: str) -> int:
        rows = self._connections.link().run("SELECT value FROM meta WHERE name = ?", (name,))
        return int(rows[0][0]) if rows else 0

    def shelve(self, ord: int, shelf: Shelf) -> None:
        link = self._connections.writer()
        if shelf == (False, False):
            link.run("DELETE FROM shelves WHERE ord = ?", (ord,))
            return
        sql = "INSERT OR REPLACE INTO shelves (ord, archived, stub) VALUES (?, ?, ?)"
        link.run(sql, (ord, int(shelf.archived), int(shelf.stub)))

    def shelves(self, ords: Sequence[int]) -> Mapping[int, Shelf]:
        if not ords:
            return {}
        among, values = listed(ords)
        rows = self._connections.link().run(
            f"SELECT ord, archived, stub FROM shelves WHERE ord {among}", values
        )
        return {ord: Shelf(archived == 1, stub == 1) for ord, archived, stub in rows}
