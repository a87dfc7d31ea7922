"""What names a version, in SQLite: by the number of its entry, which may not be here yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from muniment.base.ids import CID_PREFIX, EntryId, VersionId
from muniment.store.base import Naming, NamingRow
from muniment.store.connection import Connections
from muniment.store.link import Link, Row
from muniment.store.select import among

_DIGEST = len(CID_PREFIX)
_CHUNK = 1024
# A row with the id of the entry that it names.
_SELECT = (
    "SELECT place, kind, coalesce((SELECT id FROM entries WHERE seq = target >> 8),"
    " (SELECT digest FROM strangers WHERE id = target >> 8)), target & 255 FROM namings "
)


def meet(link: Link, digests: Sequence[bytes], seqs: Sequence[int]) -> None:
    """Name entries that have just come by their numbers, where something named them before."""
    known = dict(zip(digests, seqs, strict=True))
    for number, digest in among(link, "SELECT id, digest FROM strangers WHERE digest", digests):
        first = number << 8
        link.run(
            "UPDATE namings SET target = ? << 8 | (target & 255) WHERE target BETWEEN ? AND ?",
            (known[digest], first, first | 0xFF),
        )
        link.run("DELETE FROM strangers WHERE id = ?", (number,))


class NamingTables:
    """The part of the SQLite store that knows what names which version."""

    _connections: Connections

    def _numbers(self, link: Link, entries: Sequence[EntryId]) -> dict[EntryId, int]:
        """The numbers of entries and of strangers; others have none."""
        digests = sorted({entry[_DIGEST:] for entry in entries})
        found = among(link, "SELECT id, seq FROM entries WHERE id", digests)
        if len(found) < len(digests):
            found += among(link, "SELECT digest, id FROM strangers WHERE digest", digests)
        return {EntryId(CID_PREFIX + digest): number for digest, number in found}

    def _numbered(self, link: Link, entries: Sequence[EntryId]) -> Mapping[EntryId, int]:
        """The same, and a new number for each that has none."""
        known = self._numbers(link, entries)
        for entry in sorted(set(entries) - set(known)):
            sql = "INSERT INTO strangers (id, digest) SELECT coalesce(min(id), 0) - 1, ? FROM strangers RETURNING id"
            known[entry] = int(link.run(sql, (entry[_DIGEST:],))[0][0])
        return known

    def add_namings(self, rows: Sequence[NamingRow]) -> None:
        link = self._connections.writer()
        if rows:
            numbers = self._numbered(link, [row.target.entry for row in rows])
            link.run_many(
                "INSERT OR IGNORE INTO namings (place, kind, target) VALUES (?, ?, ?)",
                [
                    (
                        row.seq << 8 | row.act,
                        int(row.kind),
                        numbers[row.target.entry] << 8 | row.target.act,
                    )
                    for row in rows
                ],
            )

    def named(self, entries: Sequence[EntryId]) -> set[EntryId]:
        link = self._connections.link()
        sql = "SELECT 1 FROM namings WHERE target BETWEEN ? AND ? LIMIT 1"
        numbers = self._numbers(link, entries)
        return {
            entry for entry, number in numbers.items() if link.run(sql, (number << 8, number << 8 | 0xFF))
        }

    def namings(self, targets: Sequence[VersionId]) -> list[NamingRow]:
        link = self._connections.link()
        numbers = self._numbers(link, [target.entry for target in targets])
        sql = "SELECT place, kind FROM namings WHERE target = ? ORDER BY place, kind"
        return [
            NamingRow(target, Naming(kind), place >> 8, place & 0xFF)
            for target in targets
            if target.entry in numbers and 0 <= target.act <= 0xFF
            for place, kind in link.run(sql, (numbers[target.entry] << 8 | target.act,))
        ]

    def namings_by(self, seq: int, act: int | None = None) -> list[NamingRow]:
        first, last = (seq << 8, seq << 8 | 0xFF) if act is None else (seq << 8 | act, seq << 8 | act)
        rows = self._connections.link().run(_SELECT + "WHERE place BETWEEN ? AND ?", (first, last))
        return sorted(map(_naming, rows), key=lambda row: (row.act, row.kind, row.target))

    def archive_acts(self) -> Iterator[NamingRow]:
        last = -1
        where = f"WHERE kind = {int(Naming.ARCHIVE)} AND place > ? ORDER BY place LIMIT {_CHUNK}"
        while True:
            rows = self._connections.link().run(_SELECT + where, (last,))
            yield from map(_naming, rows)
            if len(rows) < _CHUNK:
                return
            last = rows[-1][0]


def _naming(row: Row) -> NamingRow:
    place, kind, digest, act = row
    return NamingRow(VersionId(EntryId(CID_PREFIX + digest), act), Naming(kind), place >> 8, place & 0xFF)
