"""Care of a peer's packs: what is there, who needs it, what may go, what is missing or damaged (design section 9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from muniment.archive.options import FOLDER
from muniment.archive_room import ArchiveRoom
from muniment.bank import Bank
from muniment.base.errors import MunimentError
from muniment.base.ids import BlobName, blob_text
from muniment.opening import SetPlace
from muniment.shelf import Judge
from muniment.store.base import Problem

if TYPE_CHECKING:
    from muniment.peer import Peer

_CHUNK = 512
_COPY = "Bring the blob store back, or fetch another copy from a peer: muniment fetch"


@dataclass(frozen=True, slots=True)
class PackInfo:
    """A pack of this peer: name, size, when it came, its payloads, and since when nobody needs it (Unix ms)."""

    name: str
    size: int
    added_ms: int
    payloads: int
    idle_ms: int | None

    def to_json(self) -> dict[str, Any]:
        """The pack as `--json` prints it."""
        return {
            "name": self.name, "size": self.size, "added_ms": self.added_ms, "payloads": self.payloads,
            "idle_ms": self.idle_ms,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection did: packs taken away, those in their time of grace, and kept ones.

    `merged` packs were written anew, together or without what nobody needs, as `merged_into`, which set `merged_bytes`
    free. `reason` says why nothing may be taken away, if so.
    """

    gone: int
    gone_bytes: int
    resting: int
    kept: int
    dry_run: bool
    reason: str | None = None
    merged: int = 0
    merged_into: int = 0
    merged_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "gone": self.gone, "gone_bytes": self.gone_bytes, "resting": self.resting, "kept": self.kept,
            "dry_run": self.dry_run, "reason": self.reason, "merged": self.merged, "merged_into": self.merged_into,
            "merged_bytes": self.merged_bytes,
        }  # fmt: skip


