"""Transactions and entries in plain dictionaries: the lower half of the store in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from muniment.base.errors import InvalidInput, StorageError, StoreCorrupt
from muniment.base.ids import BankId, EntryId
from muniment.store.base import Change, EntryRow, NamingRow, ValueRow, Verdict, VersionRow
from muniment.store.shelf import Shelf

_K = TypeVar("_K")
_V = TypeVar("_V")


class MemoryEntries:
    """Entries and bodies, and undoing what a failed transaction did."""

    def __init__(self, bank: BankId, *, salt: bytes = b"memory") -> None:
        self.bank, self.salt = bank, salt
        self._lock = threading.RLock()
        self._writing = self._reading = 0
        self._failed = False
        self._undo: list[Callable[[], object]] = []
        self._closed = False
        self._entries: dict[int, EntryRow] = {}
        self._seqs: dict[EntryId, int] = {}
        self._children: dict[tuple[EntryId, bytes], int] = {}  # (id, author of the entry that names it)
        self._bodies: dict[tuple[int, int], bytes] = {}
        self._absent: dict[tuple[int, int], bool] = {}
        self._released: dict[tuple[int, int], None] = {}
        self._versions: dict[int, VersionRow] = {}
        self._facets: dict[int, frozenset[int]] = {}
        self._places: dict[tuple[int, int], int] = {}
        self._namings: dict[NamingRow, None] = {}
        self._values: dict[ValueRow, None] = {}
        self._vectors: dict[tuple[int, int], str] = {}
        self._sessions: dict[str, int] = {}
        self._changes: dict[int, Change] = {}
        self._shelves: dict[int, Shelf] = {}
        self._traces: dict[int, None] = {}
        self._orders: dict[EntryId, int] = {}
        self._marks = {"ord": 0, "change": 0, "generation": 1}

    # Transactions

    @contextmanager
    def write(self) -> Iterator[None]:
        with self._lock:
            self._open()
            if self._reading and not self._writing:
                raise StorageError("a write can't begin inside a read", "Leave `read()` first.")
            outer = self._writing == 0
            if outer:
                self._failed = False
                self._undo = []
            self._writing += 1
            try:
                yield
                self._finish(outer)
            except BaseException:
                self._failed = True
                if outer:
                    for step in reversed(self._undo):
                        step()
                raise
            finally:
                self._writing -= 1

    def _finish(self, outer: bool) -> None:
        if outer and self._failed:
            raise StorageError("a write inside this one failed; nothing was kept", "Do it again as a whole.")

    @contextmanager
    def read(self) -> Iterator[None]:
        with self._lock:
            self._open()
            self._reading += 1
            try:
                yield
            finally:
                self._reading -= 1

    def close(self) -> None:
        self._closed = True

    def _open(self) -> None:
        if self._closed:
            raise StorageError("the bank is closed", "Open it again.")

    def _writer(self) -> None:
        if not self._writing:
            raise StorageError("rows are only changed inside `write()`", "Open one: `with store.write():`.")

    def _put(self, table: dict[_K, _V], key: _K, value: _V) -> None:
        if key in table:
            old = table[key]
            self._undo.append(lambda: table.__setitem__(key, old))
        else:
            self._undo.append(lambda: table.pop(key))
        table[key] = value

    def _drop(self, table: dict[_K, _V], key: _K) -> None:
        if key in table:
            old = table.pop(key)
            self._undo.append(lambda: table.__setitem__(key, old))

    def _clear(self, table: dict[Any, Any]) -> None:
        old = dict(table)
        self._undo.append(lambda: table.update(old))
        table.clear()

    # Entries

    def add_entry(self, row: EntryRow, bodies: Sequence[bytes | None]) -> int:
        self._writer()
        if row.id in self._seqs:
            raise InvalidInput("the entry is stored already", "Look with `seq_of` first.")
        seq = len(self._entries) + 1
        self._put(self._entries, seq, replace(row, seq=seq))
        self._put(self._seqs, row.id, seq)
        for parent in row.prev:
            self._put(self._children, (parent, row.author), seq)
        for act, body in enumerate(bodies):
            if body is None:
                self._put(self._absent, (seq, act), False)
            else:
                self._put(self._bodies, (seq, act), body)
        return seq

    def add_entries(self, rows: Sequence[EntryRow], bodies: Sequence[Sequence[bytes | None]]) -> list[int]:
        with self.write():
            if len({row.id for row in rows}) < len(rows) or self.held([row.id for row in rows]):
                raise InvalidInput("an entry is stored already, or comes twice", "Look with `held` first.")
            return [self.add_entry(row, held) for row, held in zip(rows, bodies, strict=True)]

    def held(self, entries: Sequence[EntryId]) -> dict[EntryId, int]:
        return {entry: self._seqs[entry] for entry in entries if entry in self._seqs}

    def ids(self, *, control: bool, verdict: Verdict, after: int = 0) -> Iterator[tuple[int, int, EntryId]]:
        for row in self.entries(after=after, control=control, verdict=verdict):
            yield row.seq, row.at, row.id

    def rerulings(self) -> int:
        return self._marks.get("rerulings", 0)

    def seq_of(self, entry: EntryId) -> int | None:
        return self._seqs.get(entry)

    def entry(self, entry: EntryId) -> EntryRow | None:
        seq = self._seqs.get(entry)
        return None if seq is None else self.entry_at(seq)

    def stamps(self, seqs: Sequence[int]) -> dict[int, tuple[EntryId, tuple[EntryId, int] | None]]:
        return {seq: (row.id, row.epoch) for seq in seqs if (row := self._entries.get(seq)) is not None}

    def entry_at(self, seq: int) -> EntryRow:
        row = self._entries.get(seq)
        if row is None:
            raise StoreCorrupt(f"there is no entry {seq}", "Run `muniment check`.")
        return row

    def entries(
        self,
        *,
        after: int = 0,
        control: bool | None = None,
        verdict: Verdict | None = None,
        author: bytes | None = None,
    ) -> Iterator[EntryRow]:
        seq = max(after, 0)
        while (row := self._entries.get(seq := seq + 1)) is not None:
            if (
                control in (None, row.control)
                and verdict in (None, row.verdict)
                and author in (None, row.author)
            ):
                yield row

    def twins(self, author: bytes, at: int) -> list[EntryRow]:
        return [row for row in self._entries.values() if (row.author, row.at) == (author, at)]

    def twinned(self, pairs: Sequence[tuple[bytes, int]]) -> set[tuple[bytes, int]]:
        return {(row.author, row.at) for row in self._entries.values()}.intersection(pairs)

    def rule(self, seq: int, verdict: Verdict, readable: bool) -> None:
        self._writer()
        if seq in self._entries:
            if self._entries[seq].verdict is not verdict:
                self._put(self._marks, "rerulings", self.rerulings() + 1)
            self._put(self._entries, seq, replace(self._entries[seq], verdict=verdict, readable=readable))

    def tips(self, author: bytes) -> tuple[EntryId, ...]:
        mine = (row.id for row in self._entries.values() if row.author == author)
        return tuple(sorted(entry for entry in mine if (entry, author) not in self._children))

    def last_at(self, upto: int) -> int:
        return max((row.at for row in self._entries.values() if row.at <= upto), default=0)

    def wanted(self) -> frozenset[EntryId]:
        return frozenset(parent for parent, _ in self._children if parent not in self._seqs)

    def bodies(self, places: Sequence[tuple[int, int]]) -> list[bytes | None]:
        return [self._bodies.get((seq, act)) for seq, act in places]

    def parcels(self, seqs: Sequence[int]) -> list[tuple[EntryId, bytes, list[bytes | None]]]:
        acts = dict.fromkeys(seqs, 0)
        for seq, act in [*self._bodies, *self._absent, *self._released]:
            if seq in acts:
                acts[seq] = max(acts[seq], act + 1)
        rows = [self.entry_at(seq) for seq in seqs]
        return [
            (row.id, row.envelope, self.bodies([(row.seq, act) for act in range(acts[row.seq])]))
            for row in rows
        ]

    def put_body(self, seq: int, act: int, sealed: bytes) -> None:
        self._writer()
        if (seq, act) in self._bodies:
            raise InvalidInput(f"body {act} of entry {seq} is stored already", "Look with `bodies` first.")
        self._put(self._bodies, (seq, act), sealed)
        self._drop(self._absent, (seq, act))
        self._drop(self._released, (seq, act))

    def absent(self, *, after: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, int, bool]]:
        for place in sorted(self._absent):
            if place > after:
                yield (*place, self._absent[place])

    def erase_bodies(self, places: Iterable[tuple[int, int]]) -> None:
        self._writer()
        for seq, act in places:
            self._drop(self._bodies, (seq, act))
            self._drop(self._released, (seq, act))
            self._put(self._absent, (seq, act), True)

    def scrub(self) -> None:
        """There is no log that could keep what was erased."""
