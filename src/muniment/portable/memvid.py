"""Memory files of memvid (`.mv2`), read without its library; the layout is that of versions 2.0.116 to 2.0.160.

A file ends in a footer that leads to a table of contents, and that holds every frame with its text. Frames are
read one by one and all the rest is passed over: the log, the indexes, the memory cards. Source: MV2_SPEC.md and the
type definitions of memvid-core, checked against files that its Python SDK wrote.

A frame becomes a memory; the chunks that a long text was cut into become one memory again. Labels stay labels,
what the indexer glued to the text and the tags that it made of the text's own words are taken off.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.platform.files import explain
from muniment.portable.base import BadLine, Incoming, Item, LeftOut, Progress, ref, source_id
from muniment.portable.source import parse_json

FORMAT = "memvid"
MAGIC = b"MV2\0"
SEALED_MAGIC = b"MV2E"
_FOOTER = b"MV2FOOT!"
_FOOTER_BYTES = 56  # mark, TOC length, BLAKE3 of the TOC, generation
_HEADER_BYTES = 4096
_SEARCH_BACK = 64 * 1024 * 1024  # bytes from the end in which a whole footer must stand
_SEGMENT_BYTES = 8 + 16 + 32 + 4 + 16
_MOST_TEXTS = 4096  # in one list of a frame
_ROLES = ("document", "chunk", "image")
_STATES = ("active", "superseded", "deleted")
_OWN_KEYS = {"extractous_metadata", "memvid.embedding.model"}
_OWN_URI = "mv2://frames/"
_SKILL = "[SKILL] "


class _DamagedError(Exception):
    """The table of contents breaks off or says what can't be; the message says where."""


@dataclass(slots=True)
class _Frame:
    """What is read of a frame."""

    id: int
    timestamp: int
    kind: str | None = None
    track: str | None = None
    payload: tuple[int, int] = (0, 0)  # offset and length in the file
    checksum: bytes = b""
    uri: str | None = None
    title: str | None = None
    packed: bool = False
    unpacked: int | None = None
    text: str = ""
    tags: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    extra: dict[str, str] = field(default_factory=dict)
    dates: list[str] = field(default_factory=list)
    role: int = 0
    parent: int | None = None
    index: int = 0
    status: int = 0
    source_path: str | None = None


class _Toc:
    """Reads values of the table of contents (bincode: little-endian, fixed width), never past its end."""

    def __init__(self, file: IO[bytes], start: int, length: int) -> None:
        self._file, self._at, self._end = file, start, start + length
        file.seek(start)

    def take(self, length: int) -> bytes:
        if length > self._end - self._at:
            raise _DamagedError(f"the table of contents breaks off at byte {self._at}")
        data = self._file.read(length)
        if len(data) != length:
            raise _DamagedError(f"the file breaks off at byte {self._at + len(data)}")
        self._at += length
        return data

    @property
    def place(self) -> int:
        return self._at

    def back(self) -> None:
        """Go on where it was, after somebody else read from the file."""
        self._file.seek(self._at)

    def number(self, form: str = "<Q") -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def there(self) -> bool:
        flag = self.take(1)[0]
        if flag > 1:
            raise _DamagedError(f"neither there nor not at byte {self._at - 1}")
        return flag == 1

    def text(self) -> str:
        length = self.number()
        if length > LIMITS.text_bytes:
            raise _DamagedError(f"a text of {length} bytes at byte {self._at}")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError:
            raise _DamagedError(f"a text that is not UTF-8 before byte {self._at}") from None

    def maybe_text(self) -> str | None:
        return self.text() if self.there() else None

    def maybe_number(self, form: str = "<Q") -> int | None:
        return self.number(form) if self.there() else None

    def count(self, most: int) -> int:
        number = self.number()
        if number > most:
            raise _DamagedError(f"a list of {number} before byte {self._at}")
        return number

    def texts(self) -> list[str]:
        return [self.text() for _ in range(self.count(_MOST_TEXTS))]

    def pairs(self) -> dict[str, str]:
        return {self.text(): self.text() for _ in range(self.count(_MOST_TEXTS))}


