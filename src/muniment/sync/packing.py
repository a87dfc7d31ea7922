"""How the long fields of messages are packed into byte strings and read again (docs/sync.md, section 3)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from muniment.base.errors import BadMessage
from muniment.base.ids import CID_PREFIX, EntryId
from muniment.base.limits import LIMITS
from muniment.sync.reconcile import ASK, DIGEST_BYTES, FINGERPRINT, IDS, SKIP, Range, id_of

KEY_BYTES = 32
BOUND_BYTES = 8 + DIGEST_BYTES
Parcel = tuple[bytes, Sequence[bytes | None]]
"""An entry as it travels: its envelope and its bodies, None where one was erased or has not come."""
Place = tuple[EntryId, int]
"""Where a body belongs: its entry, and the act's index there."""


def pack_ids(ids: Iterable[EntryId]) -> bytes:
    """Ids without the four bytes that all begin with."""
    return b"".join(entry[len(CID_PREFIX) :] for entry in ids)


def pack_places(places: Iterable[Place]) -> bytes:
    """Places, one after the other."""
    return b"".join(entry[len(CID_PREFIX) :] + act.to_bytes() for entry, act in places)


def pack_parcels(parcels: Iterable[Parcel]) -> bytes:
    """Per entry: length of the envelope (4 bytes) and it, number of bodies (2), each length (4; 0: none) and body."""
    out: list[bytes] = []
    for envelope, bodies in parcels:
        out += [len(envelope).to_bytes(4), envelope, len(bodies).to_bytes(2)]
        for body in bodies:
            out += [b"\0\0\0\0"] if body is None else [len(body).to_bytes(4), body]
    return b"".join(out)


def parcel_bytes(parcel: Parcel) -> int:
    """How much of a frame an entry takes."""
    return 6 + len(parcel[0]) + sum(4 + len(body or b"") for body in parcel[1])


def pack_ranges(ranges: Iterable[Range]) -> list[list[Any]]:
    """Ranges as lists."""
    said: dict[int, Callable[[Range], list[Any]]] = {
        FINGERPRINT: lambda one: [one.count, one.said],
        IDS: lambda one: [one.said],
    }
    return [[one.hi, one.mode, *(said[one.mode](one) if one.mode in said else ())] for one in ranges]


def pack_tips(tips: Iterable[tuple[bytes, tuple[EntryId, ...]]]) -> list[list[bytes]]:
    """Keys with their newest entries."""
    return [[key, pack_ids(ids)] for key, ids in tips]


def pack_bodies(bodies: Iterable[tuple[Place, bytes]]) -> bytes:
    """Bodies with their places and lengths."""
    return b"".join(
        entry[len(CID_PREFIX) :] + act.to_bytes() + len(body).to_bytes(4) + body
        for (entry, act), body in bodies
    )


def fixed(length: int) -> Callable[[Any], bytes]:
    """Reads bytes of one length."""

    def read(value: Any) -> bytes:
        if not isinstance(value, bytes) or len(value) != length:
            raise BadMessage("malformed", f"not {length} bytes")
        return value

    return read


def upto(length: int) -> Callable[[Any], bytes]:
    """Reads bytes up to a length."""

    def read(value: Any) -> bytes:
        if not isinstance(value, bytes):
            raise BadMessage("malformed", "not bytes")
        if len(value) > length:
            raise BadMessage("oversize", f"{len(value)} bytes where {length} may stand")
        return value

    return read


def number(most: int) -> Callable[[Any], int]:
    """Reads a whole number up to `most`."""

    def read(value: Any) -> int:
        if type(value) is not int or not 0 <= value <= most:
            raise BadMessage("malformed", "not a number that may stand there")
        return value

    return read


def _records(value: Any, size: int, most: int) -> list[bytes]:
    if not isinstance(value, bytes) or len(value) % size:
        raise BadMessage("bad packing" if isinstance(value, bytes) else "malformed")
    if len(value) // size > most:
        raise BadMessage("oversize", f"{len(value) // size} items where {most} may stand")
    return [value[at : at + size] for at in range(0, len(value), size)]


def read_ids(value: Any) -> tuple[EntryId, ...]:
    """Ids, as `pack_ids` packs them."""
    return tuple(map(id_of, _records(value, DIGEST_BYTES, LIMITS.sync_ids)))


