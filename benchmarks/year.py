"""A year of three agents on two machines, in minutes: what memory costs and finds again as it grows old.

    python -m benchmarks.year [--data DIR] [--days 365] [--quick] [--json FILE] [--plots DIR] [--write-docs]

`--data` holds the question sets (LoCoMo, BEAM, LongMemEval); without it conversations are drawn. `--quick` is six
weeks. Each peer is a program of its own over a folder on the disk, with a clock that is told what time it is; they
are killed (`kill -9`) while they work, and sync each evening. What must hold is asserted on the way
(`benchmarks/year_life.py`). At the end everything live is told anew to banks that never knew anything else and archive
nothing: what a year costs is the difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import common, metrics, pages, plots, year_story
from benchmarks.year_life import Life, Pace

QUICK = Pace(days=42, sample=7, policy=3, older_than=10, desk_crash=4, laptop_crash=11, guest=20,
             rekey=10, offline=(12, 2), care=14)  # fmt: skip
KINDS = ("bank", "index", "packs", "other")  # of bytes that grow; SQLite's logs don't
SLOWER, WORSE, LARGER = 1.3, 0.01, 1.5  # the most that age may cost: time and memory, recall, bytes


def measure(data: Path | None, pace: Pace, folder: Path) -> dict[str, Any]:
    """One run; raises AssertionError where something does not hold."""
    much = {"conversations": 16, "turns": 240} if pace.days > 100 else {}
    stories = year_story.write(year_story.material(data, **much), pace.days)
    result = Life(stories, folder, pace).run()
    return result | {"machine": common.machine(), "drawn": data is None, "story": year_story.counts(stories)}


# Telling


def bytes_each(found: dict[str, Any], live: int) -> float:
    """Bytes on the disk for each live record."""
    return sum(found["disk"][kind] for kind in KINDS) / live


def age(result: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Figure -> (after the year, in new banks)."""
    fresh, last = result["fresh"], result["samples"][-1]
    banks = fresh["banks"].values()

    def mean(which: str, what: str) -> float:
        return float(np.mean([bank[which][what] for bank in banks]))

    return {
        "recall@10": (mean("aged", "recall"), mean("fresh", "recall")),
        "time of a recall, ms": (mean("aged", "ms"), mean("fresh", "ms")),
        "bytes a live record": (bytes_each(last["desk"], last["live"]), bytes_each(fresh, fresh["live"])),
        "anonymous memory, MB": (last["desk"]["memory_mb"], fresh["memory_mb"]),
    }


def bent(result: dict[str, Any]) -> list[str]:
    """What age made worse than it may; nothing where all curves are flat."""
    found = age(result)
    (recall, recall_new), (ms, ms_new) = found["recall@10"], found["time of a recall, ms"]
    (each, each_new), (mb, mb_new) = found["bytes a live record"], found["anonymous memory, MB"]
    out = []
    if recall < recall_new - WORSE:
        out.append(f"recall@10 is {recall:.3f}, in new banks {recall_new:.3f}")
    if ms > ms_new * SLOWER:
        out.append(f"a recall takes {ms:.2f} ms, in new banks {ms_new:.2f}")
    if each > each_new * LARGER:
        out.append(f"a record takes {each:.0f} bytes, in new banks {each_new:.0f}")
    if mb > mb_new * SLOWER:
        out.append(f"memory is {mb:.0f} MB, with new banks {mb_new:.0f}")
    return out