def read(path: Path, progress: Progress | None = None) -> Iterator[Item]:
    """The memories of a `.mv2` file, in the order in which they were put.

    Raises:
        InvalidInput: There is no such file, or it is no `.mv2` with a whole table of contents.
        StorageError: It can't be read.
    """
    progress = progress or Progress()
    try:
        with path.open("rb") as file:
            progress.total = os.fstat(file.fileno()).st_size
            start, length = _find_toc(file, progress.total, path.name)
            yield from _memories(file, _Toc(file, start, length), progress)
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {path}", "Check the path.") from None
    except OSError as error:
        raise explain(error, path) from error
    progress.done = progress.total


def _find_toc(file: IO[bytes], size: int, name: str) -> tuple[int, int]:
    """Where the newest whole table of contents lies."""
    head = file.read(8)
    if head.startswith(SEALED_MAGIC):
        raise InvalidInput(f"{name} is encrypted", "Unlock it with memvid first, then import the `.mv2`.")
    if not head.startswith(MAGIC):
        raise InvalidInput(f"{name} is no .mv2 file", "Check the path, or name another --format.")
    end = size
    while end > max(_HEADER_BYTES, size - _SEARCH_BACK):
        at = _last_mark(file, end, size)
        if at is None:
            break
        file.seek(at + len(_FOOTER))
        rest = file.read(_FOOTER_BYTES - len(_FOOTER))
        length = int.from_bytes(rest[:8], "little")
        fits = len(rest) == _FOOTER_BYTES - len(_FOOTER) and 0 < length <= at - _HEADER_BYTES
        if fits and _blake3(file, at - length, length) == rest[8:40]:
            return at - length, length
        end = at + len(_FOOTER) - 1
    raise InvalidInput(
        f"{name} has no whole table of contents", "Mend it with `memvid doctor`, then try again."
    )


def _last_mark(file: IO[bytes], end: int, size: int) -> int | None:
    """The last footer mark that begins before `end`."""
    step, overlap = 1024 * 1024, len(_FOOTER) - 1
    while end > max(_HEADER_BYTES, size - _SEARCH_BACK):
        start = max(_HEADER_BYTES, end - step)
        file.seek(start)
        found = file.read(end - start).rfind(_FOOTER)
        if found >= 0:
            return start + found
        if start == _HEADER_BYTES:
            return None
        end = start + overlap
    return None


def _blake3(file: IO[bytes], start: int, length: int) -> bytes:
    from blake3 import blake3

    digest = blake3()
    file.seek(start)
    while length:
        data = file.read(min(length, 1024 * 1024))
        if not data:
            break
        digest.update(data)
        length -= len(data)
    return bytes(digest.digest())


def _memories(file: IO[bytes], toc: _Toc, progress: Progress) -> Iterator[Item]:
    try:
        toc.number()  # version: the frames were read alike in all so far
        toc.take(_SEGMENT_BYTES * toc.count(LIMITS.memvid_frames))
        total = toc.count(LIMITS.memvid_frames)
    except _DamagedError as error:
        yield BadLine("the table of contents", str(error))
        return
    pending: tuple[_Frame, list[_Frame]] | None = None
    source = ""
    for number in range(total):
        try:
            frame = _frame(toc)
        except _DamagedError as error:
            if pending is not None:
                yield _item(file, *pending, source)
            yield BadLine(f"frame {number}", str(error))
            return  # where the next one begins nobody can tell
        progress.done = toc.place
        source = source or source_id(FORMAT, frame.timestamp, frame.uri, frame.text)
        if _ROLES[frame.role] == "chunk" and pending is not None and frame.parent == pending[0].id:
            pending[1].append(frame)
            continue
        if pending is not None:
            yield _item(file, *pending, source)
            toc.back()
        pending = (frame, [])
    if pending is not None:
        yield _item(file, *pending, source)


