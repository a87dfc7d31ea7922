"""The one signed format: header, signature, sealed bodies beside it (design section 3).

Verification looks at the bytes received before it parses further, and those bytes are what is kept and
served; nothing stored is ever encoded again. All that can be wrong here can be seen in the entry alone;
whatever needs other entries is a verdict, and lives in `authority`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from muniment.base import codec
from muniment.base.clock import ms_of
from muniment.base.errors import LimitExceeded, Malformed, RefusedBody, RefusedEntry, RefusedKey
from muniment.base.ids import BankId, EntryId, cid_of, is_cid
from muniment.base.limits import LIMITS, MAX_AT_MS, MIN_AT_MS
from muniment.identity import keys
from muniment.ledger import control
from muniment.ledger.control import Control, EpochId, Found, ShapeError

VERSION = 1
# Every reason to refuse an entry; each has a golden bad vector.
REASONS = (
    "oversize",  # over a cap of `Limits`
    "wrong magic",  # the envelope is not a list of two byte strings
    "non-canonical",  # not DAG-CBOR in its only form
    "unknown version",  # `v` is not 1
    "unknown field",  # a header field that version 1 does not have
    "malformed",  # a field is missing, or not of its form
    "bad time",  # `at` is before 2020 or after 2099
    "bad key",  # `by`, or a key in a control act, is no usable Ed25519 key
    "wrong bank",  # it says that it belongs to another bank
    "second founding entry",  # it founds, and is not this bank's founding entry
    "bad signature",
)
_FIELDS = {"v", "bank", "by", "prev", "auth", "at", "epoch", "acts", "ctl"}
_REQUIRED = {"v", "by", "prev", "auth", "at"}
_MAX_ENVELOPE = LIMITS.header_bytes + 128
_MIN_SEALED = keys.SEAL_OVERHEAD + 256


@dataclass(frozen=True, slots=True)
class ActRef:
    """What the header says of one sealed act: kind code, sha-256 and length of the body as stored."""

    kind: int
    digest: bytes
    length: int


@dataclass(frozen=True, slots=True)
class Header:
    """The signed part of an entry. Only the founding entry has no `bank`; `epoch` comes with bodies."""

    bank: BankId | None
    by: bytes
    prev: tuple[EntryId, ...]
    auth: tuple[EntryId, ...]
    at: int
    epoch: EpochId | None = None
    acts: tuple[ActRef, ...] = ()
    ctl: tuple[Control, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A verified entry and the bytes it came as."""

    id: EntryId
    envelope: bytes
    header_bytes: bytes
    header: Header

    @property
    def bank(self) -> BankId:
        """The bank it belongs to; a founding entry names its own."""
        return self.header.bank or BankId(self.id)

    @property
    def is_control(self) -> bool:
        """Whether it carries control acts; then it has no bodies."""
        return bool(self.header.ctl)


def header_bytes(header: Header) -> bytes:
    """The canonical bytes of a header: what is signed."""
    fields: dict[str, Any] = {"v": VERSION, "by": header.by, "at": header.at}
    fields["prev"], fields["auth"] = list(header.prev), list(header.auth)
    if header.bank is not None:
        fields["bank"] = header.bank
    if header.epoch is not None:
        fields["epoch"] = list(header.epoch)
    if header.acts:
        fields["acts"] = [{"k": act.kind, "h": act.digest, "n": act.length} for act in header.acts]
    if header.ctl:
        fields["ctl"] = [control.to_map(act) for act in header.ctl]
    return codec.encode(fields)


def assemble(signed: bytes, signature: bytes, header: Header) -> Entry:
    """The entry of header bytes and their signature, both made here."""
    envelope = codec.encode([signed, signature])
    return Entry(cid_of(envelope), envelope, signed, header)


def verify(envelope: bytes, bank: BankId | None) -> Entry:
    """Check the bytes of an entry that came from anywhere, and read it.

    Args:
        envelope: Canonical DAG-CBOR of `[header bytes, signature]`.
        bank: The bank that it must belong to; None takes a founding entry only.

    Raises:
        RefusedEntry: With the first of `REASONS` that it breaks.
    """
    if len(envelope) > _MAX_ENVELOPE:
        raise RefusedEntry("oversize", f"{len(envelope)} bytes")
    if envelope[:1] != b"\x82":
        raise RefusedEntry("wrong magic")
    pair = _decode(envelope, _MAX_ENVELOPE)
    if not all(isinstance(item, bytes) for item in pair):
        raise RefusedEntry("wrong magic")
    signed, signature = pair
    header = parse_header(signed)
    entry_id = cid_of(envelope)
    if header.bank is None:
        if bank is not None and bytes(entry_id) != bytes(bank):
            raise RefusedEntry("second founding entry")
    elif header.bank != bank:
        raise RefusedEntry("wrong bank")
    if not keys.verify(header.by, signature, codec.ENTRY, signed):
        raise RefusedEntry("bad signature")
    return Entry(entry_id, envelope, signed, header)


