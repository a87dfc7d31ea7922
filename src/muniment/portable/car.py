"""Content-addressed archives, as exported banks are written (CARv1, ipld.io/specs/transport/car/carv1).

A header names the root; then each block is a varint length, the block's CID and its bytes. Every block that is
read is measured before it is read and hashed before it is used, so no reader needs to trust who sent the file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from muniment.base import codec
from muniment.base.errors import InvalidInput, LimitExceeded, Malformed, RefusedFile
from muniment.base.ids import CID_BYTES, CID_PREFIX, EntryId, is_cid
from muniment.base.limits import LIMITS
from muniment.platform.files import explain

# Every reason to refuse a file; each has a bad vector.
REASONS = (
    "no archive",  # it does not begin like a CARv1 with one root
    "bad length",  # a length that is not written in its shortest form, or is none
    "oversize",  # a block over the cap of its kind
    "cut short",  # it ends within a block
    "foreign block",  # a CID of a kind that no bank holds
    "wrong hash",  # a block whose bytes are not what its CID says
    "no manifest",  # the root is not the first block, or it is not a manifest
    "bad signature",  # of the manifest
    "wrong bank",  # a founding entry of another bank, or none
)
RAW_PREFIX = b"\x01\x55\x12\x20"  # version 1, raw, sha2-256, 32 bytes: sealed bodies
BLOB_PREFIX = b"\x01\x55\x1e\x20"  # version 1, raw, blake3, 32 bytes: blobs
_HEADER_BYTES = 256
_MOST_VARINT = 5  # bytes: more than any cap needs


class Block(NamedTuple):
    """A block whose hash was checked, and where its bytes begin in the file."""

    cid: bytes
    data: bytes
    offset: int

    @property
    def is_entry(self) -> bool:
        """Whether it is DAG-CBOR: the manifest or an entry."""
        return self.cid.startswith(CID_PREFIX)

    @property
    def is_body(self) -> bool:
        """Whether it is a sealed body."""
        return self.cid.startswith(RAW_PREFIX)


def varint(number: int) -> bytes:
    """Unsigned LEB128, the form of lengths in an archive."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def header(root: EntryId) -> bytes:
    """The beginning of an archive with one root."""
    data = codec.encode({"roots": [root], "version": 1})
    return varint(len(data)) + data


def block(cid: bytes, data: bytes) -> bytes:
    """One block as it is written."""
    return varint(len(cid) + len(data)) + cid + data


def body_cid(digest: bytes) -> bytes:
    """CID of a sealed body, by the sha-256 that its entry's header names."""
    return RAW_PREFIX + digest


def blob_cid(digest: bytes) -> bytes:
    """CID of a blob, by its BLAKE3."""
    return BLOB_PREFIX + digest


class Reader:
    """An archive, read block by block.

    Args:
        path: The file.

    Attributes:
        root: The CID of the root block.
        total: The file's size in bytes; `done` how many were read.

    Raises:
        InvalidInput: There is no such file.
        RefusedFile: It does not begin like an archive with one root.
        StorageError: It can't be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: IO[bytes] = path.open("rb")
            self.total = os.fstat(self._file.fileno()).st_size
        except FileNotFoundError:
            raise InvalidInput(f"there is no file {path}", "Check the path.") from None
        except OSError as error:
            raise explain(error, path) from error
        except ValueError:
            raise InvalidInput(f"not a path: {str(path)!r}", "Check the path.") from None
        self.done = 0
        try:
            self.root = self._header()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def blocks(self) -> Iterator[Block]:
        """The blocks in their order, each one checked.

        Raises:
            RefusedFile: With the first of `REASONS` that the file breaks.
        """
        while (length := self._length()) is not None:
            if length <= CID_BYTES:
                raise RefusedFile("bad length", f"a block of {length} bytes")
            cid = self._take(CID_BYTES)
            most = _cap(cid)
            if length - CID_BYTES > most:
                raise RefusedFile("oversize", f"{length - CID_BYTES} bytes, the limit is {most}")
            offset = self.done
            data = self._take(length - CID_BYTES)
            if _digest(cid, data) != cid[4:]:
                raise RefusedFile("wrong hash", f"the block at byte {offset}")
            yield Block(cid, data, offset)

    def again(self, offset: int, length: int) -> bytes:
        """Bytes of a block that was read before. Not to be used while `blocks` goes on."""
        try:
            self._file.seek(offset)
            data = self._file.read(length)
        except OSError as error:
            raise explain(error, self._path) from error
        if len(data) != length:
            raise RefusedFile("cut short", "the file changed while it was read")
        return data

    def _header(self) -> EntryId:
        try:
            length = self._length() or 0
            fields = codec.decode(self._take(length), _HEADER_BYTES) if length <= _HEADER_BYTES else None
        except (RefusedFile, Malformed, LimitExceeded):
            fields = None
        roots = fields.get("roots") if isinstance(fields, dict) else None
        if not isinstance(fields, dict) or set(fields) != {"roots", "version"} or fields["version"] != 1:
            raise RefusedFile("no archive", "not version 1 of CAR")
        if not isinstance(roots, list) or len(roots) != 1 or not is_cid(roots[0]):
            raise RefusedFile("no archive", "an exported bank has one root")
        return EntryId(roots[0])

    def _length(self) -> int | None:
        """A varint; None at the end of the file."""
        number = shift = 0
        for place in range(_MOST_VARINT):
            byte = self._read(1)
            if not byte:
                if place:
                    raise RefusedFile("cut short", "within a length")
                return None
            number |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                if place and not byte[0]:
                    raise RefusedFile("bad length", "not in its shortest form")
                return number
            shift += 7
        raise RefusedFile("bad length", f"more than {_MOST_VARINT} bytes")

    def _take(self, length: int) -> bytes:
        if length > self.total - self.done:
            raise RefusedFile("cut short", f"{length} bytes announced, {self.total - self.done} are left")
        data = self._read(length)
        if len(data) != length:
            raise RefusedFile("cut short")
        return data

    def _read(self, length: int) -> bytes:
        try:
            data = self._file.read(length)
        except OSError as error:
            raise explain(error, self._path) from error
        self.done += len(data)
        return data


def looks_like_one(head: bytes) -> bool:
    """Whether a file that begins like this is an archive with a CARv1 header."""
    return head[1:17] == b"\xa2\x65roots\x81\xd8\x2a\x58\x25\x00\x01\x71\x12"


def _cap(cid: bytes) -> int:
    if cid.startswith(CID_PREFIX):
        return max(LIMITS.manifest_bytes, LIMITS.header_bytes + 128)
    if cid.startswith(RAW_PREFIX):
        return LIMITS.body_bytes
    if cid.startswith(BLOB_PREFIX):
        return LIMITS.blob_bytes
    raise RefusedFile("foreign block", cid[:4].hex())


def _digest(cid: bytes, data: bytes) -> bytes:
    if not cid.startswith(BLOB_PREFIX):
        return hashlib.sha256(data).digest()
    from blake3 import blake3  # only where there are blobs

    return bytes(blake3(data).digest())
