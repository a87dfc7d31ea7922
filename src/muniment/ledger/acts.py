"""The sealed acts: what a body says once it is open (design sections 2, 3, 5 and 9).

Each act is one canonical DAG-CBOR map. Words are text strings; words that are no valid Unicode (lone
surrogates) are byte strings in the same place, so that any text at all is a valid memory. Fields that a
newer version adds are passed over, and stay in the stored bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from muniment.base import codec
from muniment.base.errors import LimitExceeded, Malformed, RefusedBody
from muniment.base.ids import RECORD_ID_BYTES, EntryId, RecordId, VersionId, is_cid
from muniment.base.limits import LIMITS

REMEMBER, VECTOR, ARCHIVE, FORGET, FEEDBACK, DESCRIBE, SET = range(1, 8)
TYPES = ("note", "skill", "bullet", "message")
MAX_TIME = 1 << 53


@dataclass(frozen=True, slots=True)
class Remember:
    """One version of a record: the words as given, and what belongs to them.

    Attributes:
        id: Record id, 16 bytes (UUIDv7).
        text: The words, untouched.
        created: When it was said, Unix milliseconds.
        over: The versions that this one takes the place of.
        metadata: A JSON object; numbers within 64 bits.
        tool: The words came from a tool: trusted less.
        recalled: A hit that is kept again.
        ref: Where an importer found it: hash of the source and place in it.
    """

    code: ClassVar[int] = REMEMBER
    id: RecordId
    text: str
    created: int
    key: str | None = None
    title: str | None = None
    type: str = "note"
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    session: str | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    over: tuple[VersionId, ...] = ()
    tool: bool = False
    recalled: bool = False
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class Vector:
    """A unit vector, little-endian float16, of `version`, or of act number `act` of the same entry."""

    code: ClassVar[int] = VECTOR
    model: str
    dimension: int
    data: bytes
    version: VersionId | None = None
    act: int | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    """A version's payload lies in a blob: BLAKE3 of the sealed payload, its key, and a stub to find it by.

    `stub` is the zstd-compressed canonical map that holds what indexes need.
    """

    code: ClassVar[int] = ARCHIVE
    version: VersionId
    pointer: bytes
    key: bytes
    stub: bytes


@dataclass(frozen=True, slots=True)
class Forget:
    """Hide versions; with `undo`, the named forget acts have no effect any more."""

    code: ClassVar[int] = FORGET
    versions: tuple[VersionId, ...] = ()
    undo: tuple[VersionId, ...] = ()


@dataclass(frozen=True, slots=True)
class Feedback:
    """A judgement of a version from -100 (harmful) to 100 (helpful); of one `id` by one author the newest counts."""

    code: ClassVar[int] = FEEDBACK
    version: VersionId
    score: int
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Describe:
    """The bank's display name and description."""

    code: ClassVar[int] = DESCRIBE
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Set:
    """A named value of the bank or agent, merged per name by version; `value` None removes it."""

    code: ClassVar[int] = SET
    space: str
    name: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class UnknownAct:
    """An act of a newer version: kept and synced, without effect here."""

    code: int


Act = Remember | Vector | Archive | Forget | Feedback | Describe | Set | UnknownAct


