"""LongMemEval: questions, each with the sessions of its haystack. Questions and answers are not read.

Each turn becomes a message `role: content` in the session of its id, said at the session's date plus a second a
turn. A session that belongs to several questions is taken once, with the date of the first. Which turns hold an
answer stays in the file: `metadata.turn_id` (`<session>#<turn>`, from 1) lets a benchmark find them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.portable.base import BadLine, Incoming, Item, label, ref, source_id
from muniment.portable.source import Source, value_of, values
from muniment.portable.times import to_ms

FORMAT = "longmemeval"


def is_question(value: Any) -> bool:
    """Whether a JSON value is a question of LongMemEval."""
    return isinstance(value, dict) and isinstance(value.get("haystack_sessions"), list)


def read(source: Source, sample: str | None = None) -> Iterator[Item]:
    """The turns of all sessions, or of those of the question with that `question_id`."""
    seen: set[str] = set()
    found = sample is None
    for piece in values(source):
        place = f"question {piece.number} (line {piece.line})"
        try:
            value = value_of(piece, is_question, "no `haystack_sessions`")
        except InvalidInput as error:
            yield BadLine(place, error.message)
            continue
        name = label(value.get("question_id"), str(piece.number))
        if sample is None or sample == name:
            found = True
            yield from _question(name, value, seen)
    if not found:
        yield BadLine("the file", f"no question {sample!r}")


def _question(name: str, value: dict[str, Any], seen: set[str]) -> Iterator[Item]:
    ids, dates = value.get("haystack_session_ids"), value.get("haystack_dates")
    for number, turns in enumerate(value["haystack_sessions"]):
        session = _at(ids, number) or f"{name}/session_{number + 1}"
        if session in seen:
            continue
        seen.add(session)
        if not isinstance(turns, list):
            yield BadLine(f"{name} {session}", "not a list of turns")
            continue
        yield from _session(session, turns, _at(dates, number))


def _at(values_: Any, number: int) -> str | None:
    value = values_[number] if isinstance(values_, list) and number < len(values_) else None
    return value if isinstance(value, str) and value else None


def _session(session: str, turns: list[Any], date: str | None) -> Iterator[Item]:
    start, source = to_ms(date), source_id(FORMAT, session)
    for number, turn in enumerate(turns, 1):
        place = f"{session} turn {number}"
        content = turn.get("content") if isinstance(turn, dict) else None
        if not isinstance(content, str):
            yield BadLine(place, "a turn without `content`")
            continue
        role = label(turn.get("role"), "unknown")
        metadata: dict[str, Any] = {"turn_id": f"{session}#{number}", "turn": number, "speaker": role}
        if date is not None:
            metadata["session_date"] = date
        yield Incoming(
            text=f"{role}: {content}",
            place=place,
            metadata=metadata,
            type="message",
            session=session,
            created_ms=None if start is None else start + (number - 1) * 1000,
            source_ref=ref(FORMAT, source, number),
            author=role,
        )
