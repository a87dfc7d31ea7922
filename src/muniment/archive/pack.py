"""Packs and sealed payloads: the bytes in which archived records lie (design section 9).

A *payload* is one record's signed body, without its seal: compressed, padded, and sealed under a random key of its
own. Its BLAKE3 is the *pointer*. A *pack* is many payloads in one blob, with a directory behind them; whoever holds
it without the keys sees pointers and padded sizes, and no words. All functions are pure; all bytes are hostile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from muniment.base import codec
from muniment.base.errors import LimitExceeded, Malformed, RefusedBody, RefusedPack
from muniment.base.ids import BlobName, VersionId, is_cid
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.ledger.entry import padded_length

if TYPE_CHECKING:
    import zstandard

MAGIC = b"muniment pack 1\n"
TARGET_BYTES = 8 * 1024 * 1024  # a pack is closed when it has so many
REASONS = (
    "not a pack",
    "too large",
    "cut off",
    "directory malformed",
    "sizes differ",
    "wrong pointer",
    "does not open",
    "not compressed as it says",
    "payload malformed",
)
_TAIL = 4  # bytes that hold the directory's length
_LEVEL = 6  # of compression: a higher one costs more than it saves on texts of a few kB
_MAX_WINDOW = 8 * 1024 * 1024  # memory that a frame may ask for


@dataclass(frozen=True, slots=True)
class Payload:
    """What an archived record is made again from.

    Attributes:
        version: Which version it is of.
        nonce: With which its body was sealed (24 bytes): sealing `act` with it again gives the signed bytes.
        act: The canonical bytes of its remember act.
    """

    version: VersionId
    nonce: bytes
    act: bytes


class Slot(NamedTuple):
    """Where a payload lies in a pack: its pointer, the first byte, and how many."""

    pointer: BlobName
    offset: int
    length: int


@cache
def _packer() -> zstandard.ZstdCompressor:
    import zstandard  # only for those who archive

    return zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True, write_checksum=False)


@cache
def _unpacker() -> zstandard.ZstdDecompressor:
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)


def squeeze(plain: bytes) -> bytes:
    """A zstd frame that says its size."""
    return _packer().compress(plain)


def expand(frame: bytes, limit: int) -> bytes:
    """What is in a zstd frame, if that is at most `limit` bytes; its size is looked at first.

    Raises:
        RefusedPack: It is no frame, says no size or a larger one, or holds something else than it says.
    """
    import zstandard

    reason = "not compressed as it says"
    try:
        said = zstandard.get_frame_parameters(frame)
    except zstandard.ZstdError:
        raise RefusedPack(reason, "no frame") from None
    if said.content_size == zstandard.CONTENTSIZE_UNKNOWN or said.content_size > limit:
        raise RefusedPack(reason, f"a size of at most {limit} bytes has to be said")
    if said.dict_id or said.window_size > max(_MAX_WINDOW, limit):
        raise RefusedPack(reason, "it asks for a dictionary or too much memory")
    try:
        plain: bytes = _unpacker().decompress(frame, max_output_size=limit, allow_extra_data=False)
    except (zstandard.ZstdError, MemoryError):
        raise RefusedPack(reason) from None
    if len(plain) != said.content_size:
        raise RefusedPack(reason)
    return plain


def seal_payload(payload: Payload, key: bytes, nonce: bytes) -> bytes:
    """Compress, pad and seal.

    Args:
        payload: What to seal.
        key: 32 random bytes, used for nothing else.
        nonce: 24 random bytes.

    Raises:
        LimitExceeded: The result is over `Limits.payload_bytes`.
    """
    version = payload.version
    plain = codec.encode({"v": [version.entry, version.act], "nonce": payload.nonce, "act": payload.act})
    frame = squeeze(plain) + b"\x80"
    padded = frame + bytes(padded_length(len(frame)) - len(frame))
    if max(len(plain), len(padded) + keys.SEAL_OVERHEAD) > LIMITS.payload_bytes:
        raise LimitExceeded("payload bytes", LIMITS.payload_bytes, max(len(plain), len(padded)))
    return keys.seal(key, nonce, padded, codec.PAYLOAD)


def open_payload(sealed: bytes, key: bytes) -> Payload:
    """Unseal, unpad, expand and read; sizes are looked at before each step.

    Raises:
        RefusedPack: With the reason.
    """
    if len(sealed) > LIMITS.payload_bytes:
        raise RefusedPack("too large", f"{len(sealed)} bytes")
    try:
        padded = keys.unseal(key, sealed, codec.PAYLOAD)
    except RefusedBody as error:
        raise RefusedPack("does not open", error.message) from None
    frame = padded.rstrip(b"\0")
    if not frame.endswith(b"\x80") or padded_length(len(frame)) != len(padded):
        raise RefusedPack("payload malformed", "its padding")
    try:
        fields = codec.decode(expand(frame[:-1], LIMITS.payload_bytes), LIMITS.payload_bytes)
    except (Malformed, LimitExceeded) as error:
        raise RefusedPack("payload malformed", error.message) from None
    return _read(fields)


def _read(fields: object) -> Payload:
    if not isinstance(fields, dict) or set(fields) != {"v", "nonce", "act"}:
        raise RefusedPack("payload malformed", "its fields")
    version, nonce, act = fields["v"], fields["nonce"], fields["act"]
    if not isinstance(version, list) or len(version) != 2 or not is_cid(version[0]):
        raise RefusedPack("payload malformed", "its version")
    if type(version[1]) is not int or not 0 <= version[1] < LIMITS.acts_per_entry:
        raise RefusedPack("payload malformed", "its version")
    if not isinstance(nonce, bytes) or len(nonce) != keys.NONCE_BYTES or not isinstance(act, bytes):
        raise RefusedPack("payload malformed", "its body")
    return Payload(VersionId(version[0], version[1]), nonce, act)


def pack(payloads: Sequence[tuple[BlobName, bytes]]) -> bytes:
    """One blob of sealed payloads, each under its pointer.

    Raises:
        LimitExceeded: Over `Limits.pack_bytes` or `Limits.pack_payloads`.
    """
    directory = codec.encode([[pointer, len(sealed)] for pointer, sealed in payloads])
    body = b"".join(sealed for _, sealed in payloads)
    data = b"".join((MAGIC, body, directory, len(directory).to_bytes(_TAIL)))
    if len(data) > LIMITS.pack_bytes:
        raise LimitExceeded("pack bytes", LIMITS.pack_bytes, len(data))
    if len(payloads) > LIMITS.pack_payloads:
        raise LimitExceeded("payloads in a pack", LIMITS.pack_payloads, len(payloads))
    return data


def directory_of(data: bytes) -> list[Slot]:
    """Where the payloads of a pack lie, if sizes and form are right; the payloads are not looked at.

    Raises:
        RefusedPack: With the reason.
    """
    if len(data) > LIMITS.pack_bytes:
        raise RefusedPack("too large", f"{len(data)} bytes")
    if not data.startswith(MAGIC):
        raise RefusedPack("not a pack")
    if len(data) < len(MAGIC) + _TAIL + 1:
        raise RefusedPack("cut off")
    length = int.from_bytes(data[-_TAIL:])
    start = len(data) - _TAIL - length
    if start < len(MAGIC):
        raise RefusedPack("cut off", "its directory is longer than the pack")
    try:
        rows = codec.decode(bytes(data[start:-_TAIL]), LIMITS.pack_bytes)
    except Malformed as error:
        raise RefusedPack("directory malformed", error.message) from None
    slots = list(_slots(rows))
    if (slots[-1].offset + slots[-1].length if slots else len(MAGIC)) != start:
        raise RefusedPack("sizes differ")
    return slots


def _slots(rows: object) -> Iterable[Slot]:
    if not isinstance(rows, list) or len(rows) > LIMITS.pack_payloads:
        raise RefusedPack("directory malformed", "it is no list, or a long one")
    offset = len(MAGIC)
    seen: set[bytes] = set()
    for row in rows:
        if not isinstance(row, list) or len(row) != 2 or type(row[1]) is not int:
            raise RefusedPack("directory malformed", "a row is not [pointer, length]")
        pointer, length = row
        if not isinstance(pointer, bytes) or len(pointer) != 32 or pointer in seen:
            raise RefusedPack("directory malformed", "a pointer is none, or stands there twice")
        if not keys.SEAL_OVERHEAD < length <= LIMITS.payload_bytes:
            raise RefusedPack("directory malformed", "a payload's length")
        seen.add(pointer)
        yield Slot(BlobName(pointer), offset, length)
        offset += length


def payload_at(data: bytes, slot: Slot) -> bytes:
    """The sealed payload of a slot, found to be what its pointer names.

    Raises:
        RefusedPack: It is not.
    """
    sealed = bytes(data[slot.offset : slot.offset + slot.length])
    check_pointer(slot.pointer, sealed)
    return sealed


def check_pointer(pointer: bytes, sealed: bytes) -> None:
    """Refuse a sealed payload that is not what a pointer names.

    Raises:
        RefusedPack: It is not.
    """
    if pointer_of(sealed) != pointer:
        raise RefusedPack("wrong pointer")


def pointer_of(sealed: bytes) -> BlobName:
    """The pointer of a sealed payload: its BLAKE3."""
    from blake3 import blake3

    return BlobName(blake3(sealed).digest())
