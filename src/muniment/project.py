"""From entries to the derived tables: versions, what names them, values (design sections 1 and 5).

Everything written here can be made again from the entries; `records.resolve` decides, this module carries
its decisions into rows. A group is resolved again whenever something arrives that concerns it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from muniment.base.ids import EntryId, VersionId
from muniment.ledger import records
from muniment.ledger.acts import (
    Act,
    Archive,
    Describe,
    Feedback,
    Forget,
    Remember,
    Set,
    Vector,
    content_digest,
    json_words,
    words,
    write_digest,
)
from muniment.ledger.authority import Authority
from muniment.ledger.entry import reload
from muniment.ledger.stub import Stub
from muniment.shelf import Judge
from muniment.store.base import (
    BankStore,
    EntryRow,
    Naming,
    NamingRow,
    State,
    ValueRow,
    Verdict,
    VersionRow,
    facet,
)
from muniment.store.shelf import Shelf

BANK_SPACE = "bank"


def facets_of(salt: bytes, act: Remember) -> list[int]:
    """The hashes by which filters find a version: each tag, and each metadata path with its value."""
    found = [facet(salt, "tag", "", words(tag)) for tag in act.tags]
    for path, value in _leaves(act.metadata or {}, ""):
        found.append(metadata_facet(salt, path, value))
    return sorted(set(found))


def metadata_facet(salt: bytes, path: str, value: Any) -> int:
    """The hash of one value at a dotted metadata path; 1 and 1.0 are the same number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        value = int(value)
    return facet(salt, "meta", path.encode("utf-8", "surrogatepass").hex(), json_words(value))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every path of a JSON value with what stands there; an element of a list stands at the list's path."""
    if path:
        yield path, value
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for item in value:
            if not isinstance(item, Mapping | list | tuple):
                yield path, item


def own_keys(authority: Authority) -> frozenset[bytes] | None:
    """The keys whose words weigh most in an agent's bank: the agent's and its controller's; None in a shared bank."""
    return authority.agents | authority.controllers if authority.agents else None


@dataclass(slots=True)
class _Rows:
    """The derived rows of one entry."""

    versions: list[VersionRow] = field(default_factory=list)
    facets: list[list[int]] = field(default_factory=list)
    namings: list[NamingRow] = field(default_factory=list)
    values: list[ValueRow] = field(default_factory=list)
    vectors: list[tuple[int, int, str]] = field(default_factory=list)
    stubbed: list[int] = field(default_factory=list)  # places in `versions` of those that came as stubs


def _rows(
    projector: Projector, row: EntryRow, acts: Sequence[Act | Stub], known: Container[int] = ()
) -> _Rows:
    """The derived rows of an entry's acts, save those at places `known`, which are there."""
    found = _Rows()
    for index, said in enumerate(acts):
        digests, act = None, said.act if isinstance(said, Stub) else said
        if isinstance(said, Stub):
            digests = said.content, write_digest(said.act, row.author, said.content)
        if isinstance(act, Remember):
            if index in known:
                continue
            if digests is not None:
                found.stubbed.append(len(found.versions))
            found.versions.append(
                projector.version_row(row.seq, index, row.author, row.at, act, digests=digests)
            )
            found.facets.append(facets_of(projector.salt, act))
            found.namings += [NamingRow(target, Naming.OVER, row.seq, index) for target in act.over]
        elif isinstance(act, Forget):
            found.namings += [NamingRow(target, Naming.FORGET, row.seq, index) for target in act.versions]
            found.namings += [NamingRow(target, Naming.UNDO, row.seq, index) for target in act.undo]
        elif isinstance(act, Vector | Archive | Feedback):
            target = getattr(act, "version", None) or VersionId(row.id, getattr(act, "act", 0))
            kind = {Vector: Naming.VECTOR, Archive: Naming.ARCHIVE, Feedback: Naming.FEEDBACK}[type(act)]
            found.namings.append(NamingRow(target, kind, row.seq, index))
            if isinstance(act, Vector):
                found.vectors.append((row.seq, index, act.model))
        elif isinstance(act, Set):
            found.values.append(ValueRow(act.space, act.name, row.seq, index))
        elif isinstance(act, Describe):
            found.values.append(ValueRow(BANK_SPACE, "describe", row.seq, index))
    return found


