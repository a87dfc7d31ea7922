"""How good the answers are, beside rivals over the same texts: five question sets, whole calls, one table each.

    python -m benchmarks.quality --data DIR [--cache DIR] [--sets locomo beam …] [--json]

One bank a conversation (LoCoMo, BEAM) or one for all (LongMemEval, SciFact), one record a turn, message or abstract,
written by `remember_many` and asked by `recall` as any caller would. Each contender runs in a process of its own.
recall@k is the share of a question's relevant records among the first k, averaged; NDCG@10 has binary gains; any@k is
the share of questions with at least one. The rank of a session is that of its best turn in an answer of 300.
Brackets are 95 % intervals by bootstrap over questions, with a fixed seed. Tokens are those of the ten texts that come
back, four characters each. Times are processor time of a call for ten; vectors come from a cache that
`benchmarks/carriers.py` fills, so the time of the embedder is not in them. Memory is what the process holds beyond its
imports and the data when all is asked, indexes and what is left of building them included. `precision` is
`benchmarks/precision.py`.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from benchmarks import carriers, common, contenders, metrics, precision, rivals, sets  # noqa: E402

DEPTH = 300  # rows that are asked for to rank sessions
SHOWN = 10
WAYS = ("sure", "unasked")  # of asking that may give nothing
WARM = 3  # questions before those that are timed
SETS = (*sets.NAMES, "precision")
TITLES = {
    "locomo": "LoCoMo, turns",
    "longmemeval": "LongMemEval, turns of all sessions in one bank",
    "beam": "BEAM 100K, messages",
    "scifact": "SciFact, title and abstract",
}


@dataclass
class Run:
    """What a contender answered: rows by question, in the order of banks and questions.

    `deep` are the rows of a longer answer, where conversations are ranked too. `silent` says, by the way of asking, for
    which answerable and which unanswerable questions nothing came.
    """

    ranked: list[list[int]]
    deep: list[list[int]]
    milliseconds: list[float]
    megabytes: float
    silent: dict[str, tuple[list[bool], list[bool]]] = field(default_factory=dict)
    version: str = ""


def run(data: Path, name: str, contender: str, cache: Path | None, tokens: int, step: int = 1) -> Run:
    """One contender on one set, in this process."""
    logging.getLogger("muniment").setLevel(logging.ERROR)
    banks = sets.load(data, name, step)
    made = contenders.make(contender, cache, tokens)
    before = common.rss_anon_mb()
    ranked: list[list[int]] = []
    deep: list[list[int]] = []
    silent: dict[str, tuple[list[bool], list[bool]]] = {}
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for number, bank in enumerate(banks):
            made.open(bank, Path(folder) / str(number))
            for question in bank.questions[:WARM]:
                made.ask(question.text, SHOWN)
            for question in bank.questions:
                began = time.process_time_ns()
                ranked.append(made.ask(question.text, SHOWN))
                times.append((time.process_time_ns() - began) / 1e6)
            held = common.rss_anon_mb() - before
            deep += [made.ask(question.text, DEPTH) for question in bank.questions if question.sessions]
            for way in WAYS:
                ask = getattr(made, way, None)
                if ask is not None:
                    answered, never = silent.setdefault(way, ([], []))
                    answered += [not ask(question.text) for question in bank.questions]
                    never += [not ask(question.text) for question in bank.unanswerable]
            plain = silent.setdefault("ask", ([], []))
            plain[0].extend(not rows for rows in ranked[-len(bank.questions) :])
            plain[1].extend(not made.ask(question.text, SHOWN) for question in bank.unanswerable)
            made.close()
    return Run(ranked, deep, times, held, silent)


def rival(
    data: Path, name: str, who: str, python: Path, cache: Path, tokens: int, *, step: int = 1
) -> Run:  # fmt: skip
    """The same for a rival in an environment of its own; its vectors are those of the first model in the cache."""
    banks = sets.load(data, name, step)
    model = carriers.MODELS[0]
    lookup = rivals.Lookup(carriers.Cache(cache, model, tokens), model)
    found = rivals.apart(python, who, banks, lookup, shown=SHOWN, depth=DEPTH)
    parts = found["banks"]
    ranked = [rows for part in parts for rows in part["ranked"]]
    never = [not rows for part in parts for rows in part["never"]]
    return Run(
        ranked,
        [rows for part in parts for rows in part["deep"]],
        [took for part in parts for took in part["milliseconds"]],
        max(part["held"] for part in parts) - found["before"],
        {"ask": ([not rows for rows in ranked], never)},
        found["version"],
    )


def apart(*arguments: Any) -> Run:
    """The same in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(run, *arguments).result()


