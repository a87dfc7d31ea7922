"""Whole processes: `muniment recall` and `muniment --help`, and the first answer of a large bank.

    python -m benchmarks.cold [--million]

Wall time of whole processes, in turns, medians. "Imports" is a process that imports the same modules, in the same
order, as the command does, and nothing else. The large bank is opened in a new process, its files warm in the system's
cache: from `muniment.open` to the first answer, and the anonymous memory after it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from benchmarks import banks, common
from benchmarks.common import Report

ABOVE_S, GOAL_S, HELP_S = 0.11, 0.30, 0.15
OPEN_S, ANON_MB = 0.6, 150.0
ROUNDS = 15
SPY = """
import atexit, json, sys
atexit.register(lambda: print("MODULES " + json.dumps([n for n in sys.modules if n != "__main__"]), file=sys.stderr))
sys.argv = ["muniment", *sys.argv[1:]]
from muniment.surfaces.cli import main
main()
"""
IMPORTS = """
import importlib, json, os, sys
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does
for name in json.loads(sys.argv[1]):
    if name not in sys.modules:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
"""
FIRST = """
import json, sys, time
import muniment
from benchmarks import common
began = time.perf_counter()
cpu = time.process_time()
with muniment.open(sys.argv[1]) as peer:
    hits = peer.agent(sys.argv[2]).recall(sys.argv[3])
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert len(hits) == 10
    anon = common.rss_anon_mb()
    began = time.perf_counter()
    peer.agent(sys.argv[2]).recall(sys.argv[4])
    print(json.dumps({"first": took, "cpu": cpu, "next": time.perf_counter() - began, "anon_mb": anon}))
"""


def environment(home: Path) -> dict[str, str]:
    """Without a passphrase, and nothing of this process's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
    return kept | {"MUNIMENT_HOME": str(home)}


def modules_of(command: list[str], env: dict[str, str]) -> list[str]:
    """What the command imports, in its order."""
    import subprocess

    ran = subprocess.run(
        [sys.executable, "-c", SPY, *command], capture_output=True, text=True, env=env, check=True
    )
    line = next(line for line in ran.stderr.splitlines() if line.startswith("MODULES "))
    found: list[str] = json.loads(line.removeprefix("MODULES "))
    return found


def whole(report: Report, count: int) -> None:
    """`muniment recall`, `--help`, and what they stand beside."""
    env = environment(banks.home(count))
    query = banks.queries(1)[0]
    recall = ["--agent", banks.AGENT, "recall", query, "--limit", "10"]
    needs = modules_of(recall, env)
    python = sys.executable
    commands = {
        "muniment recall": [python, "-m", "muniment", *recall],
        "imports": [python, "-c", IMPORTS, json.dumps(needs)],
        "muniment --help": [python, "-m", "muniment", "--help"],
        "python -c pass": [python, "-c", "pass"],
        "python -c 'import sqlite3'": [python, "-c", "import sqlite3"],
        "python -c 'import numpy'": [python, "-c", "import numpy"],
        "python -c 'import click'": [python, "-c", "import click"],
    }
    walls: dict[str, list[float]] = {name: [] for name in commands}
    cpus: dict[str, list[float]] = {name: [] for name in commands}
    for n in range(ROUNDS + 1):
        for name, command in commands.items():
            ran = common.run(command, env)
            if n:  # the first round warms caches
                walls[name].append(ran.wall)
                cpus[name].append(ran.cpu)
    wall = {name: common.median(times) for name, times in walls.items()}
    cpu = {name: common.median(times) for name, times in cpus.items()}
    label = banks.name(count)
    report.add(
        f"muniment recall above its imports, {label}", wall["muniment recall"] - wall["imports"], "s", ABOVE_S
    )
    report.add(f"muniment recall, {label}", wall["muniment recall"], "s", note=f"goal {GOAL_S} s")
    report.add("muniment --help", wall["muniment --help"], "s", HELP_S)
    rows = [[name, f"{wall[name]:.3f}", f"{max(walls[name]):.3f}", f"{cpu[name]:.3f}"] for name in commands]
    report.table(f"Whole processes, s ({len(needs)} modules):", ["process", "wall", "slowest", "CPU"], rows)


def first(report: Report, count: int) -> None:
    """A large bank: from opening it to the first answer."""
    home = banks.home(count)
    asked = banks.queries(16)
    runs = []
    for n in range(0, 10, 2):
        command = [sys.executable, "-c", FIRST, str(home), banks.AGENT, asked[n], asked[n + 1]]
        runs.append(json.loads(common.run(command).out))
    middle = {name: common.median([run[name] for run in runs]) for name in runs[0]}
    label = banks.name(count)
    bars = count >= 1_000_000
    report.add(
        f"open and answer, {label}",
        middle["first"],
        "s",
        OPEN_S if bars else None,
        note=f"wall; CPU {middle['cpu']:.3f} s",
    )
    report.add(f"anonymous memory, {label}", middle["anon_mb"], "MB", ANON_MB if bars else None)
    report.add(f"the next answer, {label}", middle["next"] * 1000, "ms", note="wall, same process")


def bench(*, quick: bool = False, million: bool = False) -> Report:
    """All of it."""
    report = Report("cold: whole processes", "python -m benchmarks.cold")
    whole(report, 10_000)
    if not quick:
        first(report, 100_000)
    if million:
        first(report, 1_000_000)
    return report


def main() -> int:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument(
        "--million", action="store_true", help="also 1,000,000 records (builds a bank of 1 GB once)"
    )
    args = parser.parse_args()
    return common.finish([bench(quick=args.quick, million=args.million)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
