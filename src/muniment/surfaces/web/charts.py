"""Charts as numbers for SVG: where lines go and what stands at the axes. Pure; templates draw them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720.0, 180.0
_STEPS = 60
_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class Growth:
    """How a memory grew.

    Attributes:
        line: The points of the line, as SVG writes them; `area` the same, closed at the bottom.
        bars: (x, y, width, height, when, how many) for each span of time.
        top: What the top of the line stands for; `most` what the highest bar does.
        ticks: (x, text) along the bottom.
        rows: (span of time, memories in it, memories so far), to be read.
    """

    line: str
    area: str
    bars: Sequence[tuple[float, float, float, float, str, int]]
    top: int
    most: int
    ticks: Sequence[tuple[float, str]]
    rows: Sequence[tuple[str, int, int]]


def growth(moments: Sequence[int]) -> Growth | None:
    """The chart of these moments (Unix ms, ascending); None where there is nothing to draw."""
    if not moments:
        return None
    first, last = moments[0], max(moments[-1], moments[0] + _DAY)
    step = (last - first) / _STEPS
    counts = [0] * _STEPS
    for moment in moments:
        counts[min(_STEPS - 1, int((moment - first) / step))] += 1
    total, most, width = len(moments), max(counts), WIDTH / _STEPS
    points, bars, rows, so_far = [(0.0, HEIGHT)], [], [], 0
    for number, count in enumerate(counts):
        so_far += count
        points.append(((number + 1) * width, HEIGHT * (1 - so_far / total)))
        height = HEIGHT * count / most
        name = day(first + step * number)
        bars.append((number * width + 1, HEIGHT - height, width - 2, height, name, count))
        if count:
            rows.append((name, count, so_far))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    ticks = [(WIDTH * part / 4, day(first + (last - first) * part / 4)) for part in range(5)]
    return Growth(line, f"0,{HEIGHT:.0f} {line} {WIDTH:.0f},{HEIGHT:.0f}", bars, total, most, ticks, rows)


def day(ms: float) -> str:
    """A day in the time zone of this machine."""
    try:
        return time.strftime("%Y-%m-%d", time.localtime(ms / 1000))
    except (OverflowError, ValueError, OSError):
        return "?"  # beyond what the platform's calendar holds


@dataclass(frozen=True, slots=True)
class Share:
    """One bar of a list of shares: its name, how many, and its length beside the longest, 0 to 1."""

    name: str
    count: int
    share: float


def shares(counts: Sequence[tuple[str, int]]) -> list[Share]:
    """Bars for these counts, the longest first."""
    best = max((count for _, count in counts), default=0) or 1
    return [Share(name, count, count / best) for name, count in sorted(counts, key=lambda one: -one[1])]