def scores(name: str, banks: list[sets.Bank], found: Run) -> dict[str, Any]:
    """The measures of one run; arrays by question under `each`."""
    asked = [(bank, question) for bank in banks for question in bank.questions]
    pairs = list(zip(found.ranked, asked, strict=True))
    each = {
        **{f"recall@{k}": [metrics.recall(r, q.relevant, k) for r, (_, q) in pairs] for k in (1, 5, 10)},
        "NDCG@10": [metrics.ndcg(r, q.relevant) for r, (_, q) in pairs],
        "any@5": [metrics.hit(r, q.relevant, 5) for r, (_, q) in pairs],
        "any@10": [metrics.hit(r, q.relevant, 10) for r, (_, q) in pairs],
    }
    if all(q.sessions for _, q in asked):
        grouped = [
            (metrics.best_of(r, bank.sessions), q.sessions)
            for r, (bank, q) in zip(found.deep, asked, strict=True)
        ]
        for k in (1, 5, 10):
            each[f"session any@{k}"] = [metrics.hit(r, s, k) for r, s in grouped]
        each["session recall@5"] = [metrics.recall(r, s, 5) for r, s in grouped]
        each["session recall@10"] = [metrics.recall(r, s, 10) for r, s in grouped]
        each["session NDCG@10"] = [metrics.ndcg(r, s) for r, s in grouped]
    tokens = [metrics.tokens([bank.texts[row - 1] for row in r]) for r, (bank, _) in pairs]
    return {
        "each": {key: np.array(values) for key, values in each.items()},
        "tokens": float(np.mean(tokens)),
        "p50_ms": common.median(found.milliseconds),
        "p95_ms": common.p95(found.milliseconds),
        "anonymous_mb": found.megabytes,
        "silent": {
            way: [float(np.mean(part)) if part else None for part in parts]
            for way, parts in found.silent.items()
        },
        "version": found.version,
    }


def measure(
    data: Path, name: str, who: list[str], cache: Path | None, tokens: int, step: int = 1
) -> dict[str, Any]:
    """All contenders on one set."""
    banks = sets.load(data, name, step)
    found: dict[str, Any] = {}
    for contender in who:
        try:
            found[contender] = scores(name, banks, apart(data, name, contender, cache, tokens, step))
        except RuntimeError as error:
            print(f"skipped: {contender} on {name}: {error}", file=sys.stderr, flush=True)
    return found


def spread(values: Any) -> str:
    """0.737 [0.712, 0.762]."""
    mean, low, high = metrics.interval(values)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def show(name: str, found: dict[str, Any]) -> None:
    """The tables of one set."""
    some = next(iter(found.values()))["each"]
    print(f"\n## {TITLES[name]} ({len(some['NDCG@10'])} questions)\n")
    heads = ["contender", "recall@1", "recall@5", "recall@10", "NDCG@10", "any@5", "any@10"]
    rows = [
        [who, *(f"{one['each'][key].mean():.3f}" for key in heads[1:3]), spread(one["each"]["recall@10"]),
         spread(one["each"]["NDCG@10"]), *(f"{one['each'][key].mean():.3f}" for key in heads[5:])]
        for who, one in found.items()
    ]  # fmt: skip
    print(common.markdown(heads, rows))
    keys = [key for key in some if key.startswith("session")]
    if keys:
        rows = [[who, *(f"{one['each'][key].mean():.3f}" for key in keys)] for who, one in found.items()]
        print("\n" + common.markdown(["contender", *keys], rows))
    print("\n" + common.markdown(
        ["contender", "recall@10 above plain", "NDCG@10 above words", "tokens", "p50 ms", "p95 ms", "memory MB"],
        [[who, above(found, who, contenders.BASE, "recall@10"), above(found, who, contenders.WORDS, "NDCG@10"),
          f"{one['tokens']:.0f}", f"{one['p50_ms']:.2f}", f"{one['p95_ms']:.2f}", f"{one['anonymous_mb']:.0f}"]
         for who, one in found.items()],
    ))  # fmt: skip
    sys.stdout.flush()


def above(found: dict[str, Any], who: str, base: str, key: str) -> str:
    """A paired difference with its interval."""
    if who == base or base not in found:
        return ""
    mean, low, high = metrics.interval(found[who]["each"][key] - found[base]["each"][key])
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"


def plain(found: dict[str, Any]) -> dict[str, Any]:
    """For JSON: means and intervals in place of arrays."""
    return {
        who: {
            **{key: [round(x, 4) for x in metrics.interval(v)] for key, v in one["each"].items()},
            **{
                key: round(value, 3) if isinstance(value, float) else value
                for key, value in one.items()
                if key != "each"
            },
        }
        for who, one in found.items()
    }


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the question sets")
    parser.add_argument("--cache", type=Path, help="folder with vectors, filled by benchmarks.carriers")
    parser.add_argument("--tokens", type=int, default=128, help="as the cache was filled")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="contenders with TEXT in the name"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    who = [
        name
        for name in contenders.names(options.cache, options.tokens)
        if any(part in name for part in options.only)
    ]
    report: dict[str, Any] = {"machine": common.machine(), "sets": {}}
    if not options.json:
        print(common.machine_line(), flush=True)
    for name in options.sets:
        if name == "precision":
            verdicts = precision.measure(options.data)
            report["sets"][name] = verdicts
            if not options.json:
                precision.show(verdicts)
            continue
        found = measure(options.data, name, who, options.cache, options.tokens)
        report["sets"][name] = plain(found)
        if found and not options.json:
            show(name, found)
    if options.json:
        print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
