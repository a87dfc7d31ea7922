"""The time that a question speaks of: "on 7 March 2023", "in May", "two weeks ago" (English, and ISO 8601).

Pure functions: the moment of asking is passed in. A day is the calendar day in UTC. What names no year means any year;
what happened names no time here ("before the move"): when that was, only records can tell (see `events`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

FIRST_YEAR = 1970
YEARS_AHEAD = 1  # of a month without a year: as far as next year
CHARS = 2000  # of a question that are read
MOST = 8  # times that one question names
MOST_BACK = 1200  # units of "ago", so that no number leads out of the calendar
BEGINNING, END = (
    0,
    253_370_764_800_000,
)  # of all times, in Unix ms: the epoch, and the beginning of the year 9999
LATER_MS = 7 * 86_400_000  # what was done on a day is still told within the week after it

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "a couple of": 2, "three": 3, "few": 3, "a few": 3, "four": 4,
    "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_LED = (
    r"(?:in|during|since|until|till|before|after|by|of|from|around|early|mid|late"
    r"|last|this|next|past|every|throughout)"
)


class Span(NamedTuple):
    """A stretch of time: from `start` up to but not with `end`, in Unix milliseconds."""

    start: int
    end: int


def spans(question: str, now_ms: int) -> tuple[Span, ...]:
    """The times that a question names, in order and without overlap; empty if it names none.

    Args:
        question: Any text.
        now_ms: When it is asked, from which "last week" is counted; Unix milliseconds.
    """
    text = question[:CHARS].casefold()
    today = (EPOCH + timedelta(milliseconds=max(0, min(now_ms, END)))).date()
    found: list[Span] = []
    taken: list[tuple[int, int]] = []
    named = 0
    for pattern, read in _FORMS:
        for match in pattern.finditer(text):
            if named == MOST or any(a < match.end() and match.start() < b for a, b in taken):
                continue
            taken.append(match.span())
            try:
                new = [span for span in read(match, today) if span.start < span.end]
            except (ValueError, OverflowError):
                continue  # no such day
            named += bool(new)
            found += _bounded(new, text[: match.start()], match.start() == 0)
    return _joined(found)


def later(found: tuple[Span, ...], by_ms: int = LATER_MS) -> tuple[Span, ...]:
    """The same spans, each lasting so much longer."""
    return _joined([Span(span.start, span.end + by_ms) for span in found])


def open_ended(found: Sequence[Span]) -> bool:
    """Whether times (in order) are a side of one, before or after it: they have no beginning, or no end."""
    return bool(found) and (found[0].start <= BEGINNING or found[-1].end >= END)


_OPEN = re.compile(r"\b(?P<way>since|after|before|until|till|prior to)\s+(?:the\s+)?(?:\w+\s+of\s+)?$")


def _bounded(found: list[Span], lead: str, first: bool) -> list[Span]:
    """What "since", "after", "before" or "until" in front of a time make of it."""
    way = None if first else _OPEN.search(lead)
    if way is None or len(found) != 1:
        return found
    span = found[0]
    if way["way"] == "since":
        return [Span(span.start, END)]
    if way["way"] == "after":
        return [Span(span.end, END)]
    return [Span(BEGINNING, span.end if way["way"] in {"until", "till"} else span.start)]


def _joined(found: list[Span]) -> tuple[Span, ...]:
    out: list[Span] = []
    for span in sorted(found):
        if out and span.start <= out[-1].end:
            out[-1] = Span(out[-1].start, max(out[-1].end, span.end))
        else:
            out.append(span)
    return tuple(out)


# The forms, the most telling first


def _ms(day: date) -> int:
    return int((datetime(day.year, day.month, day.day, tzinfo=UTC) - EPOCH).total_seconds() * 1000)


def _between(start: date, end: date) -> Span:
    return Span(max(0, _ms(start)), max(0, _ms(end)))


def _of_day(day: date) -> Span:
    return _between(day, day + timedelta(days=1))


def _of_month(year: int, month: int) -> Span:
    return _between(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1))


def _of_year(year: int) -> Span:
    return _between(date(year, 1, 1), date(year + 1, 1, 1))


def _month(match: re.Match[str]) -> int:
    return next(n for n, name in enumerate(_MONTHS, 1) if name.startswith(match["month"][:3]))


def _years(today: date) -> range:
    return range(FIRST_YEAR, today.year + YEARS_AHEAD + 1)


def _iso(match: re.Match[str], _: date) -> Iterator[Span]:
    year, month = int(match["year"]), int(match["mm"])
    yield _of_day(date(year, month, int(match["dd"]))) if match["dd"] else _of_month(year, month)


def _day(match: re.Match[str], today: date) -> Iterator[Span]:
    month, day = _month(match), int(match["day"])
    if match["year"]:
        yield _of_day(date(int(match["year"]), month, day))
        return
    for year in _years(today):
        if day < 29 or month != 2 or year % 4 == 0 and (year % 100 or year % 400 == 0):
            yield _of_day(date(year, month, day))


def _month_of(match: re.Match[str], _: date) -> Iterator[Span]:
    yield _of_month(int(match["year"]), _month(match))


def _bare_month(match: re.Match[str], today: date) -> Iterator[Span]:
    month, way = _month(match), match["lead"].split()[0]
    if way in {"last", "past"}:
        yield _of_month(today.year - (month >= today.month), month)
    elif way == "this":
        yield _of_month(today.year, month)
    elif way == "next":
        yield _of_month(today.year + (month <= today.month), month)
    else:
        for year in _years(today):
            yield _of_month(year, month)


def _year(match: re.Match[str], _: date) -> Iterator[Span]:
    yield _of_year(int(match["year"]))


def _near_day(match: re.Match[str], today: date) -> Iterator[Span]:
    back = {"yesterday": 1, "last night": 1, "tomorrow": -1}.get(match[0], 0)
    yield _of_day(today - timedelta(days=2 if match[0].startswith("the day before") else back))


def _count(match: re.Match[str]) -> int:
    text = match["count"]
    return min(MOST_BACK, int(text) if text.isdigit() else _NUMBERS[text])


def _ago(match: re.Match[str], today: date) -> Iterator[Span]:
    """A day ago is a day; so many weeks ago is the week around, months and years alike: nobody counts them exactly."""
    count, unit = _count(match), match["unit"]
    if unit == "day":
        yield _of_day(today - timedelta(days=count))
    elif unit == "week":
        middle = today - timedelta(weeks=count)
        yield _between(middle - timedelta(days=3), middle + timedelta(days=4))
    elif unit == "month":
        yield _of_month(*_back(today, count))
    else:
        yield _of_year(today.year - count)


def _back(today: date, months: int) -> tuple[int, int]:
    whole = today.year * 12 + today.month - 1 - months
    return whole // 12, whole % 12 + 1


def _past(match: re.Match[str], today: date) -> Iterator[Span]:
    days = {"day": 1, "week": 7, "month": 31, "year": 366}[match["unit"]]
    yield _between(today - timedelta(days=days * _count(match)), today + timedelta(days=1))


def _relative(match: re.Match[str], today: date) -> Iterator[Span]:
    step = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1}[match["way"]]
    if match["unit"] == "year":
        yield _of_year(today.year + step)
    elif match["unit"] == "month":
        yield _of_month(*_back(today, -step))
    else:
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        ahead = 5 if match["unit"] == "weekend" else 0
        yield _between(monday + timedelta(days=ahead), monday + timedelta(days=7))


def _weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    back = (today.weekday() - _DAYS.index(match["name"])) % 7
    yield _of_day(today - timedelta(days=back or 7))


_Reader = Callable[[re.Match[str], date], Iterator[Span]]
_FORMS: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(rf"(?<![\w.-])(?:{pattern})(?![\w-])"), read)
    for pattern, read in (
        (rf"{_YEAR}[-/](?P<mm>\d\d?)(?:[-/](?P<dd>\d\d?))?", _iso),
        (rf"{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(?:of\s+)?{_YEAR})?", _day),
        (rf"{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+(?:of\s+)?{_YEAR})?", _day),
        (rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}", _month_of),
        (rf"(?P<lead>{_LED})\s+{_MONTH}", _bare_month),
        (r"(?:the\s+)?day before yesterday", _near_day),
        (r"yesterday|today|tonight|tomorrow|last night|this (?:morning|afternoon|evening)", _near_day),
        (rf"{_COUNT}\s+{_UNIT}\s+ago", _ago),
        (rf"(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}", _past),
        (r"(?P<way>last|past|previous|this|next)\s+(?P<unit>weekend|week|month|year)", _relative),
        (rf"(?:last|on|this past)\s+(?P<name>{'|'.join(_DAYS)})", _weekday),
        (rf"(?:{_LED}|summer|winter|spring|autumn|fall)\s+(?:of\s+)?{_YEAR}", _year),
    )
)
