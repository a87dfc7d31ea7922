"""Files of memvid, made by its own SDK and by hand, whole and damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.base.errors import InvalidInput, MunimentError
from muniment.base.limits import LIMITS
from muniment.portable import formats, memvid
from muniment.portable.base import BadLine, Incoming, Item, LeftOut

DATA = Path(__file__).parents[2] / "data" / "memvid"
NONE = b"\0"


def text(value: str) -> bytes:
    """A text as bincode writes it."""
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def some(data: bytes) -> bytes:
    """A value that is there."""
    return b"\1" + data


def frame(
    number: int,
    words: str = "tea",
    *,
    uri: str | None = None,
    role: int = 0,
    status: int = 0,
    parent: int | None = None,
    payload: bytes = bytes(48),
    packed: int = 0,
    length: int = 0,
) -> bytes:
    """A frame with next to nothing in it."""
    return b"".join([
        struct.pack("<Qq", number, 1_767_225_600 + number), NONE, NONE, NONE, NONE, payload,
        some(text(uri)) if uri else NONE, NONE, struct.pack("<I", packed), some(struct.pack("<Q", length)), NONE,
        some(text(words)), bytes(8), bytes(8), bytes(8), bytes(8), NONE, struct.pack("<I", role),
        NONE if parent is None else some(struct.pack("<Q", parent)), NONE, NONE, struct.pack("<I", status),
        NONE, NONE, NONE, NONE, struct.pack("<I", 1),
    ])  # fmt: skip


def made(path: Path, *frames: bytes, count: int | None = None, before: bytes = b"") -> Path:
    """A file with these frames; the footer's hash fits whatever they are."""
    toc = struct.pack("<QQQ", 0, 0, len(frames) if count is None else count) + b"".join(frames)
    footer = b"MV2FOOT!" + struct.pack("<Q", len(toc)) + blake3(toc).digest() + bytes(8)
    path.write_bytes(b"MV2\0".ljust(4096, b"\0") + before + toc + footer)
    return path


def items(path: Path) -> list[Item]:
    """What a file holds."""
    return list(formats.read(path))


def texts(path: Path) -> list[str]:
    """The words of all memories in a file."""
    return [item.text for item in items(path) if isinstance(item, Incoming)]


def test_a_file_of_the_sdk_gives_back_what_was_put() -> None:
    """Text without the indexer's lines, own tags without its guesses, metadata as values, time and skill."""
    deploy, trip, skill = items(DATA / "notes.mv2")
    assert isinstance(deploy, Incoming)
    assert isinstance(trip, Incoming)
    assert isinstance(skill, Incoming)
    assert (deploy.text, deploy.title, deploy.key) == (
        "Build with nix, copy to prod",
        "Deploy",
        "mv2://notes/deploy",
    )
    assert deploy.tags == ("ops", "note")
    assert deploy.metadata["project"] == "atlas"
    assert (deploy.metadata["n"], deploy.metadata["ok"]) == (7, True)
    assert deploy.created_ms == 1_767_225_600_000
    assert trip.text == "Żurek in Kraków with Zoë, 12 May 2025"
    assert trip.tags == ("travel", "food", "note")
    assert (skill.type, skill.title) == ("skill", "restart")


def test_the_chunks_of_a_long_text_are_one_memory_again() -> None:
    """Five chunks come back as the text that was cut, each paragraph once."""
    (long,) = items(DATA / "long.mv2")
    assert isinstance(long, Incoming)
    assert long.parts == 6
    assert [line[:12] for line in long.text.split("\n") if line] == [
        f"Paragraph {n}."[:12] for n in range(16)
    ]


