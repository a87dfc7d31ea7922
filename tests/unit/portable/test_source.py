"""Reading files piece by piece."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.base.errors import InvalidInput, StorageError
from muniment.base.limits import LIMITS
from muniment.portable.base import Progress
from muniment.portable.source import Piece, Source, parse_json, values

MOST = LIMITS.import_line_bytes


class Dribble(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(3, size) if size and size > 0 else size)


def items(data: bytes) -> list[Piece]:
    """The pieces of an array."""
    return list(Source(io.BytesIO(data)).items())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.lists(json_values, max_size=6), st.sampled_from([None, 0, 1, 3]), st.booleans())
def test_the_items_of_any_array_are_cut_right(whole: list[Any], indent: int | None, ascii_only: bool) -> None:
    """Cut one by one, however the array is laid out and however its bytes come, the items are those of the array."""
    data = json.dumps(whole, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    for stream in (io.BytesIO(data), Dribble(data), io.BytesIO(gzip.compress(data))):
        pieces = list(Source(stream).items())
        assert [json.loads(piece.data or b"") for piece in pieces] == whole
        assert [piece.number for piece in pieces] == list(range(1, len(whole) + 1))


def test_items_know_their_line() -> None:
    """The line on which an item starts is what an editor shows."""
    assert [piece.line for piece in items(b'[\n {"a":\n 1},\n\n 2,3,\n "x\\"]"]')] == [2, 5, 5, 6]


@pytest.mark.parametrize(
    "data", [b"[1, 2", b'[1, "abc', b'[1, "abc\\', b'[1, {"a": [}', b"[", b'[1, "a]", {', b"[[[[[["]
)
def test_an_array_that_ends_too_early_says_so(data: bytes) -> None:
    """The items before the break are given, and the break is the last piece."""
    last = items(data)[-1]
    assert last.data is None
    assert "ends in the middle" in last.reason


def test_an_item_over_the_limit_is_passed_over_and_not_kept() -> None:
    """Its neighbours are read; its bytes never stand in memory together."""

    class Long(io.RawIOBase):
        """`[1, "aaaa…", 2]` without end in the middle."""

        def __init__(self) -> None:
            self.left = MOST * 4
            self.parts = [b'[1, "', b'", 2]']

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            if len(self.parts) == 2 or self.left <= 0:
                return self.parts.pop(0) if self.parts else b""
            self.left -= size
            return b"a" * size

    tracemalloc.start()
    pieces = list(Source(Long()).items())  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [piece.data for piece in pieces] == [b"1", None, b"2"]
    assert "limit" in pieces[1].reason
    assert peak < MOST * 3


def test_a_line_over_the_limit_is_passed_over() -> None:
    """A line of the limit is taken, one byte more is not, and the next line is."""
    data = b"a" * MOST + b"\r\n" + b"b" * (MOST + 1) + b"\n" + b"c" * (MOST * 2) + b"\nd"
    pieces = list(Source(io.BytesIO(data)).lines())
    assert [piece.data and piece.data[:1] for piece in pieces] == [b"a", None, None, b"d"]
    assert [piece.number for piece in pieces] == [1, 2, 3, 4]


def test_a_small_file_that_unpacks_without_end_costs_no_memory() -> None:
    """A gzip file of one endless line is read through with a bounded buffer."""
    packed = gzip.compress(b"x" * (MOST * 6))
    tracemalloc.start()
    (piece,) = Source(io.BytesIO(packed)).lines()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert piece.data is None
    assert peak < MOST * 4
    with pytest.raises(InvalidInput):
        Source(io.BytesIO(packed)).whole()


@pytest.mark.parametrize("cut", [1, 9, 12, 40, -9, -1])
def test_damaged_gzip_is_named(cut: int) -> None:
    """A file cut anywhere, header and checksum included, gives what came before and then a bad piece."""
    data = gzip.compress(b"\n".join(b"line %d" % number for number in range(2000)))[:cut]
    pieces = list(Source(io.BytesIO(data)).lines())
    assert len(pieces) <= 2001
    if data.startswith(b"\x1f\x8b"):
        assert pieces[-1].data is None
        assert "damaged" in pieces[-1].reason
    array = gzip.compress(b"[1, 2, 3]")[:-3]
    assert list(Source(io.BytesIO(array)).items())[-1].data in {None, b"3"}


def test_gzip_with_a_wrong_checksum_or_broken_blocks_is_named() -> None:
    """Flipped bytes in the compressed data end the reading with a bad piece, not with an exception."""
    packed = bytearray(gzip.compress(b"hello\n" * 5000))
    for at in (15, len(packed) // 2, len(packed) - 6):
        broken = bytearray(packed)
        broken[at] ^= 0xFF
        pieces = list(Source(io.BytesIO(bytes(broken))).lines())
        assert pieces[-1].data is None or pieces[0].data != b"hello"


def test_progress_counts_bytes_on_the_disk(tmp_path: Path) -> None:
    """Total and done are bytes of the file as it lies there, and equal at the end."""
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(200_000)))
    progress = Progress()
    with Source(path, progress) as source:
        assert progress.total == path.stat().st_size
        for _ in source.lines():
            pass
    assert progress.done == progress.total


def test_files_that_are_not_there_or_wide_are_named(tmp_path: Path) -> None:
    """A wrong path, a folder, a NUL and UTF-16 are the caller's to mend, and said so."""
    for path in (tmp_path / "no", "a\0b"):
        with pytest.raises(InvalidInput):
            Source(path)
    with pytest.raises(StorageError):
        Source(tmp_path)
    with pytest.raises(InvalidInput, match="UTF-16"):
        Source(io.BytesIO("héllo".encode("utf-16")))


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b'{"a": 1}\n{"a": 2}\n', 2),
        (b'{\n "a": 1\n}\n', 1),
        (b"\xef\xbb\xbf [1, 2, 3]", 3),
        (b'{"a": 1', 1),
        (b'{"a": \n{"a": 2}\n', 2),
        (b"", 0),
        (b"\n\n", 0),
        (b"[]", 0),
        (b"[ ]x", 0),
    ],
)
def test_values_are_items_lines_or_the_whole(data: bytes, count: int) -> None:
    """A list gives its items, JSON Lines their lines, and one object over several lines itself."""
    assert len(list(values(Source(io.BytesIO(data))))) == count


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'"\\ud800"', "\ud800"),
        (b'"a\x00b\nc"', "a\0b\nc"),
        (b"1e400", None),
        (b'{"a": 18446744073709551616}', None),
    ],
)
def test_json_is_read_generously(data: bytes, value: object) -> None:
    """Escapes of lone surrogates and raw control characters are taken; huge numbers do not raise."""
    found = parse_json(data)
    assert value is None or found == value


@pytest.mark.parametrize(
    "data", [b"", b"{", b"NaN", b"-Infinity", b"\xff", b'"\xed\xa0\x80"', b"[" * 5000, b"9" * 5000 + b"x"]
)
def test_what_is_no_json_is_named(data: bytes) -> None:
    """Broken, endless, too deep or wrongly encoded JSON is one kind of error."""
    with pytest.raises(InvalidInput):
        parse_json(data)


@given(st.binary(max_size=120))
def test_any_bytes_are_cut_without_an_exception(data: bytes) -> None:
    """Arrays and lines of any bytes, plain or called gzip, end in pieces."""
    for made in (data, b"[" + data, b"\x1f\x8b\x08" + data, gzip.compress(data)):
        with contextlib.suppress(InvalidInput):  # UTF-16
            for piece in [*Source(io.BytesIO(made)).items(), *Source(io.BytesIO(made)).lines()]:
                assert isinstance(piece, Piece)
