"""Our own JSON Lines: an export with everything that a version has, or plain lines written by hand or program.

An export starts with `{"muniment": "export", "version": 1, "bank": …, "exported_at": …}`; each further line is
one version. A plain line is any object with `text`, and any of the other fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from muniment.base.errors import FutureFormat, InvalidInput
from muniment.base.ids import parse_record
from muniment.portable.base import BadLine, Incoming, Item, label, ref, source_id
from muniment.portable.source import Piece, Source, parse_json
from muniment.portable.times import to_ms

FORMAT = "jsonl"
VERSION = 1
_ORIGIN = (
    "id", "version", "at", "author", "author_name", "source", "kind", "state", "supersedes", "conflict",
)  # fmt: skip
_CREATED = ("created_at_ms", "created_ms", "created_at", "created", "timestamp", "date")
_KNOWN = frozenset(
    ("text", "key", "title", "tags", "metadata", "type", "session", "valid_from", "valid_until", "tool",
     "recalled", "source_ref", "speaker", *_CREATED)
)  # fmt: skip
_TEXTS = ("key", "title", "session", "source_ref", "speaker")


@dataclass(frozen=True, slots=True)
class Line:
    """One version of a record, as a line of an export. Times are Unix ms; `at` is the entry's clock value.

    Attributes:
        version: `<entry id>/<act index>`; `supersedes` are such ids too.
        author: DID of the signer.
    """

    id: str
    version: str
    text: str
    key: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    type: str = "note"
    session: str | None = None
    created_at_ms: int = 0
    at: int = 0
    author: str = ""
    author_name: str | None = None
    source: str = ""
    kind: str = ""
    state: str = "live"
    supersedes: tuple[str, ...] = ()
    conflict: bool = False
    tool: bool = False
    recalled: bool = False
    source_ref: str | None = None
    valid_from: int | None = None
    valid_until: int | None = None


_FIELDS = tuple(Line.__slots__)


def header(bank: str, exported_at_ms: int) -> bytes:
    """The first line of an export."""
    return _dump({"muniment": "export", "version": VERSION, "bank": bank, "exported_at": exported_at_ms})


def write_line(line: Line) -> bytes:
    """A version as a line, with its line end. Fields without a value are left out; lines come sorted by `at`."""
    fields: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(line, name)
        if value is None or value is False or (value in ((), {}) and name != "text"):
            continue
        fields[name] = list(value) if isinstance(value, tuple) else value
    if "metadata" in fields:
        fields["metadata"] = dict(fields["metadata"])
    return _dump(fields)


def _dump(fields: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    except (TypeError, ValueError):  # lone surrogates, or integers over 64 bits: only escapes can say them
        return json.dumps(fields).encode("ascii") + b"\n"


def is_header(fields: Any) -> bool:
    """Whether a parsed line is the first one of an export."""
    return isinstance(fields, dict) and fields.get("muniment") == "export"


def read(source: Source) -> Iterator[Item]:
    """The memories of a file, in its order.

    Raises:
        FutureFormat: An export by a newer version.
    """
    bank: str | None = None
    exported, first = False, ""
    for piece in source.lines():
        place = f"line {piece.number}"
        if piece.data is not None and not piece.data.strip():
            continue
        try:
            fields = _fields_of(piece)
            if is_header(fields):
                bank, exported = _open_header(fields, source.name), True
                continue
            if not exported and not first:
                first = source_id(FORMAT, fields.get("text"), *(fields.get(name) for name in _CREATED))
            yield _incoming(
                fields, place, ref(FORMAT, first, label(fields.get("id"), str(piece.number))), bank
            )
        except InvalidInput as error:
            yield BadLine(place, error.message)


def _open_header(fields: dict[str, Any], name: str) -> str | None:
    if fields.get("version") != VERSION:
        raise FutureFormat(f"{name} was exported by a newer version", "Update muniment.")
    bank = fields.get("bank")
    return bank if isinstance(bank, str) else None


def _fields_of(piece: Piece) -> dict[str, Any]:
    if piece.data is None:
        raise InvalidInput(piece.reason)
    fields = parse_json(piece.data)
    if not isinstance(fields, dict):
        raise InvalidInput("not a JSON object")
    return fields


def _incoming(fields: dict[str, Any], place: str, own_ref: str, bank: str | None) -> Incoming:
    texts = {name: _optional_text(fields, name) for name in _TEXTS}
    if not isinstance(fields.get("text"), str):
        raise InvalidInput("no `text`, or it is no text")
    kind = fields.get("type", "note")
    if not isinstance(kind, str):
        raise InvalidInput("`type` is no text")
    plain = not _is_version(fields)
    origin = _origin(fields, bank, plain=plain)
    # An exported memory without a ref was never imported: giving it one would make another memory of it.
    source_ref = texts["source_ref"] if texts["source_ref"] is not None or not plain else own_ref
    return Incoming(
        text=fields["text"],
        place=place,
        key=texts["key"],
        title=texts["title"],
        tags=_tags(fields.get("tags")),
        metadata=_metadata(fields, texts["speaker"], plain=plain),
        type=kind,
        session=texts["session"],
        created_ms=_created(fields),
        valid_from=_time(fields, "valid_from"),
        valid_until=_time(fields, "valid_until"),
        tool=_flag(fields, "tool"),
        recalled=_flag(fields, "recalled"),
        source_ref=source_ref,
        author=texts["speaker"] or _name_of(fields),
        origin=origin or None,
    )


def _is_version(fields: dict[str, Any]) -> bool:
    """Whether a line says which version of which record it is, as we write it."""
    version = fields.get("version")
    return isinstance(version, str) and "/" in version and _is_uuid(fields.get("id"))


def _origin(fields: dict[str, Any], bank: str | None, *, plain: bool) -> dict[str, Any]:
    if plain:  # whatever else it claims is the writer's own and stays in the metadata
        return {"id": fields["id"]} if _is_uuid(fields.get("id")) else {}
    origin = {name: fields[name] for name in _ORIGIN if name in fields}
    if isinstance(found := fields.get("bank", bank), str):
        origin["bank"] = found
    return origin


def _is_uuid(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parse_record(value)
    except InvalidInput:
        return False
    return True


def _name_of(fields: dict[str, Any]) -> str | None:
    name = fields.get("author_name")
    return name if isinstance(name, str) else None


def _optional_text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"`{name}` is no text")
    return value


def _flag(fields: dict[str, Any], name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput(f"`{name}` is neither true nor false")
    return value


def _tags(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise InvalidInput("`tags` is no list of texts")
    return tuple(value)


def _metadata(fields: dict[str, Any], speaker: str | None, *, plain: bool) -> dict[str, Any]:
    given = fields.get("metadata")
    if given is not None and not isinstance(given, dict):
        raise InvalidInput("`metadata` is no JSON object")
    metadata = dict(given or {})
    if speaker is not None:
        metadata.setdefault("speaker", speaker)
    if plain:  # fields of the writer's own are kept, not dropped
        for name in sorted(fields.keys() - _KNOWN):
            if name != "id" or not _is_uuid(fields["id"]):
                metadata.setdefault(name, fields[name])
    return metadata


def _time(fields: dict[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    # Our own fields are milliseconds, however small.
    ms = value if type(value) is int else to_ms(value)
    if ms is None or not 0 <= ms < 1 << 53:
        raise InvalidInput(f"`{name}` is no time: {label(value, type(value).__name__)[:40]!r}")
    return ms


def _created(fields: dict[str, Any]) -> int | None:
    for name in _CREATED:
        value = fields.get(name)
        if value is None:
            continue
        if name.endswith("_ms"):
            return _time(fields, name)
        ms = to_ms(value)
        if ms is None:
            raise InvalidInput(f"`{name}` is no time: {label(value, type(value).__name__)[:40]!r}")
        return ms
    return None
