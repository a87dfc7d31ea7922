"""From a write in one process to the answer of another process that holds it, at 100k records.

    python -m benchmarks.visible

Two processes over pipes: this one remembers a sentence with a word that was never said, then asks the other for that
word. Wall time, from the call of `remember` until the other's answer has come back; the disk's sync is part of it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time

from benchmarks import banks, common
from benchmarks.common import Report

import muniment

MOST_MS = 15.0


def child(home: str) -> None:
    """Answers each line with how many of the hits hold it, and the time that its recall took."""
    with muniment.open(home) as peer:
        agent = peer.agent(banks.AGENT)
        agent.recall("ready")
        print("ready", flush=True)
        for line in sys.stdin:
            word, began = line.strip(), time.perf_counter()
            held = sum(word in hit.record.text for hit in agent.recall(word))
            print(held, time.perf_counter() - began, flush=True)


def bench(*, quick: bool = False, rounds: int = 100) -> Report:
    """All of it."""
    count = 10_000 if quick else 100_000
    report = Report("visible: from one process's write to another's answer", "python -m benchmarks.visible")
    with common.scratch() as folder:
        home = shutil.copytree(banks.home(count), folder / "home")
        command = [sys.executable, "-m", "benchmarks.visible", "--child", str(home)]
        other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        whole, after, asking = [], [], []
        with muniment.open(home) as peer:
            agent = peer.agent(banks.AGENT)
            for n in range(rounds):
                word = f"zyx{n:05}qv"
                began = time.perf_counter()
                agent.remember(f"The code word of the day is {word}, and nobody has said it before.")
                acknowledged = time.perf_counter()
                other.stdin.write(word + "\n")
                other.stdin.flush()
                held, took = other.stdout.readline().split()
                done = time.perf_counter()
                assert held == "1", f"{word} was not found at once"
                whole.append((done - began) * 1000)
                after.append((done - acknowledged) * 1000)
                asking.append(float(took) * 1000)
        other.stdin.close()
        other.wait(timeout=60)
        sync = common.sync_ms(folder)
    label = banks.name(count)
    for what, walls, most in (
        ("write to answer", whole, MOST_MS),
        ("acknowledged to answer", after, None),
        ("recall in the other process", asking, None),
    ):
        note = f"wall, p95 {common.p95(walls):.1f} ms; disk sync {sync:.2f} ms"
        report.add(f"{what}, {label}", common.median(walls), "ms", most, note=note)
    return report


def main() -> int:
    """Command line."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
        return 0
    args = common.parser(__doc__).parse_args()
    return common.finish([bench(quick=args.quick)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
