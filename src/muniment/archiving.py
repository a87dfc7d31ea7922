"""Archiving and restoring: texts move to packs and back, and nothing is ever between the two (design section 9).

The order is what keeps a text: the pack is on the disk and read back before the act is signed; the act and the
letting go of the bodies are one transaction. A kill before it leaves a pack that nothing names; after it, all is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from muniment.archive.pack import TARGET_BYTES, Payload, pointer_of, seal_payload
from muniment.archive_room import ArchiveRoom
from muniment.bank import Bank
from muniment.base.errors import InvalidInput, LimitExceeded, NotPermitted, StorageError
from muniment.base.ids import BlobName, VersionId
from muniment.base.limits import LIMITS
from muniment.fetching import archive_acts, body_from, recover
from muniment.identity.keys import NONCE_BYTES
from muniment.ledger.acts import Act, Archive, Forget, Remember
from muniment.ledger.authority import Authority
from muniment.ledger.levels import ADMIN
from muniment.ledger.stub import stub_of, to_bytes
from muniment.opening import Opener
from muniment.project import Projector
from muniment.reading import Reader
from muniment.store.base import State, VersionRow
from muniment.views import Record
from muniment.writing import Writer

Progress = Callable[[int, int], None]

_LOOKED_AT = 512  # rows opened together
_PACK_RECORDS = 4096  # records of one pack and one transaction
_COMPACT_BYTES = 1 << 20  # so much room, and a tenth of the file, is worth writing the file anew
_COMPACT_SHARE = 10


class Prepared(NamedTuple):
    """A version ready to be archived: its row, its body as signed, and the act and payload that take its place."""

    row: VersionRow
    body: bytes
    act: Archive
    sealed: bytes
    text_bytes: int


class Match(NamedTuple):
    """A record that a query meant: its id, its key, and how it begins."""

    id: str
    key: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Archived:
    """What an archiving did, or would do.

    Attributes:
        records: Versions that went into the archive; `text_bytes` of their texts.
        packs: Packs written, of `pack_bytes` together.
        skipped: Versions that were meant and stay, with why: by reason, how many.
        file_bytes: The bank's file, `before` and after.
        dry_run: Nothing was done.
        matches: With a query: the records that it meant, the best first, also those that were skipped.
    """

    records: int
    text_bytes: int
    packs: int
    pack_bytes: int
    skipped: dict[str, int]
    before_bytes: int
    file_bytes: int
    dry_run: bool = False
    matches: tuple[Match, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "records": self.records, "text_bytes": self.text_bytes, "packs": self.packs,
            "pack_bytes": self.pack_bytes, "skipped": dict(self.skipped), "before_bytes": self.before_bytes,
            "file_bytes": self.file_bytes, "dry_run": self.dry_run,
            "matches": [one._asdict() for one in self.matches],
        }  # fmt: skip


def room_of(bank: Bank) -> ArchiveRoom:
    """Where the bank's archive is.

    Raises:
        InvalidInput: Its peer has none.
    """
    room = bank.host.archive
    if room is None:
        raise InvalidInput("this peer has no archive", "Open it by `muniment.open`.")
    return room


class Archiver:
    """Archives versions of one bank with one key.

    Args:
        bank: The bank.
        key: Who signs.
        larger_than: Texts of up to so many bytes stay where they are.
        progress: Called with versions looked at, and how many there are.
    """

    def __init__(
        self, bank: Bank, key: bytes, *, larger_than: int = 0, progress: Progress | None = None
    ) -> None:
        self._bank, self._key, self._store = bank, key, bank.store
        self._larger_than, self._progress = larger_than, progress
        self._room = room_of(bank)
        self._skipped: dict[str, int] = {}
        self._text_bytes = self._packs = self._pack_bytes = self._done = 0

    def run(self, ords: Sequence[int], *, dry_run: bool = False) -> Archived:
        """Archive those of the versions that are live and not archived yet.

        Raises:
            NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say; what was done is whole.
        """
        now = self._bank.host.clock.now_ms()
        authority = self._bank.authority
        authority.check_write(self._key, now)
        before = self._store.figures().file_bytes
        for batch in self._batches(ords, self._may_all(authority, now)):
            if dry_run:
                self._done += len(batch)
                self._text_bytes += sum(one.text_bytes for one in batch)
                continue
            self._commit(batch)
        if not dry_run:
            tidy_file(self._bank)
        after = self._store.figures().file_bytes
        return Archived(
            self._done, self._text_bytes, self._packs, self._pack_bytes, self._skipped, before, after, dry_run
        )

    def _may_all(self, authority: Authority, now: int) -> bool:
        level = authority.level(self._key, now)
        return level is not None and level.code >= ADMIN

    def _skip(self, why: str) -> None:
        self._skipped[why] = self._skipped.get(why, 0) + 1

    def _batches(self, ords: Sequence[int], may_all: bool) -> Iterator[list[Prepared]]:
        """What fits in one pack, and one transaction."""
        batch: list[Prepared] = []
        size = 0
        for start in range(0, len(ords), _LOOKED_AT):
            for prepared in self._prepare(ords[start : start + _LOOKED_AT], may_all):
                batch.append(prepared)
                size += len(prepared.sealed)
                if size >= TARGET_BYTES or len(batch) >= _PACK_RECORDS:
                    yield batch
                    batch, size = [], 0
            if self._progress:
                self._progress(min(start + _LOOKED_AT, len(ords)), len(ords))
        if batch:
            yield batch

    def _prepare(self, ords: Sequence[int], may_all: bool) -> Iterator[Prepared]:
        opener = self._bank.opener(self._key)
        with self._store.read():
            rows = self._store.versions(ords)
            shelves = self._store.shelves(ords)
            bodies = self._store.bodies([(row.seq, row.act) for row in rows])
            said = opener.remembered(rows)
            names = [self._store.version_id(row) for row in rows]
        for row, body, act, name in zip(rows, bodies, said, names, strict=True):
            if row.state is not State.LIVE:
                self._skip("not live")
            elif row.ord in shelves and shelves[row.ord].archived:
                self._skip("in the archive already")
            elif body is None or act is None:
                self._skip("its text is not here")
            elif row.author != self._key and not may_all:
                self._skip("by somebody else")
            elif 0 < _length(act) <= self._larger_than:
                self._skip("too short to gain anything")
            elif (prepared := self._seal(opener, row, name, body, act)) is not None:
                yield prepared

    def _seal(
        self, opener: Opener, row: VersionRow, name: VersionId, body: bytes, act: Remember
    ) -> Prepared | None:
        entropy = self._bank.host.entropy.bytes(32 + NONCE_BYTES)
        plain = opener.unseal(row, body)
        try:
            sealed = seal_payload(Payload(name, body[:NONCE_BYTES], plain), entropy[:32], entropy[32:])
            stub = to_bytes(stub_of(act))
        except LimitExceeded:
            self._skip("too large")
            return None
        if len(stub) > LIMITS.body_bytes - 4096:
            self._skip("too large")
            return None
        said = Archive(name, pointer_of(sealed), entropy[:32], stub)
        return Prepared(row, body, said, sealed, _length(act))

    def _commit(self, batch: Sequence[Prepared]) -> None:
        name = self._room.packs.store([(BlobName(one.act.pointer), one.sealed) for one in batch])
        self._prove(batch)
        now = self._bank.host.clock.now_ms()
        done = 0
        with self._bank.write() as authority:
            authority.check_write(self._key, now)
            standing = self._standing(batch)
            for part in _entries(standing):
                self._sign([one.act for one in part], now)
            self._store.release_bodies([(one.row.seq, one.row.act) for one in standing])
            done = len(standing)
        self._done += done
        self._text_bytes += sum(one.text_bytes for one in standing)
        self._packs += 1
        self._pack_bytes += self._room.packs.blobs.size(name)

    def _prove(self, batch: Sequence[Prepared]) -> None:
        """Read back what was written, and make each body of it again: only then may the body go."""
        opener = self._bank.opener(self._key)
        for one in batch:
            sealed = self._room.packs.payload(BlobName(one.act.pointer))
            if recover(self._bank, opener, one.row, one.act, sealed) != one.body:
                raise StorageError("a pack gave back something else than was put in", "Check the disk.")

    def _standing(self, batch: Sequence[Prepared]) -> list[Prepared]:
        """Those whose record is as it was when it was looked at: others write too."""
        ords = [one.row.ord for one in batch]
        rows = {row.ord: row for row in self._store.versions(ords)}
        shelves = self._store.shelves(ords)
        bodies = self._store.bodies([(one.row.seq, one.row.act) for one in batch])
        kept = []
        for one, body in zip(batch, bodies, strict=True):
            shelf = shelves.get(one.row.ord)
            same = rows.get(one.row.ord) == one.row and body == one.body
            if same and (shelf is None or not shelf.archived):
                kept.append(one)
            else:
                self._skip("changed meanwhile")
        return kept

    def _sign(self, said: Sequence[Act], now: int) -> None:
        authority = self._bank.rulings.authority
        _, seq = Writer(self._bank, self._key).commit_acts(authority, said, now)
        Projector(self._store, self._bank.rulings.authority).entry(self._store.entry_at(seq), said)


def _length(act: Remember) -> int:
    return len(act.text.encode("utf-8", "surrogatepass"))


def _entries(batch: Sequence[Prepared]) -> Iterator[list[Prepared]]:
    """What fits into one entry."""
    part: list[Prepared] = []
    size = 0
    for one in batch:
        if part and (
            len(part) >= LIMITS.acts_per_entry or size + len(one.act.stub) > LIMITS.entry_bytes // 4
        ):
            yield part
            part, size = [], 0
        part.append(one)
        size += len(one.act.stub) + 512
    if part:
        yield part


def archive(bank: Bank, key: bytes, reader: Reader, ref: str, *, dry_run: bool = False) -> Archived:
    """Archive the live versions of a record, or the one version that `ref` names, however short.

    Raises:
        UnknownRecord | Ambiguous: As for `get`.
        NotPermitted: The record is by somebody else, and the key is no admin's.
        StorageError: As its subclasses name it; the text stays where it was.
    """
    authority = reader.enter()
    group, exact = reader.find(ref, authority)
    rows = [row for row in ([exact] if exact else group) if row.state is State.LIVE]
    result = Archiver(bank, key).run([row.ord for row in rows], dry_run=dry_run)
    if not result.records and "by somebody else" in result.skipped:
        raise NotPermitted(
            f"{ref[:80]!r} is by another key", "Its author archives it, or an admin of the bank."
        )
    return result


def restore(
    bank: Bank, key: bytes, reader: Reader, ref: str, progress: Progress | None = None
) -> list[Record]:
    """Bring a record's text back into the bank, on every peer: its archive acts are undone.

    Returns:
        The versions concerned, in their new state; empty where none was in the archive.

    Raises:
        UnknownRecord | Ambiguous | NotPermitted: As their names say.
        UnknownBlob | BlobDamaged: The text is not in reach; nothing is changed.
    """
    now = bank.host.clock.now_ms()
    authority = reader.enter()
    authority.check_write(key, now)
    group, exact = reader.find(ref, authority)
    opener = bank.opener(key)
    rows = [row for row in ([exact] if exact else group) if row.state is not State.ERASED]
    bodies = {row.ord: _body(bank, opener, row, progress) for row in rows if _concerns(bank, row)}
    rows = [row for row in rows if row.ord in bodies]
    level = authority.level(key, now)
    if any(row.author != key for row in rows) and (level is None or level.code < ADMIN):
        raise NotPermitted(
            f"{ref[:80]!r} is by another key", "Its author restores it, or an admin of the bank."
        )
    if not rows:
        return []
    with bank.write() as authority:
        authority.check_write(key, now)
        undo = tuple(act.version for row in rows for act, _ in archive_acts(bank, opener, row) if act.stands)
        put_back(bank, [(row, bodies[row.ord]) for row in rows])
        if undo:
            act = Forget(undo=undo)
            _, seq = Writer(bank, key).commit_acts(authority, [act], now)
            Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), [act])
    again = bank.store.versions([row.ord for row in rows])
    return reader.views(again, bank.rulings.authority)


def _concerns(bank: Bank, row: VersionRow) -> bool:
    shelf = bank.store.shelves([row.ord]).get(row.ord)
    return (shelf is not None and shelf.archived) or bank.store.bodies([(row.seq, row.act)])[0] is None


def _body(bank: Bank, opener: Opener, row: VersionRow, progress: Progress | None) -> bytes:
    (held,) = bank.store.bodies([(row.seq, row.act)])
    return held if held is not None else body_from(bank, opener, row, progress=progress)


def put_back(bank: Bank, found: Iterable[tuple[VersionRow, bytes]]) -> None:
    """Put recovered bodies back where they were signed; needs an open `bank.write()`."""
    from muniment.receiving import project  # it needs what this module is needed by

    for row, body in found:
        if bank.store.bodies([(row.seq, row.act)])[0] is None and row.state is not State.ERASED:
            bank.store.put_body(row.seq, row.act, body)
            project(bank, bank.store.entry_at(row.seq))


def fetch(bank: Bank, key: bytes, reader: Reader, ref: str, progress: Progress | None = None) -> Record:
    """The record with its whole text, wherever that is; what came from elsewhere stays in a pack here.

    Raises:
        UnknownRecord | Ambiguous | NotPermitted: As for `get`.
        UnknownBlob | BlobDamaged | StorageError: The text is not in reach.
    """
    found = reader.get(ref)
    if found.whole:
        return found
    authority = reader.enter()
    group, exact = reader.find(ref, authority)
    body_from(bank, bank.opener(key), exact or reader.shown(group, authority), progress=progress)
    return reader.get(ref)


def tidy_file(bank: Bank) -> None:
    """Write the bank's file anew where bodies that are gone take a tenth of it or more."""
    sizes = bank.store.figures()
    if sizes.dead_bytes >= _COMPACT_BYTES and sizes.dead_bytes * _COMPACT_SHARE >= sizes.file_bytes:
        bank.store.compact()
