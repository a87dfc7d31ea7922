"""The part of `peer.db` about other peers: banks served, ways to others, who asks, what was shown (section 8)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from muniment.base.ids import BankId, EntryId
from muniment.base.limits import LIMITS
from muniment.store.connection import Connections

Source = Literal["ticket", "added", "learnt"]
Oddity = Literal["rolled back"]
_ID_BYTES = 36
_ROUTE = "SELECT bank, address, source, created, peer, tried, succeeded, agreed, failures, error, mark FROM routes "


class RouteRow(NamedTuple):
    """A way to another peer for one bank, and how it went. Times are Unix ms; None: never.

    Attributes:
        source: A ticket, a person, or another peer named the address.
        peer: The key that answered there last.
        tried: The last attempt.
        succeeded: The last round after which nothing was missing at either end.
        agreed: When both ends last held the same control entries.
        failures: Attempts in a row that came to nothing.
        error: Why the last one did.
        mark: All entries here up to this one are known to be there.
    """

    bank: BankId
    address: str
    source: Source
    created_ms: int
    peer: bytes | None = None
    tried: int | None = None
    succeeded: int | None = None
    agreed: int | None = None
    failures: int = 0
    error: str | None = None
    mark: int = 0


class WantedRow(NamedTuple):
    """A bank that was asked for: for which key and level, and what is said at the door (a claim, or a request)."""

    bank: BankId
    key: bytes
    level: str
    said: bytes
    created_ms: int
    until_ms: int


class RequestRow(NamedTuple):
    """A stranger who asks for a bank that is served here; `note` is the stranger's own words."""

    bank: BankId
    key: bytes
    level: str
    note: str
    created_ms: int
    until_ms: int
    state: str = "waiting"


class OddRow(NamedTuple):
    """A key of which a peer showed less than before."""

    bank: BankId
    author: bytes
    kind: Oddity
    peer: bytes
    at_ms: int


