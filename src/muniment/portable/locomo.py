"""LoCoMo conversations: a list of samples, or one, each with dated sessions of turns. Questions are not read.

Each turn becomes a message `speaker: text`, with ` [shares a photo: caption]` where there is one, in the session
`<sample>/session_<n>`, said at the session's time plus a second a turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.portable.base import BadLine, Incoming, Item, label, ref, source_id
from muniment.portable.source import Source, value_of, values
from muniment.portable.times import to_ms

FORMAT = "locomo"
_SESSION = re.compile(r"session_(\d{1,6})", re.ASCII)


def is_sample(value: Any) -> bool:
    """Whether a JSON value is a sample of LoCoMo."""
    conversation = value.get("conversation") if isinstance(value, dict) else None
    return isinstance(conversation, dict) and any(_SESSION.fullmatch(name) for name in conversation)


def read(source: Source, sample: str | None = None) -> Iterator[Item]:
    """The turns of all samples, or of the one with that `sample_id`."""
    found = sample is None
    for piece in values(source):
        place = f"sample {piece.number} (line {piece.line})"
        try:
            value = value_of(piece, is_sample, "no `conversation` with sessions")
        except InvalidInput as error:
            yield BadLine(place, error.message)
            continue
        name = label(value.get("sample_id"), f"sample-{piece.number}")
        if sample is None or sample == name:
            found = True
            yield from _sample(name, value["conversation"])
    if not found:
        yield BadLine("the file", f"no sample {sample!r}")


def _sample(name: str, conversation: dict[str, Any]) -> Iterator[Item]:
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    source = source_id(FORMAT, name)
    for number in numbers:
        key = f"session_{number}"
        turns = conversation[key]
        if not isinstance(turns, list):
            yield BadLine(f"{name} {key}", "not a list of turns")
            continue
        date = conversation.get(f"{key}_date_time")
        start = to_ms(date)
        for at, turn in enumerate(turns):
            place = f"{name} {key} turn {at + 1}"
            text = turn.get("text") if isinstance(turn, dict) else None
            if not isinstance(text, str):
                yield BadLine(place, "a turn without `text`")
                continue
            speaker = label(turn.get("speaker"), "unknown")
            if isinstance(turn.get("blip_caption"), str):
                text += f" [shares a photo: {turn['blip_caption']}]"
            turn_id = label(turn.get("dia_id"), f"D{number}:{at + 1}")
            metadata: dict[str, Any] = {"dia_id": turn_id, "speaker": speaker}
            if isinstance(date, str):
                metadata["session_date"] = date
            yield Incoming(
                text=f"{speaker}: {text}",
                place=place,
                metadata=metadata,
                type="message",
                session=f"{name}/{key}",
                created_ms=None if start is None else start + at * 1000,
                source_ref=ref(FORMAT, source, turn_id),
                author=speaker,
            )
