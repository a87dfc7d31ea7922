"""Counters, latencies and gauges, and their Prometheus text form (exposition format 0.0.4)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SERIES = 1000  # label sets of one counter; more are counted as `other`

Labels = tuple[tuple[str, str], ...]
Gauge = Callable[[], Iterable[tuple[Labels, float]]]


class Metrics:
    """What is counted in one process. Doors count and add gauges of their own; all names begin with `muniment_`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._help: dict[str, str] = {}
        self._counters: dict[str, dict[Labels, float]] = {}
        self._times: dict[str, dict[Labels, list[float]]] = {}
        self._gauges: dict[str, Gauge] = {}

    def count(self, name: str, about: str, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._help[name] = about
            rows = self._counters.setdefault(name, {})
            place = _place(rows, labels)
            rows[place] = rows.get(place, 0) + by

    def time(self, name: str, about: str, seconds: float, **labels: str) -> None:
        """Add to a histogram of durations."""
        with self._lock:
            self._help[name] = about
            rows = self._times.setdefault(name, {})
            found = rows.setdefault(_place(rows, labels), [0.0] * (len(BUCKETS) + 2))
            for at, most in enumerate(BUCKETS):
                found[at] += seconds <= most
            found[-2] += 1
            found[-1] += seconds

    def gauge(self, name: str, about: str, read: Gauge) -> None:
        """Say how a value of the moment is read, when somebody asks."""
        self._help[name] = about
        self._gauges[name] = read

    def snapshot(self) -> dict[str, Any]:
        """All counts, as plain values that `merged` takes."""
        with self._lock:
            return {
                "help": dict(self._help),
                "counters": [[n, list(p), v] for n, rows in self._counters.items() for p, v in rows.items()],
                "times": [[n, list(p), list(v)] for n, rows in self._times.items() for p, v in rows.items()],
            }

    def text(self, others: Iterable[Mapping[str, Any]] = ()) -> str:
        """The exposition: this process's counts, with those of others added, and the gauges."""
        helps = dict(self._help)
        counters: dict[str, dict[Labels, float]] = {}
        times: dict[str, dict[Labels, list[float]]] = {}
        for snapshot in (self.snapshot(), *others):
            helps = {**snapshot["help"], **helps}
            for name, place, value in snapshot["counters"]:
                rows = counters.setdefault(name, {})
                key = tuple(map(tuple, place))
                rows[key] = rows.get(key, 0) + value
            for name, place, values in snapshot["times"]:
                spans = times.setdefault(name, {})
                key = tuple(map(tuple, place))
                old = spans.get(key, [0.0] * len(values))
                spans[key] = [a + b for a, b in zip(old, values, strict=True)]
        lines: list[str] = []
        for name, rows in sorted(counters.items()):
            lines += [f"# HELP {name} {helps[name]}", f"# TYPE {name} counter"]
            lines += [f"{name}{_labels(place)} {value:g}" for place, value in sorted(rows.items())]
        for name, spans in sorted(times.items()):
            lines += [f"# HELP {name} {helps[name]}", f"# TYPE {name} histogram"]
            for place, values in sorted(spans.items()):
                lines += _histogram(name, place, values)
        for name, read in sorted(self._gauges.items()):
            lines += [f"# HELP {name} {helps[name]}", f"# TYPE {name} gauge"]
            lines += [f"{name}{_labels(place)} {value:g}" for place, value in sorted(read())]
        return "\n".join(lines) + "\n"


def _place(rows: Mapping[Labels, Any], labels: Mapping[str, str]) -> Labels:
    place = tuple(sorted(labels.items()))
    if place in rows or len(rows) < _SERIES:
        return place
    return tuple((name, "other") for name, _ in place)


def _histogram(name: str, place: Labels, values: list[float]) -> list[str]:
    *buckets, count, total = values
    lines = [
        f"{name}_bucket{_labels((*place, ('le', f'{most:g}')))} {value:g}"
        for most, value in zip(BUCKETS, buckets, strict=True)
    ]
    lines.append(f"{name}_bucket{_labels((*place, ('le', '+Inf')))} {count:g}")
    return [*lines, f"{name}_sum{_labels(place)} {total:g}", f"{name}_count{_labels(place)} {count:g}"]


def _labels(place: Labels) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in place)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
