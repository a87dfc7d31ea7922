"""All formats: which one a file is, and reading it as such."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.portable import (
    agent_files,
    archive,
    chat,
    graph,
    jsonl,
    locomo,
    longmemeval,
    markdown,
    mem0,
    memvid,
    transcript,
)
from muniment.portable.base import BadLine, Item, LeftOut, Progress, checked
from muniment.portable.source import Source, parse_json, text_of, values
from muniment.store.foreign import MAGIC as SQLITE_MAGIC

AUTO = "auto"
FORMATS = (
    "jsonl", "chat", "markdown", "agent-files", "memvid", "mem0", "mcp-memory", "locomo", "longmemeval",
)  # fmt: skip
_OF_PATHS = {markdown.FORMAT: markdown.read, agent_files.FORMAT: agent_files.read, memvid.FORMAT: memvid.read}
_SPOKEN = ("role", "from", "sender")
_TRIES = 5  # pieces that may be broken before the first that tells the format
_PICKS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    (jsonl.FORMAT, jsonl.is_header),
    (locomo.FORMAT, locomo.is_sample),
    (longmemeval.FORMAT, longmemeval.is_question),
    (graph.FORMAT, lambda value: graph.is_line(value) or graph.is_graph(value)),
    (mem0.FORMAT, lambda value: mem0.is_memory(value) or mem0.is_answer(value)),
    (chat.FORMAT, chat.is_conversation),
)


def read(
    path: Path,
    format: str = AUTO,  # noqa: A002 - the word of the command line
    progress: Progress | None = None,
    sample: str | None = None,
) -> Generator[Item, None, None]:
    """What a file, folder or archive holds, piece by piece, each checked against the limits of a bank.

    Args:
        path: The file, plain or gzip; a zip archive of such files; or a folder of notes, or of an unpacked export.
        format: `auto` or one of `FORMATS`.
        progress: Kept up to date while reading.
        sample: Of `locomo` and `longmemeval`, only the sample or question of that id.

    Raises:
        InvalidInput: There is no such file, the format is unknown or can't be told.
        FutureFormat: An export by a newer version.
        StorageError: The file can't be read.
    """
    progress = progress or Progress()
    if format != AUTO and format not in FORMATS:
        raise InvalidInput(f"unknown format: {format[:40]!r}", f"Formats are {AUTO}, {', '.join(FORMATS)}.")
    head = _head(path)
    if archive.is_archive(head):
        items = _archive(path, format, progress, sample)
    elif path.is_dir() and (found := _conversations(path)) and format in {AUTO, chat.FORMAT}:
        items = _folder(found, progress)
    else:
        items = _one(path, detect(path) if format == AUTO else format, progress, sample, head)
    for item in items:
        yield checked(item)
    progress.done = progress.total


def _one(path: Path, format: str, progress: Progress, sample: str | None, head: bytes) -> Iterator[Item]:  # noqa: A002
    if format in _OF_PATHS:
        yield from _OF_PATHS[format](path, progress)
        return
    if path.is_dir():
        raise InvalidInput(
            f"{path} is a folder", "Folders are read as notes: --format markdown or agent-files."
        )
    if format == mem0.FORMAT and head.startswith(SQLITE_MAGIC):
        yield from mem0.read_history(path, progress)
        return
    with Source(path, progress) as source:
        yield from _items(source, format, sample)


def _head(path: Path) -> bytes:
    """The first bytes of a file as they lie on the disk; nothing of what can't be read, which says so later."""
    try:
        with path.open("rb") as file:
            return file.read(64)
    except (OSError, ValueError):
        return b""


def _conversations(folder: Path) -> list[Path]:
    """The files of an unpacked export."""
    found = sorted(folder.glob(f"{archive.CONVERSATIONS}*.json"))
    return [file for file in found if file.is_file() and not file.is_symlink()]


def _folder(files: list[Path], progress: Progress) -> Iterator[Item]:
    progress.total, done = sum(markdown.size_of(file) for file in files), 0
    for file in files:
        own = Progress()
        with Source(file, own) as source:
            for item in chat.read(source):
                progress.done = done + own.done
                yield item
        done += markdown.size_of(file)


