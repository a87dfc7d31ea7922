"""Filling frames: as many entries or bodies as a message of `Limits.sync_frame_bytes` takes, at least one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muniment.base.ids import EntryId
from muniment.base.limits import LIMITS
from muniment.sync.holder import Holder
from muniment.sync.messages import Bodies
from muniment.sync.packing import Parcel, Place, parcel_bytes

_FEWEST, _MOST = 4, 256  # entries read at once
_SHORT = 4096  # bytes of an entry up to which more are read at once
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
    """Entries by their place among the ids, None where one is not here; few are read at once while they are long."""
    start, step = 0, _FEWEST
    while start < len(ids):
        part = ids[start : start + step]
        found = dict(holder.parcels(part))
        for place, entry in enumerate(part, start):
            yield place, found.get(entry)
        start += step
        if sum(map(parcel_bytes, found.values())) < _SHORT * step:
            step = min(2 * step, _MOST)


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
