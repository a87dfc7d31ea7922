"""What may be done to a playbook: five operations in batches, read from strangers' JSON (design section 10). Pure.

The operations of a batch have no order: whatever order they are written in, additions come first, then judgements,
edits, merges and deletions. What would depend on an order, two different edits of one bullet, is refused.

Source of the idea: "Agentic Context Engineering" (arXiv 2510.04618): small changes to single bullets instead of a
rewrite, so that no detail is lost. What is done with a change is plain code; no model takes part.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from muniment.base.errors import InvalidInput, LimitExceeded
from muniment.base.limits import LIMITS
from muniment.judging import SCORES
from muniment.query import choice

PREFIX = "bullet:"  # of the record key
GENERAL = "general"  # the section of what is put in none
SECTION_CHARS = 64
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_SLUG_CHARS = 16


@dataclass(frozen=True, slots=True)
class Add:
    """A new bullet; its id comes from section and text, so the same bullet is the same everywhere."""

    op: ClassVar[str] = "ADD"
    text: str
    section: str = GENERAL

    @property
    def id(self) -> str:
        """The id that the bullet gets."""
        return bullet_id(self.section, self.text)


@dataclass(frozen=True, slots=True)
class Update:
    """A judgement of a bullet: `helpful`, `harmful` or `neutral`."""

    op: ClassVar[str] = "UPDATE"
    id: str
    judgement: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Other words for a bullet; it keeps its id and its counts."""

    op: ClassVar[str] = "EDIT"
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Merge:
    """Bullets that become one: the first that is there stays, with the counts of all; `text` None keeps its words."""

    op: ClassVar[str] = "MERGE"
    ids: tuple[str, ...]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """A bullet is forgotten; it can be brought back."""

    op: ClassVar[str] = "DELETE"
    id: str


Operation = Add | Update | Edit | Merge | Delete
_ORDER = (Add, Update, Edit, Merge, Delete)
_FIELDS: Mapping[str, tuple[set[str], set[str]]] = {  # needed, allowed too
    "ADD": ({"text"}, {"section"}),
    "UPDATE": ({"id", "judgement"}, set()),
    "EDIT": ({"id", "text"}, set()),
    "MERGE": ({"ids"}, {"text"}),
    "DELETE": ({"id"}, set()),
}
_STEP = 'Write objects such as {"op": "ADD", "section": "…", "text": "…"}; docs/playbook.md lists all five.'


@dataclass(frozen=True, slots=True)
class Batch:
    """Operations that are done together, and the name by which doing them again is known.

    Attributes:
        operations: In the order in which they are done.
        id: Given, or made from the operations.
    """

    operations: tuple[Operation, ...]
    id: str

    def to_json(self) -> dict[str, Any]:
        """The batch as a file holds it."""
        return {"id": self.id, "operations": [operation_json(one) for one in self.operations]}


def section_name(text: str) -> str:
    """A section as it is kept: small letters, single blanks.

    Raises:
        InvalidInput | LimitExceeded: It is empty, not printable or too long.
    """
    name = " ".join(unicodedata.normalize("NFKC", text[: SECTION_CHARS * 4]).casefold().split())
    if len(name) > SECTION_CHARS:
        raise LimitExceeded("section characters", SECTION_CHARS, len(name), "Use a short name.")
    if not name or not name.isprintable() or not any(char.isalnum() for char in name):
        raise InvalidInput(
            f"not the name of a section: {text[:40]!r}", "Use a word or two, such as `testing`."
        )
    return name


def bullet_text(text: str) -> str:
    """The words of a bullet as they are kept: without blanks around them.

    Raises:
        InvalidInput | LimitExceeded: It is empty or too long.
    """
    kept = text.strip()
    if not kept:
        raise InvalidInput("a bullet has no words", "Say what was learned.")
    if len(kept) > LIMITS.bullet_chars:
        raise LimitExceeded("bullet characters", LIMITS.bullet_chars, len(kept), "Say it in a few sentences.")
    return kept


def bullet_id(section: str, text: str) -> str:
    """The id of a bullet: its section in letters of ASCII, and 12 hex digits of section and words."""
    slug = re.sub(r"[^a-z0-9]+", "-", section)[:_SLUG_CHARS].strip("-") or "b"
    said = f"{section}\0{' '.join(text.split())}".encode("utf-8", "surrogatepass")
    return f"{slug}-{hashlib.sha256(said).hexdigest()[:12]}"


def is_id(text: str) -> bool:
    """Whether a text has the form of a bullet's id."""
    return _ID.fullmatch(text) is not None


def checked_id(value: Any) -> str:
    """The id of a bullet, also where its record key is given.

    Raises:
        InvalidInput: It has not the form of one.
    """
    name = value.removeprefix(PREFIX) if isinstance(value, str) else ""
    if not is_id(name):
        raise InvalidInput(f"not the id of a bullet: {str(value)[:60]!r}", "See `muniment playbook show`.")
    return name


