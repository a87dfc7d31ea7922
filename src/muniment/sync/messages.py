"""The messages of a sync: canonical DAG-CBOR maps, sizes checked before anything is parsed (docs/sync.md, section 3).

Whatever may be long (ids, entries, bodies) is packed into one byte string, so that reading a message costs a few
steps whatever a stranger puts into it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from muniment.base import codec
from muniment.base.errors import BadMessage, LimitExceeded, Malformed
from muniment.base.ids import CID_PREFIX, BankId, EntryId, is_cid
from muniment.base.limits import LIMITS
from muniment.sync.reconcile import ASK, DIGEST_BYTES, FINGERPRINT, IDS, SKIP, Range, id_of

VERSION = 1
NONCE_BYTES = ROUND_BYTES = 16
KEY_BYTES, SIGNATURE_BYTES = 32, 64
CONTROL, DATA = 0, 1
SETS = (CONTROL, DATA)
MAX_CLAIM = 4096
_BOUND_BYTES = 8 + DIGEST_BYTES
# Every reason to refuse a message; each has a golden bad vector.
REASONS = (
    "oversize",  # over a cap of `Limits`
    "non-canonical",  # not DAG-CBOR in its only form
    "unknown message",  # `t` is none of this version
    "unknown field",  # a field that the message does not have
    "malformed",  # a field is missing, or not of its form
    "bad packing",  # lengths in a packed byte string don't add up
    "bad order",  # ranges or bounds do not ascend
    "not due",  # a message that is not the one that has to come now
)

Parcel = tuple[bytes, Sequence[bytes | None]]
Place = tuple[EntryId, int]


@dataclass(frozen=True, slots=True)
class Greet:
    """The client's first word: 16 random bytes, and the newest version that it speaks."""

    name: ClassVar[str] = "greet"
    nonce: bytes
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Greeted:
    """The server's: 16 random bytes, and the id that every later question carries."""

    name: ClassVar[str] = "greeted"
    nonce: bytes
    round: bytes


@dataclass(frozen=True, slots=True)
class Hello:
    """Which bank, and the client's proof that it holds `by`; `claim` where it was invited."""

    name: ClassVar[str] = "hello"
    round: bytes
    bank: BankId
    by: bytes
    sig: bytes
    claim: bytes = b""


@dataclass(frozen=True, slots=True)
class Welcome:
    """The server's proof in turn."""

    name: ClassVar[str] = "welcome"
    by: bytes
    sig: bytes


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Ranges of the control set and of the data set; `check` asks what the server lacks, and gives `tips`."""

    name: ClassVar[str] = "reconcile"
    round: bytes
    control: tuple[Range, ...] = ()
    data: tuple[Range, ...] = ()
    check: bool = False
    tips: tuple[tuple[bytes, tuple[EntryId, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Ranges:
    """What differs in the ranges; to a `check` also ids and bodies that the server lacks, and its tips."""

    name: ClassVar[str] = "ranges"
    control: tuple[Range, ...] = ()
    data: tuple[Range, ...] = ()
    missing: tuple[EntryId, ...] = ()
    absent: tuple[Place, ...] = ()
    tips: tuple[tuple[bytes, tuple[EntryId, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Want:
    """Entries asked for: by id, or all in a span of the set `which`, and bodies by their place."""

    name: ClassVar[str] = "want"
    round: bytes
    ids: tuple[EntryId, ...] = ()
    which: int = DATA
    span: tuple[bytes, bytes] | None = None
    bodies: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries that were asked for, or that are pushed (then with `round`); `left` is where a span goes on."""

    name: ClassVar[str] = "entries"
    parcels: tuple[Parcel, ...] = ()
    round: bytes = b""
    left: bytes = b""
    more: int = 0


@dataclass(frozen=True, slots=True)
class Bodies:
    """Bodies by their place; with `round` where they are pushed; `more` is how many of those asked for are left."""

    name: ClassVar[str] = "bodies"
    bodies: tuple[tuple[Place, bytes], ...] = ()
    round: bytes = b""
    more: int = 0


@dataclass(frozen=True, slots=True)
class Took:
    """How many of the pushed entries or bodies were new."""

    name: ClassVar[str] = "took"
    stored: int


@dataclass(frozen=True, slots=True)
class Follow:
    """From now on tell what is new."""

    name: ClassVar[str] = "follow"
    round: bytes


@dataclass(frozen=True, slots=True)
class Done:
    """The client has all that it came for; the server forgets the round."""

    name: ClassVar[str] = "done"
    round: bytes = b""


