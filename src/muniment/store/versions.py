"""Versions, facets, values, sessions and changes in SQLite: what is derived from entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from muniment.base.errors import InvalidInput, StoreCorrupt
from muniment.base.ids import CID_PREFIX, EntryId, RecordId, VersionId
from muniment.store.base import (
    Change,
    Figures,
    Filter,
    State,
    ValueRow,
    VersionRow,
    Watermark,
)
from muniment.store.connection import Connections
from muniment.store.link import Link, Row
from muniment.store.select import among, conditions, listed

_COLUMNS = (
    "ord, place, author, record, key_group, content, write, state, type, tool, recalled,"
    " session, created, at, ended"
)
_SELECT = f"SELECT {_COLUMNS} FROM versions "
_INSERT = f"INSERT INTO versions ({_COLUMNS}) VALUES ({', '.join('?' * 15)})"
_RECORDS = "SELECT record FROM versions WHERE substr(record, 11)"
_GROUPS = "SELECT DISTINCT key_group FROM versions WHERE key_group IS NOT NULL AND key_group"
_CHUNK = 1024
_DERIVED = (
    "versions",
    "facets",
    "namings",
    "strangers",
    "named_values",
    "vectors",
    "models",
    "sessions",
    "changes",
    "shelves",
)
_STATES = {int(state): state for state in State}


def to_bytes(words: str) -> bytes:
    """Words as they are stored: any text at all, also lone surrogates and NUL."""
    return words.encode("utf-8", "surrogatepass")


def to_words(stored: bytes) -> str:
    """The text that `to_bytes` stored.

    Raises:
        StoreCorrupt: They are no longer what it stored.
    """
    try:
        return stored.decode("utf-8", "surrogatepass")
    except (UnicodeDecodeError, AttributeError):
        raise StoreCorrupt("a stored word is damaged", "Run `muniment check --rebuild`.") from None


class VersionTables:
    """The part of the SQLite store that a rebuild empties and makes again."""

    _connections: Connections

    def add_versions(self, rows: Sequence[VersionRow], facets: Sequence[Sequence[int]]) -> list[int]:
        link = self._connections.writer()
        if not rows:
            return []
        start = self._last_ord(link) + 1
        ords = list(range(start, start + len(rows)))
        link.run_many(
            _INSERT,
            [
                (
                    *(ord, row.seq << 8 | row.act, link.number("authors", row.author, create=True)),
                    *(row.record, row.group, row.content, row.write, int(row.state), to_bytes(row.type)),
                    *(int(row.tool), int(row.recalled), row.session, row.created, row.at, row.ended),
                )
                for ord, row in zip(ords, rows, strict=True)
            ],
        )
        pairs = [pair for ord, hashes in zip(ords, facets, strict=True) for pair in zip(hashes, repeat(ord))]
        pairs.sort()  # neighbours in the tree one after the other
        link.run_many("INSERT OR IGNORE INTO facets (hash, ord) VALUES (?, ?)", pairs)
        return ords

    def _last_ord(self, link: Link) -> int:
        sql = "SELECT coalesce((SELECT max(ord) FROM versions), (SELECT value FROM meta WHERE name = 'first_ord'))"
        return int(link.run(sql)[0][0])

    def _version(self, link: Link, row: Row) -> VersionRow:
        ord, place, author, record, group, content, write, state, type_, tool, recalled, *rest = row
        try:
            fields: tuple[Any, ...] = (
                *(ord, place >> 8, place & 0xFF, link.key("authors", author)),
                *(record, group, content, write, _STATES[state], to_words(type_), tool == 1, recalled == 1),
            )
            return VersionRow(*fields, *rest)
        except (TypeError, KeyError) as error:  # damage can turn a column into another type
            found = f"{self._connections.path}: version {ord} is damaged"
            raise StoreCorrupt(found, "Run `muniment check --rebuild`.") from error

    def _versions(self, where: str, values: Sequence[object]) -> list[VersionRow]:
        link = self._connections.link()
        return [self._version(link, row) for row in link.run(_SELECT + where, values)]

    def versions(self, ords: Sequence[int]) -> list[VersionRow]:
        link = self._connections.link()
        among, values = listed(ords)
        rows = link.run(_SELECT + f"WHERE ord {among}", values)
        known = {row[0]: self._version(link, row) for row in rows}
        return [known[ord] for ord in ords if ord in known]

    def versions_after(self, ord: int, upto: int) -> Iterator[VersionRow]:
        while ord < upto:
            where = f"WHERE ord > ? AND ord <= ? ORDER BY ord LIMIT {_CHUNK}"
            rows = self._versions(where, (ord, upto))
            yield from rows
            if len(rows) < _CHUNK:
                return
            ord = rows[-1].ord

    def version_at(self, version: VersionId) -> VersionRow | None:
        seq = "(SELECT seq FROM entries WHERE id = ?)"
        values = (version.entry[len(CID_PREFIX) :], version.act)
        rows = self._versions(f"WHERE place = {seq} << 8 | ?", values) if 0 <= version.act < 256 else []
        return rows[0] if rows else None

    def crowded(self, rows: Sequence[VersionRow]) -> list[bool]:
        link = self._connections.link()
        keys = sorted({row.group for row in rows if row.group is not None})
        ends = sorted({row.record[10:] for row in rows})
        taken = {record for (record,) in among(link, _RECORDS, ends)}
        groups = {group for (group,) in among(link, _GROUPS, keys)}
        return [row.record in taken or row.group in groups for row in rows]

    def of_record(self, record: RecordId) -> list[VersionRow]:
        return self._few("WHERE substr(record, 11) = ? AND record = ?", (record[10:], record))

    def of_group(self, group: bytes, *, live: bool = False) -> list[VersionRow]:
        return self._few("WHERE key_group = ?" + (" AND state = 0" if live else ""), (group,))

    def of_write(self, write: bytes) -> list[VersionRow]:
        return self._few("WHERE substr(write, 1, 6) = ? AND write = ?", (write[:6], write))

    def _few(self, where: str, values: Sequence[object]) -> list[VersionRow]:
        """A handful of rows, sorted here: preparing to sort costs SQLite more than finding them."""
        return sorted(self._versions(where, values), key=lambda row: row.ord)

    def version_id(self, row: VersionRow) -> VersionId:
        found = self._connections.link().run("SELECT id FROM entries WHERE seq = ?", (row.seq,))
        if not found:
            raise StoreCorrupt(
                f"{self._connections.path}: there is no entry {row.seq}", "Run `muniment check`."
            )
        return VersionId(EntryId(CID_PREFIX + found[0][0]), row.act)

    def set_state(self, ord: int, state: State, ended: int | None) -> None:
        link = self._connections.writer()
        sql = "UPDATE versions SET state = ?, ended = ? WHERE ord = ? RETURNING ord"
        if not link.run(sql, (int(state), ended, ord)):
            raise InvalidInput(f"there is no version {ord}")
        number = self._last_change(link) + 1
        link.run("INSERT INTO changes (number, ord, state) VALUES (?, ?, ?)", (number, ord, int(state)))

    def _last_change(self, link: Link) -> int:
        first = "(SELECT value FROM meta WHERE name = 'first_change')"
        return int(link.run(f"SELECT coalesce((SELECT max(number) FROM changes), {first})")[0][0])

    def add_values(self, rows: Sequence[ValueRow]) -> None:
        link = self._connections.writer()
        if rows:
            link.run_many(
                "INSERT OR IGNORE INTO named_values (space, name, seq, act) VALUES (?, ?, ?, ?)",
                [(to_bytes(row.space), to_bytes(row.name), row.seq, row.act) for row in rows],
            )

    def values(self, space: str, name: str | None = None) -> list[ValueRow]:
        link = self._connections.link()
        sql = "SELECT name, seq, act FROM named_values WHERE space = ?"
        values = (to_bytes(space),) if name is None else (to_bytes(space), to_bytes(name))
        if name is not None:
            sql += " AND name = ?"
        found = link.run(sql + " ORDER BY name, seq, act", values)
        return [ValueRow(space, to_words(given), seq, act) for given, seq, act in found]

    def session_number(self, name: str, *, create: bool) -> int:
        link = self._connections.writer() if create else self._connections.link()
        rows = link.run("SELECT id FROM sessions WHERE name = ?", (to_bytes(name),))
        if not rows and create:
            rows = link.run("INSERT INTO sessions (name) VALUES (?) RETURNING id", (to_bytes(name),))
        return int(rows[0][0]) if rows else 0

    def session_names(self, numbers: Sequence[int]) -> Mapping[int, str]:
        link = self._connections.link()
        sql = "SELECT id, name FROM sessions WHERE id = ?"
        return {id_: to_words(name) for number in set(numbers) for id_, name in link.run(sql, (number,))}

    def select(self, wanted: Filter) -> list[int]:
        link = self._connections.link()
        found = conditions(link, wanted, walk=False)
        if found is None:
            return []
        where, values = found
        return link.column(f"SELECT ord FROM versions WHERE {where} ORDER BY ord", values)

    def newest(self, wanted: Filter, limit: int, offset: int = 0) -> list[VersionRow]:
        link = self._connections.link()
        found = conditions(link, wanted, walk=True)
        if found is None:
            return []
        where, values = found
        order = "ORDER BY created DESC, at DESC, ord DESC LIMIT ? OFFSET ?"
        return self._versions(f"WHERE {where} {order}", (*values, limit, offset))

    def watermark(self) -> Watermark:
        link = self._connections.link()
        firsts = "(SELECT value FROM meta WHERE name = 'first_{}')"
        ((ord, change, generation),) = link.run(
            f"SELECT coalesce((SELECT max(ord) FROM versions), {firsts.format('ord')}),"
            f" coalesce((SELECT max(number) FROM changes), {firsts.format('change')}),"
            " (SELECT value FROM meta WHERE name = 'generation')"
        )
        return Watermark(ord, change, generation)

    def changes(self, after: int, upto: int) -> list[Change]:
        sql = "SELECT number, ord, state FROM changes WHERE number > ? AND number <= ? ORDER BY number"
        rows = self._connections.link().run(sql, (after, upto))
        try:
            return [Change(number, ord, _STATES[state]) for number, ord, state in rows]
        except KeyError as error:
            found = f"{self._connections.path}: a change is damaged"
            raise StoreCorrupt(found, "Run `muniment check --rebuild`.") from error

    def counts(self) -> Mapping[State, int]:
        link = self._connections.link()
        # Numbers are dense, so the live ones, nearly all, need not be counted one by one.
        total = (
            "SELECT coalesce(max(ord) - (SELECT value FROM meta WHERE name = 'first_ord'), 0) FROM versions"
        )
        others = "SELECT state, count(*) FROM versions WHERE state <> 0 GROUP BY state"
        rows = link.run(f"SELECT -1, ({total}) UNION ALL {others}")
        counted = {_STATES[state]: count for state, count in rows if state >= 0}
        counted[State.LIVE] = rows[0][1] - sum(counted.values())
        return {state: counted[state] for state in State if counted.get(state)}

    def figures(self) -> Figures:
        link = self._connections.link()
        ((entries, sessions, authors, first, archived, released, dead),) = link.run(
            "SELECT (SELECT coalesce(max(seq), 0) FROM entries), (SELECT count(*) FROM sessions),"
            " (SELECT count(*) FROM authors),"
            " (SELECT created FROM versions WHERE state = 0 ORDER BY created LIMIT 1),"
            " (SELECT count(*) FROM shelves WHERE archived = 1), (SELECT count(*) FROM released),"
            " (SELECT value FROM meta WHERE name = 'dead_bytes')"
        )
        room = self._connections.file_bytes()
        return Figures(entries, sessions, authors, first, room, archived, released, dead)

    def reset_derived(self) -> None:
        link = self._connections.writer()
        mark = self.watermark()
        for table in _DERIVED:
            link.run(f"DELETE FROM {table}")
        # Numbers go on from here: whoever holds one of before finds nothing, never something else.
        kept = {
            "first_ord": mark.last_ord,
            "first_change": mark.last_change,
            "generation": mark.generation + 1,
        }
        link.run_many("UPDATE meta SET value = ? WHERE name = ?", [(v, name) for name, v in kept.items()])

    def _strays(self) -> Iterator[tuple[str, str, list[int]]]:
        """Rows of derived tables that point nowhere: table, what is wrong, and some of their numbers."""
        for table, what, sql in _STRAYS:
            if rows := self._connections.link().run(sql + " LIMIT 100"):
                yield table, what, [row[0] for row in rows if isinstance(row[0], int)]


_STRAYS = (
    ("versions", "versions of entries that are not here", (
        "SELECT ord FROM versions WHERE NOT EXISTS (SELECT 1 FROM entries WHERE seq = place >> 8)"
    )),
    ("versions", "versions of a session that has no name", (
        "SELECT ord FROM versions WHERE session <> 0 AND session NOT IN (SELECT id FROM sessions)"
    )),
    ("versions", "gaps in the numbers of versions", (
        "SELECT ord FROM versions v WHERE ord > (SELECT value FROM meta WHERE name = 'first_ord') + 1"
        " AND NOT EXISTS (SELECT 1 FROM versions WHERE ord = v.ord - 1)"
    )),
    ("facets", "facets of versions that are not here", (
        "SELECT ord FROM facets WHERE ord NOT IN (SELECT ord FROM versions)"
    )),
    ("namings", "namings by entries that are not here", (
        "SELECT place >> 8 FROM namings WHERE place >> 8 NOT IN (SELECT seq FROM entries)"
    )),
    ("namings", "namings of entries that are neither here nor listed as strangers", (
        "SELECT place >> 8 FROM namings WHERE target >> 8 NOT IN"
        " (SELECT seq FROM entries UNION ALL SELECT id FROM strangers)"
    )),
    ("namings", "entries that are listed as strangers, and are here", (
        "SELECT id FROM strangers WHERE digest IN (SELECT id FROM entries)"
    )),
    ("named_values", "values set by entries that are not here", (
        "SELECT seq FROM named_values WHERE seq NOT IN (SELECT seq FROM entries)"
    )),
    ("vectors", "vectors by entries that are not here", (
        "SELECT seq FROM vectors WHERE seq NOT IN (SELECT seq FROM entries)"
    )),
    ("changes", "changes of versions that are not here", (
        "SELECT number FROM changes WHERE ord NOT IN (SELECT ord FROM versions)"
    )),
    ("shelves", "shelves of versions that are not here", (
        "SELECT ord FROM shelves WHERE ord NOT IN (SELECT ord FROM versions)"
    )),
    ("bodies", "bodies that were let go, and are here, missing or erased too", (
        "SELECT place >> 8 FROM released WHERE place IN (SELECT place FROM bodies WHERE gone = 0"
        " UNION ALL SELECT place FROM late_bodies WHERE gone = 0 UNION ALL SELECT place FROM absent)"
    )),
    ("bodies", "bodies of entries that are not here", (
        "SELECT place >> 8 FROM (SELECT place FROM bodies UNION ALL SELECT place FROM late_bodies)"
        " WHERE place >> 8 NOT IN (SELECT seq FROM entries)"
    )),
    ("bodies", "bodies that are listed as missing or erased, and are here", (
        "SELECT place >> 8 FROM absent WHERE place IN (SELECT place FROM bodies WHERE gone = 0"
        " UNION ALL SELECT place FROM late_bodies WHERE gone = 0)"
    )),
)  # fmt: skip
