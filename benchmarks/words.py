"""Speed of the word ranking beside SQLite FTS5 and bm25s, in CPU time, on the synthetic corpus.

    python -m benchmarks.words 10000 100000 [--json] [--queries N] [--only ours]

Queries are ORs of 3 to 6 words with one or two very common ones; ten hits. `bm25s` is measured if it is installed (it
can't add a record); FTS5 comes through apsw. Each figure is the median (and 95th percentile) of one process's CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from benchmarks.synthetic import Synthetic  # noqa: E402

from muniment.recall.analyzer import Analyzer  # noqa: E402
from muniment.recall.corpus import ListCorpus  # noqa: E402
from muniment.recall.lexical import ContextWeights, WordIndex  # noqa: E402

SESSION = 20  # records a conversation
LIMIT = 10


def milliseconds(
    call: Callable[[Any], object], arguments: list[Any], budget: float = 60.0
) -> dict[str, float]:
    """Median and 95th percentile of CPU time over the calls, in ms; stops when the budget (s) is spent."""
    for argument in arguments[:3]:
        call(argument)
    spent: list[float] = []
    for argument in arguments:
        start = time.process_time()
        call(argument)
        spent.append(time.process_time() - start)
        if sum(spent) > budget:
            break
    spent.sort()
    return {
        "p50": round(statistics.median(spent) * 1e3, 3),
        "p95": round(spent[int(len(spent) * 0.95)] * 1e3, 3),
        "queries": len(spent),
    }


def ours(texts: list[str], queries: list[list[str]], common: list[list[str]], folder: Path) -> dict[str, Any]:
    corpus = ListCorpus()
    for i, text in enumerate(texts):
        corpus.add(text, session=1 + i // SESSION)
    asked, commons = [" ".join(q) for q in queries], [" ".join(q) for q in common]
    start = time.process_time()
    index = WordIndex(folder, corpus, Analyzer(), context=ContextWeights())
    index.refresh()
    built = time.process_time() - start
    stats = index.stats()
    index.close()
    start = time.process_time()
    index = WordIndex(folder, corpus, Analyzer(), context=ContextWeights())
    index.refresh()
    first = index.search(asked[0], LIMIT)
    opened = time.process_time() - start
    assert first.hits
    few = np.random.default_rng(1).random(len(texts) + 1) < 0.01
    return {
        "records_per_cpu_s": round(len(texts) / built),
        "megabytes": round(stats.bytes / 1e6, 1),
        "segments": stats.segments,
        "open_and_first_ms": round(opened * 1e3, 1),
        "ranking": milliseconds(lambda q: index.search(q, LIMIT, context=False), asked),
        "ranking, context": milliseconds(lambda q: index.search(q, LIMIT), asked),
        "1 % filter": milliseconds(lambda q: index.search(q, LIMIT, few, context=False), asked),
        "1 % filter, context": milliseconds(lambda q: index.search(q, LIMIT, few), asked),
        "common words only": milliseconds(lambda q: index.search(q, LIMIT, context=False), commons),
        "common words only, context": milliseconds(lambda q: index.search(q, LIMIT), commons),
        "add and see one": _adding(corpus, index, texts[:200]),
    }


def _adding(corpus: ListCorpus, index: WordIndex, texts: list[str]) -> dict[str, float]:
    def add(text: str) -> None:
        corpus.add(text, session=1)
        index.refresh()

    return milliseconds(add, texts)


def fts5(texts: list[str], queries: list[list[str]], common: list[list[str]], folder: Path) -> dict[str, Any]:
    import apsw

    base = apsw.Connection(str(folder / "fts.db"))
    base.pragma("journal_mode", "wal")
    base.execute("create virtual table t using fts5(x, content='')")
    start = time.process_time()
    with base:
        base.executemany("insert into t(rowid, x) values(?, ?)", enumerate(texts, 1))
    base.execute("insert into t(t) values('optimize')")
    built = time.process_time() - start

    def search(words: list[str]) -> list[Any]:
        match = " OR ".join(f'"{word}"' for word in words)
        sql = "select rowid, rank from t where t match ? order by rank limit ?"
        return list(base.execute(sql, (match, LIMIT)))

    found = {
        "records_per_cpu_s": round(len(texts) / built),
        "ranking": milliseconds(search, queries),
        "common words only": milliseconds(search, common),
    }
    base.close()
    return found


def static(texts: list[str], queries: list[list[str]], common: list[list[str]]) -> dict[str, Any]:
    import bm25s

    start = time.process_time()
    tokens = bm25s.tokenize(texts, stopwords=None, show_progress=False)
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    index.index(tokens, show_progress=False)
    built = time.process_time() - start

    def search(words: list[str]) -> object:
        return index.retrieve([words], k=LIMIT, show_progress=False, n_threads=0)

    return {
        "records_per_cpu_s": round(len(texts) / built),
        "ranking": milliseconds(search, queries),
        "common words only": milliseconds(search, common),
    }


def measure(count: int, queries: int, only: str) -> dict[str, Any]:
    synthetic = Synthetic()
    texts = list(synthetic.texts(count))
    asked, common = synthetic.queries(queries), synthetic.common_queries(40)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table: dict[str, Any] = {"ours": ours(texts, asked, common, folder / "index")}
        if only != "ours":
            table["sqlite fts5"] = fts5(texts, asked[: max(10, 2_000_000 // count)], common[:10], folder)
            try:
                table["bm25s"] = static(texts, asked, common)
            except ImportError:
                table["bm25s"] = "not installed"
    mine = table["ours"]
    ratios = {"context / without": mine["ranking, context"]["p50"] / mine["ranking"]["p50"]}
    for rival in ("sqlite fts5", "bm25s"):
        if isinstance(table.get(rival), dict):
            ratios[f"ours / {rival}"] = mine["ranking"]["p50"] / table[rival]["ranking"]["p50"]
    table["ratios"] = {name: round(value, 4) for name, value in ratios.items()}
    return table


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "apsw", "PyStemmer", "bm25s"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "-"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", type=int, nargs="+", help="records")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--only", choices=("all", "ours"), default="all")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, Any] = {"versions": versions(), "sizes": {}}
    for count in options.sizes:
        result["sizes"][count] = measure(count, options.queries, options.only)
        if not options.json:
            show(count, result["sizes"][count])
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print("  ".join(f"{name} {version}" for name, version in result["versions"].items()))


def show(count: int, table: dict[str, Any]) -> None:
    print(f"\n{count:,} records, CPU ms, p50 (p95)")
    for engine, rows in table.items():
        print(f"  {engine}")
        for name, value in rows.items() if isinstance(rows, dict) else [("", rows)]:
            text = f"{value['p50']:10.3f} ({value['p95']:.2f})" if isinstance(value, dict) else f"{value:>10}"
            print(f"    {name:28s}{text}")


if __name__ == "__main__":
    main()