def page(result: dict[str, Any]) -> str:
    """The tables, as Markdown."""
    rows = []
    samples = result["samples"]
    picked = [
        samples[round(n * (len(samples) - 1) / min(8, len(samples) - 1))] for n in range(min(9, len(samples)))
    ]
    for one in picked:
        found = [f"{value:.3f} ({one['asked'][name]})" if (value := one["recall"][name]) is not None else ""
                 for name in ("current", "archived")]  # fmt: skip
        desk, laptop = one["desk"], one["laptop"]
        rows.append([str(one["day"]), f"{one['live']:,}", *found, f"{one['ms']:.2f}" if one["ms"] else "",
                     f"{desk['memory_mb']:.0f} and {laptop['memory_mb']:.0f}",
                     *(f"{sum(who['disk'][kind] for kind in KINDS) / 1e6:.1f}" for who in (desk, laptop)),
                     f"{bytes_each(desk, one['live']):,.0f}"])  # fmt: skip
    heads = ["day", "live records", "recall@10, current (questions)", "archived (questions)", "recall, ms",
             "memory of desk and laptop, MB", "desk's disk, MB", "laptop's", "bytes a live record, desk"]  # fmt: skip
    aged = [[name, f"{old:,.3f}", f"{new:,.3f}"] for name, (old, new) in age(result).items()]
    pairs = np.array(result["first_last"])
    mean, low, high = metrics.interval(pairs[:, 1] - pairs[:, 0])
    happened = ", ".join(f"{number:,} {what}" for what, number in sorted(result["happened"].items()))
    crowd = (
        f"The same {len(pairs)} questions when they could first be answered and at the end, with all that came between:"
        f" recall@10 {pairs[:, 0].mean():.3f} and {pairs[:, 1].mean():.3f}, a difference of {mean:+.3f} "
        f"[{low:+.3f}, {high:+.3f}]."
    )
    parts = [
        f"{result['days']} days: {happened}.",
        common.markdown(heads, rows),
        common.markdown(["", "after the year", "the same records in new banks, none archived"], aged),
        crowd,
    ]
    return "\n\n".join(parts)


def pictures(result: dict[str, Any]) -> dict[str, str]:
    """File name -> SVG."""
    samples = result["samples"]

    def line(get: Any) -> list[tuple[float, float]]:
        return [(one["day"], value) for one in samples if (value := get(one)) is not None]

    across = "day"
    return {
        "year-recall.svg": plots.course(
            "recall@10 over a year",
            {name: line(lambda one, name=name: one["recall"][name]) for name in ("current", "archived")},
            across, "recall@10 of the questions that can be answered"),
        "year-time.svg": plots.course(
            "time of a recall over a year",
            {bank: line(lambda one, bank=bank: one["banks"][bank]["ms"]) for bank in year_story.BANKS},
            across, "processor time of a recall, ms (median), by bank", unit=" ms"),
        "year-disk.svg": plots.course(
            "bytes on the disk for each live record over a year",
            {f"{who}, {kind}": line(lambda one, who=who, kind=kind: one[who]["disk"][kind] / one["live"])
             for who in ("desk", "laptop") for kind in ("bank", "index", "packs")},
            across, "bytes on the disk for each live record", unit=" B"),
        "year-memory.svg": plots.course(
            "anonymous memory over a year",
            {who: line(lambda one, who=who: one[who]["memory_mb"]) for who in ("desk", "laptop")},
            across, "anonymous memory of each peer, MB", unit=" MB"),
    }  # fmt: skip


def write(result: dict[str, Any], folder: Path) -> list[Path]:
    """Put the plots into a folder."""
    return pages.draw(folder, pictures(result))


def write_docs(result: dict[str, Any]) -> None:
    """Rewrite tables and plots of `docs/benchmarks.md`."""
    about = {
        "recall": "recall@10",
        "time": "Time of a recall",
        "disk": "Bytes a live record",
        "memory": "Memory",
    }
    images = "\n\n".join(f"![{text} over a year](images/year-{name}.svg)" for name, text in about.items())
    pages.rewrite("year", f"{images}\n\n{page(result)}", pictures(result))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the question sets")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--quick", action="store_true", help="six weeks of drawn conversations")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    parser.add_argument(
        "--from", type=Path, dest="kept", metavar="FILE", help="tell figures that were kept, don't run"
    )
    parser.add_argument(
        "--plots", type=Path, metavar="DIR", default=common.CACHE / "year", help="where plots go"
    )
    parser.add_argument(
        "--write-docs", action="store_true", help="rewrite tables and plots of docs/benchmarks.md"
    )
    options = parser.parse_args()
    if options.kept is not None:
        result = json.loads(options.kept.read_text("utf-8"))
    else:
        pace = QUICK if options.quick else Pace(days=options.days)
        with common.scratch() as folder:
            result = measure(None if options.quick else options.data, pace, folder)
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1), "utf-8")
    if options.write_docs:
        write_docs(result)
    made = write(result, options.plots)
    print(f"{common.machine_line()}\n\n{page(result)}\n\nPlots: {', '.join(map(str, made))}")
    complaints = bent(result)
    for complaint in complaints:
        print(f"not flat: {complaint}")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
