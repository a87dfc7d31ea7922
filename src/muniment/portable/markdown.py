"""Markdown notes: one file, or all below a folder. A note becomes one record, a long one a record per heading.

Front matter (YAML) gives title, tags, date and metadata; `#tags` and the targets of `[[links]]` become tags too.
Hidden folders and files are left out, and links on the disk are not followed out of the folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.platform.files import explain
from muniment.portable.base import BadLine, Incoming, Item, Progress, label, ref, source_id
from muniment.portable.source import Source, text_of
from muniment.portable.times import to_ms

FORMAT = "markdown"
SUFFIXES = (".md", ".markdown", ".mdown", ".md.gz")
LONG_NOTE = 2000  # characters from which on a note is split at its headings
_FRONT_BYTES = 64 * 1024
_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_CODE = re.compile(r"`[^`\n]*`")
_TAG = re.compile(r"(?<![\w#/&=])#([^\W\d_][\w/\-]*)")
_LINK = re.compile(r"(?<!!)\[\[([^\[\]|#^\n]{1,200})(?:[|#^][^\[\]\n]*)?\]\]")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATES = ("date", "created", "created_at")
_DEEPEST = 16


class Note(NamedTuple):
    """What a note says of itself, and its words."""

    title: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    created: int | None
    key: str | None
    body: str


class _Section(NamedTuple):
    """A heading and what stands under it; the first may have no heading."""

    heading: str
    text: str


def read(path: Path, progress: Progress | None = None) -> Iterator[Item]:
    """The notes of a file or a folder, in the order of their paths.

    Raises:
        InvalidInput | StorageError: The path is not there, or can't be read.
    """
    progress = progress or Progress()
    files = walk(path) if path.is_dir() else [(path, path.name)]
    progress.total = sum(size_of(file) for file, _ in files)
    for file, name in files:
        before = progress.done
        size = size_of(file)
        try:
            yield from note(name, text_of_file(file))
        except InvalidInput as error:
            if len(files) == 1 and not path.exists():
                raise
            yield BadLine(name, error.message)
        progress.done = before + size


def walk(
    root: Path, hidden: frozenset[str] = frozenset(), named: frozenset[str] = frozenset()
) -> list[tuple[Path, str]]:
    """The notes below a folder with their paths in it, in order; links that lead out of it are not followed.

    Args:
        root: The folder.
        hidden: Names of hidden folders that are looked into all the same.
        named: Names of files that are notes whatever they end in.

    Raises:
        StorageError: A folder can't be read.
    """
    found: list[tuple[Path, str]] = []
    inside = root.resolve()

    def refuse(error: OSError) -> None:
        raise explain(error, str(error.filename or root)) from error

    for folder, folders, names in os.walk(root, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith(".") or name in hidden)
        for name in sorted(names):
            file = Path(folder) / name
            plain = not name.startswith(".") and name.lower().endswith(SUFFIXES)
            if not plain and name not in named:
                continue
            if file.is_file() and file.resolve().is_relative_to(inside):
                found.append((file, file.relative_to(root).as_posix()))
    return found


def size_of(file: Path) -> int:
    """A file's size in bytes; 0 if nobody can tell."""
    try:
        return file.stat().st_size
    except (OSError, ValueError):
        return 0  # reading it says what is wrong


def text_of_file(file: Path) -> str:
    """The whole of a note.

    Raises:
        InvalidInput | StorageError: It is too long or no UTF-8, or can't be read.
    """
    with Source(file) as source:
        return text_of(source.whole().removeprefix(b"\xef\xbb\xbf")).replace("\r\n", "\n")


def note(name: str, text: str) -> Iterator[Item]:
    """One note: a record, or a record for each heading if it is long.

    Raises:
        InvalidInput: Its front matter can't be read.
    """
    note = opened(name, text)
    if not note.body.strip():
        return
    source = source_id(FORMAT, name)
    sections = _split(note.body) if len(note.body) > LONG_NOTE else []
    if len(sections) < 2:
        sections = [_Section("", note.body)]
    for number, section in enumerate(sections, 1):
        own = section.heading not in {"", note.title}
        yield Incoming(
            text=section.text.strip("\n"),
            place=f"{name}, section {number}" if len(sections) > 1 else name,
            key=note.key if number == 1 else None,
            title=_shortened(f"{note.title} > {section.heading}" if own else note.title),
            tags=tags_in(note.tags, section.text),
            metadata={**note.metadata, "path": name},
            # Sections of one note are each other's context, as messages of one conversation are.
            session=_shortened(name, LIMITS.session_chars) if len(sections) > 1 else None,
            created_ms=note.created,
            source_ref=ref(FORMAT, source, number),
        )


