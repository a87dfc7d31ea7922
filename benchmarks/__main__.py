"""Run the benchmarks, each beside its rivals in the same run.

    python -m benchmarks [--quick] [--million] [--only NAME ...] [--data DIR]

`--quick` takes a minute or two. The full run takes some minutes, with `--million` about an hour, and some GB in
`.bench/`, where corpora and banks are kept for the next run. Data sets of others are only measured where `--data`
names their folder.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks import (
    archive,
    authority,
    cold,
    common,
    custody,
    erase,
    ingest,
    mcp,
    memory,
    moving,
    remember,
    rpc,
    speed,
    sync,
    sync_http,
    tools,
    transports,
    visible,
    web,
)
from benchmarks.common import Report

NAMES = (
    *(
        "remember",
        "ingest",
        "words",
        "speed",
        "memory",
        "visible",
        "cold",
        "rpc",
        "authority",
        "tools",
        "mcp",
        "sync",
        "transports",
        "sync_http",
        "moving",
        "web",
    ),
    *(
        "locomo",
        "vectors",
        "scale",
        "fusion",
        "auto_recall",
        "recall",
        "integrity",
        "archive",
        "custody",
        "erase",
        "year",
    ),
)
OWN_TABLES = {"words", "locomo", "vectors", "scale", "fusion", "auto_recall", "recall", "integrity", "year"}

# Those that know one size.
ALONE = {
    "remember": remember,
    "authority": authority,
    "visible": visible,
    "rpc": rpc,
    "tools": tools,
    "mcp": mcp,
    "transports": transports,
    "web": web,
    "moving": moving,
    "custody": custody,
    "erase": erase,
}


def ours(name: str, *, quick: bool, million: bool, data: str | None) -> Report:
    """One benchmark that reports its bars."""
    if name == "archive":
        return archive.bench(quick=quick, data=data)
    if name in ALONE:
        return ALONE[name].bench(quick=quick)
    module = {
        "ingest": ingest,
        "speed": speed,
        "memory": memory,
        "cold": cold,
        "sync": sync,
        "sync_http": sync_http,
    }[name]
    return module.bench(quick=quick, million=million)


def other(name: str, *, quick: bool, million: bool, data: str | None) -> int:
    """One that prints a table of its own."""
    if name in {"words", "vectors", "scale"}:
        sizes = ["10000"] if quick else ["10000", "100000", *(["1000000"] if million else [])]
        words = [*sizes, *(["--queries", "50"] if quick else [])]
    elif name == "integrity":
        words = []
    elif name == "year":
        words = [*(["--data", data] if data else []), *(["--quick"] if quick else [])]
    elif data is None:
        print(f"\nskipped: {name} (name the folder of its data with --data)", flush=True)
        return 0
    else:
        words = ["--data", data, *(["--quick"] if quick and name == "recall" else [])]
    command = [sys.executable, "-m", f"benchmarks.{name}", *words]
    print(f"\n## {name}\n\n`python -m benchmarks.{name} {' '.join(words)}`", flush=True)
    return subprocess.run(command, check=False).returncode


def main() -> int:
    """Command line."""
    parser = common.parser(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = __doc__
    parser.add_argument("--million", action="store_true", help="also 1,000,000 records")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), help="only these")
    parser.add_argument("--data", help="folder with data sets of others")
    args = parser.parse_args()
    reports, failed = [], 0
    if not args.json:
        print(common.machine_line(), flush=True)
    for name in args.only:
        if name in OWN_TABLES:
            if not args.json:
                failed |= other(name, quick=args.quick, million=args.million, data=args.data)
            continue
        report = ours(name, quick=args.quick, million=args.million, data=args.data)
        reports.append(report)
        if not args.json:
            report.show()
    if args.json:
        return common.finish(reports, as_json=True)
    missed = [f"{report.name}: {what}" for report in reports for what in report.missed]
    print("\nMissed bars: " + ("; ".join(missed) or "none"))
    return int(bool(missed) or failed != 0)


if __name__ == "__main__":
    sys.exit(main())
