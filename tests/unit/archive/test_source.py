"""Blobs from elsewhere: whole or not at all, resumed where they stopped, and liars are named."""

import os
from collections.abc import Iterator

import pytest

from muniment.archive import tree
from muniment.archive.source import (
    BlobSource,
    Chunk,
    Download,
    MemorySource,
    Outline,
    chunk_of,
    fetch,
    outline_of,
)
from muniment.base.errors import LimitExceeded, StoreBusy, UnknownBlob
from muniment.base.ids import BlobName
from muniment.blobs.base import name_of

DATA = os.urandom(5 * tree.CHUNK + 123)
NAME = name_of(DATA)
OTHER = bytes([DATA[0] ^ 1]) + DATA[1:]


class Odd(MemorySource):
    """A holder that does something else with some chunks, and counts what it was asked for."""

    def __init__(
        self, name: str, data: bytes = DATA, *, says: bytes | None = None, **chunks: bytes | None
    ) -> None:
        super().__init__(name, {NAME: data})
        self.asked: list[int] = []
        self._says, self._odd = says or data, {int(k[1:]): v for k, v in chunks.items()}

    def outline(self, blob: BlobName) -> Outline | None:
        return outline_of(self._says)

    def chunk(self, blob: BlobName, number: int) -> Chunk:
        self.asked.append(number)
        if number in self._odd:
            data = self._odd[number]
            if data is None:
                raise StoreBusy("the line is cut")
            return Chunk(data, super().chunk(blob, number).path)
        return super().chunk(blob, number)


def test_a_blob_comes_chunk_by_chunk() -> None:
    """In order, with progress, from the first who has it."""
    source = Odd("ben")
    seen: list[tuple[int, int]] = []
    nobody = MemorySource("cleo", {})
    assert fetch(Download(NAME), [nobody, source], progress=lambda a, b: seen.append((a, b))) == DATA
    assert source.asked == list(range(6))
    assert seen == [(number, 6) for number in range(1, 7)]


def test_a_download_goes_on_where_it_was_cut() -> None:
    """With the same holder later, or with another; no chunk comes twice."""
    download, cut, other = Download(NAME), Odd("ben", c3=None), Odd("cleo")
    with pytest.raises(UnknownBlob):
        fetch(download, [cut])
    assert download.missing == [3, 4, 5]
    assert fetch(download, [other]) == DATA
    assert other.asked == [3, 4, 5]
    assert download.liars == {}


def test_a_damaged_chunk_names_who_sent_it() -> None:
    """At that chunk, and the rest comes from somebody else."""
    wrong = bytes(tree.CHUNK)
    download, liar, honest = Download(NAME), Odd("ben", c2=wrong), Odd("cleo")
    assert fetch(download, [liar, honest]) == DATA
    assert list(download.liars) == ["ben"]
    assert "chunk 2" in download.liars["ben"]
    assert liar.asked == [0, 1, 2]
    assert honest.asked == [2, 3, 4, 5]


def test_a_false_outline_names_who_said_it() -> None:
    """Everything fits the outline and the whole is something else: who said it lied, who helped did not."""
    download = Download(NAME)
    liar, honest = Odd("ben", OTHER), Odd("cleo")
    assert fetch(download, [liar, honest]) == DATA
    assert list(download.liars) == ["ben"]
    assert honest.asked == list(range(6))


def test_a_false_outline_that_leads_nowhere_holds_up_nobody() -> None:
    """One that promises and gives nothing is set aside for another's."""
    liar, honest = Odd("ben", OTHER, c1=None), Odd("cleo")
    assert fetch(Download(NAME), [liar, honest]) == DATA


@pytest.mark.parametrize("size", [0, -1, 1 << 62])
def test_an_impossible_size_is_a_lie(size: int) -> None:
    """Nothing is asked for; nothing is set aside in memory."""

    class Boaster(MemorySource):
        def outline(self, blob: BlobName) -> Outline | None:
            return Outline(size, bytes(32))

    download = Download(NAME)
    with pytest.raises(UnknownBlob, match="ben says that the blob has"):
        fetch(download, [Boaster("ben", {})])


def test_nobody_has_it() -> None:
    """The error says how many were asked and who lied."""
    with pytest.raises(UnknownBlob, match=r"2 asked; ben said an outline of something else"):
        fetch(Download(NAME), [Odd("ben", OTHER), MemorySource("cleo", {})])
    with pytest.raises(UnknownBlob, match="0 asked"):
        fetch(Download(NAME), [])


def test_a_chunk_of_another_length_is_refused() -> None:
    """Also where it would hash to a node of the tree."""
    leaves = tree.leaves_of(DATA)
    for wrong in (b"", DATA[: tree.CHUNK + 1], leaves[0] + leaves[1]):
        download = Download(NAME)
        with pytest.raises(UnknownBlob, match="chunk 0"):
            fetch(download, [Odd("ben", c0=wrong)])


def test_a_chunk_that_is_not_there_is_an_error() -> None:
    """A holder is never asked beyond the end."""
    for number in (-1, 6):
        with pytest.raises(LimitExceeded):
            chunk_of(DATA, number)


def every_source() -> Iterator[BlobSource]:
    """What this package offers as a source."""
    yield MemorySource("memory", {NAME: DATA})


@pytest.mark.parametrize("source", list(every_source()), ids=lambda source: source.name)
def test_a_source_proves_what_it_sends(source: BlobSource) -> None:
    """Each chunk against the outline that it says itself."""
    outline = source.outline(NAME)
    assert outline == outline_of(DATA)
    for number in range(6):
        chunk = source.chunk(NAME, number)
        assert tree.proves(outline.root, 6, number, tree.leaf_hash(chunk.data), chunk.path)
    missing = name_of(b"nobody has it")
    assert source.outline(missing) is None
    with pytest.raises(UnknownBlob):
        source.chunk(missing, 0)
