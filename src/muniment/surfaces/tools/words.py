"""Records as a model reads them: short, with ids and provenance, and nothing in them that could pass for our own words.

What the agent or its controller wrote keeps its lines; what others or tools said is one neutral line and says from
whom it is.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, overload

from muniment.auto_recall import cut, neutral
from muniment.views import Record

TEXT_CHARS = 500  # of a record among others
FULL_CHARS = 8000  # of a record that was asked for by itself
OWN = frozenset({"self", "controller"})
_INVITE = re.compile(r"(\binvite=)[^&\s\"']+", re.IGNORECASE)
_LAST_MS = 253_402_300_799_000  # the end of the year 9999


@overload
def redact(value: str) -> str: ...


@overload
def redact(value: dict[str, Any]) -> dict[str, Any]: ...


@overload
def redact(value: Any) -> Any: ...


def redact(value: Any) -> Any:
    """Text, or JSON that holds texts, without the secrets of invites and without what is no Unicode.

    A memory may hold bytes of any kind as lone surrogates, which no JSON of other programs can carry.
    """
    if isinstance(value, str):
        return _INVITE.sub(r"\1…", value.encode("utf-8", "replace").decode())
    if isinstance(value, dict):
        return {redact(name): redact(item) for name, item in value.items()}
    return [redact(item) for item in value] if isinstance(value, list | tuple) else value


def day(ms: int) -> str:
    """A time as its day in UTC."""
    return moment(ms)[:10]


def moment(ms: int) -> str:
    """A time as RFC 3339, in UTC, to the second."""
    return datetime.fromtimestamp(max(0, min(ms, _LAST_MS)) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def origin(record: Record) -> str:
    """Who wrote it, and by whom that is to be trusted: `self`, `controller`, or a name with `peer` or `tool`."""
    if record.source == "self":
        return "self"
    return f"{_name(record)}, {record.source}"


def _name(record: Record) -> str:
    return cut(neutral((record.author_name or record.author)[:160]), 40)


def mark(record: Record) -> str:
    """What stands behind words that are not the agent's or its controller's."""
    return "" if record.source in OWN else f" (from {origin(record)})"


def text(record: Record, most: int = TEXT_CHARS, indent: str = "   ") -> str:
    """The words of a record; further lines are indented, so that none can pass for the next record."""
    if record.source not in OWN:
        return cut(neutral(record.text[: most * 8]), most)
    kept = record.text if len(record.text) <= most else record.text[: most - 1].rstrip() + "…"
    lines = [line if line.isprintable() else neutral(line) for line in kept.splitlines()]
    return f"\n{indent}".join(lines)


def label(record: Record) -> str:
    """Key or title in brackets, before the words."""
    name = record.key or record.title
    return "" if not name else f"[{cut(neutral(name[:400]).replace('[', '(').replace(']', ')'), 80)}] "


def line(record: Record, most: int = TEXT_CHARS) -> str:
    """A record and, below it, by what to name it and where it comes from."""
    facts = [f"id {record.id}", origin(record), day(record.created_at_ms)]
    if record.type != "note":
        facts.append(record.type)
    if record.tags:
        facts.append("tags " + ", ".join(cut(neutral(tag), 40) for tag in record.tags[:8]))
    if record.state != "live":
        facts.append(record.state)
    if record.conflict:
        facts.append("conflict: another live version says something else")
    return f"{label(record)}{text(record, most)}{mark(record)}\n   {'; '.join(facts)}"


def record_data(record: Record, most: int = TEXT_CHARS) -> dict[str, Any]:
    """A record as structured data: what `text` shows, and no more of it, as some hosts hand on only the data."""
    own = record.source in OWN
    names = [
        None if name is None else name if own else cut(neutral(name[:4096]), 200)
        for name in (record.key, record.title)
    ]
    return {
        "id": record.id, "key": names[0], "title": names[1], "text": text(record, most, ""),
        "cut": len(record.text) > most, "tags": [tag if own else cut(neutral(tag), 40) for tag in record.tags],
        "type": record.type, "source": record.source, "author": _name(record),
        "created_at": moment(record.created_at_ms), "state": record.state,
    }  # fmt: skip


RECORD = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "key": {"type": ["string", "null"]},
        "title": {"type": ["string", "null"]},
        "text": {"type": "string"},
        "cut": {"type": "boolean", "description": "Whether text is only the beginning"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "type": {"type": "string"},
        "source": {"type": "string", "enum": ["self", "controller", "peer", "tool"]},
        "author": {"type": "string"},
        "created_at": {"type": "string"},
        "state": {"type": "string"},
        "score": {"type": "number"},
    },
    "required": ["id", "text", "source", "author"],
}
