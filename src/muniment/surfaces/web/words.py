"""Times, shares and ids as a page shows them. Pure."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from muniment.surfaces.cli.words import local, short_cid, short_did, utc

_STEPS = ((60, "minute"), (60, "hour"), (24, "day"), (7, "week"), (4.35, "month"), (12, "year"))
# What a text field of a browser would not give back as it was.
_LOST = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def ago(ms: int | None, now_ms: int | None = None) -> str:
    """How long something is past, roughly: `3 days ago`."""
    if ms is None:
        return "never"
    past = ((time.time() * 1000 if now_ms is None else now_ms) - ms) / 1000
    if past < 0:
        return f"in {_span(-past)}" if past < -60 else "now"
    return "just now" if past < 60 else f"{_span(past)} ago"


def _span(seconds: float) -> str:
    value, unit = seconds, "second"
    for step, name in _STEPS:
        if value < step:
            break
        value, unit = value / step, name
    whole = int(value)
    return f"{whole} {unit}{'' if whole == 1 else 's'}"


def moment(ms: int | None) -> str:
    """A time in full, in the zone of this machine."""
    return local(ms)


def iso(ms: int | None) -> str:
    """A time for machines."""
    return utc(ms)


def percent(share: float) -> str:
    """A share as whole percents."""
    return f"{share:.0%}"


def short(name: str) -> str:
    """A DID, an entry's or a bank's id in short."""
    return short_did(name) if name.startswith("did:") else short_cid(name)


def editable(text: str) -> bool:
    """Whether a text field gives a text back as it was put in."""
    return _LOST.search(text) is None


class AsIs(str):
    """A text of which nothing is replaced when it is shown; it is escaped like all others."""

    __slots__ = ()


def as_is(text: str) -> AsIs:
    """A text for a field in which it is edited."""
    return AsIs(text)


def plain_json(value: Any) -> str:
    """A JSON value, to be read."""
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True, default=str)
