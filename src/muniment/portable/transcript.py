"""Plain text transcripts: `Name: text` lines, with times and date headers as chat programs write them.

Known line starts, the name and `: ` following: nothing, `[2026-03-04 10:15]`, `[04/03/2026, 10:15:22]`,
`2026-03-04 10:15 -`, `12/31/23, 9:05 PM -`, `10:15`, and `Name [10:15]:`. A line that holds a date alone is the
date of what follows. All other lines go on with the message before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.portable.base import BadLine, Incoming, Item, ref, source_id
from muniment.portable.source import Piece, Source, text_of
from muniment.portable.times import clock_of, to_ms

FORMAT = "chat"
_DAY_MS = 86_400_000
_TIME = r"\d{4}-\d\d-\d\dT[\d:.]{4,15}(?:Z|[+\-]\d\d:?\d\d)?|[0-9][0-9/.:,\- ]{2,24}(?:[ap]\.?m\b\.?)?"
_STAMPED = re.compile(
    rf"(?:\[(?P<b>[^\[\]\n]{{3,40}})\]|(?P<t>{_TIME}))\s*(?:[-–—]\s+)?(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAMED = re.compile(
    r"(?P<name>[^\W\d_@][^:\n\[\]()<>{}|\"`]{0,39}?|@[\w.\-]{1,40}|\+[\d ()\-]{6,20})"
    r"(?:\s*[\[(](?P<time>[^\])\n]{3,32})[\])])?:(?:[ \t]+(?P<text>.*)|)",
    re.DOTALL,
)
_HEADER = re.compile(r"[\s\-=#*_]*(?P<date>[\w(][^\n]{4,48}?)[\s\-=#*_]*", re.DOTALL)
_MARKS = dict.fromkeys(
    map(ord, "\u200e\u200f\u202a\u202b\u202c\ufeff")
)  # written around names by some programs
_LONGEST_NAME = 4  # words
_PROBE_LINES = 60


@dataclass(slots=True)
class _Open:
    """The message that is being read."""

    place: str
    number: int  # of its first line
    speaker: str
    created: int | None
    lines: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, line: str) -> None:
        """One more line; past the limit only its length is kept."""
        self.size += len(line) + 1
        if self.size <= LIMITS.text_chars:
            self.lines.append(line)


@dataclass(slots=True)
class _Day:
    """The date that lines with a time of day alone belong to."""

    start: int | None = None
    last: int | None = None

    def at(self, text: str | None) -> int | None:
        """When a message was said, by what stands beside it; a second after the one before it, if nothing does."""
        said = self._said(text)
        if said is None and self.last is not None:
            said = self.last + 1000
        self.last = said
        return said

    def _said(self, text: str | None) -> int | None:
        if text is None:
            return self.start if self.last is None or (self.start or 0) > self.last else None
        clock = clock_of(text)
        if clock is not None:
            return None if self.start is None else self.start + clock
        ms = to_ms(text)
        if ms is not None:
            self.start = ms - ms % _DAY_MS
        return ms


def looks_like_one(head: bytes) -> bool:
    """Whether a text that starts like this is a transcript: two named lines or more, and not much else."""
    named = other = 0
    for raw in head.decode("utf-8", "replace").splitlines()[:_PROBE_LINES]:
        line = raw.translate(_MARKS)
        if not line.strip() or line[0] in " \t" or _header(line) is not None:
            continue
        if _split(line) is not None:
            named += 1
        else:
            other += 1
    return named >= 2 and named * 2 >= other


def read(source: Source) -> Iterator[Item]:
    """The messages of a transcript: one conversation, named after its first message; a message's place is its line."""
    day, name = _Day(), ""
    current: _Open | None = None
    for piece in source.lines():
        place = f"line {piece.number}"
        try:
            line = _text(piece).translate(_MARKS)
        except InvalidInput as error:
            yield BadLine(place, error.message)
            continue
        found = None if line[:1] in {" ", "\t"} else _split(line)
        if found is None:
            header = _header(line)
            if header is not None:
                day.start = header
            elif current is not None:
                current.add(line)
            elif line.strip():
                yield BadLine(place, "no `Name:` in front of the first message")
            continue
        stamp, speaker, text = found
        if current is not None:
            name = name or _name(current)
            yield _close(current, name)
        current = _Open(place, piece.number, speaker, day.at(stamp))
        current.add(text)
    if current is not None:
        yield _close(current, name or _name(current))


def _text(piece: Piece) -> str:
    if piece.data is None:
        raise InvalidInput(piece.reason)
    return text_of(piece.data)


def _split(line: str) -> tuple[str | None, str, str] | None:
    """Time, speaker and words of a line that starts a message; None for any other."""
    stamp, rest = None, line
    stamped = _STAMPED.fullmatch(line)
    if stamped is not None:
        stamp = (stamped["b"] or stamped["t"]).strip(" -")
        rest = stamped["rest"]
        if to_ms(stamp) is None and clock_of(stamp) is None:
            return None
    named = _NAMED.fullmatch(rest)
    if named is None or len(named["name"].split()) > _LONGEST_NAME:
        return None
    beside = named["time"]
    if beside is not None and stamp is None:
        if to_ms(beside) is None and clock_of(beside) is None:
            return None
        stamp = beside
    return stamp, named["name"].strip(), named["text"] or ""


def _header(line: str) -> int | None:
    """The start of the day that a line names and nothing else."""
    found = _HEADER.fullmatch(line) if len(line) < 80 else None
    ms = to_ms(found["date"].strip()) if found else None
    if ms is None or found is None or re.fullmatch(r"\d+(?:\.\d+)?", found["date"].strip()):
        return None
    return ms - ms % _DAY_MS


def _name(first: _Open) -> str:
    return source_id(FORMAT, first.speaker, first.lines[0] if first.lines else "", first.created)


def _close(message: _Open, source: str) -> Item:
    if message.size > LIMITS.text_chars:
        return BadLine(
            message.place, f"a message of {message.size} characters, the limit is {LIMITS.text_chars}"
        )
    text = "\n".join(message.lines).rstrip()
    return Incoming(
        text=f"{message.speaker}: {text}",
        place=message.place,
        metadata={"speaker": message.speaker},
        type="message",
        session=f"chat-{source}",
        created_ms=message.created,
        source_ref=ref(FORMAT, source, message.number),
        author=message.speaker,
    )