class RouteStore:
    """Rows of `peer.db`, for many threads and processes at once. Each method is one durable transaction."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return list(self._connections.link().run(sql, values))

    def _write(self, sql: str, values: tuple[Any, ...]) -> None:
        with self._connections.write() as link:
            link.run(sql, values)

    # Serving

    def share(self, bank: BankId, now_ms: int) -> None:
        """Serve a bank from now on."""
        self._write("INSERT OR IGNORE INTO shares VALUES (?, ?)", (bank, now_ms))

    def unshare(self, bank: BankId) -> bool:
        """Serve it no more; False if it was not served."""
        was = self.shared(bank)
        self._write("DELETE FROM shares WHERE bank = ?", (bank,))
        return was

    def shared(self, bank: BankId) -> bool:
        """Whether a bank is served, and was not deleted here."""
        sql = "SELECT 1 FROM shares JOIN banks USING (bank) WHERE bank = ? AND listed = 1"
        return bool(self._run(sql, (bank,)))

    # Routes

    def add_route(self, bank: BankId, address: str, source: Source, now_ms: int) -> bool:
        """Note an address where a bank may be had; False if it is known, or there are too many."""
        with self._connections.write() as link:
            if link.run("SELECT 1 FROM routes WHERE bank = ? AND address = ?", (bank, address)):
                return False
            count = int(link.run("SELECT count(*) FROM routes WHERE bank = ?", (bank,))[0][0])
            if count >= LIMITS.routes:
                return False
            sql = "INSERT INTO routes (bank, address, source, created) VALUES (?, ?, ?, ?)"
            link.run(sql, (bank, address, source, now_ms))
        return True

    def remove_route(self, bank: BankId, address: str) -> bool:
        """Forget an address; False if it was not known."""
        with self._connections.write() as link:
            there = link.run("SELECT 1 FROM routes WHERE bank = ? AND address = ?", (bank, address))
            link.run("DELETE FROM routes WHERE bank = ? AND address = ?", (bank, address))
        return bool(there)

    def routes(self, bank: BankId | None = None) -> list[RouteRow]:
        """All ways, of one bank or of all; those that succeeded last come first."""
        where = "" if bank is None else "WHERE bank = ? "
        sql = _ROUTE + where + "ORDER BY bank, failures, succeeded DESC, created, address"
        rows = self._run(sql, () if bank is None else (bank,))
        return [RouteRow(BankId(row[0]), *row[1:]) for row in rows]

    def went_well(
        self, bank: BankId, address: str, peer: bytes, now_ms: int, *, done: bool, agreed: bool, mark: int
    ) -> None:
        """Note a round that came to its end."""
        with self._connections.write() as link:
            link.run(
                "UPDATE routes SET peer = ?, tried = ?, failures = 0, error = NULL, mark = max(mark, ?), "
                "succeeded = iif(?, ?, succeeded), agreed = iif(?, ?, agreed) WHERE bank = ? AND address = ?",
                (peer, now_ms, mark, int(done), now_ms, int(agreed), now_ms, bank, address),
            )

    def heard(self, bank: BankId, address: str, now_ms: int, mark: int) -> None:
        """Note that another peer told what is new, and that all up to a mark is there."""
        self._write(
            "UPDATE routes SET succeeded = ?, mark = max(mark, ?) WHERE bank = ? AND address = ?",
            (now_ms, mark, bank, address),
        )

    def went_wrong(self, bank: BankId, address: str, error: str, now_ms: int) -> None:
        """Note an attempt that came to nothing."""
        sql = "UPDATE routes SET tried = ?, failures = failures + 1, error = ? WHERE bank = ? AND address = ?"
        self._write(sql, (now_ms, error[:400], bank, address))

    # Banks that were asked for

    def want(self, row: WantedRow) -> None:
        """Note that a bank was asked for, in place of what was said before."""
        self._write("INSERT OR REPLACE INTO wanted VALUES (?, ?, ?, ?, ?, ?)", tuple(row))

    def wanted(self) -> list[WantedRow]:
        """The banks that were asked for, the oldest first."""
        rows = self._run("SELECT bank, key, level, said, created, until FROM wanted ORDER BY created, bank")
        return [WantedRow(BankId(row[0]), *row[1:]) for row in rows]

    def got(self, bank: BankId) -> None:
        """It came, or nobody waits for it any more."""
        self._write("DELETE FROM wanted WHERE bank = ?", (bank,))

    # Strangers who ask

    def ask(self, row: RequestRow) -> bool:
        """Queue a request; False if it is known, was denied, or there are too many.

        Those whose time is over make room first.
        """
        with self._connections.write() as link:
            link.run("DELETE FROM requests WHERE until <= ?", (row.created_ms,))
            known = "SELECT 1 FROM requests WHERE bank = ? AND key = ? AND level = ?"
            count = int(link.run("SELECT count(*) FROM requests WHERE bank = ?", (row.bank,))[0][0])
            if link.run(known, row[:3]) or count >= LIMITS.requests:
                return False
            link.run("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", tuple(row))
        return True

    def requests(self, now_ms: int) -> list[RequestRow]:
        """The requests that still hold, the oldest first; those that were denied too."""
        sql = "SELECT bank, key, level, note, created, until, state FROM requests WHERE until > ? ORDER BY created, key"
        return [RequestRow(BankId(row[0]), *row[1:]) for row in self._run(sql, (now_ms,))]

    def answered(self, bank: BankId, key: bytes) -> None:
        """A key was let in: none of its requests waits any more."""
        self._write("DELETE FROM requests WHERE bank = ? AND key = ?", (bank, key))

    def deny(self, bank: BankId, key: bytes, level: str) -> None:
        """Let a request lie: the same one is not queued again before its time is over."""
        sql = "UPDATE requests SET state = 'denied' WHERE bank = ? AND key = ? AND level = ?"
        self._write(sql, (bank, key, level))

    def stale(self, now_ms: int) -> int:
        """How many requests, and banks that were asked for, are past their time."""
        count = "SELECT count(*) FROM {} WHERE until <= ?"
        return sum(int(self._run(count.format(table), (now_ms,))[0][0]) for table in ("requests", "wanted"))

    def forget_stale(self, now_ms: int) -> int:
        """Take them off; returns how many there were."""
        with self._connections.write() as link:
            gone = link.run("DELETE FROM requests WHERE until <= ? RETURNING 1", (now_ms,))
            gone += link.run("DELETE FROM wanted WHERE until <= ? RETURNING 1", (now_ms,))
        return len(gone)

    # What was shown

    def seen(self, bank: BankId, peer: bytes, author: bytes) -> tuple[EntryId, ...]:
        """The newest entries of an author that a peer showed last."""
        sql = "SELECT tips FROM shown WHERE bank = ? AND peer = ? AND author = ?"
        rows = self._run(sql, (bank, peer, author))
        packed: bytes = rows[0][0] if rows else b""
        return tuple(EntryId(packed[at : at + _ID_BYTES]) for at in range(0, len(packed), _ID_BYTES))

    def note(self, bank: BankId, peer: bytes, author: bytes, tips: tuple[EntryId, ...]) -> None:
        """Remember them."""
        if self.seen(bank, peer, author) != tips:
            sql = "INSERT OR REPLACE INTO shown VALUES (?, ?, ?, ?)"
            self._write(sql, (bank, peer, author, b"".join(tips)))

    def note_odd(self, row: OddRow) -> None:
        """Remember that something was odd about a key: the last time of each kind."""
        self._write("INSERT OR REPLACE INTO odd VALUES (?, ?, ?, ?, ?)", tuple(row))

    def odd(self, bank: BankId | None = None) -> list[OddRow]:
        """What was odd, in one bank or in all."""
        where, values = ("", ()) if bank is None else ("WHERE bank = ? ", (bank,))
        sql = f"SELECT bank, author, kind, peer, at FROM odd {where}ORDER BY at, author"
        return [OddRow(BankId(row[0]), *row[1:]) for row in self._run(sql, values)]
