"""Moving whole banks: write the file, prove it, take it in at another peer, and prove a bank with every body opened.

    python -m benchmarks.moving [--quick]

`agent.export_bank`, `verify_file`, `peer.import_bank` and `agent.verify`, each in a process of its own. A bank that was
imported has up to 256 memories in an entry; one that was written by `remember` has an entry for each.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import banks, common
from benchmarks.common import Report

import muniment

SINGLE = 5_000
STEPS = {
    "export": "write the file",
    "prove": "prove the file, without keys",
    "verify": "prove the bank, every body opened",
    "import": "take the file in at another peer",
}


def child(step: str, home: str, file: str) -> None:
    """One step; prints what it took."""
    with muniment.open(home) as peer:
        work = _work(step, peer, file)
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": cpu, "wall": wall, "peak_mb": peak}))


def _work(step: str, peer: muniment.Peer, file: str) -> Callable[[], object]:
    if step == "import":
        return lambda: peer.import_bank(file)
    if step == "prove":
        from muniment.carried import verify_file

        return lambda: verify_file(file)
    agent = peer.agent(banks.AGENT, create=True)
    if step == "fill":
        lines = banks.write_lines(peer.home / "lines.jsonl", int(file), short=True)
        return lambda: agent.import_from(lines, format="jsonl", on_error="fail")
    if step == "say":
        return lambda: [agent.remember(f"fact number {n} of the bank that moves") for n in range(int(file))]
    return agent.verify if step == "verify" else lambda: agent.export_bank(file)


def _run(step: str, home: Path, what: str) -> dict[str, float]:
    ran = common.run([sys.executable, "-m", "benchmarks.moving", "--child", step, str(home), what])
    found: dict[str, float] = json.loads(ran.out)
    return found


def moved(home: Path, folder: Path, count: int) -> list[list[object]]:
    """All steps over one bank."""
    file, rows = folder / "bank.car", []
    for step, name in STEPS.items():
        place = folder / "other" if step == "import" else home
        took = _run(step, place, str(file))
        said = f"{name} ({file.stat().st_size / 1e6:.0f} MB)" if step == "export" else name
        rows.append([
            said, f"{took['cpu']:.2f}", f"{took['cpu'] / count * 1e6:.0f}", f"{took['wall']:.2f}",
            f"{took['peak_mb']:.0f}",
        ])  # fmt: skip
    return rows


def bench(*, quick: bool = False) -> Report:
    """All of it."""
    report = Report("moving: whole banks as files", "python -m benchmarks.moving")
    heads = ["step", "CPU s", "CPU us a memory", "wall s", "peak MB"]
    count, single = (10_000, 1_000) if quick else (100_000, SINGLE)
    for title, step, many in (
        (f"{count:,} memories of 20 to 40 words, imported:", "fill", count),
        (f"{single:,} calls of `remember`:", "say", single),
    ):
        with common.scratch() as folder:
            _run(
                step, folder / "home", str(many)
            )  # not in this process: a child starts with the peak of its parent
            report.table(title, heads, moved(folder / "home", folder, many))
    return report


def main() -> int:
    """Command line."""
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:5])
        return 0
    return common.command_line(__doc__, bench)


if __name__ == "__main__":
    sys.exit(main())
