"""Time of a whole recall by the size of the bank: words, words and meaning, and SQLite FTS5, in turns.

    python -m benchmarks.scale 10000 100000 1000000 [--queries 60] [--json FILE] [--write-docs]

Queries have 3 to 6 words, one or two of them among the commonest; ten hits, opened and with snippets. FTS5 gets the OR
of the words and returns ten rows with their text. Banks are made once and kept in `.bench/`: that of a million records
with vectors takes about an hour and 4 GB. A bank that is not there is only made where `--make` says so. Medians of
processor time; the embedder is a function out of a hash and takes next to nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from benchmarks import banks, common, memory, pages, plots, speed  # noqa: E402

import muniment  # noqa: E402

LIMIT = 10
NAMES = ("words", "words and meaning", "SQLite FTS5")


def measure(count: int, queries: int, *, make: bool) -> dict[str, list[float]]:
    """Median and 95th percentile in ms of each contender that has its bank."""
    asked = banks.queries(queries)
    calls: dict[str, Any] = {}
    peers = []
    label = f"{banks.EDITION}-{banks.name(count)}"
    for name, place, embedder in (
        (NAMES[0], common.CACHE / f"home-{label}", None),
        (NAMES[1], common.CACHE / f"home-{label}-vectors", memory.embedder()),
    ):
        if not (place / "built").exists() and not make:
            print(f"left out: {name} at {count:,} (not made, see --make)", file=sys.stderr)
            continue
        if make:
            _ = banks.home(count) if embedder is None else memory.home(count)
        peer = muniment.open(place, embedder=embedder)
        peers.append(peer)
        agent = peer.agent(banks.AGENT)
        agent.recall("ready")
        calls[name] = lambda n, agent=agent: agent.recall(asked[n % queries], limit=LIMIT)
    rival = speed.by_fts5(speed.fts5(count))
    calls[NAMES[2]] = lambda n: rival(asked[n % queries])
    times = common.alternate(calls, queries)
    for peer in peers:
        peer.close()
    return {name: [round(common.median(took), 3), round(common.p95(took), 3)] for name, took in times.items()}


def page(result: dict[str, Any]) -> str:
    """The table, as Markdown."""
    rows = [
        [
            f"{int(count):,}",
            *(f"{found[n][0]:.2f} and {found[n][1]:.2f}" if n in found else "" for n in NAMES),
        ]
        for count, found in result["sizes"].items()
    ]
    return common.markdown(["records", *(f"{name}, p50 and p95, ms" for name in NAMES)], rows)


def picture(result: dict[str, Any]) -> str:
    """Medians by size."""
    series = {
        name: [(float(count), found[name][0]) for count, found in result["sizes"].items() if name in found]
        for name in NAMES
    }
    return plots.lines(
        "time of a recall by size of the bank", {name: line for name, line in series.items() if line},
        "records in the bank", "processor time of a recall, ms (median)",
    )  # fmt: skip


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", type=int, nargs="+", help="records")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--make", action="store_true", help="make banks that are not there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    parser.add_argument(
        "--write-docs", action="store_true", help="rewrite table and plot of docs/benchmarks.md"
    )
    options = parser.parse_args()
    sizes = {
        str(count): measure(count, options.queries, make=options.make) for count in sorted(options.sizes)
    }
    result = {"machine": common.machine(), "sizes": sizes}
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1), "utf-8")
    if options.write_docs:
        image = "![Time of a recall by the size of the bank](images/scale.svg)"
        pages.rewrite("scale", f"{image}\n\n{page(result)}", {"scale.svg": picture(result)})
    print(common.machine_line() + "\n\n" + page(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
