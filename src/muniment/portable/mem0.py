"""Memories of mem0: what its client's `get_all` and its exports give as JSON, and the history that it keeps.

A file holds a list of memories, an object with `results` or `memories`, or memories one a line. The fields are those
of mem0 1.x and 2.x (`id`, `memory`, `user_id`, `agent_id`, `run_id`, `metadata`, `categories`, `created_at`,
`updated_at`); graph `relations` beside them become memories too. Of `history.db` (SQLite) each memory comes with its
versions, oldest first; those that were deleted are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.portable.base import BadLine, Incoming, Item, LeftOut, Progress, label, ref, source_id, tags_of
from muniment.portable.source import Source, value_of, values
from muniment.portable.times import to_ms
from muniment.store.foreign import table_rows

FORMAT = "mem0"
HISTORY_TABLE = "history"
HISTORY_COLUMNS = (
    "memory_id",
    "new_memory",
    "event",
    "created_at",
    "updated_at",
    "is_deleted",
    "actor_id",
    "role",
)
_LISTS = ("results", "memories", "relations")
_ABOUT = (
    "id", "user_id", "agent_id", "run_id", "app_id", "actor_id", "role", "hash", "updated_at", "immutable",
    "expiration_date", "owner", "organization",
)  # fmt: skip
_KNOWN_BY = {"id", "hash", "user_id", "agent_id", "run_id", "created_at"}


def is_memory(value: Any) -> bool:
    """Whether a JSON value is a memory as mem0 gives them."""
    return isinstance(value, dict) and isinstance(value.get("memory"), str) and bool(_KNOWN_BY & value.keys())


def is_answer(value: Any) -> bool:
    """Whether a JSON value is an object that holds a list of memories, as the client's calls give it."""
    if not isinstance(value, dict):
        return False
    lists = [value[name] for name in _LISTS[:2] if isinstance(value.get(name), list)]
    return any(is_memory(item) for found in lists for item in found[:8])


def read(source: Source) -> Iterator[Item]:
    """The memories of a file, in its order."""
    for piece in values(source):
        place = f"item {piece.number} (line {piece.line})"
        try:
            value = value_of(piece, lambda value: isinstance(value, dict), "no JSON object")
        except InvalidInput as error:
            yield BadLine(place, error.message)
            continue
        if not any(isinstance(value.get(name), list) for name in _LISTS) or is_memory(value):
            yield _memory(value, place)
            continue
        for name in _LISTS:
            found = value.get(name)
            for number, item in enumerate(found if isinstance(found, list) else [], 1):
                at = f"{place} {name} {number}"
                yield _relation(item, at) if name == "relations" else _memory(item, at)


def _memory(value: Any, place: str) -> Item:
    if not isinstance(value, dict) or not isinstance(value.get("memory"), str):
        return BadLine(place, "no `memory`, or it is no text")
    text = value["memory"]
    if not text.strip():
        return LeftOut(place, "no text")
    given = value.get("metadata")
    metadata = dict(given) if isinstance(given, dict) else {}
    metadata.setdefault("mem0", {name: value[name] for name in _ABOUT if value.get(name) is not None})
    own = label(value.get("id"), "")
    run = value.get("run_id")
    return Incoming(
        text=text,
        place=place,
        key=f"mem0:{own}" if own else None,  # a memory that mem0 updates keeps its id
        tags=tags_of(value.get("categories")),
        metadata=metadata,
        session=run if isinstance(run, str) and run else None,
        created_ms=_time(value, "created_at"),
        source_ref=_ref(own or source_id(FORMAT, text, value.get("created_at"))),
    )


def _relation(value: Any, place: str) -> Item:
    """A line of mem0's graph: `source`, `relationship`, and `target` or `destination`."""
    if not isinstance(value, dict):
        return BadLine(place, "a relation that is no object")
    target = value.get("target", value.get("destination"))
    parts = [value.get("source"), value.get("relationship", value.get("relation")), target]
    if not all(isinstance(part, str) and part for part in parts):
        return BadLine(place, "a relation without source, relationship or target")
    return Incoming(
        text=" ".join(str(part).replace("_", " ") for part in parts),
        place=place,
        tags=("relation",),
        metadata={"relation": dict(zip(("from", "type", "to"), parts, strict=True))},
        source_ref=_ref(source_id(FORMAT, "relation", *parts)),
    )


def _ref(own: str) -> str:
    return ref(FORMAT, source_id(FORMAT, "memories"), own)


def _time(value: Mapping[str, Any], name: str) -> int | None:
    return to_ms(value.get(name))


def read_history(path: Path, progress: Progress | None = None) -> Iterator[Item]:
    """The memories of a `history.db`, each with its versions.

    Raises:
        InvalidInput | StorageError: It has no such table, or can't be read.
    """
    progress = progress or Progress()
    rows = table_rows(path, HISTORY_TABLE, HISTORY_COLUMNS, order=("memory_id", "created_at", "updated_at"))
    for number, (own, group) in enumerate(groupby(rows, key=lambda row: row[0]), 1):
        events = [dict(zip(HISTORY_COLUMNS, row, strict=True)) for row in group]
        place = f"memory {number} ({label(own, '?')[:40]})"
        last = events[-1]
        if last["event"] == "DELETE" or last["is_deleted"] == 1:
            yield LeftOut(place, "deleted there", len(events))
            continue
        for event in events:
            fields = {
                "id": own,
                "memory": event["new_memory"],
                "created_at": event["updated_at"] or event["created_at"],
                "actor_id": event["actor_id"],
                "role": event["role"],
            }
            yield _memory(fields, place)
