"""What all benchmarks share: timing, the machine in one line, tables and JSON.

Times are CPU time of the process unless a line says "wall". Shared machines are noisy, so rivals are measured
alternately in one run and told by their medians; a ratio of one run says more than a number of another.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".bench"
PACKAGES = ("apsw", "numpy", "pynacl", "libipld", "bm25s")


@dataclass
class Line:
    """One measured value; `bar` is what it has to keep, None where it is only reported."""

    what: str
    value: float
    unit: str
    bar: str | None = None
    kept: bool | None = None
    note: str = ""


@dataclass
class Report:
    """The result of one benchmark."""

    name: str
    command: str
    lines: list[Line] = field(default_factory=list)
    tables: list[tuple[str, list[str], list[list[str]]]] = field(default_factory=list)

    def add(
        self, what: str, value: float, unit: str, most: float | None = None, *,
        least: float | None = None, note: str = "",
    ) -> None:  # fmt: skip
        """A value, and the most or the least that it may be."""
        bar, kept = None, None
        if most is not None:
            bar, kept = f"<= {most:g}", value <= most
        elif least is not None:
            bar, kept = f">= {least:,.6g}", value >= least
        self.lines.append(Line(what, value, unit, bar, kept, note))

    def table(self, title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """A table beside the measures."""
        self.tables.append((title, list(heads), [[str(cell) for cell in row] for row in rows]))

    @property
    def missed(self) -> list[str]:
        """The measures whose bar was not kept."""
        return [line.what for line in self.lines if line.kept is False]

    def show(self) -> None:
        """Print as Markdown."""
        print(f"\n## {self.name}\n\n`{self.command}`\n")
        rows = [
            [
                line.what,
                f"{number(line.value)} {line.unit}".strip(),
                line.bar or "",
                _mark(line.kept),
                line.note,
            ]
            for line in self.lines
        ]
        print(markdown(["measure", "value", "bar", "kept", "note"], rows))
        for title, heads, cells in self.tables:
            print(f"\n{title}\n\n{markdown(heads, cells)}")
        sys.stdout.flush()


def _mark(kept: bool | None) -> str:
    return "" if kept is None else "yes" if kept else "NO"


def number(value: float) -> str:
    """Three significant digits, with separators when large."""
    if math.isnan(value):
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with even columns."""
    cells = [list(heads), *[list(row) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    made = argparse.ArgumentParser(description=(doc or "").strip().split("\n")[0])
    made.add_argument("--quick", action="store_true", help="small sizes, in seconds")
    made.add_argument("--json", action="store_true", help="print JSON in place of tables")
    return made


def finish(reports: Sequence[Report], *, as_json: bool) -> int:
    """Print reports with the machine they were made on; 1 if a bar was missed."""
    if as_json:
        print(json.dumps({"machine": machine(), "reports": [asdict(r) for r in reports]}, indent=1))
    else:
        print("\n" + machine_line())
        for report in reports:
            report.show()
    return int(any(report.missed for report in reports))


def command_line(doc: str | None, bench: Callable[..., Report]) -> int:
    """The command line of a benchmark that only knows `--quick`."""
    args = parser(doc).parse_args()
    return finish([bench(quick=args.quick)], as_json=args.json)


# The machine


def machine() -> dict[str, object]:
    """Cores, memory, disk sync time and versions; nothing that names the machine."""
    import apsw

    found: dict[str, object] = {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "disk_sync_ms": round(sync_ms(), 3),
        "system": platform.system(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def machine_line() -> str:
    """The machine in one line."""
    m = machine()
    versions = ", ".join(f"{name} {m[name]}" for name in ("python", "sqlite", *PACKAGES) if name in m)
    return (
        f"{m['cores']} cores, {m['memory_gib']} GiB memory, disk sync {m['disk_sync_ms']} ms, "
        f"{m['system']}, {versions}"
    )


def sync_ms(folder: Path | None = None, tries: int = 50) -> float:
    """Median wall time of an fdatasync after appending 4 KiB, in ms."""
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(tries):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


# Timing


def cpu_ms(call: Callable[[], object]) -> float:
    """CPU time of one call in ms."""
    began = time.process_time_ns()
    call()
    return (time.process_time_ns() - began) / 1e6


def alternate(
    calls: dict[str, Callable[[int], object]], rounds: int, warm: int = 3
) -> dict[str, list[float]]:
    """CPU time of each call in ms, `rounds` times, taking turns, so that noise strikes all alike."""
    for n in range(warm):
        for call in calls.values():
            call(-1 - n)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for n in range(rounds):
        for name, call in calls.items():
            times[name].append(cpu_ms(lambda call=call, n=n: call(n)))
    return times


def median(times: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(times)


def p95(times: Sequence[float]) -> float:
    """Nineteen of twenty are at most this."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.95))]


@dataclass
class Ran:
    """A process that ended: wall and CPU seconds, what it printed."""

    wall: float
    cpu: float
    out: str


def run(command: Sequence[str], env: dict[str, str] | None = None, stdin: str | None = None) -> Ran:
    """Run a whole process and time it.

    Raises:
        RuntimeError: It failed.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=env, input=stdin, check=False)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{command} gave {done.returncode}: {done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(wall, cpu, done.stdout)


def has(program: str) -> bool:
    """Whether a program is installed."""
    return shutil.which(program) is not None


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A new folder beside the cache, so on the disk that is measured; gone afterwards."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="run-") as folder:
        yield Path(folder)


def rss_anon_mb(pid: int | None = None) -> float:
    """Anonymous memory of a process in MB (Linux), NaN elsewhere."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid or os.getpid()}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
    return float("nan")


def disk_mb(folder: Path) -> float:
    """Bytes of all files under a folder, in MB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
