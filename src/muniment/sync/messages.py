"""The messages of a sync: canonical DAG-CBOR maps, sizes checked before anything is parsed (docs/sync.md, section 3).

Whatever may be long (ids, entries, bodies) is packed into one byte string, so that reading a message costs a few
steps whatever a stranger puts into it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from muniment.base import codec
from muniment.base.errors import BadMessage, LimitExceeded, Malformed
from muniment.base.ids import BankId, EntryId, is_cid
from muniment.base.limits import LIMITS
from muniment.sync import packing
from muniment.sync.packing import KEY_BYTES, Parcel, Place
from muniment.sync.reconcile import Range

VERSION = 1
NONCE_BYTES = ROUND_BYTES = 16
SIGNATURE_BYTES = 64
CONTROL, DATA = 0, 1
SETS = (CONTROL, DATA)
MAX_CLAIM = 4096
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


_SAYS_ZERO = {"stored", "which"}
_WRITE: dict[str, Callable[[Any], Any]] = {
    "ids": packing.pack_ids,
    "missing": packing.pack_ids,
    "absent": packing.pack_places,
    "control": packing.pack_ranges,
    "data": packing.pack_ranges,
    "tips": packing.pack_tips,
    "parcels": packing.pack_parcels,
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
            value = packing.pack_places(value) if isinstance(message, Want) else packing.pack_bodies(value)
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
        reader = packing.read_places if kind is Want and field == "bodies" else _READ[field]
        read[field] = reader(value)
        if not read[field] and field not in _SAYS_ZERO:
            raise BadMessage("malformed", f"{field} says nothing")
    message: Message = kind(**read)
    if isinstance(message, Want) and "which" in fields and message.span is None:
        raise BadMessage("malformed", "which belongs to a span")
    return message


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


_READ: dict[str, Callable[[Any], Any]] = {
    "nonce": packing.fixed(NONCE_BYTES),
    "version": packing.number(1 << 16),
    "round": packing.fixed(ROUND_BYTES),
    "bank": _read_bank,
    "by": packing.fixed(KEY_BYTES),
    "sig": packing.fixed(SIGNATURE_BYTES),
    "claim": packing.upto(MAX_CLAIM),
    "control": packing.read_ranges,
    "data": packing.read_ranges,
    "check": _read_check,
    "tips": packing.read_tips,
    "missing": packing.read_ids,
    "absent": packing.read_places,
    "ids": packing.read_ids,
    "which": packing.number(DATA),
    "span": packing.read_span,
    "bodies": packing.read_bodies,
    "parcels": packing.read_parcels,
    "left": packing.upto(packing.BOUND_BYTES),
    "more": packing.number(1 << 32),
    "stored": packing.number(1 << 32),
    "code": _read_code,
}
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