class Projector:
    """Carries entries of one bank into its derived tables. Needs an open `store.write()`."""

    def __init__(self, store: BankStore, authority: Authority) -> None:
        self._store, self._authority = store, authority
        self._own = own_keys(authority)
        self._judge = Judge(store, authority)
        self.salt = store.salt

    def version_row(
        self,
        seq: int,
        index: int,
        author: bytes,
        at: int,
        act: Remember,
        *,
        digests: tuple[bytes, bytes] | None = None,
    ) -> VersionRow:
        """The row of a remember act, live until something says otherwise.

        Args:
            seq: Its entry.
            index: Its place there.
            author: Who signed it.
            at: The entry's clock.
            act: What it says.
            digests: Its `content_digest` and `write_digest`, where the caller has them already.
        """
        if digests is None:
            content = content_digest(act)
            digests = content, write_digest(act, author, content)
        session = self._store.session_number(act.session, create=True) if act.session is not None else 0
        return VersionRow(
            ord=0,
            seq=seq,
            act=index,
            author=author,
            record=act.id,
            group=None if act.key is None else records.group_of_key(act.key),
            content=digests[0],
            write=digests[1],
            state=State.LIVE,
            type=act.type,
            tool=act.tool,
            recalled=act.recalled,
            session=session,
            created=act.created,
            at=at,
        )

    def entry(self, row: EntryRow, acts: Sequence[Act | Stub], *, settle: bool = True) -> None:
        """Project a readable data entry, whenever it arrived; its versions are void unless it counts.

        What is there already stays, so an act that could not be read before can be added later. Without
        `settle`, `settle_all` has to follow.
        """
        touched = {
            VersionId(row.id, index) for index, act in enumerate(acts) if isinstance(act, Remember | Stub)
        }
        known = {name.act for name in touched if self._store.version_at(name) is not None}
        gathered = _rows(self, row, acts, known)
        rows, namings = gathered.versions, gathered.namings
        if row.verdict is not Verdict.COUNTS:
            rows = [replace(version, state=State.VOID) for version in rows]
        ords = self._store.add_versions(rows, gathered.facets)
        for place in gathered.stubbed:
            self._store.shelve(ords[place], Shelf(archived=False, stub=True))
        self._store.add_namings(namings)
        self._store.add_values(gathered.values)
        self._store.add_vectors(gathered.vectors)
        self._touch(naming for naming in namings if naming.target.entry != row.id)
        if settle:
            self.settle(touched | self._concerned(namings))

    def fresh(self, pairs: Sequence[tuple[EntryRow, Sequence[Act | Stub]]]) -> None:
        """Project many readable data entries that were stored just now and count, in few statements.

        Only versions that share a record with others, or that something names or erases, are resolved.
        """
        gathered = [_rows(self, row, acts) for row, acts in pairs]
        rows = [version for one in gathered for version in one.versions]
        namings = [naming for one in gathered for naming in one.namings]
        named = self._store.named([row.id for row, _ in pairs]) | {naming.target.entry for naming in namings}
        names = [VersionId(row.id, version.act) for (row, _), one in zip(pairs, gathered, strict=True)
                 for version in one.versions]  # fmt: skip
        seen: set[bytes] = set()
        touched: set[VersionId] = set()
        for version, name, crowded in zip(rows, names, self._store.crowded(rows), strict=True):
            twice = version.record in seen or version.group in seen
            seen.update(key for key in (version.record, version.group) if key is not None)
            if crowded or twice or name.entry in named or name in self._authority.erasures:
                touched.add(name)
        self._store.add_versions(rows, [hashes for one in gathered for hashes in one.facets])
        self._store.add_namings(namings)
        self._store.add_values([value for one in gathered for value in one.values])
        self._store.add_vectors([vector for one in gathered for vector in one.vectors])
        fresh = {row.id for row, _ in pairs}
        self._touch(naming for naming in namings if naming.target.entry not in fresh)
        self.settle(touched | self._concerned(namings))

    def _touch(self, namings: Iterable[NamingRow]) -> None:
        """Tell indexes of versions whose vector came, went or came back after they did."""
        targets = {naming.target for naming in namings if naming.kind is Naming.VECTOR}
        found = [self._store.version_at(target) for target in sorted(targets)]
        self._store.touch([row.ord for row in found if row is not None])

    def _concerned(self, namings: Iterable[NamingRow]) -> set[VersionId]:
        """The versions whose state the naming rows may change."""
        touched: set[VersionId] = set()
        for naming in namings:
            if naming.kind in {Naming.OVER, Naming.FORGET, Naming.ARCHIVE}:
                touched.add(naming.target)
            elif naming.kind is Naming.UNDO:
                forget = self._store.seq_of(naming.target.entry)
                if forget is not None:
                    touched.update(self._named_by(forget, naming.target.act))
        return touched

    def _named_by(self, seq: int, act: int) -> list[VersionId]:
        return [
            row.target
            for row in self._store.namings_by(seq, act)
            if row.kind in {Naming.FORGET, Naming.ARCHIVE}
        ]

    def settle(self, versions: Iterable[VersionId]) -> None:
        """Resolve the groups of these versions again."""
        done: set[int] = set()
        for version in versions:
            row = self._store.version_at(version)
            if row is not None and row.ord not in done:
                group = self.group_of(row)
                done.update(member.ord for member in group)
                self._resolve(group)

    def settle_all(self) -> None:
        """Resolve every group once."""
        done: set[int] = set()
        for row in self._store.versions_after(0, self._store.watermark().last_ord):
            if row.ord not in done:
                group = self.group_of(row)
                done.update(member.ord for member in group)
                self._resolve(group)

    def group_of(self, row: VersionRow) -> list[VersionRow]:
        """All versions of the row's record."""
        if row.group is not None:
            return self._store.of_group(row.group)
        same = self._store.of_record(row.record)
        return [other for other in same if other.author == row.author and other.group is None]

    def _resolve(self, group: Sequence[VersionRow]) -> None:
        ids = {self._store.version_id(row): row for row in group}
        place = {(row.seq, row.act): name for name, row in ids.items()}
        over: dict[VersionId, set[VersionId]] = {name: set() for name in ids}
        forgets: dict[VersionId, list[int]] = {}
        namings = self._store.namings(list(ids))
        shut = self._shelve(ids, namings)
        for naming in namings:
            if naming.kind is Naming.OVER and (source := place.get((naming.seq, naming.act))) is not None:
                over[source].add(naming.target)
            elif naming.kind is Naming.FORGET and (clock := self._forget_clock(naming)) is not None:
                forgets.setdefault(naming.target, []).append(clock)
        versions = [
            self._version(name, row, frozenset(over[name]), shut=name in shut) for name, row in ids.items()
        ]
        outcome = records.resolve(
            versions, forgets, [name for name in ids if name in self._authority.erasures]
        )
        for name, (state, ended) in outcome.items():
            row = ids[name]
            if (row.state, row.ended) != (State(state), ended):
                self._store.set_state(row.ord, State(state), ended)

    def _shelve(self, ids: Mapping[VersionId, VersionRow], namings: Sequence[NamingRow]) -> set[VersionId]:
        """Note which versions are archived; gives those of which neither body nor valid stub is here any more."""
        shelves = self._store.shelves([row.ord for row in ids.values()])
        archived = {naming.target for naming in namings if naming.kind is Naming.ARCHIVE}
        shut = set()
        for name, row in ids.items():
            was = shelves.get(row.ord, Shelf(archived=False, stub=False))
            if name not in archived and not any(was):
                continue
            valid = self._judge.of(name, row.author, namings)
            now = Shelf(any(act.stands for act in valid), was.stub)
            if now != was:
                self._store.shelve(row.ord, now)
            if was.stub and not valid:
                shut.add(name)
        return shut

    def _version(
        self, name: VersionId, row: VersionRow, over: frozenset[VersionId], *, shut: bool
    ) -> records.Version:
        trust = records.trust_of(row.author, tool=row.tool, own=self._own)
        counts = self._effective(row.seq) and not shut
        return records.Version(name, row.at, trust, row.content, counts, over)

    def _effective(self, seq: int) -> bool:
        row = self._store.entry_at(seq)
        return row.verdict is Verdict.COUNTS and row.readable

    def _erased(self, row: EntryRow, act: int) -> bool:
        return VersionId(row.id, act) in self._authority.erasures

    def _forget_clock(self, naming: NamingRow) -> int | None:
        """The clock of a forget act that has effect: its entry counts and nothing that counts undoes it."""
        row = self._store.entry_at(naming.seq)
        if row.verdict is not Verdict.COUNTS or not row.readable or self._erased(row, naming.act):
            return None
        for undone in self._store.namings([VersionId(EntryId(row.id), naming.act)]):
            if undone.kind is Naming.UNDO:
                by = self._store.entry_at(undone.seq)
                if by.verdict is Verdict.COUNTS and by.readable and not self._erased(by, undone.act):
                    return None
        return row.at

    def has(self, row: EntryRow) -> bool:
        """Whether the entry was projected before."""
        return bool(self._versions_in(row)) or bool(self._store.namings_by(row.seq))

    def withdraw(self, row: EntryRow) -> None:
        """The verdict of a projected entry changed: resolve whatever its acts concern again."""
        named = self._store.namings_by(row.seq)
        self._touch(named)
        self.settle({*self._versions_in(row), *self._concerned(named)})

    def _versions_in(self, row: EntryRow) -> list[VersionId]:
        names = [VersionId(row.id, act) for act in range(len(reload(row.envelope).header.acts))]
        return [name for name in names if self._store.version_at(name) is not None]
