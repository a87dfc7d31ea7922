"""All formats: which one a file is, and reading it as such."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.portable import chat, jsonl, locomo, longmemeval, markdown, transcript
from muniment.portable.base import Item, Progress, checked
from muniment.portable.source import Source, parse_json, values

AUTO = "auto"
FORMATS = ("jsonl", "chat", "markdown", "locomo", "longmemeval")
_SPOKEN = ("role", "from", "sender")
_TRIES = 5  # pieces that may be broken before the first that tells the format


def read(
    path: Path,
    format: str = AUTO,  # noqa: A002 - the word of the command line
    progress: Progress | None = None,
    sample: str | None = None,
) -> Generator[Item, None, None]:
    """What a file or folder holds, piece by piece, each checked against the limits of a bank.

    Args:
        path: The file, plain or gzip; for `markdown` also a folder.
        format: `auto` or one of `FORMATS`.
        progress: Kept up to date while reading.
        sample: Of `locomo` and `longmemeval`, only the sample or question of that id.

    Raises:
        InvalidInput: There is no such file, the format is unknown or can't be told.
        FutureFormat: An export by a newer version.
        StorageError: The file can't be read.
    """
    progress = progress or Progress()
    if format == AUTO:
        format = detect(path)  # noqa: A001
    if format not in FORMATS:
        raise InvalidInput(f"unknown format: {format[:40]!r}", f"Formats are {AUTO}, {', '.join(FORMATS)}.")
    if format == markdown.FORMAT:
        for item in markdown.read(path, progress):
            yield checked(item)
        return
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder", "Folders are read as Markdown: --format markdown.")
    with Source(path, progress) as source:
        for item in _items(source, format, sample):
            yield checked(item)
    progress.done = progress.total


def _items(source: Source, format: str, sample: str | None) -> Iterator[Item]:  # noqa: A002
    if format == jsonl.FORMAT:
        return jsonl.read(source)
    if format == locomo.FORMAT:
        return locomo.read(source, sample)
    if format == longmemeval.FORMAT:
        return longmemeval.read(source, sample)
    is_json = source.head.lstrip().startswith((b"[", b"{")) and not transcript.looks_like_one(source.head)
    return chat.read(source) if is_json else transcript.read(source)


def detect(path: Path) -> str:
    """The format of a file or folder, told from its name and its beginning.

    Raises:
        InvalidInput: There is no such file, or it can't be told.
    """
    if path.is_dir() or path.name.lower().endswith(markdown.SUFFIXES):
        return markdown.FORMAT
    with Source(path) as source:
        if not source.head.strip():
            return jsonl.FORMAT  # nothing to take in, and nothing wrong
        if transcript.looks_like_one(source.head):
            return chat.FORMAT
        found = _of_json(source)
    if found is None:
        raise InvalidInput(
            f"can't tell what {path.name} holds", f"Say it with --format {' | '.join(FORMATS)}."
        )
    return found


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
    if jsonl.is_header(value):
        return jsonl.FORMAT
    if locomo.is_sample(value):
        return locomo.FORMAT
    if longmemeval.is_question(value):
        return longmemeval.FORMAT
    if chat.is_conversation(value):
        return chat.FORMAT
    if not isinstance(value, dict):
        return None
    spoken = any(name in value for name in _SPOKEN)
    if isinstance(value.get("text"), str) and not spoken:
        return jsonl.FORMAT
    return chat.FORMAT if chat.is_message(value) else None