@dataclass(frozen=True, slots=True)
class Failure:
    """The server's no: `refused` says nothing about why; `bad` is the client's fault, `later` the server's."""

    name: ClassVar[str] = "error"
    code: str


REFUSED, BAD, LATER = "refused", "bad message", "try later"
Question = Greet | Hello | Reconcile | Want | Entries | Bodies | Follow | Done
Answer = Greeted | Welcome | Ranges | Entries | Bodies | Took | Done | Failure
Message = Question | Answer


def pack_ids(ids: Iterable[EntryId]) -> bytes:
    """Ids without the four bytes that all begin with."""
    return b"".join(entry[len(CID_PREFIX) :] for entry in ids)


def _places(places: Iterable[Place]) -> bytes:
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


def _pack_ranges(ranges: Iterable[Range]) -> list[list[Any]]:
    said: dict[int, Callable[[Range], list[Any]]] = {
        FINGERPRINT: lambda one: [one.count, one.said],
        IDS: lambda one: [one.said],
    }
    return [[one.hi, one.mode, *(said[one.mode](one) if one.mode in said else ())] for one in ranges]


def _pack_tips(tips: Iterable[tuple[bytes, tuple[EntryId, ...]]]) -> list[list[bytes]]:
    return [[key, pack_ids(ids)] for key, ids in tips]


def _pack_bodies(bodies: Iterable[tuple[Place, bytes]]) -> bytes:
    return b"".join(
        entry[len(CID_PREFIX) :] + act.to_bytes() + len(body).to_bytes(4) + body
        for (entry, act), body in bodies
    )


_SAYS_ZERO = {"stored", "which"}
_WRITE: dict[str, Callable[[Any], Any]] = {
    "ids": pack_ids,
    "missing": pack_ids,
    "absent": _places,
    "control": _pack_ranges,
    "data": _pack_ranges,
    "tips": _pack_tips,
    "parcels": pack_parcels,
    "span": list,
}


def encode(message: Message) -> bytes:
    """The canonical bytes of a message; fields that say nothing are left out.

    Raises:
        LimitExceeded: It is longer than a message may be.
    """
    fields: dict[str, Any] = {"t": message.name}
    for field in message.__slots__:
        value = getattr(message, field)
        if field == "which" and getattr(message, "span", None) is None:
            continue
        if not value and field not in _SAYS_ZERO:
            continue
        if field == "bodies":
            value = _places(value) if isinstance(message, Want) else _pack_bodies(value)
        elif field in _WRITE:
            value = _WRITE[field](value)
        fields[field] = value
    data = codec.encode(fields)
    if len(data) > LIMITS.sync_message_bytes:
        raise LimitExceeded("bytes of a sync message", LIMITS.sync_message_bytes, len(data))
    return data


def decode(data: bytes) -> Message:
    """Read a message of either end.

    Raises:
        BadMessage: With the first of `REASONS` that it breaks.
    """
    try:
        fields = codec.decode(data, LIMITS.sync_message_bytes)
    except LimitExceeded as error:
        raise BadMessage("oversize", error.message) from None
    except Malformed as error:
        raise BadMessage("non-canonical", error.message) from None
    if not isinstance(fields, dict) or not isinstance(fields.get("t"), str):
        raise BadMessage("unknown message", "not a map that names itself")
    kind = _KINDS.get(fields.pop("t"))
    if kind is None:
        raise BadMessage("unknown message")
    if unknown := set(fields) - set(kind.__slots__):
        raise BadMessage("unknown field", ", ".join(sorted(unknown))[:80])
    if not _NEEDED[kind] <= set(fields):
        raise BadMessage("malformed", "a field is missing")
    read = {}
    for field, value in fields.items():
        reader = _read_places if kind is Want and field == "bodies" else _READ[field]
        read[field] = reader(value)
        if not read[field] and field not in _SAYS_ZERO:
            raise BadMessage("malformed", f"{field} says nothing")
    message: Message = kind(**read)
    if isinstance(message, Want) and "which" in fields and message.span is None:
        raise BadMessage("malformed", "which belongs to a span")
    return message


def _fixed(length: int) -> Callable[[Any], bytes]:
    def read(value: Any) -> bytes:
        if not isinstance(value, bytes) or len(value) != length:
            raise BadMessage("malformed", f"not {length} bytes")
        return value

    return read


def _upto(length: int) -> Callable[[Any], bytes]:
    def read(value: Any) -> bytes:
        if not isinstance(value, bytes):
            raise BadMessage("malformed", "not bytes")
        if len(value) > length:
            raise BadMessage("oversize", f"{len(value)} bytes where {length} may stand")
        return value

    return read


