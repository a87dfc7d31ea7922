"""Memories as one page of Markdown that a person reads: what is live, in the order in which it was said.

Each text stands in a block quote, so that headings and lists inside it stay its own. It is for eyes: what comes back in
by `import` is our JSON Lines, which have every version, id and signature's author.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from muniment.portable.jsonl import Line

FORMAT = "markdown"
SHOWN = ("live", "archived")
_SIGNS = re.compile(r"([\\`*_\[\]<>#|])")
_START = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS = 253_402_300_799_000  # the end of the year 9999


def page(bank: str, exported_ms: int, lines: Iterable[Line]) -> Iterator[str]:
    """The page, piece by piece.

    Args:
        bank: The bank's id.
        exported_ms: When it is written, Unix ms.
        lines: Versions, the oldest first; those that are not live are passed over.
    """
    yield f"# Memories\n\nFrom the bank `{bank}`, written {moment(exported_ms)} UTC.\n"
    session = None
    for line in lines:
        if line.state not in SHOWN:
            continue
        if line.session is not None and line.session != session:
            yield f"\n## Conversation {plain(line.session)}\n"
        session = line.session
        yield _memory(line)


def _memory(line: Line) -> str:
    quoted = "\n".join(f"> {row}".rstrip() for row in line.text.splitlines() or [""])
    return f"\n{_heading(line)}{quoted}\n\n{_about(line)}\n"


def _heading(line: Line) -> str:
    """Its title, its key, or when it was said; what was said in a conversation has none of its own."""
    named = line.title or line.key
    if line.session is not None:
        return f"### {plain(named)}\n\n" if named else ""
    return f"## {plain(named) if named else moment(line.created_at_ms)}\n\n"


def _about(line: Line) -> str:
    parts = [f"{moment(line.created_at_ms)} UTC"]
    if line.title and line.key:
        parts.append(f"key {plain(line.key)}")
    if line.type != "note":
        parts.append(line.type)
    if line.tags:
        parts.append("tags " + ", ".join(map(plain, line.tags)))
    if line.source != "self":
        parts.append(f"by {plain(line.author_name or line.author)} ({line.source})")
    if line.conflict:
        parts.append("another version says something else")
    return f"*{' · '.join(parts)}*  \n<!-- {line.id} -->"


def moment(ms: int) -> str:
    """A time to the minute, UTC."""
    return (_START + timedelta(milliseconds=min(ms, _LAST_MS))).strftime("%Y-%m-%d %H:%M")


def plain(text: str) -> str:
    """Words on one line that Markdown takes for nothing else."""
    return _SIGNS.sub(r"\\\1", " ".join(text.split()))