def _frame(toc: _Toc) -> _Frame:
    frame = _Frame(toc.number(), toc.number("<q"))
    toc.maybe_number("<q")  # the time that phrases such as "tomorrow" are read from
    toc.maybe_number("<I")
    frame.kind, frame.track = toc.maybe_text(), toc.maybe_text()
    frame.payload = (toc.number(), toc.number())
    frame.checksum = toc.take(32)
    frame.uri, frame.title = toc.maybe_text(), toc.maybe_text()
    frame.packed, frame.unpacked = toc.number("<I") == 1, toc.maybe_number()
    if toc.there():
        _pass_document(toc)
    frame.text = toc.maybe_text() or ""
    frame.tags, frame.labels, frame.extra, frame.dates = toc.texts(), toc.texts(), toc.pairs(), toc.texts()
    if toc.there():  # where the chunks begin and end
        toc.number()
        toc.take(16 * toc.count(LIMITS.memvid_frames))
    frame.role = _one_of(toc, _ROLES)
    frame.parent = toc.maybe_number()
    frame.index = toc.maybe_number("<I") or 0
    toc.maybe_number("<I")
    frame.status = _one_of(toc, _STATES)
    toc.maybe_number()  # supersedes, superseded by: frames of one URI follow each other here
    toc.maybe_number()
    if toc.there():
        toc.take(32)
    frame.source_path = toc.maybe_text()
    toc.number("<I")
    return frame


def _one_of(toc: _Toc, names: tuple[str, ...]) -> int:
    number = toc.number("<I")
    if number >= len(names):
        raise _DamagedError(f"an unknown role or state before byte {toc.place}")
    return number


def _pass_document(toc: _Toc) -> None:
    """Read past what a frame says of the file that it was made of."""
    toc.maybe_text()  # mime
    toc.maybe_number()
    toc.maybe_text()  # hash
    toc.maybe_number("<I")
    toc.maybe_number("<I")
    if toc.there():  # colours
        toc.texts()
    toc.maybe_text()  # caption
    if toc.there():  # exif
        for _ in range(4):
            toc.maybe_text()
        if toc.there():
            toc.take(16)
    if toc.there():  # audio
        toc.maybe_number("<I")
        toc.maybe_number("<I")
        toc.maybe_number("<B")
        toc.maybe_number("<I")
        toc.maybe_text()
        for _ in range(toc.count(_MOST_TEXTS)):
            toc.take(8)
            toc.maybe_text()
        toc.pairs()
    if toc.there():  # media
        toc.text()
        toc.text()
        toc.number()
        toc.maybe_text()
        toc.maybe_number()
        toc.maybe_number("<I")
        toc.maybe_number("<I")
        toc.maybe_text()


def _item(file: IO[bytes], frame: _Frame, chunks: list[_Frame], source: str) -> Item:
    place, parts = f"frame {frame.id}", 1 + len(chunks)
    own_uri = frame.uri if frame.uri and not frame.uri.startswith(_OWN_URI) else None
    if _STATES[frame.status] == "deleted":
        return LeftOut(place, "deleted there", parts)
    if _STATES[frame.status] == "superseded" and own_uri is None:
        return LeftOut(place, "superseded there", parts)
    if _ROLES[frame.role] != "document":
        reason = (
            "a picture of a document" if _ROLES[frame.role] == "image" else "a chunk without its document"
        )
        return LeftOut(place, reason, parts)
    if chunks:
        text = _joined(file, sorted(chunks, key=lambda chunk: chunk.index))
    else:
        text = _payload(file, frame) or _without_glue(frame)
    if not text.strip():
        return LeftOut(place, "no text", parts)
    title = frame.title if frame.title not in {None, "", "Untitled"} else None
    skill = title is not None and title.startswith(_SKILL)
    if skill and title is not None:
        title = title.removeprefix(_SKILL)
    return Incoming(
        text=text,
        place=place,
        key=own_uri if own_uri and len(own_uri) <= LIMITS.key_chars else None,
        title=title[: LIMITS.title_chars] if title else None,
        tags=_tags(frame, text),
        metadata=_metadata(frame),
        type="skill" if skill else "note",
        created_ms=frame.timestamp * 1000 if 0 < frame.timestamp < 1 << 43 else None,
        source_ref=ref(FORMAT, source, frame.id),
        parts=parts,
    )


