"""From JSON answers to the views that the library gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from muniment.base.errors import BadAnswer
from muniment.views import Hit, Hits, Record, Remembered, Stats, Term, Why

Json = Mapping[str, Any]
_RECORD = {field.name for field in fields(Record)}


def _tuples(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _checked(read: Any) -> Any:
    def wrapped(value: Any) -> Any:
        try:
            return read(value)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadAnswer(
                f"the answer lacks what it should have: {type(error).__name__} {error}",
                "The server may be of another version.",
            ) from None

    return wrapped


def _record(value: Json) -> Record:
    return Record(**{name: _tuples(item) for name, item in value.items() if name in _RECORD})


def _remembered(value: Json) -> Remembered:
    return Remembered(
        value["id"], value["version"], value["created"], value["bank"],
        tuple(value.get("superseded", ())), value.get("degraded"),
    )  # fmt: skip


def _hit(value: Json, terms: tuple[Term, ...] = ()) -> Hit:
    spans = tuple((start, end) for start, end in value["highlights"])
    return Hit(
        _record(value["record"]), value["score"], value["signals"], value["snippet"], spans, terms,
        value["conflict"], value["archived"], tuple(value.get("duplicates", ())),
    )  # fmt: skip


def _hits(value: Json) -> Hits:
    return Hits([_hit(hit) for hit in value["hits"]], value["mode"], value.get("degraded"))


def _why(value: Json) -> Why:
    terms = tuple(Term(t["term"], t["tf"], t["df"], t["idf"], t["score"]) for t in value["terms"])
    hit = None if value["hit"] is None else _hit(value["hit"], terms)
    return Why(
        value["query"],
        hit,
        value["rank"],
        tuple(value["query_terms"]),
        tuple(value["missed"]),
        value["reason"],
    )


def _stats(value: Json) -> Stats:
    return Stats(**{field.name: value[field.name] for field in fields(Stats)})


record, remembered, hits, why, stats = map(_checked, (_record, _remembered, _hits, _why, _stats))
records = _checked(lambda value: [_record(item) for item in value["records"]])