def _archive(path: Path, format: str, progress: Progress, sample: str | None) -> Iterator[Item]:  # noqa: A002
    progress.total = markdown.size_of(path)
    for member in archive.members(path):
        if isinstance(member, BadLine | LeftOut):
            yield member
            continue
        yield from _member(member, format, sample)
        progress.done = member.done


def _member(member: archive.Member, format: str, sample: str | None) -> Iterator[Item]:  # noqa: A002
    name = member.name
    try:
        with Source(member.open()) as source:
            if source.head.startswith((*archive.MAGICS, memvid.MAGIC, SQLITE_MAGIC)):
                yield LeftOut(name, "a file that is read only by itself: unpack it first")
                return
            kind = _kind(Path(name), source) if format == AUTO else format
        if kind is None:
            yield LeftOut(name, "of no known format")
            return
        with Source(member.open()) as source:  # from its beginning again
            if kind in _OF_PATHS:
                text = text_of(source.whole().removeprefix(b"\xef\xbb\xbf")).replace("\r\n", "\n")
                whole = kind == markdown.FORMAT
                yield from (
                    markdown.note(name, text) if whole else agent_files.memories(name, text, indexed=False)
                )
            else:
                yield from _items(source, kind, sample)
    except InvalidInput as error:
        yield BadLine(name, error.message)


def _items(source: Source, format: str, sample: str | None) -> Iterator[Item]:  # noqa: A002
    if format == jsonl.FORMAT:
        return jsonl.read(source)
    if format == locomo.FORMAT:
        return locomo.read(source, sample)
    if format == longmemeval.FORMAT:
        return longmemeval.read(source, sample)
    if format == mem0.FORMAT:
        return mem0.read(source)
    if format == graph.FORMAT:
        return graph.read(source)
    is_json = source.head.lstrip().startswith((b"[", b"{")) and not transcript.looks_like_one(source.head)
    return chat.read(source) if is_json else transcript.read(source)


def detect(path: Path) -> str:
    """The format of a file or folder, told from its name and its beginning.

    Raises:
        InvalidInput: There is no such file, or it can't be told.
    """
    if agent_files.is_one(path):
        return agent_files.FORMAT
    if path.is_dir():
        return markdown.FORMAT
    head = _head(path)
    if head.startswith((memvid.MAGIC, memvid.SEALED_MAGIC)):
        return memvid.FORMAT
    if head.startswith(SQLITE_MAGIC):
        return mem0.FORMAT
    with Source(path) as source:
        found = _kind(path, source)
    if found is None:
        raise InvalidInput(
            f"can't tell what {path.name} holds", f"Say it with --format {' | '.join(FORMATS)}."
        )
    return found


def _kind(path: Path, source: Source) -> str | None:
    """The format of a file by its name and its content, which is read on; None if it can't be told."""
    if agent_files.is_one(path):
        return agent_files.FORMAT
    if path.name.lower().endswith(markdown.SUFFIXES):
        return markdown.FORMAT
    if not source.head.strip():
        return jsonl.FORMAT  # nothing to take in, and nothing wrong
    if transcript.looks_like_one(source.head):
        return chat.FORMAT
    return _of_json(source)


def _of_json(source: Source) -> str | None:
    for piece, _ in zip(values(source), range(_TRIES), strict=False):
        if piece.data is None or len(piece.data) > LIMITS.import_line_bytes:
            continue
        try:
            value = parse_json(piece.data)
        except InvalidInput:
            continue
        if (found := _of_value(value)) is not None:
            return found
    return None


def _of_value(value: Any) -> str | None:
    for name, fits in _PICKS:
        if fits(value):
            return name
    if not isinstance(value, dict):
        return None
    spoken = any(name in value for name in _SPOKEN)
    if isinstance(value.get("text"), str) and not spoken:
        return jsonl.FORMAT
    return chat.FORMAT if chat.is_message(value) else None
