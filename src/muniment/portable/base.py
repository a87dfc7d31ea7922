"""What every importer yields, and how it names where a memory came from.

The rule of `source_ref`: `<format>:<source>#<place>`. `source` is 12 hex digits of the hash of what names the
conversation: its own id if the file gives one, else its first message that is not by the system. `place` is the
message's id if it has one, else its ordinal, from 1, in its conversation; lines that can't be taken are counted.
The file's path and what follows the first message are no part of it, so a file that is imported again, from
elsewhere or after it grew at its end, gives the same refs, while two equal lines keep two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muniment.base.errors import InvalidInput, LimitExceeded
from muniment.base.ids import RecordId
from muniment.base.limits import LIMITS
from muniment.ledger.acts import Remember
from muniment.ledger.admission import check_remember

_NO_ID = RecordId(bytes(16))
REF_CHARS = 512


@dataclass(frozen=True, slots=True)
class Incoming:
    """One memory as a file holds it.

    Attributes:
        place: Where it stands, for messages: `line 12`, `conv-26 session_3 turn 4`.
        created_ms: When it was said, Unix ms; None if the file does not say.
        tool: The words came from a tool, so they are trusted less.
        source_ref: Where it was found, stable over imports of the same file.
        author: The speaker's or writer's name, if the file gives one; it proves nothing.
        origin: Of a line of our own export: `id`, `version`, `bank`, `at`, `author` (DID), `author_name`,
            `source`, `kind`, `state`, `supersedes` and `conflict`, as far as they are given.
        parts: Pieces of the file that were joined into this memory.
    """

    text: str
    place: str
    key: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    type: str = "note"
    session: str | None = None
    created_ms: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    tool: bool = False
    recalled: bool = False
    source_ref: str | None = None
    author: str | None = None
    origin: Mapping[str, Any] | None = None
    parts: int = 1


@dataclass(frozen=True, slots=True)
class BadLine:
    """A part of a file that can't be taken, and why. The caller skips it or stops."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Pieces of a file that are whole and become no memory, and why: deleted there, empty, an index of others."""

    place: str
    reason: str
    parts: int = 1


Item = Incoming | BadLine | LeftOut


@dataclass(slots=True)
class Progress:
    """How far reading is, in bytes on the disk (compressed ones, if they are); `total` 0 if it is not known."""

    total: int = 0
    done: int = 0


def checked(item: Item) -> Item:
    """The item, or why no bank would take it: over a limit, or without meaning."""
    if isinstance(item, BadLine | LeftOut):
        return item
    act = Remember(
        id=_NO_ID,
        text=item.text,
        created=item.created_ms or 0,
        key=item.key,
        title=item.title,
        type=item.type,
        tags=item.tags,
        metadata=item.metadata or None,
        session=item.session,
        valid_from=item.valid_from,
        valid_until=item.valid_until,
    )
    try:
        check_remember(act)
    except (LimitExceeded, InvalidInput) as error:
        return BadLine(item.place, error.message)
    if item.source_ref is not None and len(item.source_ref) > REF_CHARS:
        return BadLine(
            item.place, f"source_ref has {len(item.source_ref)} characters, the limit is {REF_CHARS}"
        )
    return item


def label(value: Any, otherwise: str) -> str:
    """A short value of a file as text; `otherwise` for what is empty, or no text or number."""
    if isinstance(value, str):
        return value or otherwise
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def tags_of(values: Any) -> tuple[str, ...]:
    """Labels of a file as tags: each once, without those that are no text or too long, as many as a memory takes."""
    found = values if isinstance(values, list | tuple) else []
    fitting = (tag for tag in found if isinstance(tag, str) and 0 < len(tag) <= LIMITS.tag_chars)
    return tuple(dict.fromkeys(fitting))[: LIMITS.tags]


def source_id(format: str, *parts: object) -> str:  # noqa: A002 - the word of the command line
    """12 hex digits that name a conversation by the values that don't change when it grows."""
    digest = hashlib.blake2b(digest_size=6)
    for part in (format, *parts):
        data = label(part, type(part).__name__).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def ref(format: str, source: str, place: object) -> str:  # noqa: A002
    """A `source_ref`; a place that is too long to be kept is hashed."""
    text = str(place)
    if len(text) > 200:
        text = source_id("place", text)
    return f"{format}:{source}#{text}"