def _shortened(text: str, most: int = LIMITS.title_chars) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def opened(name: str, text: str) -> Note:
    """Take the front matter off.

    Raises:
        InvalidInput: It is not the YAML of a map.
    """
    fields: dict[str, Any] = {}
    found = _FRONT.match(text)
    if found is not None:
        fields = _front(found[1])
        text = text[found.end() :]
    stem = name.rsplit("/", 1)[-1].removesuffix(".gz").rsplit(".", 1)[0]
    own_tags = _own_tags(fields.pop("tags", None)) + _own_tags(fields.pop("tag", None))
    created = next((ms for key in _DATES if (ms := to_ms(fields.get(key))) is not None), None)
    if created is None and (dated := _DATED.match(stem)):
        created = to_ms(dated[0])
    title = label(fields.pop("title", None), "") or _first_heading(text) or stem
    key = fields.pop("key", None) if isinstance(fields.get("key"), str) and fields["key"] else None
    return Note(
        title, own_tags, {key: _plain(value, _DEEPEST) for key, value in fields.items()}, created, key, text
    )


def _front(text: str) -> dict[str, Any]:
    if len(text) > _FRONT_BYTES:
        raise InvalidInput(f"front matter of more than {_FRONT_BYTES} characters")
    import yaml

    try:
        # A short text with aliases can stand for more than a machine holds, so they are not taken.
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
                raise InvalidInput("front matter with aliases (`*name`), or nested too deeply")
        fields = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError, LookupError) as error:
        first = str(error).strip().split("\n")[0]
        raise InvalidInput(f"front matter that is not YAML: {first or type(error).__name__}") from None
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise InvalidInput("front matter that is no map of names to values")
    return {label(key, "?"): value for key, value in fields.items()}


def _plain(value: Any, left: int) -> Any:
    """A YAML value as a JSON value; dates as text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, date):  # datetimes are dates
        return value.isoformat()
    if not left:
        return "…"
    if isinstance(value, dict):
        return {label(key, "?"): _plain(item, left - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, left - 1) for item in value]
    return repr(value)


def _own_tags(value: Any) -> tuple[str, ...]:
    """Tags of the front matter: a list, or text parted by commas or spaces."""
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
    if not isinstance(value, list):
        return ()
    tags = (label(tag, "").strip().removeprefix("#") for tag in value)
    return tuple(tag for tag in tags if tag)


def tags_in(own: tuple[str, ...], text: str) -> tuple[str, ...]:
    """All tags of a section, the note's own first, as many as fit."""
    prose = _CODE.sub(" ", "\n".join(line for line, in_code in _lines(text) if not in_code))
    links = (found.rsplit("/", 1)[-1].removesuffix(".md").strip() for found in _LINK.findall(prose))
    found = [*own, *(tag.rstrip("/-") for tag in _TAG.findall(_LINK.sub(" ", prose))), *links]
    fitting = (tag for tag in found if tag and len(tag) <= LIMITS.tag_chars)
    return tuple(dict.fromkeys(fitting))[: LIMITS.tags]


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a fenced block of code."""
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            yield line, True
            if found and found[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif found:
            fence = found[1]
            yield line, True
        else:
            yield line, False


def _heading(line: str) -> re.Match[str] | None:
    # A line that long is no heading, and would take the pattern long to say so.
    return _HEADING.fullmatch(line) if len(line) <= LIMITS.title_chars else None


def _first_heading(text: str) -> str:
    """The heading with which a note begins, if it does."""
    for line in text.split("\n"):
        if line.strip():
            found = _heading(line)
            return found[2].strip() if found else ""
    return ""


def _split(text: str) -> list[_Section]:
    """The sections of a note; a heading with nothing under it goes with the next one."""
    sections: list[_Section] = []
    heading, lines, filled = "", list[str](), False
    for line, in_code in _lines(text):
        found = None if in_code else _heading(line)
        if found is not None and filled:
            sections.append(_Section(heading, "\n".join(lines)))
            lines, filled = [], False
        if found is not None:
            heading = found[2].strip()
        lines.append(line)
        filled = filled or bool(line.strip() and found is None)
    if filled or (lines and sections == []):
        sections.append(_Section(heading, "\n".join(lines)))
    elif any(line.strip() for line in lines):
        last = sections.pop()
        sections.append(_Section(last.heading, last.text + "\n" + "\n".join(lines)))
    return sections
