"""Reading a file piece by piece: lines or the items of a JSON array, never more in memory than one of them.

Compressed files are read as they are unpacked, so a small file that unpacks without end costs time, not memory.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.platform.files import explain
from muniment.portable.base import Progress

CHUNK = 256 * 1024
HEAD = 64 * 1024
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_BLANK = b" \t\r\n"
_MARK = re.compile(rb'["\[\]{},]')
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\[\s\S][^"\\]*+)*+')
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)


class Piece(NamedTuple):
    """A line or an item of a file.

    Attributes:
        number: From 1; of the line, or of the item.
        line: The line on which it starts, from 1.
        data: Its bytes without line end, or None if it can't be taken because of `reason`.
    """

    number: int
    line: int
    data: bytes | None
    reason: str = ""


class Source:
    """A file, or an open binary stream, plain or gzip; used once, from its beginning.

    Raises (here and while reading):
        InvalidInput: There is no such file, or it is UTF-16.
        StorageError: It can't be read.
    """

    def __init__(self, origin: str | Path | IO[bytes], progress: Progress | None = None) -> None:
        self.progress = progress or Progress()
        self._own = isinstance(origin, str | Path)
        self.name = str(origin) if isinstance(origin, str | Path) else "the stream"
        self._raw = self._start(origin)
        self._damaged = False  # from the start: the unpacker says so once only
        try:
            self._data = self._unpack()
            self.head = self._peek()
        except BaseException:
            self.close()
            raise

    def _unpack(self) -> io.BufferedReader[Any]:
        packed = io.BufferedReader(_Counted(self._raw, self.progress), CHUNK)
        try:
            is_gzip = packed.peek(2)[:2] == b"\x1f\x8b"
        except _DAMAGED:  # of a file in an archive
            self._damaged, is_gzip = True, False
        return io.BufferedReader(gzip.GzipFile(fileobj=packed, mode="rb"), CHUNK) if is_gzip else packed

    def _start(self, origin: str | Path | IO[bytes]) -> IO[bytes]:
        if not isinstance(origin, str | Path):
            return origin
        try:
            raw = Path(origin).open("rb", buffering=0)  # noqa: SIM115 - closed by `close`
            self.progress.total = os.fstat(raw.fileno()).st_size
        except FileNotFoundError:
            raise InvalidInput(f"there is no file {origin}", "Check the path.") from None
        except ValueError:
            raise InvalidInput(f"not a path: {str(origin)!r}", "Check the path.") from None
        except OSError as error:
            raise explain(error, self.name) from error
        return raw

    def _peek(self) -> bytes:
        """The first bytes of the content, at most `HEAD`; the byte order mark is passed over."""
        if self._damaged:
            return b""
        try:
            head = self._data.peek(HEAD)[:HEAD]
        except _DAMAGED:
            self._damaged = True
            return b""
        except OSError as error:
            raise explain(error, self.name) from error
        if head.startswith(_WIDE):
            raise InvalidInput(f"{self.name} is UTF-16", "Save it as UTF-8 and try again.")
        if head.startswith(_BOM):
            self._data.read(len(_BOM))
            return head[len(_BOM) :]
        return head

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; a stream that was handed in stays open."""
        if self._own:
            self._raw.close()

    def _read(self, how: Callable[[int], bytes], size: int) -> bytes:
        if self._damaged:
            raise EOFError
        return how(size)

    # Lines

    def lines(self) -> Iterator[Piece]:
        """The lines, without their ends; one over `Limits.import_line_bytes` comes without its bytes."""
        number, most = 0, LIMITS.import_line_bytes
        while True:
            number += 1
            try:
                line = self._read(self._data.readline, most + 2)
                too_long = len(line.rstrip(b"\r\n")) > most
                while line and too_long and not line.endswith(b"\n"):
                    line = self._read(self._data.readline, CHUNK)
            except _DAMAGED:
                yield Piece(number, number, None, "the compressed data is damaged or ends here")
                return
            except OSError as error:
                raise explain(error, self.name) from error
            if too_long:
                yield Piece(number, number, None, f"longer than the limit of {most} bytes")
                continue
            if not line:
                return
            yield Piece(number, number, line.rstrip(b"\r\n"))

    def whole(self) -> bytes:
        """All of it, if it is at most `Limits.import_line_bytes` long.

        Raises:
            InvalidInput: It is longer, or damaged.
        """
        most = LIMITS.import_line_bytes
        try:
            data = self._read(self._data.read, most + 1)
        except _DAMAGED:
            raise InvalidInput(
                f"the compressed data of {self.name} is damaged", "Get the file again."
            ) from None
        except OSError as error:
            raise explain(error, self.name) from error
        if len(data) > most:
            raise InvalidInput(
                f"{self.name} is one value of more than {most} bytes",
                "Write it as JSON Lines: one conversation or message a line.",
            )
        return data

    # Items of an array

    def items(self) -> Iterator[Piece]:
        """The items of a JSON array, cut out but not parsed; one over the limit comes without its bytes."""
        cutter = _Cutter()
        while True:
            try:
                chunk = self._read(self._data.read1, CHUNK)
            except _DAMAGED:
                yield cutter.bad("the compressed data is damaged or ends here")
                return
            except OSError as error:
                raise explain(error, self.name) from error
            if not chunk:
                break
            yield from cutter.feed(chunk)
            if cutter.ended:
                break
        if not cutter.ended:
            yield cutter.bad("the file ends in the middle of the list")


