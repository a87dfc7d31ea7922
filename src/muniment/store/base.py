"""What a bank is kept in: entries that must never be wrong, and tables derived from them (design section 6).

The protocol is narrow so that one conformance suite holds every implementation to it: rows in, rows out,
no rule of the domain inside. A write is one transaction; when `write()` returns, it is on the disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from muniment.base import codec
from muniment.base.ids import BankId, EntryId, RecordId, VersionId
from muniment.store.shelf import ShelfStore

Progress = Callable[[int, int], None]


class Verdict(IntEnum):
    """What authority says of a stored entry; `unreadable` ones count for sync and have no effect."""

    COUNTS = 0
    WAITING = 1
    VOID = 2


class State(IntEnum):
    """What a version is now. Only live ones are recalled unless asked otherwise."""

    LIVE = 0
    SUPERSEDED = 1
    FORGOTTEN = 2
    ERASED = 3
    VOID = 4  # its entry does not count, or is unreadable


class Naming(IntEnum):
    """Why an act names a version."""

    OVER = 0
    FORGET = 1
    UNDO = 2
    ERASE = 3
    VECTOR = 4
    ARCHIVE = 5
    FEEDBACK = 6


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A stored entry. `seq` is its local arrival number (0 before it is stored), `local` that it was signed here."""

    seq: int
    id: EntryId
    author: bytes
    at: int
    control: bool
    verdict: Verdict
    local: bool
    readable: bool
    prev: tuple[EntryId, ...]
    envelope: bytes
    epoch: tuple[EntryId, int] | None = None  # what seals its bodies, so that opening one parses no header


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version of a record, without its words: those stay sealed in the body.

    Attributes:
        ord: Dense local number from 1 (0 before it is stored), never used twice.
        seq: Its entry's `seq`; `act` the act's index there.
        group: 16 bytes that name the record key, or None for a version without key.
        content: 16 bytes, equal where versions say the same; `write` 16 bytes, equal for a repeated write.
        session: Local number of the conversation, 0 for none.
        created: When it was said, Unix ms; `at` the entry's clock; `ended` the clock at which it stopped being live.
    """

    ord: int
    seq: int
    act: int
    author: bytes
    record: RecordId
    group: bytes | None
    content: bytes
    write: bytes
    state: State
    type: str
    tool: bool
    recalled: bool
    session: int
    created: int
    at: int
    ended: int | None = None


class NamingRow(NamedTuple):
    """An act (of entry `seq`, index `act`) that names a version."""

    target: VersionId
    kind: Naming
    seq: int
    act: int


class ValueRow(NamedTuple):
    """A `set` or `describe` act: its space and name, and where it stands. `describe` uses space `bank`."""

    space: str
    name: str
    seq: int
    act: int


class VectorPlace(NamedTuple):
    """An act that carries a vector of a version: whose version, and who signed the vector when.

    Attributes:
        ord: The version; `owner` its author.
        seq: The vector's entry; `act` its index there, `author` who signed it, `at` its clock.
    """

    ord: int
    owner: bytes
    seq: int
    act: int
    author: bytes
    at: int


class Change(NamedTuple):
    """A version whose state, or whose vector, changed after it was added."""

    number: int
    ord: int
    state: State


class Watermark(NamedTuple):
    """How far the derived tables are: another generation means that they were made anew."""

    last_ord: int
    last_change: int
    generation: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which versions may be ranked or listed; every field that is set must hold.

    Attributes:
        facets: 64-bit hashes (`facet`) of tags and metadata values, all of them needed.
        authors: Public keys, any of them; `tool` True or False keeps only such.
        since, until: Bounds of `created`, Unix ms, inclusive and exclusive.
        states: Any of them; ignored with `as_of`.
        as_of: A clock value: what was live then.
        archived: True or False keeps only versions that are, or are not, in the archive.
    """

    facets: tuple[int, ...] = ()
    authors: frozenset[bytes] | None = None
    not_authors: frozenset[bytes] = frozenset()
    types: frozenset[str] = frozenset()
    tool: bool | None = None
    recalled: bool | None = None
    session: str | None = None
    since: int | None = None
    until: int | None = None
    states: frozenset[State] = frozenset({State.LIVE})
    as_of: int | None = None
    archived: bool | None = None


LIVE_ONLY = Filter()


