"""One `remember`, acknowledged and durable: syncs, CPU above a bare SQLite insert, wall time.

    python -m benchmarks.remember

The rival is one row of 600 bytes inserted by the same SQLite with `synchronous=FULL` on the same disk, in turns.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import apsw
from benchmarks import common
from benchmarks.common import Report

import muniment

ABOVE_MS = 0.6
ROW_BYTES = 600


def texts(count: int, start: int = 0) -> list[str]:
    """Memories of about 400 bytes; as a sealed body each is stored in about 600."""
    line = "The deployment of service {n} was moved to {d} because the review by team {t} found {k} open points. "
    return [
        (line.format(n=n, d=f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}", t=n % 97, k=n % 13) * 4)[:400]
        for n in range(start, start + count)
    ]


def bare(folder: Path) -> apsw.Connection:
    """The rival: a table of rows."""
    link = apsw.Connection(str(folder / "bare.db"))
    link.execute("PRAGMA journal_mode = WAL")
    link.execute("PRAGMA synchronous = FULL")
    link.wal_autocheckpoint(0)
    link.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    return link


def measure(rounds: int, report: Report, folder: Path) -> None:
    """CPU and wall, in turns."""
    peer = muniment.open(folder / "home")
    agent = peer.agent("bench", create=True)
    link, walls = bare(folder), {"bare": [], "remember": []}
    words = texts(rounds + 300)
    row = os.urandom(ROW_BYTES)

    def insert(n: int) -> None:
        began = time.perf_counter()
        link.execute("BEGIN IMMEDIATE")
        link.execute("INSERT INTO rows (body) VALUES (?)", (row,))
        link.execute("COMMIT")
        walls["bare"].append(time.perf_counter() - began)

    def remember(n: int) -> None:
        began = time.perf_counter()
        agent.remember(words[n])
        walls["remember"].append(time.perf_counter() - began)

    def twice(n: int) -> None:
        agent.remember(
            words[n] + " again", key=f"key-{n % 50}", tags=("a", "b"), metadata={"n": n}, session="s"
        )

    times = common.alternate({"bare": insert, "remember": remember}, rounds, warm=20)
    rich = common.alternate({"rich": twice}, max(100, rounds // 4))["rich"]
    ours, theirs = common.median(times["remember"]), common.median(times["bare"])
    sync = common.sync_ms(folder)
    report.add("CPU above a bare insert", ours - theirs, "ms", ABOVE_MS)
    report.add("CPU of remember", ours, "ms", note=f"p95 {common.p95(times['remember']):.2f} ms")
    report.add("CPU of a bare insert", theirs, "ms", note="one row of 600 bytes, WAL, synchronous=FULL")
    report.add("CPU, ratio to a bare insert", ours / theirs, "x", note=f"disk sync {sync:.2f} ms")
    for name in ("remember", "bare"):
        wall = [w * 1000 for w in walls[name]]
        report.add(f"wall of {name}", common.median(wall), "ms", note=f"p95 {common.p95(wall):.2f} ms")
    report.add(
        "CPU of remember with key, tags, metadata, session",
        common.median(rich),
        "ms",
        note="supersedes a version each time",
    )
    peer.close()


def count_syncs(folder: Path, writes: int = 50) -> float | None:
    """Syncs per write as the kernel sees them; None without strace."""
    if not common.has("strace"):
        return None
    log = folder / "strace.log"
    own = [sys.executable, "-m", "benchmarks.remember", "--child", str(folder / "traced"), str(writes)]
    traced = ["strace", "-f", "-e", "trace=fsync,fdatasync,msync,sync_file_range,write", "-o", str(log), *own]
    done = subprocess.run(traced, capture_output=True, text=True, check=False)
    if done.returncode:
        return None  # a container that forbids tracing
    inside, syncs = False, 0
    for line in log.read_text().splitlines():
        if '"BEGIN\\n"' in line or '"END\\n"' in line:
            inside = "BEGIN" in line
        elif inside and re.search(r"\b(fsync|fdatasync|msync|sync_file_range)\(", line):
            syncs += 1
    return syncs / writes


def child(home: str, writes: int) -> None:
    """What is traced: marks around the writes, which follow a first one that makes everything."""
    with muniment.open(home) as peer:
        agent = peer.agent("bench", create=True)
        agent.remember("first")
        os.write(1, b"BEGIN\n")
        for text in texts(writes):
            agent.remember(text)
        os.write(1, b"END\n")


def bench(*, quick: bool = False) -> Report:
    """All of it."""
    report = Report("remember: one durable write", "python -m benchmarks.remember")
    with common.scratch() as folder:
        syncs = count_syncs(folder)
        if syncs is None:
            print(
                "skipped: syncs per write (strace is not installed, or may not trace here)", file=sys.stderr
            )
        else:
            report.add("syncs per write", syncs, "", 1.0, note="fdatasync, fsync and the like, by strace")
        measure(200 if quick else 2000, report, folder)
    return report


def main() -> int:
    """Command line."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]))
        return 0
    args = common.parser(__doc__).parse_args()
    return common.finish([bench(quick=args.quick)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
