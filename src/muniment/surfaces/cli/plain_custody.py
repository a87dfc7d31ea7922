"""Results of the commands of custody as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muniment.commands.results import Listed
from muniment.surfaces.cli.words import count, number, one_line, size, utc


def _holding(row: Any) -> str:
    proven = "not proven yet" if row.proven_ms is None else f"proven {utc(row.proven_ms)}"
    said = f"ALARM: {one_line(row.alarm)}" if row.alarm else proven
    where = f"by {row.holder} at {one_line(row.address)}"
    return f"{row.blob}  {size(row.size)}  {where}  until {utc(row.until_ms)}  {said}"


def offered_lines(rows: Listed) -> list[str]:
    """What a holder signed for."""
    return [f"{count(len(rows), 'pack')} given", *(f"  {_holding(row)}" for row in rows)]


def accepted_lines(result: Any) -> list[str]:
    """What is kept for whom."""
    if not result.bytes:
        return [f"no more packs of {result.owner} are taken"]
    return [
        f"packs of {result.owner} are kept here: up to {size(result.bytes)}, for up to {number(result.days)} days"
    ]


def listed_lines(result: Any) -> list[str]:
    """Both sides."""
    lines = [f"this installation's owner: {result.owner or 'none yet'}"]
    lines += [f"given  {_holding(row)}" for row in result.given]
    for row in result.kept:
        rest = "" if row.whole else "  on its way"
        lines.append(f"kept   {row.blob}  {size(row.size)}  for {row.owner}  until {utc(row.until_ms)}{rest}")
    for row in result.accepted:
        lines.append(f"accepted  {row.owner}  {size(row.bytes)}, for up to {number(row.days)} days")
    return lines


def challenged_lines(result: Any) -> list[str]:
    """How each challenge went, and what was given to others."""
    proven = sum(outcome.proven for outcome in result.outcomes)
    lines = [f"{number(proven)} of {count(len(result.outcomes), 'challenge')} proven"]
    for row in result.outcomes:
        said = "proven" if row.proven else f"ALARM: {one_line(row.alarm)}"
        lines.append(f"  {row.blob}  at {one_line(row.address)}  {said}")
    lines += [f"  given again: {_holding(row)}" for row in result.given]
    return lines


def status_lines(result: Any) -> list[str]:
    """How each pack stands."""
    if not result.blobs:
        return ["no packs"]
    lines = []
    for row in result.blobs:
        days = "never proven" if row.days is None else f"proven {count(row.days, 'day')} ago"
        here = "" if row.here else ", not here"
        lines.append(f"{row.blob}  {number(row.holders)} of {count(result.copies, 'holder')}, {days}{here}")
        lines += [f"  ALARM: {one_line(why)} ({holder})" for holder, why in row.alarms.items()]
    return lines


LINES: Mapping[str, Callable[[Any], list[str]]] = {
    "custody offer": offered_lines,
    "custody accept": accepted_lines,
    "custody list": listed_lines,
    "custody challenge": challenged_lines,
    "custody status": status_lines,
}


def _writer(lines: Callable[[Any], list[str]]) -> Callable[[Any], str]:
    return lambda result: "\n".join(lines(result))


WRITE_CUSTODY: Mapping[str, Callable[[Any], str]] = {name: _writer(lines) for name, lines in LINES.items()}
