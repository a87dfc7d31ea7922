"""What times do to a ranking: questions that name a time or an event, with `dates="boost"` and without.

    python -m benchmarks.times --data DIR [--sets locomo longmemeval beam] [--json]

The product, by words, one bank a conversation (LoCoMo, BEAM) or one for all (LongMemEval). `time` are questions that
name one, `event` those that have a "before", "after" or "since" of something else, `neither` the rest: of these each
answer has to be the same. Differences are boost less off, with the 95 % interval over questions; `worst` is the mean
NDCG@10 of the conversation that gains least.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import common, contenders, metrics, sets

from muniment.recall.dates import spans
from muniment.recall.events import event_in

SHOWN = 10
SETS = ("locomo", "longmemeval", "beam")
KINDS = ("time", "event", "neither")
Row = dict[str, Any]


def kind_of(question: str) -> str:
    """What a question names, asked now."""
    if spans(question, int(time.time() * 1000)):
        return "time"
    return "event" if event_in(question) else "neither"


def measure(data: Path, name: str) -> list[Row]:
    """A row for each kind of question that a set has."""
    found: dict[str, list[tuple[str, float, float, bool]]] = defaultdict(list)
    for bank in sets.load(data, name):
        library = contenders.Library()
        with tempfile.TemporaryDirectory() as folder:
            library.open(bank, Path(folder) / "peer")
            for question in bank.questions:
                off, boost = (
                    [
                        int(hit.record.metadata["id"])
                        for hit in library.agent.recall(question.text, limit=SHOWN, dates=way)
                    ]
                    for way in ("off", "boost")
                )
                found[kind_of(question.text)].append(
                    (
                        bank.name,
                        metrics.recall(boost, question.relevant) - metrics.recall(off, question.relevant),
                        metrics.ndcg(boost, question.relevant) - metrics.ndcg(off, question.relevant),
                        boost != off,
                    )
                )
            library.close()
    return [told(name, kind, found[kind]) for kind in KINDS if found[kind]]


def told(name: str, kind: str, rows: list[tuple[str, float, float, bool]]) -> Row:
    """The figures of one kind of question."""
    by_bank: dict[str, list[float]] = defaultdict(list)
    for bank, _, ndcg, _ in rows:
        by_bank[bank].append(ndcg)
    return {
        "set": name,
        "kind": kind,
        "questions": len(rows),
        "other answers": sum(changed for *_, changed in rows),
        "recall@10": spread([row[1] for row in rows]),
        "NDCG@10": spread([row[2] for row in rows]),
        "worst": f"{min(float(np.mean(some)) for some in by_bank.values()):+.3f}",
    }


def spread(values: list[float]) -> str:
    """+0.012 [+0.001, +0.023]."""
    mean, low, high = metrics.interval(np.array(values))
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the question sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row for name in options.sets for row in measure(options.data, name)]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print(common.markdown(list(rows[0]), [[str(value) for value in row.values()] for row in rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
