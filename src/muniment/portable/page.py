"""Memories as one Markdown page, for people to read: skills, what was learned, notes, and conversations. Pure.

What a memory says is quoted line by line, and names are escaped, so nothing in it can pose as a part of the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from muniment.portable.jsonl import Line

FORMAT = "markdown"
SECTIONS = ("Skills", "Playbook", "Notes", "Conversations")
TALK = SECTIONS.index("Conversations")
_OF_TYPES = {"skill": 0, "bullet": 1}
_LAST_MS = 253_402_300_799_000  # the end of the year 9999
_BLANKS = re.compile(r"\s+")
# What no text file should do to a terminal or to the order of what is read.
_ACTING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # what HTML would begin with


def section_of(type: str, *, spoken: bool) -> int:  # noqa: A002 - the field's name
    """Under which of `SECTIONS` a memory stands.

    Args:
        type: Of the record.
        spoken: Whether it belongs to a conversation.
    """
    return TALK if spoken else _OF_TYPES.get(type, 2)


def opening(title: str, about: Sequence[str]) -> bytes:
    """The head of the page.

    Args:
        title: What it is.
        about: Facts about it, one a line.
    """
    return _bytes("\n".join([f"# {inline(title)}", "", *(f"- {inline(line)}" for line in about)]) + "\n")


def heading(name: str, depth: int = 2) -> bytes:
    """A heading below the page's own."""
    return _bytes(f"\n{'#' * depth} {inline(name)}\n")


def memory(line: Line) -> bytes:
    """One memory: what it is called, what it says, and where it is from."""
    name = line.title or line.key
    parts = [f"\n### {inline(name)}"] if name else []
    return _bytes("\n".join([*parts, "", quoted(line.text), "", _origin(line)]) + "\n")


def turn(line: Line) -> bytes:
    """One line of a conversation: who said it and when, and what."""
    speaker = (line.metadata or {}).get("speaker") or (line.metadata or {}).get("role")
    who, text = (speaker, line.text) if isinstance(speaker, str) and speaker else ("", line.text)
    if who and text.startswith(f"{who}: "):
        text = text[len(who) + 2 :]
    said = f"**{inline(who)}**, {moment(line.created_at_ms)}" if who else moment(line.created_at_ms)
    return _bytes("\n".join(["", said, "", quoted(text)]) + "\n")


def quoted(text: str) -> str:
    """A text as a quotation, with its own lines."""
    safe = _TAG.sub(r"\\<", _ACTING.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")))
    lines = safe.split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def inline(text: str) -> str:
    """A text on one line that means nothing in Markdown."""
    return _MARKUP.sub(r"\\\1", _ACTING.sub("\ufffd", _BLANKS.sub(" ", text)).strip())


def moment(ms: int) -> str:
    """A time, to the minute, in UTC."""
    return datetime.fromtimestamp(max(0, min(ms, _LAST_MS)) / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _origin(line: Line) -> str:
    parts = [f"key {inline(line.key)}"] if line.key else []
    parts += [f"tags {', '.join(map(inline, line.tags))}"] if line.tags else []
    parts += [f"{moment(line.created_at_ms)}, by {inline(line.author_name or line.author)}"]
    parts += [
        inline(mark) for mark in (line.source, "from a tool" if line.tool else "") if mark and mark != "self"
    ]
    parts += [f"from {inline(line.source_ref.partition(':')[0])}"] if line.source_ref else []
    return "*" + " · ".join([*parts, line.id]) + "*"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