class _Counted(io.RawIOBase):
    """A raw stream that notes how many bytes went through."""

    def __init__(self, raw: IO[bytes], progress: Progress) -> None:
        self._raw, self._progress = raw, progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self._progress.done += len(data)
        return len(data)


class _Cutter:
    """Cuts the items out of an array as its bytes come. Only brackets, commas and strings are looked at."""

    def __init__(self) -> None:
        self.ended = False
        self._buffer = bytearray()
        self._at = 0  # how far the buffer is looked through
        self._depth = 0
        self._in_string = False
        self._number, self._line = 1, 1
        self._dropped = False  # the item is over the limit; its bytes are thrown away

    def bad(self, reason: str) -> Piece:
        """The item at which reading stopped."""
        return Piece(self._number, self._line, None, reason)

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The items that end in this chunk."""
        buffer = self._buffer
        buffer += chunk
        while not self.ended:
            if self._in_string:
                found = _IN_STRING.match(buffer, self._at)
                end = found.end() if found else self._at
                self._at = end
                if end >= len(buffer) or buffer[end] != 0x22:  # cut off, perhaps after a backslash
                    break
                self._in_string = False
                self._at = end + 1
                continue
            mark = _MARK.search(buffer, self._at)
            if mark is None:
                self._at = len(buffer)
                break
            self._at = mark.end()
            piece = self._mark(mark[0], mark.start())
            if piece is not None:
                yield piece
        self._shorten()

    def _mark(self, char: bytes, at: int) -> Piece | None:
        if char == b'"':
            self._in_string = True
        elif char in b"[{":
            self._depth += 1
            if self._depth == 1:  # the array itself
                self._cut(at + 1)
        elif char == b",":
            return self._item(at) if self._depth == 1 else None
        else:
            self._depth -= 1
            if self._depth == 0:
                self.ended = True
                return self._item(at, last=True)
        return None

    def _item(self, end: int, *, last: bool = False) -> Piece | None:
        data = bytes(self._buffer[:end])
        skipped = data[: len(data) - len(data.lstrip(_BLANK))].count(b"\n")
        number, line = self._number, self._line + skipped
        self._number += 1
        dropped, self._dropped = self._dropped, False
        self._cut(end + 1)
        if dropped or len(data) > LIMITS.import_line_bytes:
            return Piece(number, line, None, f"longer than the limit of {LIMITS.import_line_bytes} bytes")
        data = data.strip(_BLANK)
        if not data and last:  # `[]`, or a comma before the end
            return None
        return Piece(number, line, data)

    def _cut(self, end: int) -> None:
        """Throw away the first `end` bytes."""
        self._line += self._buffer.count(b"\n", 0, end)
        del self._buffer[:end]
        self._at -= end

    def _shorten(self) -> None:
        if len(self._buffer) > LIMITS.import_line_bytes + CHUNK:
            self._dropped = True
            self._cut(self._at)


def text_of(data: bytes) -> str:
    """The text of bytes that should be UTF-8.

    Raises:
        InvalidInput: They are not.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start + 1}") from None


def parse_json(data: bytes) -> Any:
    """A JSON value; escapes of lone surrogates and raw control characters in strings are taken.

    Raises:
        InvalidInput: It is not JSON, not UTF-8, nested too deeply, or holds NaN or a number without end.
    """
    text = text_of(data)
    try:
        # A faster parser would turn large integers into rounded floats, and refuse lone surrogates.
        return json.loads(text, strict=False, parse_constant=_refuse)
    except RecursionError:
        raise InvalidInput("JSON that is nested too deeply") from None
    except ValueError as error:
        raise InvalidInput(f"not JSON: {error}") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def values(source: Source) -> Iterator[Piece]:
    """The items of the array that a file is, or the one value that it is, or those on its lines."""
    head = source.head.lstrip(_BLANK)
    if head.startswith(b"["):
        yield from source.items()
    elif is_one_value(source.head):
        data = source.whole()
        yield Piece(1, 1, data.strip(_BLANK))
    else:
        yield from (piece for piece in source.lines() if piece.data is None or piece.data.strip(_BLANK))


def is_one_value(head: bytes) -> bool:
    """Whether a file that starts like this is one JSON value over several lines, not one a line."""
    lines = [line for line in head.split(b"\n") if line.strip(_BLANK)][:2]
    if len(lines) < 2 or not lines[0].lstrip(_BLANK).startswith(b"{"):
        return False
    # A first line that is broken does not make one value of a file whose next line is an object of its own.
    return not _is_object(lines[0]) and not _is_object(lines[1])


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except InvalidInput:
        return False


def value_of(piece: Piece, fits: Callable[[Any], bool], wanted: str) -> Any:
    """The JSON value of a piece, if it is of the kind that is wanted.

    Raises:
        InvalidInput: It is not, or no JSON, or could not be read.
    """
    if piece.data is None:
        raise InvalidInput(piece.reason)
    value = parse_json(piece.data)
    if not fits(value):
        raise InvalidInput(wanted)
    return value
