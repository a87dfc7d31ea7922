"""Entries and their bodies in SQLite: what must never be wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from muniment.base.errors import InvalidInput, StoreCorrupt
from muniment.base.ids import CID_PREFIX, EntryId
from muniment.store.base import EntryRow, Verdict
from muniment.store.connection import Connections
from muniment.store.link import Link, Row
from muniment.store.namings import meet
from muniment.store.select import among, listed
from muniment.store.shelves import bury
from muniment.store.tips import move_tips

_COLUMNS = "seq, id, author, at, control, verdict, local, readable, epoch, prev, envelope"
_SELECT = f"SELECT {_COLUMNS} FROM entries "
_ID_OF = "SELECT id FROM entries WHERE seq = ?"
_CHUNK = 256  # rows in memory at once; an envelope has at most 256 KiB
_MANY = 4096  # ids in memory at once
_DIGEST = len(CID_PREFIX)  # where the digest begins in an id


def place_of(seq: int, act: int) -> int:
    """One number for an act of a stored entry."""
    return seq << 8 | act


def placed(place: int) -> tuple[int, int]:
    """The seq and act of such a number."""
    return place >> 8, place & 0xFF


class EntryTables:
    """The part of the SQLite store that keeps entries, tips, wanted ids and bodies."""

    _connections: Connections

    def write(self) -> AbstractContextManager[Any]:
        return self._connections.write()

    def read(self) -> AbstractContextManager[Any]:
        return self._connections.read()

    def add_entry(self, row: EntryRow, bodies: Sequence[bytes | None]) -> int:
        link = self._connections.writer()
        digest, author = row.id[_DIGEST:], link.number("authors", row.author, create=True)
        epoch = _epoch_number(link, row.epoch)
        prev = b"".join([parent[_DIGEST:] for parent in row.prev])
        if link.run("SELECT 1 FROM entries WHERE id = ?", (digest,)):
            raise InvalidInput("the entry is stored already", "Look with `seq_of` first.")
        seq = link.insert(
            "INSERT INTO entries (id, author, at, control, verdict, local, readable, epoch, prev, envelope)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(digest, author, row.at, int(row.control), int(row.verdict), int(row.local)),
                *(int(row.readable), epoch, prev, row.envelope),
            ),
        )
        self._move_tips(link, seq, digest, author, row.prev)
        meet(link, [digest], [seq])
        here = [(place_of(seq, act), body) for act, body in enumerate(bodies) if body is not None]
        link.run_many("INSERT INTO bodies (place, gone, sealed) VALUES (?, 0, ?)", here)
        if len(here) < len(bodies):
            missing = [(place_of(seq, act),) for act, body in enumerate(bodies) if body is None]
            link.run_many("INSERT INTO absent (place, erased) VALUES (?, 0)", missing)
        return seq

    def add_entries(self, rows: Sequence[EntryRow], bodies: Sequence[Sequence[bytes | None]]) -> list[int]:
        link = self._connections.writer()
        digests = [row.id[_DIGEST:] for row in rows]
        if len(set(digests)) < len(rows) or self.held([row.id for row in rows]):
            raise InvalidInput("an entry is stored already, or comes twice", "Look with `held` first.")
        start = int(link.run("SELECT coalesce(max(seq), 0) + 1 FROM entries")[0][0])
        seqs = list(range(start, start + len(rows)))
        authors = [link.number("authors", row.author, create=True) for row in rows]
        link.run_many(
            "INSERT INTO entries (seq, id, author, at, control, verdict, local, readable, epoch, prev, envelope)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    *(seq, digest, author, row.at, int(row.control), int(row.verdict), int(row.local)),
                    *(int(row.readable), _epoch_number(link, row.epoch)),
                    *(b"".join([parent[_DIGEST:] for parent in row.prev]), row.envelope),
                )
                for seq, digest, author, row in zip(seqs, digests, authors, rows, strict=True)
            ],
        )
        move_tips(link, seqs, digests, authors, rows)
        meet(link, digests, seqs)
        here, missing = [], []
        for seq, held in zip(seqs, bodies, strict=True):
            for act, body in enumerate(held):
                if body is None:
                    missing.append((place_of(seq, act),))
                else:
                    here.append((place_of(seq, act), body))
        link.run_many("INSERT INTO bodies (place, gone, sealed) VALUES (?, 0, ?)", here)
        link.run_many("INSERT INTO absent (place, erased) VALUES (?, 0)", missing)
        return seqs

    def held(self, entries: Sequence[EntryId]) -> dict[EntryId, int]:
        digests = [entry[_DIGEST:] for entry in entries]
        found = among(self._connections.link(), "SELECT id, seq FROM entries WHERE id", digests)
        return {EntryId(CID_PREFIX + digest): seq for digest, seq in found}

    def ids(self, *, control: bool, verdict: Verdict, after: int = 0) -> Iterator[tuple[int, int, EntryId]]:
        sql = (
            f"SELECT seq, at, id FROM entries WHERE seq > ? AND control = {control:d}"
            f" AND verdict = {verdict:d} ORDER BY seq LIMIT {_MANY}"
        )
        while True:
            rows = self._connections.link().run(sql, (after,))
            for seq, at, digest in rows:
                yield seq, at, EntryId(CID_PREFIX + digest)
            if len(rows) < _MANY:
                return
            after = rows[-1][0]

    def rerulings(self) -> int:
        found = self._connections.link().run("SELECT value FROM meta WHERE name = 'rerulings'")
        return int(found[0][0]) if found else 0

    def _move_tips(self, link: Link, seq: int, digest: bytes, author: int, prev: Sequence[EntryId]) -> None:
        for parent in prev:
            known = link.run("SELECT seq, author FROM entries WHERE id = ?", (parent[_DIGEST:],))
            if not known:
                link.run(
                    "INSERT OR IGNORE INTO wanted (id, author) VALUES (?, ?)", (parent[_DIGEST:], author)
                )
            elif known[0][1] == author:
                link.run("DELETE FROM tips WHERE author = ? AND seq = ?", (author, known[0][0]))
        waiting = link.run("SELECT author FROM wanted WHERE id = ?", (digest,))
        if waiting:
            link.run("DELETE FROM wanted WHERE id = ?", (digest,))
        if (author,) not in waiting:
            link.run("INSERT INTO tips (author, seq) VALUES (?, ?)", (author, seq))

    def _entry(self, link: Link, row: Row, *, verify: bool = True) -> EntryRow:
        try:
            entry = _read(link, row)
            wrong = verify and hashlib.sha256(entry.envelope).digest() != row[1]
        except (TypeError, ValueError) as error:  # damage can turn a column into another type
            raise self._damaged(row[0]) from error
        if wrong:
            raise self._damaged(row[0])
        return entry

    def _damaged(self, seq: int) -> StoreCorrupt:
        step = "Run `muniment check`; restore the file from a backup or fetch the bank from another peer."
        return StoreCorrupt(f"{self._connections.path}: entry {seq} is not what its id says", step)

    def seq_of(self, entry: EntryId) -> int | None:
        rows = self._connections.link().run("SELECT seq FROM entries WHERE id = ?", (entry[_DIGEST:],))
        return int(rows[0][0]) if rows else None

    def entry(self, entry: EntryId) -> EntryRow | None:
        link = self._connections.link()
        rows = link.run(_SELECT + "WHERE id = ?", (entry[_DIGEST:],))
        return self._entry(link, rows[0]) if rows else None

    def entry_at(self, seq: int) -> EntryRow:
        link = self._connections.link()
        rows = link.run(_SELECT + "WHERE seq = ?", (seq,))
        if not rows:
            raise StoreCorrupt(f"{self._connections.path}: there is no entry {seq}", "Run `muniment check`.")
        return self._entry(link, rows[0])

    def stamps(self, seqs: Sequence[int]) -> dict[int, tuple[EntryId, tuple[EntryId, int] | None]]:
        link = self._connections.link()
        among, values = listed(seqs)
        rows = link.run(f"SELECT seq, id, epoch FROM entries WHERE seq {among}", values)
        try:
            return {
                seq: (EntryId(CID_PREFIX + digest), _sealed_by(link, epoch)) for seq, digest, epoch in rows
            }
        except (TypeError, ValueError) as error:
            raise self._damaged(rows[0][0]) from error

    def entries(
        self,
        *,
        after: int = 0,
        control: bool | None = None,
        verdict: Verdict | None = None,
        author: bytes | None = None,
    ) -> Iterator[EntryRow]:
        where, values = ["seq > ?"], [after]
        if control is not None:
            where.append(f"control = {control:d}")  # a literal, so that the partial index applies
        if verdict is not None:
            where.append("verdict = ?")
            values.append(verdict)
            if verdict is not Verdict.COUNTS:
                where.append("verdict <> 0")
        if author is not None:
            where.append("author = ?")
            values.append(self._connections.link().number("authors", author))
        return self._walk(" AND ".join(where), values)

    def _walk(self, where: str, values: list[int], *, verify: bool = True) -> Iterator[EntryRow]:
        """Entries in chunks: an open cursor would hold the log and break on a rollback."""
        sql = _SELECT + f"WHERE {where} ORDER BY seq LIMIT {_CHUNK}"
        while True:
            link = self._connections.link()
            rows = link.run(sql, values)
            for row in rows:
                yield self._entry(link, row, verify=verify)
            if len(rows) < _CHUNK:
                return
            values[0] = rows[-1][0]

    def _unverified(self) -> Iterator[EntryRow]:
        """All entries, also those whose bytes are not what their ids say."""
        return self._walk("seq > ?", [0], verify=False)

    def twins(self, author: bytes, at: int) -> list[EntryRow]:
        link = self._connections.link()
        where = "WHERE local IN (0, 1) AND at = ? AND author = ? ORDER BY seq"
        rows = link.run(_SELECT + where, (at, link.number("authors", author)))
        return [self._entry(link, row) for row in rows]

    def twinned(self, pairs: Sequence[tuple[bytes, int]]) -> set[tuple[bytes, int]]:
        link = self._connections.link()
        rows = among(
            link,
            "SELECT author, at FROM entries WHERE local IN (0, 1) AND at",
            sorted({at for _, at in pairs}),
        )
        return {(link.key("authors", author), at) for author, at in rows}.intersection(pairs)

    def rule(self, seq: int, verdict: Verdict, readable: bool) -> None:
        link = self._connections.writer()
        if not link.run("SELECT 1 FROM entries WHERE seq = ? AND verdict = ?", (seq, int(verdict))):
            link.run(
                "INSERT INTO meta (name, value) VALUES ('rerulings', 1)"
                " ON CONFLICT (name) DO UPDATE SET value = value + 1"
            )
        sql = "UPDATE entries SET verdict = ?, readable = ? WHERE seq = ?"
        link.run(sql, (int(verdict), int(readable), seq))

    def tips(self, author: bytes) -> tuple[EntryId, ...]:
        link = self._connections.link()
        found = link.run("SELECT seq FROM tips WHERE author = ?", (link.number("authors", author),))
        # One query for each, sorted here: a join and a sorter cost more than the one row that there mostly is.
        digests = [digest for place in found for (digest,) in link.run(_ID_OF, place)]
        return tuple([EntryId(CID_PREFIX + digest) for digest in sorted(digests)])

    def last_at(self, upto: int) -> int:
        greatest = "(SELECT coalesce(max(at), 0) FROM entries WHERE local = {} AND at <= ?1)"
        sql = f"SELECT max({greatest.format(0)}, {greatest.format(1)})"
        return int(self._connections.link().run(sql, (upto,))[0][0])

    def wanted(self) -> frozenset[EntryId]:
        rows = self._connections.link().run("SELECT DISTINCT id FROM wanted")
        return frozenset(EntryId(CID_PREFIX + digest) for (digest,) in rows)

    def bodies(self, places: Sequence[tuple[int, int]]) -> list[bytes | None]:
        link = self._connections.link()
        keys = [place_of(seq, act) for seq, act in places]
        found: dict[int, bytes] = {}
        for table in ("bodies", "late_bodies"):
            wanted = [key for key in keys if key not in found]
            if wanted:
                among, values = listed(wanted)
                sql = f"SELECT place, sealed FROM {table} WHERE place {among} AND gone = 0"
                found.update(link.run(sql, values))
        for key, body in found.items():
            if not isinstance(body, bytes):
                raise self._damaged(key >> 8)
        return [found.get(key) for key in keys]

    def parcels(self, seqs: Sequence[int]) -> list[tuple[EntryId, bytes, list[bytes | None]]]:
        link, wanted = self._connections.link(), json.dumps(list(seqs))
        sql = "SELECT seq, id, envelope FROM entries WHERE seq IN (SELECT value FROM json_each(?))"
        found: dict[int, tuple[EntryId, bytes, list[bytes | None]]] = {}
        for seq, digest, envelope in link.run(sql, (wanted,)):
            if not isinstance(envelope, bytes) or hashlib.sha256(envelope).digest() != digest:
                raise self._damaged(seq)
            found[seq] = (EntryId(CID_PREFIX + digest), envelope, [])
        bodies = (
            "SELECT place, sealed FROM {}, json_each(?1) WHERE place BETWEEN value << 8 AND value << 8 | 255"
        )
        for select in (
            bodies.format("bodies") + " AND gone = 0",
            bodies.format("late_bodies") + " AND gone = 0",
            bodies.format("absent").replace("sealed", "NULL"),
            bodies.format("released").replace("sealed", "NULL"),
        ):
            for place, sealed in link.run(select, (wanted,)):
                seq, act = placed(place)
                acts = found[seq][2]
                acts += [None] * (act + 1 - len(acts))
                acts[act] = sealed
        missing = [seq for seq in seqs if seq not in found]
        if missing:
            raise StoreCorrupt(
                f"{self._connections.path}: there is no entry {missing[0]}", "Run `muniment check`."
            )
        return [found[seq] for seq in seqs]

    def put_body(self, seq: int, act: int, sealed: bytes) -> None:
        link, place = self._connections.writer(), place_of(seq, act)
        if self.bodies([(seq, act)])[0] is not None:
            raise InvalidInput(f"body {act} of entry {seq} is stored already", "Look with `bodies` first.")
        link.run("INSERT INTO late_bodies (place, gone, sealed) VALUES (?, 0, ?)", (place, sealed))
        link.run("DELETE FROM absent WHERE place = ?", (place,))
        link.run("DELETE FROM released WHERE place = ?", (place,))

    def erase_bodies(self, places: Iterable[tuple[int, int]]) -> None:
        link = self._connections.writer()
        for seq, act in places:
            place = place_of(seq, act)
            bury(link, place)
            link.run("DELETE FROM released WHERE place = ?", (place,))
            link.run("INSERT OR REPLACE INTO absent (place, erased) VALUES (?, 1)", (place,))

    def absent(self, *, after: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, int, bool]]:
        last = place_of(*after)
        while True:
            sql = "SELECT place, erased FROM absent WHERE place > ? ORDER BY place LIMIT 1024"
            rows = self._connections.link().run(sql, (last,))
            for last, erased in rows:
                yield (*placed(last), bool(erased))
            if len(rows) < 1024:
                return


def _epoch_number(link: Link, epoch: tuple[EntryId, int] | None) -> int | None:
    """The interned number of an epoch."""
    if epoch is None:
        return None
    return link.number("epochs", epoch[0][_DIGEST:] + epoch[1].to_bytes(2), create=True)


def _read(link: Link, row: Row) -> EntryRow:
    seq, digest, author, at, control, verdict, local, readable, epoch, prev, envelope = row
    return EntryRow(
        seq,
        EntryId(CID_PREFIX + digest),
        link.key("authors", author),
        at,
        bool(control),
        Verdict(verdict),
        bool(local),
        bool(readable),
        tuple([EntryId(CID_PREFIX + prev[start : start + 32]) for start in range(0, len(prev), 32)]),
        envelope,
        _sealed_by(link, epoch),
    )


def _sealed_by(link: Link, epoch: int | None) -> tuple[EntryId, int] | None:
    """The epoch that an interned number stands for."""
    if epoch is None:
        return None
    key = link.key("epochs", epoch)
    return EntryId(CID_PREFIX + key[:32]), int.from_bytes(key[32:])
