"""A store in plain dictionaries: for tests, and the proof that the protocol asks for nothing of SQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.base.ids import EntryId, RecordId, VersionId
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


class MemoryStore(MemoryShelves):
    """A bank in memory, for one process. One lock: a write keeps other threads out until it is done.

    Attributes:
        bank: The bank that it holds.
        salt: For `facet`.
    """

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

    def crowded(self, rows: Sequence[VersionRow]) -> list[bool]:
        records = {row.record for row in self._versions.values()}
        groups = {row.group for row in self._versions.values()} - {None}
        return [row.record in records or row.group in groups for row in rows]

    def named(self, entries: Sequence[EntryId]) -> set[EntryId]:
        return {naming.target.entry for naming in self._namings}.intersection(entries)

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