def read_places(value: Any) -> tuple[Place, ...]:
    """Places, as `pack_places` packs them."""
    return tuple(
        (id_of(one[:DIGEST_BYTES]), one[DIGEST_BYTES])
        for one in _records(value, DIGEST_BYTES + 1, LIMITS.sync_ids)
    )


def read_ranges(value: Any) -> tuple[Range, ...]:
    """Ranges in ascending order."""
    if not isinstance(value, list):
        raise BadMessage("malformed", "ranges are not a list")
    if len(value) > LIMITS.sync_ranges:
        raise BadMessage("oversize", f"{len(value)} ranges")
    out: list[Range] = []
    for item in value:
        one = _read_range(item)
        if out and one.hi <= out[-1].hi or not one.hi:
            raise BadMessage("bad order", "ranges do not ascend")
        out.append(one)
    return tuple(out)


def _read_range(item: Any) -> Range:
    if not isinstance(item, list) or len(item) < 2 or type(item[1]) is not int:
        raise BadMessage("malformed", "a range is not [bound, mode, …]")
    hi, mode, *said = item
    hi = upto(BOUND_BYTES)(hi)
    if mode in (SKIP, ASK) and not said:
        return Range(hi, mode)
    if mode == FINGERPRINT and len(said) == 2:
        return Range(hi, mode, number(1 << 48)(said[0]), fixed(DIGEST_BYTES)(said[1]))
    if mode == IDS and len(said) == 1:
        _records(said[0], DIGEST_BYTES, LIMITS.sync_ids)
        return Range(hi, mode, 0, said[0])
    raise BadMessage("malformed", "a range's mode")


def read_span(value: Any) -> tuple[bytes, bytes]:
    """Two bounds in order."""
    if not isinstance(value, list) or len(value) != 2:
        raise BadMessage("malformed", "a span is not two bounds")
    lo, hi = map(upto(BOUND_BYTES), value)
    if lo >= hi:
        raise BadMessage("bad order", "a span ends before it begins")
    return lo, hi


def read_tips(value: Any) -> tuple[tuple[bytes, tuple[EntryId, ...]], ...]:
    """Keys with their newest entries."""
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise BadMessage("malformed", "tips are not pairs")
    if len(value) > LIMITS.sync_tips:
        raise BadMessage("oversize", f"tips of {len(value)} keys")
    return tuple((fixed(KEY_BYTES)(key), read_ids(ids)) for key, ids in value)


class _Cursor:
    """Reads a packed byte string from front to back."""

    def __init__(self, data: Any) -> None:
        if not isinstance(data, bytes):
            raise BadMessage("malformed", "not bytes")
        self._data, self._at = data, 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if len(part) < size:
            raise BadMessage("bad packing", "a length leads past the end")
        self._at += size
        return part

    def sized(self, most: int) -> bytes:
        (size,) = struct.unpack(">I", self.take(4))
        if size > most:
            raise BadMessage("oversize", f"{size} bytes where {most} may stand")
        return self.take(size)


def read_parcels(value: Any) -> tuple[Parcel, ...]:
    """Entries, as `pack_parcels` packs them."""
    cursor = _Cursor(value)
    out: list[Parcel] = []
    while cursor:
        if len(out) >= LIMITS.sync_entries:
            raise BadMessage("oversize", "entries in one message")
        envelope = cursor.sized(LIMITS.header_bytes + 128)
        (count,) = struct.unpack(">H", cursor.take(2))
        if count > LIMITS.acts_per_entry:
            raise BadMessage("oversize", f"{count} bodies of one entry")
        out.append((envelope, [cursor.sized(LIMITS.body_bytes) or None for _ in range(count)]))
    return tuple(out)


def read_bodies(value: Any) -> tuple[tuple[Place, bytes], ...]:
    """Bodies, as `pack_bodies` packs them."""
    cursor = _Cursor(value)
    out: list[tuple[Place, bytes]] = []
    while cursor:
        if len(out) >= LIMITS.sync_entries:
            raise BadMessage("oversize", "bodies in one message")
        entry, act = id_of(cursor.take(DIGEST_BYTES)), cursor.take(1)[0]
        out.append(((entry, act), cursor.sized(LIMITS.body_bytes)))
    return tuple(out)