def _joined(file: IO[bytes], chunks: list[_Frame]) -> str:
    """The text that was cut up: the chunks' own bytes lie end to end; of those without, the lines are put together."""
    text = ""
    for chunk in chunks:
        exact = _payload(file, chunk)
        if exact is None and text and not text.endswith("\n"):
            text += "\n"
        text += _without_glue(chunk) if exact is None else exact
        if len(text) > LIMITS.text_chars:
            break  # over the limit as it is; the caller says so
    return text.rstrip("\n")


def _payload(file: IO[bytes], frame: _Frame) -> str | None:
    """The text that a frame keeps as bytes, if it keeps any, they are whole, and they are text."""
    offset, length = frame.payload
    if not length or length > LIMITS.text_bytes or offset < _HEADER_BYTES:
        return None
    file.seek(offset)
    data = file.read(length)
    if len(data) != length or _blake3_of(data) != frame.checksum:
        return None
    if frame.packed:
        data = _unpacked(data, frame.unpacked) or b""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text and "\0" not in text else None


def _unpacked(data: bytes, announced: int | None) -> bytes | None:
    import zstandard

    most = min(announced or 0, LIMITS.text_bytes)
    try:  # read as a stream: what the frame's own header claims allocates nothing
        with zstandard.ZstdDecompressor(max_window_size=1 << 23).stream_reader(data) as stream:
            return bytes(stream.read(most))
    except zstandard.ZstdError:
        return None


def _blake3_of(data: bytes) -> bytes:
    from blake3 import blake3

    return bytes(blake3(data).digest())


def _without_glue(frame: _Frame) -> str:
    """The words, without the lines that the indexer put under them."""
    glue = {f"title: {frame.title}", f"uri: {frame.uri}", f"track: {frame.track}"}
    for name, values in (("tags", frame.tags), ("labels", frame.labels), ("dates", frame.dates)):
        glue.add(f"{name}: {' '.join(values)}")
    glue |= {f"{name}: {value}" for name, value in frame.extra.items()}
    lines = frame.text.split("\n")
    while len(lines) > 1 and lines[-1] in glue:
        lines.pop()
    return "\n".join(lines)


def _tags(frame: _Frame, text: str) -> tuple[str, ...]:
    """Tags and labels, without those that the indexer made of the text's own words: they stand in both lists."""
    labels = {label.casefold() for label in frame.labels}
    tags = {tag.casefold() for tag in frame.tags}
    folded = text.casefold()
    own = [tag for tag in frame.tags if not (tag.casefold() in labels and tag.casefold() in folded)]
    own += [label for label in frame.labels if not (label.casefold() in tags and label.casefold() in folded)]
    fitting = [tag for tag in dict.fromkeys(own) if tag and len(tag) <= LIMITS.tag_chars]
    return tuple(fitting[: LIMITS.tags])


def _metadata(frame: _Frame) -> dict[str, Any]:
    metadata = {name: _value(value) for name, value in frame.extra.items() if name not in _OWN_KEYS}
    about = {
        "frame": frame.id,
        "uri": frame.uri,
        "kind": frame.kind,
        "track": frame.track,
        "path": frame.source_path,
    }
    metadata.setdefault("memvid", {name: value for name, value in about.items() if value is not None})
    return metadata


def _value(text: str) -> Any:
    """A metadata value: its SDK writes each one as JSON."""
    try:
        return parse_json(text.encode())
    except InvalidInput:
        return text
