"""What may become a memory: limits and meaning, checked before anything is signed (design section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.base import codec
from muniment.base.errors import InvalidInput, LimitExceeded, Malformed
from muniment.base.limits import LIMITS
from muniment.ledger.acts import MAX_TIME, TYPES, Remember, depth, json_words


def check_metadata(value: Mapping[str, Any]) -> None:
    """Refuse metadata that is too deep, too large or not JSON.

    Raises:
        LimitExceeded: Over `Limits.metadata_depth` or `Limits.metadata_bytes`.
        InvalidInput: A value that has no canonical form: NaN, an integer over 64 bits, a key that is no text.
    """
    levels = depth(value, LIMITS.metadata_depth + 1)
    if levels > LIMITS.metadata_depth:
        raise LimitExceeded(
            "metadata depth", LIMITS.metadata_depth, levels, "Flatten it, or keep it as text."
        )
    _check_json(value)
    try:
        size = len(codec.encode(json_words(value)))
    except Malformed as error:
        raise InvalidInput(f"metadata {error.message}", "Use text for numbers over 64 bits.") from None
    if size > LIMITS.metadata_bytes:
        raise LimitExceeded("metadata bytes", LIMITS.metadata_bytes, size, "Keep long values in the text.")


def _check_json(value: Any) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"a metadata key is not text: {key!r}", "JSON objects have text keys.")
            _check_json(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_json(item)
    elif value is not None and not isinstance(value, str | int | float | bool):
        raise InvalidInput(
            f"metadata holds a {type(value).__name__}", "Use JSON values: text, numbers, lists, objects."
        )


def _check_chars(value: str | None, limit: str) -> None:
    most: int = getattr(LIMITS, limit)
    if value is not None and len(value) > most:
        raise LimitExceeded(limit.replace("_chars", " characters"), most, len(value))


def check_remember(act: Remember) -> None:
    """Refuse a version that is over a limit, before anything is signed.

    Raises:
        LimitExceeded: With the limit, its value and the value given.
        InvalidInput: An unknown type, an empty key or tag, or a time that is no time.
    """
    for value, limit in ((act.key, "key_chars"), (act.title, "title_chars"), (act.session, "session_chars")):
        _check_chars(value, limit)
    _check_chars(act.text, "text_chars")
    size = len(act.text.encode("utf-8", "surrogatepass"))
    if size > LIMITS.text_bytes:
        raise LimitExceeded("text bytes", LIMITS.text_bytes, size, "Split it into several memories.")
    if len(act.tags) > LIMITS.tags:
        raise LimitExceeded("tags", LIMITS.tags, len(act.tags))
    for tag in act.tags:
        _check_chars(tag, "tag_chars")
        if not tag:
            raise InvalidInput("an empty tag", "Leave it out.")
    if act.key == "":
        raise InvalidInput("an empty key", "Leave the key out, or give it a name.")
    if act.type not in TYPES:
        raise InvalidInput(f"unknown type: {act.type[:40]!r}", f"Types are {', '.join(TYPES)}.")
    for time in (act.created, act.valid_from, act.valid_until):
        if time is not None and not 0 <= time < MAX_TIME:
            raise InvalidInput(f"not a time in Unix milliseconds: {time}")
    if act.metadata is not None:
        check_metadata(act.metadata)