def _number(most: int) -> Callable[[Any], int]:
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


def _read_ids(value: Any) -> tuple[EntryId, ...]:
    return tuple(map(id_of, _records(value, DIGEST_BYTES, LIMITS.sync_ids)))


def _read_places(value: Any) -> tuple[Place, ...]:
    return tuple(
        (id_of(one[:DIGEST_BYTES]), one[DIGEST_BYTES])
        for one in _records(value, DIGEST_BYTES + 1, LIMITS.sync_ids)
    )


def _read_bank(value: Any) -> BankId:
    if not is_cid(value):
        raise BadMessage("malformed", "bank is not an id")
    return BankId(value)


def _read_code(value: Any) -> str:
    if value not in (REFUSED, BAD, LATER):
        raise BadMessage("malformed", "an error that this version does not know")
    return str(value)


def _read_check(value: Any) -> bool:
    if value is not True:
        raise BadMessage("malformed", "check is written only when true")
    return True


def _read_ranges(value: Any) -> tuple[Range, ...]:
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
    hi = _upto(_BOUND_BYTES)(hi)
    if mode in (SKIP, ASK) and not said:
        return Range(hi, mode)
    if mode == FINGERPRINT and len(said) == 2:
        return Range(hi, mode, _number(1 << 48)(said[0]), _fixed(DIGEST_BYTES)(said[1]))
    if mode == IDS and len(said) == 1:
        _records(said[0], DIGEST_BYTES, LIMITS.sync_ids)
        return Range(hi, mode, 0, said[0])
    raise BadMessage("malformed", "a range's mode")


def _read_span(value: Any) -> tuple[bytes, bytes]:
    if not isinstance(value, list) or len(value) != 2:
        raise BadMessage("malformed", "a span is not two bounds")
    lo, hi = map(_upto(_BOUND_BYTES), value)
    if lo >= hi:
        raise BadMessage("bad order", "a span ends before it begins")
    return lo, hi


def _read_tips(value: Any) -> tuple[tuple[bytes, tuple[EntryId, ...]], ...]:
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise BadMessage("malformed", "tips are not pairs")
    if len(value) > LIMITS.sync_tips:
        raise BadMessage("oversize", f"tips of {len(value)} keys")
    return tuple((_fixed(KEY_BYTES)(key), _read_ids(ids)) for key, ids in value)


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


def _read_parcels(value: Any) -> tuple[Parcel, ...]:
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


def _read_bodies(value: Any) -> tuple[tuple[Place, bytes], ...]:
    cursor = _Cursor(value)
    out: list[tuple[Place, bytes]] = []
    while cursor:
        if len(out) >= LIMITS.sync_entries:
            raise BadMessage("oversize", "bodies in one message")
        entry, act = id_of(cursor.take(DIGEST_BYTES)), cursor.take(1)[0]
        out.append(((entry, act), cursor.sized(LIMITS.body_bytes)))
    return tuple(out)


_READ: dict[str, Callable[[Any], Any]] = {
    "nonce": _fixed(NONCE_BYTES), "version": _number(1 << 16), "round": _fixed(ROUND_BYTES), "bank": _read_bank,
    "by": _fixed(KEY_BYTES), "sig": _fixed(SIGNATURE_BYTES), "claim": _upto(MAX_CLAIM), "control": _read_ranges,
    "data": _read_ranges, "check": _read_check, "tips": _read_tips, "missing": _read_ids, "absent": _read_places,
    "ids": _read_ids, "which": _number(DATA), "span": _read_span, "bodies": _read_bodies, "parcels": _read_parcels,
    "left": _upto(_BOUND_BYTES), "more": _number(1 << 32), "stored": _number(1 << 32), "code": _read_code,
}  # fmt: skip
_MESSAGES: tuple[type[Any], ...] = (
    *(Greet, Greeted, Hello, Welcome, Reconcile, Ranges, Want),
    *(Entries, Bodies, Took, Follow, Done, Failure),
)
_KINDS: dict[str, type[Any]] = {kind.name: kind for kind in _MESSAGES}
_NEEDED: dict[type[Any], set[str]] = {
    Greet: {"nonce", "version"}, Greeted: {"nonce", "round"}, Hello: {"round", "bank", "by", "sig"},
    Welcome: {"by", "sig"}, Reconcile: {"round"}, Ranges: set(), Want: {"round"}, Entries: set(), Bodies: set(),
    Took: {"stored"}, Follow: {"round"}, Done: set(), Failure: {"code"},
}  # fmt: skip