def reload(envelope: bytes) -> Entry:
    """Read an entry that was verified before it was stored; the signature is not checked again.

    Raises:
        RefusedEntry: The stored bytes are no longer those of an entry.
    """
    pair = _decode(envelope, _MAX_ENVELOPE)
    if not isinstance(pair, list) or len(pair) != 2:
        raise RefusedEntry("wrong magic")
    return Entry(cid_of(envelope), envelope, pair[0], parse_header(pair[0]))


def _decode(data: bytes, limit: int) -> Any:
    try:
        return codec.decode(data, limit)
    except LimitExceeded as error:
        raise RefusedEntry("oversize", error.message) from None
    except Malformed as error:
        raise RefusedEntry("non-canonical", error.message) from None


def parse_header(signed: bytes) -> Header:
    """Read header bytes by the rules that can be checked without other entries.

    Raises:
        RefusedEntry: With the first of `REASONS` that it breaks.
    """
    fields = _decode(signed, LIMITS.header_bytes)
    if not isinstance(fields, dict):
        raise RefusedEntry("malformed", "the header is not a map")
    if fields.get("v") != VERSION or type(fields["v"]) is not int:
        raise RefusedEntry("unknown version", repr(fields.get("v"))[:40])
    if unknown := set(fields) - _FIELDS:
        raise RefusedEntry("unknown field", ", ".join(sorted(unknown))[:80])
    try:
        header = _read(fields)
    except ShapeError as error:
        raise RefusedEntry("malformed", str(error)) from None
    if not MIN_AT_MS <= ms_of(header.at) < MAX_AT_MS:
        raise RefusedEntry("bad time", str(ms_of(header.at)))
    try:
        for key in (header.by, *_keys_of(header.ctl)):
            keys.check_public(key)
    except RefusedKey as error:
        raise RefusedEntry("bad key", error.message) from None
    return header


def _read(fields: dict[str, Any]) -> Header:
    if not set(fields) >= _REQUIRED or ("acts" in fields) == ("ctl" in fields):
        raise ShapeError("a field is missing, or both or neither of acts and ctl are there")
    by, at = fields["by"], fields["at"]
    if not isinstance(by, bytes) or len(by) != keys.PUBLIC_BYTES:
        raise ShapeError("by is not a key")
    if type(at) is not int or not 0 <= at < 1 << 63:
        raise ShapeError("at is not a clock value")
    bank = fields.get("bank")
    if "bank" in fields and not is_cid(bank):
        raise ShapeError("bank is not an id")
    prev, auth = _parents(fields["prev"], "prev"), _parents(fields["auth"], "auth")
    acts, ctl = _acts(fields), _control(fields)
    epoch = None
    if ("epoch" in fields) != bool(acts):
        raise ShapeError("epoch belongs to entries with bodies")
    if acts:
        place = fields["epoch"]
        if not isinstance(place, list) or len(place) != 2 or not is_cid(place[0]):
            raise ShapeError("epoch is not [id, index]")
        if type(place[1]) is not int or not 0 <= place[1] < LIMITS.control_acts_per_entry:
            raise ShapeError("epoch index")
        epoch = EpochId(EntryId(place[0]), place[1])
    founds = [act for act in ctl if isinstance(act, Found)]
    if (bank is None) != (len(founds) == 1 and ctl[0] is founds[0]) or len(founds) > 1:
        raise ShapeError("exactly the founding entry founds, in its first act")
    if founds and (prev or auth or by not in {founder.key for founder in founds[0].founders}):
        raise ShapeError("a founding entry has no past and is signed by a founder")
    return Header(BankId(bank) if bank else None, by, prev, auth, at, epoch, acts, ctl)


def _parents(value: Any, what: str) -> tuple[EntryId, ...]:
    if not isinstance(value, list) or len(value) > LIMITS.parents or not all(map(is_cid, value)):
        raise ShapeError(f"{what} is not a list of at most {LIMITS.parents} ids")
    if any(a >= b for a, b in pairwise(value)):
        raise ShapeError(f"{what} is not sorted and unique")
    return tuple(EntryId(item) for item in value)


