"""The event that a question places a time by: "before the move", "since we switched to Postgres" (English).

Pure functions. What the event is called is read from the question; when it was is for who can look it up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from muniment.recall.dates import BEGINNING, CHARS, END, EPOCH, MOST, Span, spans

MOST_APART_MS = 31 * 86_400_000  # tellings of one event; what is told of for longer is no event, or several
MOST_TOLD = 8  # records that tell of it: what more than these hold is a subject, not an event
HELD = 0.75  # of the idf mass of the event's words, that a record has to hold to tell of it
DAYS_MS = 7 * 86_400_000  # the longest time that a text names and that still says when an event was
NEAR_MS = 183 * 86_400_000  # a day without a year is the one nearest to when it was said

_EVENT = re.compile(
    r"(?<![\w'-])(?P<way>before|prior to|until|till|after|following|since)\s+(?P<what>[^,.;:?!()\n]+)"
)
_OTHER_SENSE = re.compile(  # "look after", "named after", "the before and after"
    r"\b(?:look(?:s|ed|ing)?|tak(?:e|es|en|ing)|took|nam(?:e|es|ed|ing)|car(?:e|es|ed|ing)|the|a|an)\s*$"
)
_NO_EVENT = re.compile(r"(?:all|that|this|it|then|long|now|when|what|which|how)\b")
_BEFORE = {"before", "prior to", "until", "till"}


class Event(NamedTuple):
    """What a question names in place of a time.

    Attributes:
        what: The words that it is called by.
        before: Whether what is asked for was before it; else it was after.
    """

    what: str
    before: bool


class Telling(NamedTuple):
    """A record that tells of an event: when it was said (Unix ms), and its text."""

    said: int
    text: str


def event_in(question: str) -> Event | None:
    """The first event that a question places a time by; None where it names none."""
    text = question[:CHARS].casefold()
    for match in _EVENT.finditer(text):
        lead = text[: match.start()]
        if not _OTHER_SENSE.search(lead) and not _NO_EVENT.match(match["what"]):
            return Event(match["what"].strip(), match["way"] in _BEFORE)
    return None


def side_of(event: Event, tellings: Sequence[Telling]) -> tuple[Span, ...]:
    """The time before or after an event, told from the records that tell of it; empty if they don't say when it was.

    A telling says when it was by a time of a week at most that its text names, or else by when it was said. The
    earliest counts.
    """
    if not 0 < len(tellings) < MOST_TOLD:
        return ()
    times = [_happened(one) for one in tellings]
    first = min(times)
    if max(times)[0] - first[0] > MOST_APART_MS:
        return ()
    side = Span(BEGINNING, first[0]) if event.before else Span(first[0], END)
    return (side,) if side.start < side.end else ()


def _happened(one: Telling) -> Span:
    named = [span for span in told_times(one.text, one.said) if span.end - span.start <= DAYS_MS]
    return named[0] if len(named) == 1 else Span(one.said, one.said + 1)


def told_times(text: str, said: int) -> tuple[Span, ...]:
    """The times that a text speaks of, counted from when it was said; of a day or month without a year, the nearest."""
    found = spans(text, said)
    if len(found) <= MOST:
        return found
    return tuple(
        one for one in found if said - NEAR_MS < one.end and one.start < said + NEAR_MS or _year(one) in text
    )


def _year(span: Span) -> str:
    return str((EPOCH + timedelta(milliseconds=span.start)).year)


def speaks_of(text: str, said: int, asked: Sequence[Span]) -> bool:
    """Whether a text names a time that lies within one of those asked for."""
    times = told_times(text, said)
    return any(span.start <= time.start and time.end <= span.end for time in times for span in asked)


def valid_in(start: int | None, end: int | None, asked: Sequence[Span]) -> bool:
    """Whether what holds from `start` up to `end` (Unix ms; None: open; both: no claim) held at a time asked for."""
    if start is None and end is None:
        return False
    since, until = BEGINNING if start is None else start, END if end is None else end
    return any(since < span.end and span.start < until for span in asked)