def words(value: str) -> str | bytes:
    """The form in which words are written: text, or bytes where they are no valid Unicode."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def _read_words(value: Any, most: int, what: str) -> str:
    if isinstance(value, bytes):
        try:
            text = value.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise RefusedBody(f"{what} is not text") from None
        if words(text) != value:
            raise RefusedBody(f"{what} is written as bytes and is valid text")
        value = text
    if not isinstance(value, str) or len(value) > most:
        raise RefusedBody(f"{what} is not text of at most {most} characters")
    return value


def json_words(value: Any) -> Any:
    """JSON with its words in the form in which they are written."""
    if isinstance(value, str):
        return words(value)
    if isinstance(value, Mapping):
        # Map keys are always text in DAG-CBOR, so a key with a lone surrogate has no form.
        return {key: json_words(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_words(item) for item in value]
    return value


def _json_in(value: Any) -> Any:
    if isinstance(value, bytes):
        return _read_words(value, LIMITS.metadata_bytes, "metadata")
    if isinstance(value, dict):
        return {key: _json_in(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_in(item) for item in value]
    return value


def depth(value: Any, left: int) -> int:
    """Nested containers in `value`, looking at most `left` deep."""
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, list | tuple):
        inner = list(value)
    else:
        return 0
    return 1 + (max((depth(item, left - 1) for item in inner), default=0) if left else 0)


def _sorted_words(tags: tuple[str, ...]) -> list[str | bytes]:
    return [words(tag) for tag in sorted(set(tags), key=_bytes_of)]


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _write_remember(act: Remember) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": act.id, "text": words(act.text), "at": act.created}
    for name, value in (("key", act.key), ("title", act.title), ("session", act.session), ("ref", act.ref)):
        if value is not None:
            fields[name] = words(value)
    if act.type != "note":
        fields["type"] = act.type
    if act.tags:
        fields["tags"] = _sorted_words(act.tags)
    if act.metadata:
        fields["meta"] = json_words(act.metadata)
    if act.valid_from is not None:
        fields["from"] = act.valid_from
    if act.valid_until is not None:
        fields["until"] = act.valid_until
    if act.over:
        fields["over"] = [list(version) for version in sorted(act.over)]
    if act.tool:
        fields["tool"] = True
    if act.recalled:
        fields["again"] = True
    return fields


def _time(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None and name not in fields:
        return None
    if type(value) is not int or not 0 <= value < MAX_TIME:
        raise RefusedBody(f"{name} is not a time")
    return value


def _version(value: Any) -> VersionId:
    if not isinstance(value, list) or len(value) != 2 or not is_cid(value[0]) or type(value[1]) is not int:
        raise RefusedBody("not a version")
    if not 0 <= value[1] < LIMITS.acts_per_entry:
        raise RefusedBody("not a version")
    return VersionId(EntryId(value[0]), value[1])


def _versions(value: Any) -> tuple[VersionId, ...]:
    if not isinstance(value, list) or len(value) > 4096:
        raise RefusedBody("not a list of versions")
    return tuple(_version(item) for item in value)


def _optional_words(fields: Mapping[str, Any], name: str, most: int) -> str | None:
    return _read_words(fields[name], most, name) if name in fields else None


def _read_remember(fields: Mapping[str, Any]) -> Remember:
    record = fields.get("id")
    created = _time(fields, "at")
    tags, kind, meta = fields.get("tags", []), fields.get("type", "note"), fields.get("meta")
    if not isinstance(record, bytes) or len(record) != RECORD_ID_BYTES or created is None:
        raise RefusedBody("a record without id or time")
    if not isinstance(tags, list) or len(tags) > LIMITS.tags or not isinstance(kind, str) or len(kind) > 32:
        raise RefusedBody("tags or type are malformed")
    if meta is not None and (not isinstance(meta, dict) or depth(meta, 64) > LIMITS.metadata_depth):
        raise RefusedBody("metadata is malformed")
    return Remember(
        id=RecordId(record),
        text=_read_words(fields.get("text"), LIMITS.text_chars, "text"),
        created=created,
        key=_optional_words(fields, "key", LIMITS.key_chars),
        title=_optional_words(fields, "title", LIMITS.title_chars),
        type=kind,
        tags=tuple(_read_words(tag, LIMITS.tag_chars, "tag") for tag in tags),
        metadata=_json_in(meta) if meta is not None else None,
        session=_optional_words(fields, "session", LIMITS.session_chars),
        valid_from=_time(fields, "from"),
        valid_until=_time(fields, "until"),
        over=_versions(fields.get("over", [])),
        tool=fields.get("tool") is True,
        recalled=fields.get("again") is True,
        ref=_optional_words(fields, "ref", 512),
    )


def _bytes_field(fields: Mapping[str, Any], name: str, length: int | None) -> bytes:
    value = fields.get(name)
    if not isinstance(value, bytes) or (length is not None and len(value) != length):
        raise RefusedBody(f"{name} is malformed")
    return value


def _write_vector(act: Vector) -> dict[str, Any]:
    target: dict[str, Any] = {"act": act.act} if act.version is None else {"v": list(act.version)}
    return {**target, "model": act.model, "dim": act.dimension, "data": act.data}


def _read_vector(fields: Mapping[str, Any]) -> Vector:
    model = _read_words(fields.get("model"), 256, "model")
    dimension, act = fields.get("dim"), fields.get("act")
    if type(dimension) is not int or not 0 < dimension <= 1 << 16:
        raise RefusedBody("a vector's dimension is malformed")
    data = _bytes_field(fields, "data", dimension * 2)
    if ("v" in fields) == ("act" in fields):
        raise RefusedBody("a vector names one version")
    if act is None:
        return Vector(model, dimension, data, version=_version(fields["v"]))
    if type(act) is not int or not 0 <= act < LIMITS.acts_per_entry:
        raise RefusedBody("a vector's act is malformed")
    return Vector(model, dimension, data, act=act)


def _read_archive(fields: Mapping[str, Any]) -> Archive:
    version = _version(fields.get("v"))
    stub = _bytes_field(fields, "stub", None)
    return Archive(version, _bytes_field(fields, "ptr", 32), _bytes_field(fields, "key", 32), stub)


def _write_forget(act: Forget) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if act.versions:
        fields["v"] = [list(version) for version in sorted(act.versions)]
    if act.undo:
        fields["undo"] = [list(version) for version in sorted(act.undo)]
    return fields


def _read_forget(fields: Mapping[str, Any]) -> Forget:
    return Forget(_versions(fields.get("v", [])), _versions(fields.get("undo", [])))


def _read_feedback(fields: Mapping[str, Any]) -> Feedback:
    score = fields.get("score")
    if type(score) is not int or not -100 <= score <= 100:
        raise RefusedBody("a feedback's score is malformed")
    return Feedback(_version(fields.get("v")), score, _optional_words(fields, "id", LIMITS.feedback_id_chars))


def _write_feedback(act: Feedback) -> dict[str, Any]:
    named = {} if act.id is None else {"id": words(act.id)}
    return {"v": list(act.version), "score": act.score, **named}


def _read_describe(fields: Mapping[str, Any]) -> Describe:
    name = _read_words(fields.get("name"), LIMITS.name_chars, "name")
    return Describe(name, _read_words(fields.get("text", ""), LIMITS.description_chars, "description"))


def _write_set(act: Set) -> dict[str, Any]:
    value = {} if act.value is None else {"value": json_words(act.value)}
    return {"space": words(act.space), "name": words(act.name), **value}


def _read_set(fields: Mapping[str, Any]) -> Set:
    space = _read_words(fields.get("space"), LIMITS.name_chars, "space")
    name = _read_words(fields.get("name"), LIMITS.key_chars, "name")
    return Set(space, name, _json_in(fields["value"]) if "value" in fields else None)


_WRITERS: dict[int, Callable[[Any], dict[str, Any]]] = {
    REMEMBER: _write_remember,
    VECTOR: _write_vector,
    ARCHIVE: lambda act: {"v": list(act.version), "ptr": act.pointer, "key": act.key, "stub": act.stub},
    FORGET: _write_forget,
    FEEDBACK: _write_feedback,
    DESCRIBE: lambda act: {"name": words(act.name), "text": words(act.description)},
    SET: _write_set,
}
_READERS: dict[int, Callable[[Mapping[str, Any]], Act]] = {
    REMEMBER: _read_remember,
    VECTOR: _read_vector,
    ARCHIVE: _read_archive,
    FORGET: _read_forget,
    FEEDBACK: _read_feedback,
    DESCRIBE: _read_describe,
    SET: _read_set,
}


def to_bytes(act: Act) -> bytes:
    """The canonical bytes of an act: what is padded and sealed.

    Raises:
        Malformed: It holds a value that has no canonical form.
    """
    return codec.encode(_WRITERS[act.code](act))


def from_bytes(kind: int, plain: bytes) -> Act:
    """Read an open body of a kind that the signed header names.

    Raises:
        RefusedBody: Not canonical, or not of its kind; the whole entry is then unreadable.
    """
    if kind not in _READERS:
        return UnknownAct(kind)
    try:
        fields = codec.decode(plain, LIMITS.body_bytes)
    except (Malformed, LimitExceeded) as error:
        raise RefusedBody(f"a body is {error.message}") from None
    if not isinstance(fields, dict):
        raise RefusedBody("a body is not a map")
    return _READERS[kind](fields)


def content_digest(act: Remember) -> bytes:
    """16 bytes that are equal for two versions that say the same: key, title, text, tags, metadata, type.

    Concurrent versions of one key that agree in this are one record with several authors (design section 5).
    """
    same = [_optional(act.key), _optional(act.title), words(act.text), _sorted_words(act.tags)]
    meta = json_words(act.metadata) if act.metadata else None
    return hashlib.sha256(codec.encode([*same, meta, act.type])).digest()[:16]


def write_digest(act: Remember, author: bytes, content: bytes | None = None) -> bytes:
    """16 bytes that are equal for two writes of the same thing by the same author (design section 5).

    The time is compared apart, and only where the writer gave one.

    Args:
        act: What is written.
        author: Who writes it.
        content: `content_digest(act)`, where the caller has it already.
    """
    same = content_digest(act) if content is None else content
    rest = [author, _optional(act.session), _optional(act.ref)]
    return hashlib.sha256(codec.encode([same, *rest])).digest()[:16]


def _optional(value: str | None) -> str | bytes | None:
    return None if value is None else words(value)
