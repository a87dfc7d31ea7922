"""Blobs from elsewhere: chunk by chunk, each proved, from whoever has them, resumable (design section 9).

A holder first says a blob's *outline*: its size and the root over its chunks. Each chunk then comes with its
path to that root, so a damaged or made-up chunk is found at once, whoever sent it. Whether the outline was true
shows at the end: the whole must have the name that was asked for. If it has not, the holder that said the outline
lied, and nobody else, since every chunk was what that outline says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from muniment.archive import tree
from muniment.archive.pack import pointer_of
from muniment.base.errors import LimitExceeded, MunimentError, UnknownBlob
from muniment.base.ids import BlobName, blob_text
from muniment.base.limits import LIMITS

_LOG = logging.getLogger("muniment")


class Outline(NamedTuple):
    """What a holder says of a blob: its size in bytes, and the root over its chunks."""

    size: int
    root: bytes


class Chunk(NamedTuple):
    """One chunk, and its path to the root (RFC 9162, from the bottom up)."""

    data: bytes
    path: list[bytes]


class BlobSource(Protocol):
    """Somebody who may hold blobs. A name is that of a pack, or a pointer to one payload.

    Errors of the wire are raised as `MunimentError`s; a holder that fails is passed over.

    Attributes:
        name: By which it is called when it lied.
    """

    name: str

    def outline(self, blob: BlobName) -> Outline | None:
        """What it says of a blob, or None where it has none."""
        ...

    def chunk(self, blob: BlobName, number: int) -> Chunk:
        """Chunk `number`, from 0."""
        ...

    def close(self) -> None:
        """Let go of the way to it, which the next question opens again."""
        ...


class MemorySource:
    """Blobs in a dictionary, served as a peer would serve them."""

    def __init__(self, name: str, blobs: dict[BlobName, bytes]) -> None:
        self.name, self._blobs = name, blobs

    def outline(self, blob: BlobName) -> Outline | None:
        """See `BlobSource`."""
        data = self._blobs.get(blob)
        return None if data is None else outline_of(data)

    def chunk(self, blob: BlobName, number: int) -> Chunk:
        """See `BlobSource`."""
        if blob not in self._blobs:
            raise UnknownBlob(f"{self.name} has no blob {blob_text(blob)}", "Ask somebody else.")
        return chunk_of(self._blobs[blob], number)

    def close(self) -> None:
        """See `BlobSource`."""


def outline_of(data: bytes) -> Outline:
    """What is to be said of a blob."""
    return Outline(len(data), tree.root_of(tree.leaves_of(data)))


def chunk_of(data: bytes, number: int) -> Chunk:
    """One chunk of a blob and its path.

    Raises:
        LimitExceeded: There is no such chunk.
    """
    leaves = tree.leaves_of(data)
    if not 0 <= number < len(leaves):
        raise LimitExceeded("chunk", max(0, len(leaves) - 1), number)
    part = data[number * tree.CHUNK : (number + 1) * tree.CHUNK]
    return Chunk(part, tree.path_of(leaves, number))


@dataclass
class Download:
    """A blob on its way: what was said of it, by whom, and the chunks that are here. It can be kept and gone on with.

    Attributes:
        said_by: Who said the outline; `outline` what.
        chunks: Verified chunks by number.
        liars: Holders found to lie, with what they did, in the order of finding out.
        others: Holders that say another outline; `stalled` those whose outline led nowhere.
    """

    blob: BlobName
    said_by: str = ""
    outline: Outline | None = None
    chunks: dict[int, bytes] = field(default_factory=dict)
    liars: dict[str, str] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    stalled: set[str] = field(default_factory=set)

    @property
    def missing(self) -> list[int]:
        """Chunks that are not here yet, ascending."""
        count = 0 if self.outline is None else tree.chunk_count(self.outline.size)
        return [number for number in range(count) if number not in self.chunks]

    def take(self, source: BlobSource, number: int) -> bool:
        """Take one chunk from a holder; False where what it sends is not what the outline says."""
        assert self.outline is not None  # noqa: S101 - `begin` comes first
        chunk = source.chunk(self.blob, number)
        size, count = self.outline.size, tree.chunk_count(self.outline.size)
        fits = len(chunk.data) == tree.chunk_length(size, number) and len(chunk.path) <= 64
        leaf = tree.leaf_hash(chunk.data) if fits else b""
        if not fits or not tree.proves(self.outline.root, count, number, leaf, chunk.path):
            return False
        self.chunks[number] = chunk.data
        return True

    def begin(self, source: BlobSource, most: int) -> bool:
        """Ask a holder for the outline; False where it has none, or says one that can't be.

        One that says another outline than the download stands on is left for later: either may lie.
        """
        said = source.outline(self.blob)
        if said is None:
            return False
        if not 0 < said.size <= most or len(said.root) != tree.HASH_BYTES:
            self.blame(source, f"says that the blob has {said.size} bytes")
            return False
        if self.outline is None:
            self.outline, self.said_by = said, source.name
        if said != self.outline:
            self.others.add(source.name)
        return said == self.outline

    def blame(self, source: BlobSource, what: str) -> None:
        """Note that a holder lied."""
        _LOG.warning("%s %s: %s", source.name, what, blob_text(self.blob))
        self.liars[source.name] = what

    def finish(self) -> bytes | None:
        """The whole blob; None, and everything dropped, where it has not the name that was asked for."""
        data = b"".join(self.chunks[number] for number in sorted(self.chunks))
        if pointer_of(data) == self.blob:
            return data
        self.liars[self.said_by] = "said an outline of something else"
        _LOG.warning("%s said an outline of something else: %s", self.said_by, blob_text(self.blob))
        self._start_over()
        return None

    def set_aside(self) -> bool:
        """Nobody gives the rest of what the outline promises: try another one, if somebody says another."""
        if self.outline is None or not self.others:
            return False
        self.stalled.add(self.said_by)
        self._start_over()
        return True

    def _start_over(self) -> None:
        self.outline, self.said_by = None, ""
        self.chunks.clear()
        self.others.clear()


def fetch(
    download: Download,
    sources: Sequence[BlobSource],
    *,
    most: int = LIMITS.pack_bytes,
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """Bring a download to its end; what came stays in it if that fails, and it can be tried again later.

    Args:
        download: A new one, or one that was begun.
        sources: Who is asked, in this order; one that lied is not asked again.
        most: Bytes that the blob may have.
        progress: Called with the chunks that are here, and how many there are.

    Raises:
        UnknownBlob: Nobody has it, or all who have it lie; liars are named.
    """
    while True:
        before = set(download.liars)
        for source in sources:
            if source.name not in download.liars and source.name not in download.stalled:
                _ask(download, source, most, progress)
            if download.outline is not None and not download.missing:
                data = download.finish()
                if data is not None:
                    return data
        if before == set(download.liars) and not download.set_aside():
            break  # everybody was asked, and nothing came to light
    liars = "".join(f"; {name} {what}" for name, what in download.liars.items())
    raise UnknownBlob(
        f"no copy of {blob_text(download.blob)} is in reach ({len(sources)} asked{liars})",
        "Connect a peer that holds it; `muniment peers` shows who was seen when.",
    )


def _ask(
    download: Download,
    source: BlobSource,
    most: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Take from one holder whatever is missing and it gives."""
    try:
        if not download.begin(source, most):
            return
        assert download.outline is not None  # noqa: S101 - `begin` set it
        count = tree.chunk_count(download.outline.size)
        for number in download.missing:
            if not download.take(source, number):
                download.blame(source, f"sent a chunk {number} that is not in the blob")
                return
            if progress:
                progress(count - len(download.missing), count)
    except MunimentError as error:
        _LOG.info("%s did not give %s: %s", source.name, blob_text(download.blob), error.message)
    finally:
        source.close()
