"""Small packs are put together, and packs of mostly dead payloads written anew (design section 9).

The order is what keeps a text: the new pack is on the disk, indexed and read back whole before an old one goes. A kill
in between leaves payloads in two packs, which the next run finds. A pack that somebody else has signed for, or that is
kept for somebody else, stays as it is: its name stands in the receipt.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from muniment.archive.pack import TARGET_BYTES, directory_of, payload_at
from muniment.archive.room import PackRoom
from muniment.base.errors import BlobDamaged, RefusedPack, UnknownBlob
from muniment.base.ids import BlobName
from muniment.base.limits import LIMITS
from muniment.store.packs import PackRow

SMALL_BYTES = 4 * 1024 * 1024  # packs under this are put together
_MANY = 16  # so many are put together also beside one that is larger than all of them
_GONE = (UnknownBlob, BlobDamaged, RefusedPack)


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack, and what of it is needed: `live` payloads that no pack before has, of `live_bytes` together.

    Attributes:
        whole: Every payload of it is needed.
        elsewhere: Needed payloads that another pack has too.
    """

    row: PackRow
    live: tuple[BlobName, ...]
    live_bytes: int
    whole: bool
    elsewhere: tuple[BlobName, ...]


class Merged(NamedTuple):
    """Packs that were written anew, `packs` of them into `into`, and bytes that this set free."""

    packs: int
    into: int
    freed_bytes: int


def survey(room: PackRoom, needed: Container[bytes]) -> list[Pack]:
    """All packs, the largest first, so that of two that have a payload the larger keeps it."""
    seen: set[bytes] = set()
    found = []
    for row in sorted(room.index.packs(), key=lambda row: (-row.size, row.name)):
        slots = room.index.slots(row.name)
        wanted = [slot for slot in slots if slot.pointer in needed]
        live = [slot for slot in wanted if slot.pointer not in seen]
        seen.update(slot.pointer for slot in live)
        mine = {slot.pointer for slot in live}
        found.append(
            Pack(
                row,
                tuple(slot.pointer for slot in live),
                sum(slot.length for slot in live),
                len(wanted) == len(slots),
                tuple(slot.pointer for slot in wanted if slot.pointer not in mine),
            )
        )
    return found


def plan(packs: Sequence[Pack], fixed: Container[bytes], oldest_ms: int) -> list[list[Pack]]:
    """Which packs become one pack each; pure.

    Payloads that nothing needs are left out only of packs that came before `oldest_ms`: they have their time of grace.
    A pack that nothing needs at all is not looked at: collecting is somebody else's work.

    Args:
        packs: From `survey`.
        fixed: Names of packs that must not change.
        oldest_ms: Unix ms.
    """
    groups: list[list[Pack]] = []
    group: list[Pack] = []
    size = count = 0
    for pack in sorted(packs, key=lambda pack: (pack.live_bytes, pack.row.name)):
        if not _may(pack, fixed, oldest_ms):
            continue
        if group and (size + pack.live_bytes > TARGET_BYTES or count + len(pack.live) > LIMITS.pack_payloads):
            groups.append(group)
            group, size, count = [], 0, 0
        group.append(pack)
        size, count = size + pack.live_bytes, count + len(pack.live)
    return [one for one in [*groups, group] if _worth(one)]


def _may(pack: Pack, fixed: Container[bytes], oldest_ms: int) -> bool:
    if pack.row.name in fixed or not pack.row.ours or not (pack.live or pack.elsewhere):
        return False
    if not pack.whole and pack.row.added_ms >= oldest_ms:
        return False
    return pack.row.size < SMALL_BYTES or _wasted(pack)


def _wasted(pack: Pack) -> bool:
    return 2 * pack.live_bytes < pack.row.size


def _worth(group: Sequence[Pack]) -> bool:
    """Whether it gains something: a pack is not written again for each small one that comes."""
    if any(_wasted(pack) for pack in group):
        return True
    sizes = [pack.live_bytes for pack in group]
    return len(group) > 1 and (2 * max(sizes) <= sum(sizes) or len(group) >= _MANY)


def merge(room: PackRoom, groups: Sequence[Sequence[Pack]]) -> Merged:
    """Write each group as one pack, and take the old ones away; packs that can't be read are left as they are.

    Raises:
        StorageError: As its subclasses name it; every payload is in a pack.
    """
    packs = into = freed = 0
    for group in groups:
        payloads: dict[BlobName, bytes] = {}
        read = [pack for pack in group if _gather(room, pack, payloads)]
        if not read:
            continue
        written = 0
        if payloads:
            name = room.store(list(payloads.items()))
            data = room.blobs.get(name)
            for slot in directory_of(data):
                payload_at(data, slot)
            written, into = len(data), into + 1
            read = [pack for pack in read if pack.row.name != name]
        for pack in read:
            room.delete(pack.row.name)
        packs, freed = packs + len(read), freed + sum(pack.row.size for pack in read) - written
    return Merged(packs, into, freed)


def _gather(room: PackRoom, pack: Pack, into: dict[BlobName, bytes]) -> bool:
    """Take what a pack alone has, and see that what it has not alone is whole elsewhere."""
    try:
        found = {pointer: room.payload(pointer) for pointer in pack.live}
        for pointer in pack.elsewhere:
            room.payload(pointer, without=pack.row.name)
    except _GONE:
        return False
    into.update(found)
    return True
