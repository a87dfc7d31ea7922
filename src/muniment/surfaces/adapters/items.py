"""Items of a key-value store as memories: a namespace and a key become a record's key, an object its words.

The words are what people and recall read; the rest stands in the metadata. What does not fit there (deep, large,
numbers over 64 bits) is kept as one JSON text instead, so that every JSON object comes back as it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from muniment.base.errors import InvalidInput, MunimentError
from muniment.base.limits import LIMITS
from muniment.ledger.admission import check_metadata
from muniment.views import Record

PREFIX = "store:"
META = "store"  # where the rest of an item stands in a record's metadata
ALL = "store"  # the tag of every item
INDEXED = "store:indexed"  # the tag of those that queries find
_WORDS = (
    "text",
    "content",
    "memory",
    "data",
)  # fields whose text is what an item says, the first that is there
_DEPTH = 100

Namespace = tuple[str, ...]


class Words(NamedTuple):
    """An item as a record takes it."""

    text: str
    metadata: dict[str, Any]


def record_key(namespace: Namespace, key: str) -> str:
    """The record's key. Labels hold no dot and are not empty, so two dots end the namespace.

    Raises:
        InvalidInput: There is no namespace, or a label is none.
    """
    if not namespace:
        raise InvalidInput("an item has no namespace", 'Name one, such as ("notes",).')
    _check_labels(namespace)
    return f"{PREFIX}{'.'.join(namespace)}..{key}"


def place_of(record: Record) -> tuple[Namespace, str] | None:
    """Namespace and key of an item; None for a memory that is none."""
    if record.key is None or not record.key.startswith(PREFIX):
        return None
    namespace, dots, key = record.key.removeprefix(PREFIX).partition("..")
    return (tuple(namespace.split(".")), key) if namespace and dots else None


def tags_of(namespace: Namespace, *, indexed: bool) -> tuple[str, ...]:
    """A tag for each namespace that the item lies in, so that those below one are found by it."""
    within = [tag_of(namespace[:depth]) for depth in range(len(namespace) + 1)]
    return tuple([*within, INDEXED] if indexed else within)


def tag_of(namespace: Namespace) -> str:
    """The tag of what lies in a namespace or below.

    Raises:
        InvalidInput: A label is none.
    """
    if not namespace:
        return ALL
    _check_labels(namespace)
    tag = f"{ALL}:{'.'.join(namespace)}."
    if len(tag) > LIMITS.tag_chars:
        return f"{ALL}#{hashlib.sha256(tag.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return tag


def _check_labels(namespace: Namespace) -> None:
    for label in namespace:
        if not isinstance(label, str) or not label or "." in label:
            raise InvalidInput(f"no label of a namespace: {label!r}"[:200], "Use texts without a dot.")


def words_of(value: Mapping[str, Any], texts: Callable[[Mapping[str, Any]], Sequence[str]] | None) -> Words:
    """An object as words and metadata.

    Args:
        value: A JSON object.
        texts: Picks what is to be found by; by default a field that is called like one, else the whole.

    Raises:
        InvalidInput: It is no JSON.
    """
    _check(value, 0)
    whole = Words(json.dumps(value, ensure_ascii=False), {META: {}})
    if texts is None:
        field = next((name for name in _WORDS if isinstance(value.get(name), str) and value[name]), None)
        if field is None:
            return whole
        rest = {name: item for name, item in value.items() if name != field}
        made = Words(value[field], {META: {"field": field, **({"rest": rest} if rest else {})}})
    else:
        made = Words("\n".join(texts(value)), {META: {"value": dict(value)}})
    try:
        check_metadata(made.metadata)
    except MunimentError:
        return whole
    return made


def value_of(record: Record) -> dict[str, Any]:
    """The object that a record holds; what somebody else wrote under such a key is its text."""
    kept = record.metadata.get(META)
    if isinstance(kept, Mapping):
        if isinstance(kept.get("value"), Mapping):
            return dict(kept["value"])
        if isinstance(kept.get("field"), str):
            rest = kept.get("rest")
            return {kept["field"]: record.text, **(rest if isinstance(rest, Mapping) else {})}
        try:
            value = json.loads(record.text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
    return {"text": record.text}


def _check(value: Any, depth: int) -> None:
    if depth > _DEPTH:
        raise InvalidInput(f"the value is nested more than {_DEPTH} deep", "Flatten it.")
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str):
                raise InvalidInput(f"the value has a name that is no text: {name!r}"[:200], "Use texts.")
            _check(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _check(item, depth + 1)
    elif value is not None and not isinstance(value, str | int | float | bool):
        raise InvalidInput(
            f"the value holds a {type(value).__name__}",
            "Use JSON values: text, numbers, lists, objects.",
        )


# Filters


def passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether an object has all values of a filter: equal ones, or `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`.

    Raises:
        InvalidInput: There is no such operator, or it compares with what is no number.
    """
    return all(_matches(value.get(name), one) for name, one in (wanted or {}).items())


def _matches(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(given, str(name), one) for name, one in wanted.items())
        return isinstance(given, Mapping) and all(
            _matches(given.get(name), one) for name, one in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(given, list | tuple)
            and len(given) == len(wanted)
            and all(_matches(one, other) for one, other in zip(given, wanted, strict=True))
        )
    return bool(given == wanted)


_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}


def _compares(given: Any, operator: str, wanted: Any) -> bool:
    if operator == "$eq":
        return bool(given == wanted)
    if operator == "$ne":
        return bool(given != wanted)
    if operator not in _ORDERS:
        raise InvalidInput(
            f"there is no operator {operator[:40]!r}", f"There are $eq, $ne, {', '.join(_ORDERS)}."
        )
    bound = _number(wanted)
    if bound is None:
        raise InvalidInput(f"{operator} compares numbers, and this is none: {str(wanted)[:40]!r}")
    number = _number(given)
    return number is not None and _ORDERS[operator](number, bound)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
