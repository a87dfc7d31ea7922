"""Plots as SVG, drawn from the figures that the benchmarks write: nothing to install, readable on light and on dark.

Pure functions from numbers to text. Colours are those of Okabe and Ito (2008), which people who don't tell red from
green can tell apart; `muniment` has the first of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
STYLE = """
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #24292f; }
  .small { font-size: 12px; fill: #57606a; }
  .title { font-size: 15px; font-weight: 600; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .axis { stroke: #57606a; stroke-width: 1; }
  .ours { --c: #0072b2; } .theirs { --c: #6e7781; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .small { fill: #9198a1; }
    .grid { stroke: #30363d; } .axis { stroke: #9198a1; }
    .ours { --c: #58a6ff; } .theirs { --c: #9198a1; }
  }
"""
ROW, LEFT, RIGHT, HEAD, FOOT = 22, 250, 90, 34, 30

Interval = tuple[float, float, float]  # mean, low, high


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named} text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _page(width: int, height: float, about: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" role="img">'
    return "\n".join(
        [head, f"<title>{escape(about)}</title>", f"<style>{STYLE}</style>", *parts, "</svg>", ""]
    )


def dots(
    about: str, panels: Mapping[str, Mapping[str, Interval]], *, ours: str = "muniment", width: int = 760
) -> str:
    """A panel below the other: a dot for each contender, with its interval as a line. The scale is 0 to 1.

    Args:
        about: What is shown, for those who can't see it.
        panels: Title -> contender -> (mean, low, high).
        ours: How the names begin that stand out.
        width: Of the picture, in pixels.
    """
    parts: list[str] = []
    top, span = 10.0, width - LEFT - RIGHT
    for title, rows in panels.items():
        parts.append(_text(LEFT, top + 16, title, "title"))
        bottom = top + HEAD + ROW * len(rows)
        for tick in range(0, 11, 2):
            x = LEFT + span * tick / 10
            parts += [_line(x, top + HEAD - 6, x, bottom, "grid"),
                      _text(x, bottom + 16, f"{tick / 10:.1f}", "small", "middle")]  # fmt: skip
        for place, (who, (mean, low, high)) in enumerate(rows.items()):
            y = top + HEAD + ROW * (place + 0.5)
            kind = "ours" if who.startswith(ours) else "theirs"
            a, b, m = (LEFT + span * value for value in (low, high, mean))
            parts += [
                _text(LEFT - 12, y + 4, who, "", "end"),
                (
                    f'<g class="{kind}"><line x1="{a:.1f}" y1="{y:.1f}" x2="{b:.1f}" y2="{y:.1f}" '
                    f'style="stroke:var(--c);stroke-width:2.5"/>'
                    f'<circle cx="{m:.1f}" cy="{y:.1f}" r="5" style="fill:var(--c)"/></g>'
                ),
                _text(LEFT + span + 12, y + 4, f"{mean:.3f}", "small"),
            ]
        top = bottom + FOOT
    return _page(width, top + 4, about, parts)


def lines(
    about: str, series: Mapping[str, Sequence[tuple[float, float]]], across: str, up: str, *, width: int = 760
) -> str:
    """Lines over two logarithmic scales, named at their right ends.

    Args:
        about: What is shown, for those who can't see it.
        series: Name -> points (x, y), all above 0.
        across, up: What the axes are.
        width: Of the picture, in pixels.

    Raises:
        ValueError: A point is not above 0, or there is none.
    """
    points = [point for line in series.values() for point in line]
    if not points or any(x <= 0 or y <= 0 for x, y in points):
        raise ValueError("points of logarithmic scales are above 0")
    height, left, right, top, foot = 380, 64, 210, 34, 48
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y = 10.0 ** math.floor(math.log10(min(y for _, y in points)))
    high_y = 10.0 ** math.ceil(math.log10(max(y for _, y in points)))

    def place(x: float, y: float) -> tuple[float, float]:
        across_share = math.log(x / low_x) / (math.log(high_x / low_x) or 1)
        up_share = math.log(y / low_y) / (math.log(high_y / low_y) or 1)
        return left + across_share * (width - left - right), height - foot - up_share * (height - foot - top)

    parts = [_text(left, 18, up, "small")]
    for power in range(round(math.log10(low_y)), round(math.log10(high_y)) + 1):
        _, y = place(low_x, 10.0**power)
        parts += [
            _line(left, y, width - right, y, "grid"),
            _text(left - 8, y + 4, f"{10.0**power:g}", "small", "end"),
        ]
    for x_value in sorted({x for x, _ in points}):
        x, y = place(x_value, low_y)
        parts += [_line(x, y, x, y + 5, "axis"), _text(x, y + 20, f"{x_value:,.0f}", "small", "middle")]
    parts.append(_text((left + width - right) / 2, height - 8, across, "small", "middle"))
    ends: list[float] = []
    for number, (name, line) in sorted(enumerate(series.items()), key=lambda one: -one[1][1][-1][1]):
        colour = COLOURS[number % len(COLOURS)]
        spots = [place(x, y) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in spots]
        y = max(spots[-1][1], ends[-1] + 18 if ends else 0.0)  # names don't lie on each other
        ends.append(y)
        parts.append(_text(spots[-1][0] + 12, y + 4, f"{name}, {line[-1][1]:.3g} ms"))
    return _page(width, height, about, parts)


def course(
    about: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    across: str,
    up: str,
    *,
    unit: str = "",
    width: int = 760,
) -> str:
    """Lines over two plain scales from 0 on, named at their right ends: how something goes over time.

    Args:
        about: What is shown, for those who can't see it.
        series: Name -> points (x, y), 0 or more.
        across, up: What the axes are.
        unit: Behind the last figure of each line.
        width: Of the picture, in pixels.

    Raises:
        ValueError: There is no point.
    """
    points = [point for line in series.values() for point in line]
    if not points:
        raise ValueError("nothing to draw")
    height, left, right, top, foot = 300, 64, 230, 34, 48
    step = _step(max(y for _, y in points))
    high_x, high_y = max(x for x, _ in points), step * math.ceil(max(y for _, y in points) / step or 1)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + x / (high_x or 1) * (width - left - right),
            height - foot - y / high_y * (height - foot - top),
        )

    parts = [_text(left, 18, up, "small")]
    for number in range(round(high_y / step) + 1):
        _, y = place(0, number * step)
        parts += [_line(left, y, width - right, y, "grid"),
                  _text(left - 8, y + 4, f"{number * step:g}", "small", "end")]  # fmt: skip
    for quarter in range(5):
        x, y = place(high_x * quarter / 4, 0)
        parts += [_line(x, y, x, y + 5, "axis"),
                  _text(x, y + 20, f"{high_x * quarter / 4:,.0f}", "small", "middle")]  # fmt: skip
    parts.append(_text((left + width - right) / 2, height - 8, across, "small", "middle"))
    ends: list[float] = []
    lines_ = [(number, name, line) for number, (name, line) in enumerate(series.items()) if line]
    for number, name, line in sorted(lines_, key=lambda one: -one[2][-1][1]):
        colour = COLOURS[number % len(COLOURS)]
        spots = [place(x, y) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        y = max(spots[-1][1], ends[-1] + 18 if ends else 0.0)  # names don't lie on each other
        ends.append(y)
        parts.append(_text(spots[-1][0] + 10, y + 4, f"{name}, {_said(line[-1][1])}{unit}"))
    return _page(width, height, about, parts)


def _step(most: float) -> float:
    """A round distance between lines of a grid of about five."""
    power = 10.0 ** math.floor(math.log10(most)) if most > 0 else 1.0
    return next(power * share for share in (0.2, 0.5, 1, 2) if most / (power * share) <= 5)


def _said(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
