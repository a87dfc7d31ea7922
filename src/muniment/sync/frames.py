"""Filling frames: as many entries or bodies as a message of `Limits.sync_frame_bytes` takes, at least one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muniment.base.ids import EntryId
from muniment.base.limits import LIMITS
from muniment.sync.holder import Holder
from muniment.sync.messages import Bodies
from muniment.sync.packing import Parcel, Place, parcel_bytes

_READ = 256  # entries read at once
_PLACE_BYTES = 37  # what stands in front of a body


def frame(holder: Holder, ids: Sequence[EntryId]) -> tuple[list[Parcel], int]:
    """The first of these entries that fit in a frame, and how many of the ids were worked off.

    Ids of entries that are not here are worked off too.
    """
    out: list[Parcel] = []
    size, used = 0, 0
    for place, parcel in _each(holder, ids[: LIMITS.sync_entries]):
        if parcel is not None:
            size += parcel_bytes(parcel)
            if out and size > LIMITS.sync_frame_bytes:
                return out, used
            out.append(parcel)
        used = place + 1
    return out, used


def _each(holder: Holder, ids: Sequence[EntryId]) -> Iterator[tuple[int, Parcel | None]]:
    for start in range(0, len(ids), _READ):
        part = ids[start : start + _READ]
        found = iter(holder.parcels(part))
        ahead = next(found, None)
        for place, entry in enumerate(part, start):
            if ahead is not None and ahead[0] == entry:
                yield place, ahead[1]
                ahead = next(found, None)
            else:
                yield place, None


def body_frame(holder: Holder, places: Sequence[Place], round_id: bytes = b"") -> Bodies:
    """The first of these bodies that fit in a frame; `more` counts the places that are left."""
    out: list[tuple[Place, bytes]] = []
    size = 0
    for number, place in enumerate(places):
        found = list(holder.bodies([place]))
        if not found:
            continue
        size += _PLACE_BYTES + len(found[0][1])
        if out and size > LIMITS.sync_frame_bytes:
            return Bodies(tuple(out), round_id, len(places) - number)
        out += found
    return Bodies(tuple(out), round_id)
