"""The knowledge graph of the MCP reference memory server: `memory.jsonl`, or the JSON that its tools give.

Lines are `{"type": "entity", "name", "entityType", "observations"}` and `{"type": "relation", "from", "to",
"relationType"}` (server 0.6 to 2025.x; further fields are kept as metadata). An observation becomes a memory, and so
does a relation: single facts are what recall ranks best.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.portable.base import BadLine, Incoming, Item, ref, source_id, tags_of
from muniment.portable.source import Source, value_of, values
from muniment.portable.times import to_ms

FORMAT = "mcp-memory"
_ENTITY = {"type", "name", "entityType", "observations"}
_RELATION = {"type", "from", "to", "relationType"}


def is_line(value: Any) -> bool:
    """Whether a JSON value is an entity or a relation."""
    if not isinstance(value, dict):
        return False
    entity = "entityType" in value and isinstance(value.get("observations"), list)
    return entity or ("relationType" in value and "from" in value and "to" in value)


def is_graph(value: Any) -> bool:
    """Whether a JSON value is a whole graph."""
    if not isinstance(value, dict):
        return False
    entities, relations = value.get("entities"), value.get("relations")
    both = [item for found in (entities, relations) if isinstance(found, list) for item in found[:4]]
    return any(map(is_line, both))


def read(source: Source) -> Iterator[Item]:
    """The facts of a graph, in its order."""
    for piece in values(source):
        place = f"line {piece.line}"
        try:
            value = value_of(
                piece, lambda value: is_line(value) or is_graph(value), "neither entity nor relation"
            )
        except InvalidInput as error:
            yield BadLine(place, error.message)
            continue
        if is_line(value):
            yield from _line(value, place)
            continue
        for name in ("entities", "relations"):
            for number, item in enumerate(value.get(name) or (), 1):
                at = f"{name} {number}"
                if is_line(item):
                    yield from _line(item, at)
                else:
                    yield BadLine(at, "neither entity nor relation")


def _line(value: dict[str, Any], place: str) -> Iterator[Item]:
    yield from _entity(value, place) if "entityType" in value else [_relation(value, place)]


def _entity(value: dict[str, Any], place: str) -> Iterator[Item]:
    name, kind = value.get("name"), value.get("entityType")
    if not isinstance(name, str) or not name or not isinstance(kind, str):
        yield BadLine(place, "an entity without a name or type")
        return
    more = {key: item for key, item in value.items() if key not in _ENTITY}
    about = {**more, "entity": name, "entity_type": kind}
    created = to_ms(value.get("createdAt"))
    observations = value["observations"] or [None]
    for number, said in enumerate(observations, 1):
        at = f"{place} observation {number}"
        if said is not None and not isinstance(said, str):
            yield BadLine(at, "an observation that is no text")
            continue
        yield Incoming(
            text=f"{name}: {said}" if said is not None else f"{name} ({kind})",
            place=at,
            title=name,
            tags=tags_of([kind]),
            metadata=about,
            created_ms=created,
            source_ref=ref(FORMAT, source_id(FORMAT, name), source_id(FORMAT, kind, said)),
        )


def _relation(value: dict[str, Any], place: str) -> Item:
    parts = [value.get("from"), value.get("relationType"), value.get("to")]
    if not all(isinstance(part, str) and part for part in parts):
        return BadLine(place, "a relation without from, relationType or to")
    more = {key: item for key, item in value.items() if key not in _RELATION}
    return Incoming(
        text=" ".join(str(part).replace("_", " ") for part in parts),
        place=place,
        tags=("relation",),
        metadata={**more, "relation": dict(zip(("from", "type", "to"), parts, strict=True))},
        created_ms=to_ms(value.get("createdAt")),
        source_ref=ref(FORMAT, source_id(FORMAT, parts[0]), source_id(FORMAT, *parts)),
    )