def _acts(fields: dict[str, Any]) -> tuple[ActRef, ...]:
    if "acts" not in fields:
        return ()
    value = fields["acts"]
    if not isinstance(value, list) or not 0 < len(value) <= LIMITS.acts_per_entry:
        raise ShapeError(f"acts is not a list of 1 to {LIMITS.acts_per_entry}")
    refs = []
    for item in value:
        if not isinstance(item, dict) or set(item) != {"k", "h", "n"}:
            raise ShapeError("an act is not {k, h, n}")
        kind, digest, length = item["k"], item["h"], item["n"]
        if type(kind) is not int or not 1 <= kind <= 1 << 16 or type(length) is not int:
            raise ShapeError("an act's kind or length")
        if (
            not isinstance(digest, bytes)
            or len(digest) != 32
            or not _MIN_SEALED <= length <= LIMITS.body_bytes
        ):
            raise ShapeError("an act's hash or length")
        refs.append(ActRef(kind, digest, length))
    if sum(ref.length for ref in refs) > LIMITS.entry_bytes:
        raise ShapeError("the bodies together are too long")
    return tuple(refs)


def _control(fields: dict[str, Any]) -> tuple[Control, ...]:
    if "ctl" not in fields:
        return ()
    value = fields["ctl"]
    if not isinstance(value, list) or not 0 < len(value) <= LIMITS.control_acts_per_entry:
        raise ShapeError(f"ctl is not a list of 1 to {LIMITS.control_acts_per_entry}")
    return tuple(control.from_map(item, codec.encode) for item in value)


def _keys_of(acts: Sequence[Control]) -> set[bytes]:
    named: set[bytes] = set()
    for act in acts:
        if isinstance(act, Found):
            named.update(founder.key for founder in act.founders)
        elif isinstance(act, control.Epoch):
            named.update(key for key, _ in act.boxes)
        elif not isinstance(act, control.Policy | control.Erase | control.Unknown):
            named.add(act.key)
            if isinstance(act, control.Grant) and act.succeeds:
                named.add(act.succeeds)
    return named


def padded_length(length: int) -> int:
    """Bytes that `length` is padded to: steps of 256, and of an eighth of the size from 2 KiB on."""
    step = max(256, 1 << max(0, length.bit_length() - 4))
    return -(-length // step) * step


def associated(bank: BankId, epoch: EpochId, by: bytes, kind: int, index: int) -> bytes:
    """What a sealed body is bound to: bank, epoch, author, kind and its place in the entry."""
    return codec.BODY + codec.encode([bank, list(epoch), by, kind, index])


def seal_body(key: bytes, nonce: bytes, plain: bytes, bound_to: bytes) -> bytes:
    """Pad the canonical bytes of an act (0x80, then zeros) and seal them.

    Raises:
        LimitExceeded: The sealed body is over `Limits.body_bytes`.
    """
    padded = plain + b"\x80"
    padded += bytes(padded_length(len(padded)) - len(padded))
    if len(padded) + keys.SEAL_OVERHEAD > LIMITS.body_bytes:
        raise LimitExceeded("body bytes", LIMITS.body_bytes, len(padded) + keys.SEAL_OVERHEAD)
    return keys.seal(key, nonce, padded, bound_to)


def open_body(key: bytes, sealed: bytes, bound_to: bytes) -> bytes:
    """The canonical bytes of the act in a sealed body.

    Raises:
        RefusedBody: It does not open, or is not padded as `seal_body` pads.
    """
    padded = keys.unseal(key, sealed, bound_to)
    plain = padded.rstrip(b"\0")
    if not plain.endswith(b"\x80") or padded_length(len(plain)) != len(padded):
        raise RefusedBody("a body is not padded as the format says")
    return plain[:-1]


def act_ref(kind: int, sealed: bytes) -> ActRef:
    """What the header says of a sealed body."""
    return ActRef(kind, hashlib.sha256(sealed).digest(), len(sealed))


def check_body(ref: ActRef, sealed: bytes) -> None:
    """Compare a body with what the signed header says of it.

    Raises:
        RefusedBody: Another length or hash; the sender is at fault, and the body is asked for elsewhere.
    """
    if len(sealed) != ref.length or hashlib.sha256(sealed).digest() != ref.digest:
        raise RefusedBody("a body does not match the hash in its signed header")
