"""The part of `peer.db` about custody: blobs kept for others, and blobs that others keep (design section 9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from muniment.base.ids import BlobName
from muniment.store.connection import Connections
from muniment.store.link import Link, Row

_KEPT = "SELECT owner, blob, size, root, until, receipt FROM custody_kept "
_GIVEN = "SELECT blob, holder, address, receipt, until, since, proven, tried, alarm FROM custody_given "
_LOGGED = 10_000  # lines of the log that stay


class Allowed(NamedTuple):
    """An owner whose blobs are kept here: how many bytes in all, and for how many days at most."""

    owner: bytes
    bytes: int
    days: int


class Kept(NamedTuple):
    """A blob that is kept here for `owner` until a moment (Unix ms); without a receipt it is still on its way."""

    owner: bytes
    blob: BlobName
    size: int
    root: bytes
    until: int
    receipt: bytes | None


class Given(NamedTuple):
    """A blob that `holder` keeps for this peer, at an address; times are Unix ms.

    Attributes:
        receipt: The holder's signed word.
        proven, tried: When it last proved that it has it, and when it was last asked.
        alarm: Why it does not count; None while all is well.
    """

    blob: BlobName
    holder: bytes
    address: str
    receipt: bytes
    until: int
    since: int
    proven: int | None
    tried: int | None
    alarm: str | None


class Line(NamedTuple):
    """A line of the log: when (Unix ms), about which blob and holder, and what happened."""

    at: int
    blob: bytes
    holder: bytes
    what: str


class CustodyStore:
    """Rows of `peer.db`, for many threads and processes at once. Each method is one transaction."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    # For others

    def allow(self, row: Allowed, now: int) -> None:
        """Keep blobs of an owner from now on, in place of what was allowed before; 0 bytes: no more of them."""
        with self._connections.write() as link:
            link.run("INSERT OR REPLACE INTO custody_allowed VALUES (?, ?, ?, ?)", (*row, now))

    def allowed(self) -> list[Allowed]:
        """All owners whose blobs are kept here, the first one first."""
        sql = "SELECT owner, bytes, days FROM custody_allowed ORDER BY created, owner"
        return [Allowed(*row) for row in self._connections.link().run(sql)]

    def expect(self, row: Kept, now: int, most: int, blobs: int) -> bool:
        """Note a blob that is coming; False where there is no room for it among the owner's others.

        What the same owner began to send and did not end within a day makes room.
        """
        with self._connections.write() as link:
            stale = "owner = ? AND blob IN (SELECT blob FROM custody_kept WHERE owner = ?"
            stale += " AND receipt IS NULL AND created < ?)"
            link.run(f"DELETE FROM custody_parts WHERE {stale}", (row.owner, row.owner, now - 86_400_000))
            sql = "DELETE FROM custody_kept WHERE owner = ? AND receipt IS NULL AND created < ?"
            link.run(sql, (row.owner, now - 86_400_000))
            sql = "SELECT count(*), coalesce(sum(size), 0) FROM custody_kept WHERE owner = ? AND blob <> ?"
            ((count, size),) = link.run(sql, (row.owner, row.blob))
            if count >= blobs or size + row.size > most:
                return False
            link.run(
                "INSERT INTO custody_kept VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (owner, blob) DO UPDATE SET size = excluded.size, root = excluded.root,"
                " until = excluded.until",
                (*row, now),
            )
        return True

    def kept(self, owner: bytes | None = None) -> list[Kept]:
        """What is kept here, of one owner or of all."""
        where, values = ("", ()) if owner is None else ("WHERE owner = ? ", (owner,))
        rows = self._connections.link().run(_KEPT + where + "ORDER BY created, blob", values)
        return [_kept(row) for row in rows]

    def kept_one(self, owner: bytes, blob: bytes) -> Kept | None:
        """One blob of an owner, or None."""
        rows = self._connections.link().run(_KEPT + "WHERE owner = ? AND blob = ?", (owner, blob))
        return _kept(rows[0]) if rows else None

    def holds(self, blob: bytes, now: int) -> bool:
        """Whether a blob is kept for anybody at a moment."""
        sql = "SELECT 1 FROM custody_kept WHERE blob = ? AND receipt IS NOT NULL AND until > ? LIMIT 1"
        return bool(self._connections.link().run(sql, (blob, now)))

    def add_part(self, owner: bytes, blob: bytes, number: int, data: bytes) -> None:
        """Keep a chunk that came."""
        with self._connections.write() as link:
            sql = "INSERT OR REPLACE INTO custody_parts (owner, blob, number, data) VALUES (?, ?, ?, ?)"
            link.run(sql, (owner, blob, number, data))

    def parts(self, owner: bytes, blob: bytes) -> set[int]:
        """Numbers of the chunks that came."""
        sql = "SELECT number FROM custody_parts WHERE owner = ? AND blob = ?"
        return {int(row[0]) for row in self._connections.link().run(sql, (owner, blob))}

    def chunks(self, owner: bytes, blob: bytes) -> dict[int, bytes]:
        """The chunks that came, by number."""
        sql = "SELECT number, data FROM custody_parts WHERE owner = ? AND blob = ?"
        return {int(number): data for number, data in self._connections.link().run(sql, (owner, blob))}

    def joined(self, owner: bytes, blob: bytes) -> bytes:
        """The chunks that came, one after the other."""
        sql = "SELECT data FROM custody_parts WHERE owner = ? AND blob = ? ORDER BY number"
        return b"".join(row[0] for row in self._connections.link().run(sql, (owner, blob)))

    def drop_parts(self, owner: bytes, blob: bytes) -> None:
        """Forget the chunks that came."""
        with self._connections.write() as link:
            link.run("DELETE FROM custody_parts WHERE owner = ? AND blob = ?", (owner, blob))

    def receipt(self, owner: bytes, blob: bytes, receipt: bytes) -> None:
        """Note that a blob is whole, with what was signed; its chunks are no longer needed."""
        with self._connections.write() as link:
            sql = "UPDATE custody_kept SET receipt = ? WHERE owner = ? AND blob = ?"
            link.run(sql, (receipt, owner, blob))
            link.run("DELETE FROM custody_parts WHERE owner = ? AND blob = ?", (owner, blob))

    # By others

    def give(self, row: Given, pointers: Iterable[bytes]) -> None:
        """Note a receipt and the payloads that it is about; a newer one of the same holder takes its place."""
        with self._connections.write() as link:
            link.run("INSERT OR REPLACE INTO custody_given VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            sql = "INSERT OR IGNORE INTO custody_payloads VALUES (?, ?)"
            link.run_many(sql, [(pointer, row.blob) for pointer in sorted(pointers)])
            _log(link, Line(row.since, row.blob, row.holder, "receipt"))

    def given(self) -> list[Given]:
        """All receipts, by blob, the oldest first."""
        rows = self._connections.link().run(_GIVEN + "ORDER BY blob, since, holder")
        return [_given(row) for row in rows]

    def judge(self, blob: bytes, holder: bytes, at: int, alarm: str | None, what: str) -> None:
        """Note how a challenge went: `alarm` is why it went wrong, None where the holder proved it."""
        with self._connections.write() as link:
            sql = (
                "UPDATE custody_given SET tried = ?1, alarm = ?2,"
                " proven = CASE WHEN ?2 IS NULL THEN ?1 ELSE proven END WHERE blob = ?3 AND holder = ?4"
            )
            link.run(sql, (at, alarm, blob, holder))
            _log(link, Line(at, blob, holder, what))

    def holders_of(self, name: bytes, now: int) -> int:
        """How many others are known to keep a payload, or a blob, at a moment; those with an alarm don't count."""
        sql = (
            "SELECT count(DISTINCT holder) FROM custody_given WHERE alarm IS NULL AND until > ?2"
            " AND (blob = ?1 OR blob IN (SELECT blob FROM custody_payloads WHERE pointer = ?1))"
        )
        return int(self._connections.link().run(sql, (name, now))[0][0])

    def payloads(self, blob: bytes) -> list[bytes]:
        """The payloads of a blob that was given away."""
        sql = "SELECT pointer FROM custody_payloads WHERE blob = ?"
        return [row[0] for row in self._connections.link().run(sql, (blob,))]

    def log(self, most: int = 100) -> list[Line]:
        """The newest lines of the log, the newest first."""
        sql = "SELECT at, blob, holder, what FROM custody_log ORDER BY id DESC LIMIT ?"
        return [Line(*row) for row in self._connections.link().run(sql, (most,))]


def _log(link: Link, line: Line) -> None:
    link.run("INSERT INTO custody_log (at, blob, holder, what) VALUES (?, ?, ?, ?)", line)
    link.run("DELETE FROM custody_log WHERE id <= (SELECT max(id) FROM custody_log) - ?", (_LOGGED,))


def _kept(row: Row) -> Kept:
    owner, blob, size, root, until, receipt = row
    return Kept(owner, BlobName(blob), size, root, until, receipt)


def _given(row: Row) -> Given:
    blob, *rest = row
    return Given(BlobName(blob), *rest)
