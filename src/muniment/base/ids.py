"""Names of things: content ids, record ids, versions, and their text forms.

Sources: CIDv1 (multiformats), RFC 4648 base32, RFC 9562 UUIDv7, design sections 3 and 5.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import uuid
from typing import NamedTuple, NewType

import libipld

from muniment.base.errors import InvalidInput

EntryId = NewType("EntryId", bytes)
BankId = NewType("BankId", bytes)
RecordId = NewType("RecordId", bytes)
BlobName = NewType("BlobName", bytes)

CID_PREFIX = b"\x01\x71\x12\x20"  # version 1, dag-cbor, sha2-256, 32 bytes
RAW_PREFIX = b"\x01\x55\x1e\x20"  # version 1, raw, blake3, 32 bytes: what blobs are called in text
CID_BYTES = 36
RECORD_ID_BYTES = 16


class VersionId(NamedTuple):
    """One version of a record: the entry that holds it and the index of its act there."""

    entry: EntryId
    act: int

    def __str__(self) -> str:
        return f"{cid_text(self.entry)}/{self.act}"


def cid_of(data: bytes) -> EntryId:
    """CIDv1 (36 bytes) of a dag-cbor block, by sha-256."""
    return EntryId(CID_PREFIX + hashlib.sha256(data).digest())


def is_cid(value: object) -> bool:
    """True for the 36 bytes of a CIDv1, dag-cbor, sha-256: the only CID of entries."""
    return isinstance(value, bytes) and len(value) == CID_BYTES and value.startswith(CID_PREFIX)


def cid_text(cid: bytes) -> str:
    """Text form of a CID: multibase base32, lower case, `b` in front."""
    text: str = libipld.encode_cid(cid)
    return text


def parse_cid(text: str) -> EntryId:
    """Read the text form of an entry's or a bank's id.

    Raises:
        InvalidInput: The text is not a CIDv1, dag-cbor, sha-256, in its canonical spelling.
    """
    try:
        body = text[1:].upper()
        raw = base64.b32decode(body + "=" * (-len(body) % 8))
    except (binascii.Error, ValueError):
        raw = b""
    if not is_cid(raw) or cid_text(raw) != text:
        raise InvalidInput(f"not an id: {text[:80]!r}", "An id starts with `bafyrei` and has 59 characters.")
    return EntryId(raw)


def parse_version(text: str) -> VersionId:
    """Read the text form of a version, `<entry>/<act index>`.

    Raises:
        InvalidInput: It is not of that form.
    """
    entry, slash, act = text.partition("/")
    if not slash or not act.isascii() or not act.isdigit() or len(act) > 3:
        raise InvalidInput(f"not a version: {text[:80]!r}", "A version is written `<entry id>/<act index>`.")
    return VersionId(parse_cid(entry), int(act))


def uuid7(ms: int, rand: bytes) -> RecordId:
    """A UUIDv7 of a time in Unix milliseconds and ten random bytes (RFC 9562, 5.7).

    Six bits of `rand` give way to the version and the variant.
    """
    tail = int.from_bytes(rand, "big")
    value = (ms & (1 << 48) - 1) << 80 | tail
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return RecordId(value.to_bytes(16, "big"))


def record_text(record: bytes) -> str:
    """Text form of a record id, as a UUID is written."""
    digits = record.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def parse_record(text: str) -> RecordId:
    """Read a record id from the text form of a UUID.

    Raises:
        InvalidInput: It is not one.
    """
    try:
        value = uuid.UUID(text)
    except ValueError:
        raise InvalidInput(
            f"not a record id: {text[:80]!r}", "Record ids are UUIDs, as `muniment list` prints them."
        ) from None
    return RecordId(value.bytes)


def blob_text(name: bytes) -> str:
    """Text form of a blob's name or a pointer: its BLAKE3 as a CIDv1, raw codec."""
    return cid_text(RAW_PREFIX + name)


def parse_blob(text: str) -> BlobName:
    """Read the text form of a blob's name.

    Raises:
        InvalidInput: The text is not a CIDv1, raw, blake3, in its canonical spelling.
    """
    try:
        body = text[1:].upper()
        raw = base64.b32decode(body + "=" * (-len(body) % 8))
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != CID_BYTES or not raw.startswith(RAW_PREFIX) or cid_text(raw) != text:
        raise InvalidInput(
            f"not the name of a blob: {text[:80]!r}", "It starts with `bafkr4i` and has 59 characters."
        )
    return BlobName(raw[len(RAW_PREFIX) :])
