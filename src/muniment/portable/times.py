"""Times as people and programs write them, to Unix milliseconds; without a zone they are taken as UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

_MOST = 1 << 53
_SECONDS_BELOW = 100_000_000_000  # as seconds the year 5138, as milliseconds 1973
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july",
         "aug august", "sep sept september", "oct october", "nov november", "dec december"), 1
    )
    for name in names.split()
}  # fmt: skip
_CLOCK = r"(?P<h>\d{1,2})[:.](?P<m>\d{2})(?:[:.](?P<s>\d{2}))?\s*(?P<half>[ap]\.?m\.?)?"
_DAY_MONTH = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?\.?\s+(?P<mon>[a-z]{3,9})\.?,?\s+(?P<y>\d{4})"
_MONTH_DAY = r"(?P<mon>[a-z]{3,9})\.?\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y>\d{4})"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_SHAPES = [
    re.compile(shape, re.ASCII | re.IGNORECASE)
    for shape in (
        rf"{_CLOCK}\s*,?\s+on\s+{_DAY_MONTH}",  # 1:56 pm on 8 May, 2023
        rf"{_WEEKDAY}{_DAY_MONTH}(?:,?\s+(?:at\s+)?{_CLOCK})?",  # 8 May 2023, 13:56
        rf"{_WEEKDAY}{_MONTH_DAY}(?:,?\s+(?:at\s+)?{_CLOCK})?",  # Monday, May 8, 2023 at 1:56 PM
        rf"(?P<y>\d{{4}})[/.-](?P<mo>\d{{1,2}})[/.-](?P<d>\d{{1,2}})(?:,?\s+(?:\([a-z]+\)\s*)?{_CLOCK})?",
        rf"(?P<a>\d{{1,2}})[/.](?P<b>\d{{1,2}})[/.](?P<y>\d{{4}}|\d{{2}})(?:,?\s+{_CLOCK})?",  # 31/12/2023, 21:05
    )
]


def to_ms(value: Any) -> int | None:
    """Unix milliseconds of a number (seconds, or milliseconds from 1973 on), a date, or text; None if it is none.

    `03/04/2026` is 3 April, unless AM or PM stands beside it or the second number can be no month.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, datetime):
        return _of(value)
    if isinstance(value, date):
        return _of(datetime(value.year, value.month, value.day, tzinfo=UTC))
    return _text(value) if isinstance(value, str) else None


def _number(value: float) -> int | None:
    if not 0 <= value < _MOST:  # NaN fails this too
        return None
    ms = round(value * 1000) if value < _SECONDS_BELOW else round(value)
    return ms if ms < _MOST else None


def _of(moment: datetime) -> int | None:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except OverflowError:
        return None
    ms = (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000
    return ms if ms >= 0 else None


def _text(value: str) -> int | None:
    text = value.strip()
    if not text or len(text) > 64:
        return None
    if re.fullmatch(r"\d{9,16}(?:\.\d{1,9})?", text, re.ASCII):
        return _number(float(text))
    if re.match(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        try:
            return _of(datetime.fromisoformat(text))
        except ValueError:
            pass
    for shape in _SHAPES:
        found = shape.fullmatch(text)
        if found:
            return _parts(found.groupdict())
    return None


def _parts(parts: dict[str, str | None]) -> int | None:
    year = int(parts["y"] or 0)
    if year < 100:
        year += 2000 if year < 70 else 1900
    half = (parts.get("half") or "").lower()[:1]
    if parts.get("mon"):
        month = _MONTHS.get((parts["mon"] or "").lower(), 0)
        day = int(parts["d"] or 0)
    elif parts.get("a"):
        day, month = int(parts["a"] or 0), int(parts["b"] or 0)
        if month > 12 or (half and day <= 12):
            day, month = month, day
    else:
        month, day = int(parts["mo"] or 0), int(parts["d"] or 0)
    hour = int(parts.get("h") or 0)
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        return _of(
            datetime(
                year,
                month,
                day,
                hour,
                int(parts.get("m") or 0),
                int(parts.get("s") or 0),
                tzinfo=UTC,
            )
        )
    except ValueError:
        return None


def clock_of(text: str) -> int | None:
    """Milliseconds since midnight of a time of day such as `9:05` or `9:05 PM`; None if it is none."""
    found = re.fullmatch(_CLOCK, text.strip(), re.ASCII | re.IGNORECASE)
    if found is None:
        return None
    hour, half = int(found["h"]), (found["half"] or "").lower()[:1]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    minute, second = int(found["m"]), int(found["s"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000