class Figures(NamedTuple):
    """Sizes of a bank: counts, the oldest `created` among live versions (Unix ms), bytes on the disk.

    `archived` versions are in the archive, of which the bodies of `released` are not here any more; `dead_bytes`
    of the file are of bodies that are gone.
    """

    entries: int
    sessions: int
    authors: int
    first_ms: int | None
    file_bytes: int
    archived: int = 0
    released: int = 0
    dead_bytes: int = 0


@dataclass(slots=True)
class Problem:
    """Something that `check` found: where, what, and what to do."""

    where: str
    what: str
    next_step: str = ""
    rows: list[int] = field(default_factory=list)


def facet(salt: bytes, kind: str, path: str, value: Any) -> int:
    """A signed 64-bit hash of one tag or one metadata value, keyed by the bank file's own salt.

    Derived tables hold these in place of words, so an erased word is not kept in them.
    """
    data = codec.encode([kind, path, value])
    return int.from_bytes(hashlib.blake2b(data, key=salt, digest_size=8).digest(), "big", signed=True)


class BankStore(ShelfStore, Protocol):
    """One bank's entries and derived tables. Methods that change rows need an open `write()`."""

    bank: BankId
    salt: bytes

    def write(self) -> AbstractContextManager[None]:
        """One durable transaction; re-entrant; an exception undoes all of it.

        Raises:
            StoreBusy: Another writer held the lock for longer than the configured wait.
            StoreFull | StoreReadOnly | StoreCorrupt: As their names say; nothing was kept.
        """
        ...

    def read(self) -> AbstractContextManager[None]:
        """One snapshot for several reads; re-entrant."""
        ...

    def close(self) -> None:
        """Let go of files; harmless when done twice."""
        ...

    # Entries

    def add_entry(self, row: EntryRow, bodies: Sequence[bytes | None]) -> int:
        """Store an entry that is not here yet, with the bodies that came; returns its `seq`."""
        ...

    def add_entries(self, rows: Sequence[EntryRow], bodies: Sequence[Sequence[bytes | None]]) -> list[int]:
        """The same for many entries at once, in this order, at a fraction of the cost each; all or none.

        Raises:
            InvalidInput: One of them is stored already, or comes twice.
        """
        ...

    def held(self, entries: Sequence[EntryId]) -> dict[EntryId, int]:
        """Which of these ids are stored, with their `seq`."""
        ...

    def ids(self, *, control: bool, verdict: Verdict, after: int = 0) -> Iterator[tuple[int, int, EntryId]]:
        """(seq, clock value, id) of entries above seq `after`, in order of seq, without reading the entries."""
        ...

    def rerulings(self) -> int:
        """How often the verdict of a stored entry has changed; while it stays, `ids` only grows."""
        ...

    def seq_of(self, entry: EntryId) -> int | None: ...
    def entry(self, entry: EntryId) -> EntryRow | None: ...
    def entry_at(self, seq: int) -> EntryRow: ...

    def stamps(self, seqs: Sequence[int]) -> dict[int, tuple[EntryId, tuple[EntryId, int] | None]]:
        """The ids and epochs of entries, without reading the entries; unknown ones are left out."""
        ...

    def entries(
        self,
        *,
        after: int = 0,
        control: bool | None = None,
        verdict: Verdict | None = None,
        author: bytes | None = None,
    ) -> Iterator[EntryRow]:
        """Entries in order of `seq`, streamed."""
        ...

    def twins(self, author: bytes, at: int) -> list[EntryRow]:
        """Entries by one author at one clock value: candidates for equal headers."""
        ...

    def twinned(self, pairs: Sequence[tuple[bytes, int]]) -> set[tuple[bytes, int]]:
        """Which (author, clock value) pairs have entries."""
        ...

    def rule(self, seq: int, verdict: Verdict, readable: bool) -> None: ...

    def tips(self, author: bytes) -> tuple[EntryId, ...]:
        """The author's entries that no entry of that author here names in `prev`, sorted."""
        ...

    def last_at(self, upto: int) -> int:
        """The greatest clock value of at most `upto` among all entries, or 0."""
        ...

    def wanted(self) -> frozenset[EntryId]:
        """Ids named in `prev` of stored entries that are not here."""
        ...

    def bodies(self, places: Sequence[tuple[int, int]]) -> list[bytes | None]:
        """Sealed bodies by (seq, act); None where the body is not here."""
        ...

    def parcels(self, seqs: Sequence[int]) -> list[tuple[EntryId, bytes, list[bytes | None]]]:
        """Ids, envelopes and bodies of entries, in the order asked for; None where a body is not here."""
        ...

    # Derived from entries

    def add_versions(self, rows: Sequence[VersionRow], facets: Sequence[Sequence[int]]) -> list[int]:
        """Store versions, each with its facets; returns their `ord`s."""
        ...

    def versions(self, ords: Sequence[int]) -> list[VersionRow]:
        """Rows in the order asked for; unknown ords are left out."""
        ...

    def versions_after(self, ord: int, upto: int) -> Iterator[VersionRow]:
        """Rows with `after < ord <= upto`, in order, streamed."""
        ...

    def version_at(self, version: VersionId) -> VersionRow | None: ...

    def crowded(self, rows: Sequence[VersionRow]) -> list[bool]:
        """For versions about to be added: whether their record id or their record key is taken already."""
        ...

    def named(self, entries: Sequence[EntryId]) -> set[EntryId]:
        """Which of these entries have acts that something names."""
        ...

    def of_record(self, record: RecordId) -> list[VersionRow]: ...
    def of_group(self, group: bytes, *, live: bool = False) -> list[VersionRow]:
        """Versions of one record key in order of `ord`; with `live` only the live ones, at the cost of those."""
        ...

    def of_write(self, write: bytes) -> list[VersionRow]: ...

    def version_id(self, row: VersionRow) -> VersionId:
        """The global name of a stored version."""
        ...

    def set_state(self, ord: int, state: State, ended: int | None) -> None:
        """Change a version's state and note the change, so that indexes catch up."""
        ...

    def add_namings(self, rows: Sequence[NamingRow]) -> None: ...
    def namings(self, targets: Sequence[VersionId]) -> list[NamingRow]:
        """What names any of these versions."""
        ...

    def namings_by(self, seq: int, act: int | None = None) -> list[NamingRow]:
        """What an entry, or one of its acts, names."""
        ...

    def add_values(self, rows: Sequence[ValueRow]) -> None: ...
    def values(self, space: str, name: str | None = None) -> list[ValueRow]: ...

    def add_vectors(self, rows: Sequence[tuple[int, int, str]]) -> None:
        """Note that acts (`seq`, `act`) are vectors of a model; what they name is noted by `add_namings`."""
        ...

    def touch(self, ords: Sequence[int]) -> None:
        """Note a change of versions whose state stays, so that indexes look at their vectors again."""
        ...

    def vectors(self, model: str, after: int, upto: int) -> Iterator[VectorPlace]:
        """Vectors of versions with `after < ord <= upto` by entries that count and are readable.

        In order of `ord`, then of the vector's clock; streamed.
        """
        ...

    def vectors_of(self, model: str, ords: Sequence[int]) -> list[VectorPlace]:
        """The same for single versions, in the order asked for."""
        ...

    def lacking(self, model: str, after: int, limit: int) -> list[int]:
        """`ord`s above `after` of live versions without a vector of the model, ascending."""
        ...

    def models(self) -> Mapping[str, int]:
        """How many acts carry a vector, by model."""
        ...

    def session_number(self, name: str, *, create: bool) -> int:
        """The local number of a conversation; 0 where it is unknown and not to be made."""
        ...

    def session_names(self, numbers: Sequence[int]) -> Mapping[int, str]: ...

    def select(self, wanted: Filter) -> list[int]:
        """`ord`s of all versions that pass, ascending."""
        ...

    def newest(self, wanted: Filter, limit: int, offset: int = 0) -> list[VersionRow]:
        """Versions that pass, newest `created` first (then `at`, then `ord`)."""
        ...

    def watermark(self) -> Watermark: ...

    def changes(self, after: int, upto: int) -> list[Change]:
        """State changes with `after < number <= upto`, in order."""
        ...

    def counts(self) -> Mapping[State, int]: ...

    def figures(self) -> Figures:
        """Sizes for `stats`."""
        ...

    def reset_derived(self) -> None:
        """Empty all derived tables and start a new generation; entries and bodies stay."""
        ...

    def check(self, progress: Progress | None = None) -> list[Problem]:
        """Compare pages, hashes and rows with each other; an empty list is a clean bank.

        Args:
            progress: Called with the entries compared so far, and how many there are.
        """
        ...