def batch(operations: Iterable[Operation], id: str | None = None) -> Batch:  # noqa: A002
    """A batch in its one order, without what is said twice.

    Raises:
        InvalidInput: Two operations contradict each other.
        LimitExceeded: There are more than `Limits.playbook_operations`.
    """
    given = list(operations)
    if len(given) > LIMITS.playbook_operations:
        raise LimitExceeded(
            "operations", LIMITS.playbook_operations, len(given), "Apply them in several batches."
        )
    kept = sorted(set(given), key=lambda one: (_ORDER.index(type(one)), _line(one)))
    _check_contradictions(kept)
    return Batch(tuple(kept), id or hashlib.sha256("\n".join(map(_line, kept)).encode()).hexdigest()[:24])


def _line(one: Operation) -> str:
    return json.dumps(operation_json(one), sort_keys=True)


def _check_contradictions(operations: Sequence[Operation]) -> None:
    seen: set[tuple[str, str]] = set()
    for one in operations:
        if isinstance(one, Add | Delete):
            continue
        for name in one.ids if isinstance(one, Merge) else (one.id,):
            if (one.op, name) in seen:
                raise InvalidInput(
                    f"two {one.op} operations of one batch name {name}", "Say once what is to become of it."
                )
            seen.add((one.op, name))


def operation_json(one: Operation) -> dict[str, Any]:
    """One operation as a file holds it."""
    fields = {name: getattr(one, name) for name in one.__slots__}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {"op": one.op, **{name: value for name, value in plain.items() if value is not None}}


def operation(value: Any) -> Operation:
    """One operation from JSON; nothing in it is passed over.

    Raises:
        InvalidInput | LimitExceeded: It is none of the five, lacks a field, or has one too many.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("op"), str) or value["op"] not in _FIELDS:
        raise InvalidInput(f"not an operation: {str(value)[:60]!r}", _STEP)
    name, fields = value["op"], set(value) - {"op"}
    needed, more = _FIELDS[name]
    if not needed <= fields <= needed | more:
        odd = sorted(map(str, (needed - fields) or (fields - needed - more)))[0][:40]
        raise InvalidInput(f"{name} {'lacks' if needed - fields else 'has no'} {odd!r}", _STEP)
    for field in fields - {"ids"}:
        if not isinstance(value[field], str):
            raise InvalidInput(f"{field!r} of {name} is no text", _STEP)
    return _READ[name](value)


def _read_merge(value: Mapping[str, Any]) -> Merge:
    ids = value["ids"]
    if not isinstance(ids, list | tuple) or not 2 <= len(ids) <= LIMITS.playbook_operations:
        raise InvalidInput("MERGE names no list of two bullets or more", _STEP)
    names = tuple(map(checked_id, ids))
    if len(set(names)) < len(names):
        raise InvalidInput("MERGE names a bullet twice", "Name each bullet once.")
    return Merge(names, bullet_text(value["text"]) if "text" in value else None)


_READ: Mapping[str, Callable[[Mapping[str, Any]], Operation]] = {
    "ADD": lambda v: Add(bullet_text(v["text"]), section_name(v.get("section", GENERAL))),
    "UPDATE": lambda v: Update(checked_id(v["id"]), choice(v["judgement"], tuple(SCORES), "judgement")),
    "EDIT": lambda v: Edit(checked_id(v["id"]), bullet_text(v["text"])),
    "MERGE": _read_merge,
    "DELETE": lambda v: Delete(checked_id(v["id"])),
}


def read_batch(data: bytes | str, id: str | None = None) -> Batch:  # noqa: A002
    """A batch from JSON: a list of operations, or an object with `operations` and perhaps an `id`.

    Raises:
        InvalidInput | LimitExceeded: It is no such thing, or over a limit; nothing of it is taken.
    """
    if len(data) > LIMITS.playbook_bytes:
        raise LimitExceeded("batch bytes", LIMITS.playbook_bytes, len(data), "Apply it in several batches.")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidInput(
            "the operations are no JSON", "From a file: muniment playbook apply < batch.json"
        ) from None
    return batch_of(value, id)


def batch_of(value: Any, id: str | None = None) -> Batch:  # noqa: A002
    """A batch from a JSON value, as `read_batch`.

    Raises:
        InvalidInput | LimitExceeded: As for `read_batch`.
    """
    if isinstance(value, Mapping):
        if set(value) - {"id", "operations"}:
            raise InvalidInput("a batch has `operations` and perhaps an `id`, and nothing else", _STEP)
        named = value.get("id")
        if named is not None and not isinstance(named, str):
            raise InvalidInput("the id of a batch is no text", "Name the run that it comes from.")
        id, value = id or named, value.get("operations")  # noqa: A001
    if not isinstance(value, list):
        raise InvalidInput("the operations are no list", _STEP)
    if len(value) > LIMITS.playbook_operations:
        raise LimitExceeded("operations", LIMITS.playbook_operations, len(value), "Apply several batches.")
    if id is not None:
        from muniment.feedback import check_id

        check_id(id)
    return batch(map(operation, value), id)
