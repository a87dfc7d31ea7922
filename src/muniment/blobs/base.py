"""Where blobs are kept: immutable bytes under the name that their BLAKE3 gives them (design section 9).

The protocol is narrow so that one conformance suite (`muniment.testing.blobs`) holds every place to it. A name
is the 32 bytes of the hash; in text it is a CIDv1 with the raw codec.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from muniment.base.errors import BlobDamaged, InvalidInput, LimitExceeded, UnknownBlob
from muniment.base.ids import BlobName, blob_text
from muniment.base.limits import LIMITS

NAME_BYTES = 32


class BlobInfo(NamedTuple):
    """A blob that is kept: its name, its size in bytes, and when it was written, Unix ms."""

    name: BlobName
    size: int
    written_ms: int


class BlobStore(Protocol):
    """A place for blobs. Safe to share between threads and processes.

    Attributes:
        place: Where it is, for people; it holds no secret.
    """

    place: str

    def put(self, data: bytes) -> BlobName:
        """Keep bytes, and give their name; on the disk, or acknowledged by the server, when it returns.

        Putting again what is there changes nothing, and mends it where it was damaged.

        Raises:
            LimitExceeded: Over `Limits.blob_bytes`.
            StorageError: As its subclasses name it; nothing was kept.
        """
        ...

    def get(self, name: BlobName) -> bytes:
        """The whole blob, found to have its name.

        Raises:
            UnknownBlob: It is not here.
            BlobDamaged: What is here is something else.
            StorageError: As its other subclasses name it.
        """
        ...

    def read(self, name: BlobName, start: int, length: int) -> bytes:
        """A part of a blob, *not* verified: the caller checks it against what it knows of the part.

        Raises:
            UnknownBlob: It is not here.
            BlobDamaged: It ends before the part does.
            StorageError: As its other subclasses name it.
        """
        ...

    def has(self, name: BlobName) -> bool:
        """Whether something is kept under the name; its bytes are not looked at."""
        ...

    def size(self, name: BlobName) -> int:
        """Its size in bytes.

        Raises:
            UnknownBlob: It is not here.
        """
        ...

    def delete(self, name: BlobName) -> bool:
        """Take a blob away; False where it was not here."""
        ...

    def list(self) -> Iterator[BlobInfo]:
        """All blobs, in no order; what is no blob is passed over."""
        ...

    def close(self) -> None:
        """Let go of connections; harmless when done twice."""
        ...


def name_of(data: bytes) -> BlobName:
    """The name of some bytes: their BLAKE3, 32 bytes."""
    from blake3 import blake3  # only for those who archive

    return BlobName(blake3(data).digest())


def checked_name(name: bytes) -> str:
    """A name's text form, before it becomes part of a path or a key.

    Raises:
        InvalidInput: It is not 32 bytes.
    """
    if not isinstance(name, bytes) or len(name) != NAME_BYTES:
        raise InvalidInput(f"not the name of a blob: {name!r}"[:120], "A name has 32 bytes.")
    return blob_text(name)


def fan_out(name: bytes) -> tuple[str, str, str]:
    """Two folders and a file name, so that no folder grows large."""
    text = checked_name(name)
    return name[:1].hex(), name[1:2].hex(), text


def check_size(data: bytes) -> None:
    """Refuse what is too large to be a blob.

    Raises:
        LimitExceeded: Over `Limits.blob_bytes`.
    """
    if len(data) > LIMITS.blob_bytes:
        raise LimitExceeded("blob bytes", LIMITS.blob_bytes, len(data), "Split it.")


def unknown(name: bytes, place: str) -> UnknownBlob:
    """The error for a blob that is not there."""
    step = "Fetch it from a peer that holds it, or bring the store back that had it."
    return UnknownBlob(f"no blob {blob_text(name)} is in {place}", step)


def damaged(name: bytes, place: str) -> BlobDamaged:
    """The error for bytes that are not those of their name."""
    step = "Fetch another copy from a peer; `muniment check` lists what is damaged."
    return BlobDamaged(f"the blob {blob_text(name)} in {place} is not what its name says", step)
