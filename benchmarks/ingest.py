"""Import of short records: CPU for each, from 10k to 1M, with the word index; memory and disk.

    python -m benchmarks.ingest [--million]

A JSON Lines file goes through `agent.import_from` in a process of its own: parsed, checked, signed, sealed, stored in
durable transactions and indexed. The time counts from before the file is opened until the index is on the disk.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from benchmarks import banks, common
from benchmarks.common import Report

import muniment

PER_SECOND = 4000
FLAT = 1.5


def child(home: str, file: str) -> None:
    """One import; prints what it took."""
    with muniment.open(home) as peer:
        agent = peer.agent(banks.AGENT, create=True)
        cpu, wall = time.process_time(), time.perf_counter()
        done = agent.import_from(file, format="jsonl", on_error="fail")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps(
            {
                "records": done.created,
                "cpu": cpu,
                "wall": wall,
                "peak_mb": peak,
                "anon_mb": common.rss_anon_mb(),
            }
        )
    )


def once(folder: Path, count: int, *, short: bool) -> dict[str, float]:
    """One import into a new home."""
    label = f"{banks.EDITION}-{banks.name(count)}-{'short' if short else 'long'}"
    file = banks.write_lines(common.CACHE / f"import-{label}.jsonl", count, short=short)
    home = folder / label
    ran = common.run([sys.executable, "-m", "benchmarks.ingest", "--child", str(home), str(file)])
    found: dict[str, float] = json.loads(ran.out)
    assert found["records"] == count
    found["input_mb"] = file.stat().st_size / 1e6
    found["bank_mb"] = common.disk_mb(home / "banks")
    found["index_mb"] = common.disk_mb(home / "index")
    return found


def bench(*, quick: bool = False, million: bool = False) -> Report:
    """All of it."""
    report = Report("ingest: import of short records", "python -m benchmarks.ingest")
    sizes = [10_000] if quick else [10_000, 100_000, *([1_000_000] if million else [])]
    rows, each = [], {}
    for count in sizes:
        with common.scratch() as folder:
            for short in (True, False) if count <= 100_000 else (True,):
                took = once(folder, count, short=short)
                words = "20-40" if short else "30-120"
                if short:
                    each[count] = took["cpu"] / count
                    report.add(
                        f"records a CPU second, {banks.name(count)}",
                        count / took["cpu"],
                        "/s",
                        least=PER_SECOND,
                    )
                rows.append([
                    banks.name(count), words, f"{took['input_mb'] / count * 1e6:.0f}", f"{count / took['cpu']:,.0f}",
                    f"{count / took['wall']:,.0f}", f"{took['peak_mb']:.0f}", f"{took['anon_mb']:.0f}",
                    f"{took['bank_mb']:.0f}", f"{took['index_mb']:.0f}",
                ])  # fmt: skip
    for count in sizes[1:]:
        report.add(f"cost of a record, {banks.name(count)} to 10k", each[count] / each[10_000], "x", FLAT)
    heads = [
        "records",
        "words",
        "bytes a line",
        "records / CPU s",
        "records / s wall",
        "peak MB",
        "anonymous MB",
        "bank MB",
        "index MB",
    ]
    report.table("Each import, in a process of its own:", heads, rows)
    return report


def main() -> int:
    """Command line."""
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:4])
        return 0
    parser = common.parser(__doc__)
    parser.add_argument("--million", action="store_true", help="also 1,000,000 records (some minutes)")
    args = parser.parse_args()
    return common.finish([bench(quick=args.quick, million=args.million)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
