"""A store in plain dictionaries: for tests, and the proof that the protocol asks for nothing of SQL."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from muniment.base.errors import InvalidInput, StorageError, StoreCorrupt
from muniment.base.ids import BankId, EntryId, RecordId, VersionId
from muniment.store.base import (
    Change,
    EntryRow,
    Figures,
    Filter,
    Naming,
    NamingRow,
    Problem,
    Progress,
    State,
    ValueRow,
    VectorPlace,
    Verdict,
    VersionRow,
    Watermark,
)
from muniment.store.check import compare
from muniment.store.memory_shelves import MemoryShelves

_K = TypeVar("_K")
_V = TypeVar("_V")


class MemoryStore(MemoryShelves):
    """A bank in memory, for one process. One lock: a write keeps other threads out until it is done.

    Attributes:
        bank: The bank that it holds.
        salt: For `facet`.
    """

    def __init__(self, bank: BankId, *, salt: bytes = b"memory") -> None:
        self.bank, self.salt = bank, salt
        super().__init__()
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
        self._versions: dict[int, VersionRow] = {}
        self._facets: dict[int, frozenset[int]] = {}
        self._places: dict[tuple[int, int], int] = {}
        self._namings: dict[NamingRow, None] = {}
        self._values: dict[ValueRow, None] = {}
        self._vectors: dict[tuple[int, int], str] = {}
        self._sessions: dict[str, int] = {}
        self._changes: dict[int, Change] = {}
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

    def rule(self, seq: int, verdict: Verdict, readable: bool) -> None:
        self._writer()
        if seq in self._entries:
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

    # Derived from entries

    def add_versions(self, rows: Sequence[VersionRow], facets: Sequence[Sequence[int]]) -> list[int]:
        self._writer()
        ords = []
        for row, hashes in zip(rows, facets, strict=True):
            if (row.seq, row.act) in self._places:
                raise InvalidInput(f"act {row.act} of entry {row.seq} is a version already")
            ord = self._last_ord() + 1
            self._put(self._versions, ord, replace(row, ord=ord))
            self._put(self._facets, ord, frozenset(hashes))
            self._put(self._places, (row.seq, row.act), ord)
            ords.append(ord)
        return ords

    def _last_ord(self) -> int:
        return self._marks["ord"] + len(self._versions)

    def versions(self, ords: Sequence[int]) -> list[VersionRow]:
        return [self._versions[ord] for ord in ords if ord in self._versions]

    def versions_after(self, ord: int, upto: int) -> Iterator[VersionRow]:
        for number in range(max(ord, self._marks["ord"]) + 1, min(upto, self._last_ord()) + 1):
            yield self._versions[number]

    def version_at(self, version: VersionId) -> VersionRow | None:
        seq = self._seqs.get(version.entry)
        ord = None if seq is None else self._places.get((seq, version.act))
        return None if ord is None else self._versions[ord]

    def of_record(self, record: RecordId) -> list[VersionRow]:
        return [row for row in self._versions.values() if row.record == record]

    def of_group(self, group: bytes, *, live: bool = False) -> list[VersionRow]:
        rows = [row for row in self._versions.values() if row.group == group]
        return [row for row in rows if row.state is State.LIVE] if live else rows

    def of_write(self, write: bytes) -> list[VersionRow]:
        return [row for row in self._versions.values() if row.write == write]

    def version_id(self, row: VersionRow) -> VersionId:
        return VersionId(self.entry_at(row.seq).id, row.act)

    def set_state(self, ord: int, state: State, ended: int | None) -> None:
        self._writer()
        if ord not in self._versions:
            raise InvalidInput(f"there is no version {ord}")
        self._put(self._versions, ord, replace(self._versions[ord], state=state, ended=ended))
        number = self.watermark().last_change + 1
        self._put(self._changes, number, Change(number, ord, state))

    def add_namings(self, rows: Sequence[NamingRow]) -> None:
        self._writer()
        for row in rows:
            self._put(self._namings, row, None)

    def namings(self, targets: Sequence[VersionId]) -> list[NamingRow]:
        by_target: dict[VersionId, list[NamingRow]] = defaultdict(list)
        for row in sorted(self._namings, key=lambda row: (row.seq, row.act, row.kind)):
            by_target[row.target].append(row)
        return [row for target in targets for row in by_target.get(target, ())]

    def namings_by(self, seq: int, act: int | None = None) -> list[NamingRow]:
        rows = [row for row in self._namings if row.seq == seq and act in (None, row.act)]
        return sorted(rows, key=lambda row: (row.act, row.kind, row.target))

    def add_values(self, rows: Sequence[ValueRow]) -> None:
        self._writer()
        for row in rows:
            self._put(self._values, row, None)

    def values(self, space: str, name: str | None = None) -> list[ValueRow]:
        rows = [row for row in self._values if row.space == space and name in (None, row.name)]
        return sorted(rows, key=lambda row: (row.name.encode("utf-8", "surrogatepass"), row.seq, row.act))

    def add_vectors(self, rows: Sequence[tuple[int, int, str]]) -> None:
        self._writer()
        for seq, act, model in rows:
            self._put(self._vectors, (seq, act), model)

    def touch(self, ords: Sequence[int]) -> None:
        self._writer()
        for ord in ords:
            if ord in self._versions:
                number = self.watermark().last_change + 1
                self._put(self._changes, number, Change(number, ord, self._versions[ord].state))

    def vectors(self, model: str, after: int, upto: int) -> Iterator[VectorPlace]:
        yield from self.vectors_of(model, [ord for ord in sorted(self._versions) if after < ord <= upto])

    def vectors_of(self, model: str, ords: Sequence[int]) -> list[VectorPlace]:
        found = []
        for row in self.versions(ords):
            places = []
            for naming in self.namings([self.version_id(row)]):
                entry = self.entry_at(naming.seq)
                counts = entry.verdict is Verdict.COUNTS and entry.readable and naming.kind is Naming.VECTOR
                if counts and self._vectors.get((naming.seq, naming.act)) == model:
                    places.append(
                        VectorPlace(row.ord, row.author, naming.seq, naming.act, entry.author, entry.at)
                    )
            found += sorted(places, key=lambda place: (place.at, place.seq, place.act))
        return found

    def lacking(self, model: str, after: int, limit: int) -> list[int]:
        live = sorted(o for o, row in self._versions.items() if o > after and row.state is State.LIVE)
        return [ord for ord in live if not self.vectors_of(model, [ord])][:limit]

    def models(self) -> Mapping[str, int]:
        counted: dict[str, int] = defaultdict(int)
        for model in self._vectors.values():
            counted[model] += 1
        return dict(counted)

    def session_number(self, name: str, *, create: bool) -> int:
        if create:
            self._writer()
            if name not in self._sessions:
                self._put(self._sessions, name, len(self._sessions) + 1)
        return self._sessions.get(name, 0)

    def session_names(self, numbers: Sequence[int]) -> Mapping[int, str]:
        return {number: name for name, number in self._sessions.items() if number in numbers}

    def session_members(self, number: int) -> list[tuple[int, int]]:
        rows = (row for row in self._versions.values() if number and row.session == number)
        return sorted((row.created, row.ord) for row in rows if row.state is State.LIVE)

    # Questions

    def _passes(self, row: VersionRow, wanted: Filter) -> bool:
        if wanted.as_of is None:
            there = row.state in wanted.states
        else:
            there = row.state not in (State.VOID, State.ERASED) and row.at <= wanted.as_of
            there = there and (row.ended is None or row.ended > wanted.as_of)
        session = None if wanted.session is None else self._sessions.get(wanted.session, -1)
        return (
            there
            and self._facets[row.ord].issuperset(wanted.facets)
            and (wanted.authors is None or row.author in wanted.authors)
            and row.author not in wanted.not_authors
            and (not wanted.types or row.type in wanted.types)
            and wanted.tool in (None, row.tool)
            and wanted.recalled in (None, row.recalled)
            and session in (None, row.session)
            and (wanted.since is None or row.created >= wanted.since)
            and (wanted.until is None or row.created < wanted.until)
            and wanted.archived in (None, self._shelves.get(row.ord, (False,))[0])
        )

    def select(self, wanted: Filter) -> list[int]:
        return [ord for ord, row in self._versions.items() if self._passes(row, wanted)]

    def newest(self, wanted: Filter, limit: int, offset: int = 0) -> list[VersionRow]:
        rows = [row for row in self._versions.values() if self._passes(row, wanted)]
        rows.sort(key=lambda row: (row.created, row.at, row.ord), reverse=True)
        return rows[offset : offset + limit]

    def watermark(self) -> Watermark:
        change = self._marks["change"] + len(self._changes)
        return Watermark(self._last_ord(), change, self._marks["generation"])

    def changes(self, after: int, upto: int) -> list[Change]:
        return [change for number, change in self._changes.items() if after < number <= upto]

    def counts(self) -> Mapping[State, int]:
        counted = dict.fromkeys(State, 0)
        for row in self._versions.values():
            counted[row.state] += 1
        return {state: count for state, count in counted.items() if count}

    def figures(self) -> Figures:
        live = [row.created for row in self._versions.values() if row.state is State.LIVE]
        authors = {row.author for row in self._entries.values()}
        archived = sum(shelf.archived for shelf in self._shelves.values())
        sizes = len(self._entries), len(self._sessions), len(authors), min(live, default=None)
        return Figures(*sizes, 0, archived, len(self._released))

    def reset_derived(self) -> None:
        self._writer()
        mark = self.watermark()
        tables: tuple[dict[Any, Any], ...] = (
            *(self._versions, self._facets, self._places, self._namings),
            *(self._values, self._vectors, self._sessions, self._changes, self._shelves),
        )
        for table in tables:
            self._clear(table)
        self._put(self._marks, "ord", mark.last_ord)
        self._put(self._marks, "change", mark.last_change)
        self._put(self._marks, "generation", mark.generation + 1)

    def check(self, progress: Progress | None = None) -> list[Problem]:
        return compare(self, progress)

    def _damage(self) -> Iterator[str]:
        return iter(())

    def _unverified(self) -> Iterator[EntryRow]:
        return self.entries()

    def _strays(self) -> Iterator[tuple[str, str, list[int]]]:
        numbers = set(self._sessions.values())
        for row in self._versions.values():
            if row.seq not in self._entries:
                yield "versions", "versions of entries that are not here", [row.ord]
            if row.session and row.session not in numbers:
                yield "versions", "versions of a session that has no name", [row.ord]
        for naming in self._namings:
            if naming.seq not in self._entries:
                yield "namings", "namings by entries that are not here", [naming.seq]
        for value in self._values:
            if value.seq not in self._entries:
                yield "named_values", "values set by entries that are not here", [value.seq]