def test_deleted_and_superseded_frames_are_left_out_and_named(tmp_path: Path) -> None:
    """What was deleted there does not come back here; an older version comes if a URI says of what."""
    path = made(
        tmp_path / "a.mv2",
        frame(0, "gone", status=2),
        frame(1, "old", status=1),
        frame(2, "v1", uri="mv2://x", status=1),
        frame(3, "v2", uri="mv2://x"),
    )
    found = items(path)
    assert [item.reason for item in found if isinstance(item, LeftOut)] == [
        "deleted there",
        "superseded there",
    ]
    assert texts(path) == ["v1", "v2"]


def test_an_older_whole_footer_is_found_behind_a_torn_one(tmp_path: Path) -> None:
    """A write that was cut off leaves the table of contents before it readable."""
    path = made(tmp_path / "a.mv2", frame(0, "kept"))
    path.write_bytes(path.read_bytes() + b"torn" * 10 + b"MV2FOOT!" + struct.pack("<Q", 99) + bytes(40))
    assert texts(path) == ["kept"]


HOSTILE = {
    "no footer": lambda path: path.write_bytes(b"MV2\0".ljust(9000, b"\0")),
    "encrypted": lambda path: path.write_bytes(b"MV2E" + bytes(100)),
    "another hash": lambda path: path.write_bytes(made(path, frame(0)).read_bytes()[:-20] + bytes(20)),
    "short": lambda path: path.write_bytes(b"MV2\0"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_without_a_whole_table_is_refused_with_a_next_step(tmp_path: Path, what: str) -> None:
    """What can't be read as a whole is not guessed at."""
    HOSTILE[what](path := tmp_path / "a.mv2")
    with pytest.raises(InvalidInput) as caught:
        items(path)
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("frames", "count"),
    [((frame(0), b"\xff" * 40), 2), ((frame(0),), 1000), ((frame(0), frame(1)[:60]), 2), ((), (1 << 64) - 1)],
)
def test_a_damaged_table_gives_what_stands_before_the_damage(
    tmp_path: Path, frames: tuple[bytes, ...], count: int
) -> None:
    """Counts and lengths are measured before they are believed; the place of the damage is named."""
    path = made(tmp_path / "a.mv2", *frames, count=count)
    found = items(path)
    assert isinstance(found[-1], BadLine)
    assert [item.text for item in found[:-1] if isinstance(item, Incoming)] == ["tea"] * (len(found) - 1)


def test_a_payload_that_unpacks_without_end_is_cut_at_what_it_announced(tmp_path: Path) -> None:
    """A frame that packs a gigabyte into a few bytes costs its limit and no more."""
    import zstandard

    bomb = zstandard.ZstdCompressor(level=19).compress(bytes(64 * 1024 * 1024))
    place = struct.pack("<QQ", 4096, len(bomb)) + blake3(bomb).digest()
    path = made(tmp_path / "a.mv2", frame(0, payload=place, packed=1, length=1 << 62), before=bomb)
    assert len(bomb) < LIMITS.text_bytes
    assert texts(path) == ["tea"]  # NULs are no text, so the search text stands


@settings(max_examples=150)
@given(st.integers(70_000, 100_294), st.binary(min_size=1, max_size=6))
def test_any_damage_ends_in_one_of_our_errors(
    tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes
) -> None:
    """Bytes written anywhere over a real file give memories, bad places or a `MunimentError`, nothing else."""
    data = bytearray((DATA / "notes.mv2").read_bytes())
    data[at : at + len(noise)] = noise
    toc_end = data.rfind(b"MV2FOOT!")
    if toc_end > 0 and at < toc_end:  # so that the damage is read and not only noticed
        length = int.from_bytes(data[toc_end + 8 : toc_end + 16], "little")
        data[toc_end + 16 : toc_end + 48] = blake3(bytes(data[toc_end - length : toc_end])).digest()
    path = tmp_path_factory.mktemp("damage") / "a.mv2"
    path.write_bytes(data)
    try:
        assert all(isinstance(item, Incoming | BadLine | LeftOut) for item in memvid.read(path))
    except MunimentError as error:
        assert error.message  # noqa: PT017 - that it is one of ours is the claim
