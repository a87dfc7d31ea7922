"""What happens to the archive by itself: what is due goes in, bodies go or come back, what nobody needs is collected.

A daemon calls `run_policy` now and then; so does `muniment archive` without a record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muniment.archive.options import DAY_MS, Options
from muniment.archive.source import Download, fetch
from muniment.archiving import Archived, Archiver, Match, put_back, room_of, tidy_file
from muniment.bank import Bank
from muniment.base.errors import RefusedPack, StorageError, UnknownBlob
from muniment.base.ids import BlobName, EntryId, VersionId, parse_version
from muniment.fetching import archive_acts, body_from, read, recover
from muniment.ledger.acts import Archive
from muniment.ledger.stub import agrees, beginning
from muniment.opening import Opener
from muniment.reading import Reader
from muniment.shelf import stub_in
from muniment.store.base import Filter, State, VersionRow
from muniment.views import Hit

Progress = Callable[[int, int], None]

_CHUNK = 256
_KEPT = frozenset({State.LIVE, State.SUPERSEDED, State.FORGOTTEN})


@dataclass(frozen=True, slots=True)
class Settled:
    """What was brought in line with the bank's archive acts.

    `released` bodies went, because their blob was here and found equal, or is kept by enough others; `kept` stay until
    it is; `restored` came back; `waiting` have to, and are not in reach.
    """

    released: int
    kept: int
    restored: int
    waiting: int

    def to_json(self) -> dict[str, Any]:
        """The counts as `--json` prints them."""
        return {
            "released": self.released, "kept": self.kept, "restored": self.restored, "waiting": self.waiting,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """What the policy did: `archived` is None where the settings archive nothing by themselves."""

    archived: Archived | None
    settled: Settled

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        archived = None if self.archived is None else self.archived.to_json()
        return {"archived": archived, "settled": self.settled.to_json()}


def due(bank: Bank, options: Options, wanted: Filter, now: int) -> list[int]:
    """The versions that a policy is about: `ord`s of live ones that are not archived, ascending.

    Args:
        bank: The bank.
        options: What has to be true of them.
        wanted: Further filters.
        now: Unix ms.
    """
    until = wanted.until
    if options.older_than is not None:
        oldest = now - options.older_than
        until = oldest if until is None else min(until, oldest)
    ords = bank.store.select(replace(wanted, states=frozenset({State.LIVE}), archived=False, until=until))
    if options.unused_for is None:
        return ords
    before = now - options.unused_for
    return [row.ord for row in _rows(bank, ords) if _last_use(bank, row) < before]


def _rows(bank: Bank, ords: Sequence[int]) -> list[VersionRow]:
    return [
        row
        for start in range(0, len(ords), _CHUNK)
        for row in bank.store.versions(ords[start : start + _CHUNK])
    ]


def _last_use(bank: Bank, row: VersionRow) -> int:
    """When a version was said or last recalled here, Unix ms."""
    day = room_of(bank).packs.index.last_used(bank.store.version_id(row))
    return max(row.created, 0 if day is None else (day + 1) * DAY_MS)


def archive_due(
    bank: Bank,
    key: bytes,
    options: Options,
    wanted: Filter,
    *,
    among: Sequence[Hit] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Archived:
    """Archive what a policy is about, or those of `among` that it is about; the report then lists them.

    Raises:
        NotPermitted | StorageError: As for `Archiver.run`.
    """
    room_of(bank).flush()
    ords = due(bank, options, wanted, bank.host.clock.now_ms())
    worker = Archiver(bank, key, larger_than=options.larger_than, progress=progress)
    if among is None:
        return worker.run(ords, dry_run=dry_run)
    meant = _meant(bank, among, set(ords))
    done = worker.run(list(meant), dry_run=dry_run)
    return replace(done, matches=tuple(meant.values()))


def _meant(bank: Bank, hits: Sequence[Hit], ords: set[int]) -> dict[int, Match]:
    """Those hits that a policy is about, by their numbers."""
    found = {}
    for hit in hits:
        row = bank.store.version_at(parse_version(hit.record.version))
        if row is not None and row.ord in ords:
            record = hit.record
            found[row.ord] = Match(record.id, record.key, beginning(record.title or record.text))
    return found


def run_policy(bank: Bank, key: bytes, reader: Reader, progress: Progress | None = None) -> PolicyReport:
    """Do all that the settings ask for: archive what is due, then settle.

    Raises:
        NotPermitted | StorageError: As for `Archiver.run`; what was done is whole.
    """
    reader.enter()
    options = room_of(bank).options
    archived = None
    if options.automatic:
        archived = archive_due(bank, key, options, Filter(), progress=progress)
    return PolicyReport(archived, settle(bank, key))


def settle(bank: Bank, key: bytes) -> Settled:
    """Let bodies go that others archived and whose payload is safe, and bring back those whose archiving was undone.

    Raises:
        StorageError: As its subclasses name it; what was done is whole.
    """
    opener = bank.opener(key)
    released = kept = restored = waiting = 0
    shelved = bank.store.select(Filter(states=_KEPT, archived=True))
    for start in range(0, len(shelved), _CHUNK):
        went, stayed = _release(bank, opener, bank.store.versions(shelved[start : start + _CHUNK]))
        released, kept = released + went, kept + stayed
    for row in _undone(bank):
        try:
            body = body_from(bank, opener, row, keep=False)
        except (UnknownBlob, StorageError):
            waiting += 1
            continue
        with bank.write():
            put_back(bank, [(row, body)])
        restored += 1
    tidy_file(bank)
    return Settled(released, kept, restored, waiting)


def _undone(bank: Bank) -> list[VersionRow]:
    """Versions whose bodies were let go and that are not in the archive any more."""
    names: dict[int, EntryId] = {}
    found = []
    for seq, act in bank.store.released():
        if seq not in names:
            names = {seq: bank.store.stamps([seq])[seq][0]}
        row = bank.store.version_at(VersionId(names[seq], act))
        if row is not None and row.state in _KEPT:
            found.append(row)
    shelves = bank.store.shelves([row.ord for row in found])
    return [row for row in found if row.ord not in shelves or not shelves[row.ord].archived]


def _release(bank: Bank, opener: Opener, rows: Sequence[VersionRow]) -> tuple[int, int]:
    bodies = bank.store.bodies([(row.seq, row.act) for row in rows])
    here = [(row, body) for row, body in zip(rows, bodies, strict=True) if body is not None]
    safe = [row for row, body in here if _is_safe(bank, opener, row, body)]
    if safe:
        with bank.write():
            now = {row.ord: row for row in bank.store.versions([row.ord for row in safe])}
            shelves = bank.store.shelves([row.ord for row in safe])
            still = [
                row
                for row in safe
                if now.get(row.ord) == row and row.ord in shelves and shelves[row.ord].archived
            ]
            bank.store.release_bodies([(row.seq, row.act) for row in still])
    return len(safe), len(here) - len(safe)


def _is_safe(bank: Bank, opener: Opener, row: VersionRow, body: bytes) -> bool:
    """Whether a body may go: its payload was looked at, and stays here or with enough others."""
    room = room_of(bank)
    for one, archive in archive_acts(bank, opener, row):
        if not one.stands or not _true(opener, row, archive, body):
            continue
        pointer = BlobName(archive.pointer)
        try:
            if recover(bank, opener, row, archive, room.packs.payload(pointer)) == body:
                return True
        except (UnknownBlob, StorageError, RefusedPack):
            pass
        if room.receipts(pointer) >= room.options.copies and _elsewhere(bank, opener, row, archive, body):
            return True
    return False


def _true(opener: Opener, row: VersionRow, archive: Archive, body: bytes) -> bool:
    """Whether the stub says what the text says."""
    stub = stub_in(archive)
    return stub is not None and agrees(stub, read(body, opener, row))


def _elsewhere(bank: Bank, opener: Opener, row: VersionRow, archive: Archive, body: bytes) -> bool:
    try:
        sealed = fetch(
            Download(BlobName(archive.pointer)), [*room_of(bank).sources, *room_of(bank).holders()]
        )
        return recover(bank, opener, row, archive, sealed) == body
    except (UnknownBlob, RefusedPack):
        return False