class Blobs:
    """The packs of a peer, as `peer.blobs`."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def list(self) -> list[PackInfo]:
        """All packs that the index knows, in the order in which they came.

        Raises:
            StorageError | MissingExtra: The store can't be opened.
        """
        room = self._peer.archive
        if not room.begun:
            return []
        index = room.packs.index
        return [
            PackInfo(blob_text(row.name), row.size, row.added_ms, len(held), row.idle_ms)
            for row in index.packs()
            for held in [list(index.pointers(row.name))]
        ]

    def collect(self, *, dry_run: bool = False) -> Collected:
        """Take away packs that no bank of this peer has needed for the time of grace, and put small ones together.

        In a store that others may share, packs are not put together: others have their names.

        Raises:
            StorageError: A bank or the store can't be read; nothing is taken away on a guess.
        """
        room = self._peer.archive
        if not room.begun:
            return Collected(0, 0, 0, 0, dry_run)
        alone = room.options.store == FOLDER
        if alone and not dry_run:
            room.packs.follow(ours=True)  # a kill may have left some that no index names
        needed: set[bytes] = set()
        listed = self._peer.standing_store()
        for row in [] if listed is None else listed.banks(unlisted=True):
            bank = self._peer.bank(row.bank)
            found = pointers(bank)
            if found is None:
                reason = "a bank has archive acts that do not open here, so what they need is not known"
                return Collected(0, 0, 0, len(room.packs.index.packs()), dry_run, reason)
            needed |= found
        now = self._peer.host.clock.now_ms()
        swept = sweep(room, needed, now, dry_run=dry_run)
        return put_together(room, needed, now, swept) if alone else swept


def pointers(bank: Bank) -> set[bytes] | None:
    """The payloads that a bank needs; None where it can't be told.

    A payload is needed while an act that names it stands, and while the text is not here.
    """
    store, authority = bank.store, bank.authority
    judge, openers = Judge(store, authority), bank.openers()
    needed: set[bytes] = set()
    for naming in store.archive_acts():
        (sealed,) = store.bodies([(naming.seq, naming.act)])
        if sealed is None:
            continue  # erased: its key is gone, and with it whatever it led to
        entry = store.entry_at(naming.seq)
        place = SetPlace(naming.seq, naming.act, entry.author)
        said = next((act for opener in openers for act in opener.archives([place]) if act is not None), None)
        if said is None:
            return None
        row = store.version_at(naming.target)
        here = row is not None and store.bodies([(row.seq, row.act)])[0] is not None
        stands = row is not None and any(
            act.stands and (act.seq, act.act) == (naming.seq, naming.act)
            for act in judge.of(naming.target, row.author)
        )
        if stands or not here:
            needed.add(said.pointer)
    return needed


def sweep(room: ArchiveRoom, needed: set[bytes], now: int, *, dry_run: bool) -> Collected:
    """Let packs rest that nothing needs, and take away those that have rested for the time of grace."""
    packs = room.packs
    gone = gone_bytes = resting = kept = 0
    for row in packs.index.packs():
        if room.held(row.name) or not needed.isdisjoint(packs.index.pointers(row.name)):
            kept += 1
            if not dry_run:
                packs.index.need(row.name)
        elif not row.ours:
            kept += 1  # somebody else's, in a store that is shared
        elif row.idle_ms is None:
            resting += 1
            if not dry_run:
                packs.index.rest(row.name, now)
        elif now - row.idle_ms < room.options.grace:
            resting += 1
        else:
            gone, gone_bytes = gone + 1, gone_bytes + row.size
            if not dry_run:
                packs.delete(row.name)
    return Collected(gone, gone_bytes, resting, kept, dry_run)


def put_together(room: ArchiveRoom, needed: set[bytes], now: int, swept: Collected) -> Collected:
    """Put small packs together, and leave out what nobody needs."""
    from muniment.blob_merging import merge, plan, survey  # only for those who collect

    packs = survey(room.packs, needed)
    fixed = room.lent() | {pack.row.name for pack in packs if room.held(pack.row.name)}
    groups = plan(packs, fixed, now - room.options.grace)
    if swept.dry_run:
        return replace(swept, merged=sum(map(len, groups)), merged_into=len(groups))
    done = merge(room.packs, groups)
    return replace(swept, merged=done.packs, merged_into=done.into, merged_bytes=done.freed_bytes)


def problems(bank: Bank) -> Iterator[Problem]:
    """What is wrong with the packs, as far as this bank needs them; each is named."""
    room = bank.host.archive
    if room is None or not room.begun:
        yield from _homeless(bank)
        return
    try:
        bad = dict(room.packs.examine())
        needed = pointers(bank) or set()
    except MunimentError as error:
        yield Problem("blobs", error.message, error.next_step)
        return
    for name, what in bad.items():
        hurt = needed.intersection(room.packs.index.pointers(name))
        whole = [pointer for pointer in hurt if _elsewhere(room, pointer, bad)]
        if hurt:
            other = f"; {len(whole)} of them lie in another pack too" if whole else ""
            yield Problem("blobs", f"the pack {blob_text(name)} {what}: {len(hurt)} texts{other}", _COPY)
    yield from _lost(bank, room, needed)


def _elsewhere(room: ArchiveRoom, pointer: bytes, bad: Iterable[BlobName]) -> bool:
    return any(place.pack not in set(bad) for place in room.packs.index.places(pointer))


def _lost(bank: Bank, room: ArchiveRoom, needed: set[bytes]) -> Iterator[Problem]:
    """Payloads that no pack has, of texts that are nowhere else here."""
    if not bank.store.figures().released:
        return
    lost = [pointer for pointer in sorted(needed) if not room.packs.has(pointer)]
    for pointer in lost[:_CHUNK]:
        if room.receipts(pointer) < room.options.copies:
            yield Problem("blobs", f"the payload {blob_text(pointer)} is in no pack of this peer", _COPY)


def _homeless(bank: Bank) -> Iterator[Problem]:
    released = bank.store.figures().released
    if released:
        yield Problem("blobs", f"{released} texts are in the archive, and its packs are not here", _COPY)
