"""Speed, recall and memory of the vector index, in CPU time, on clustered vectors.

    python -m benchmarks.vectors 10000 100000 [--dimension 384] [--queries 100] [--json]
    python -m benchmarks.vectors --data DIR --cache DIR    recall on embeddings of texts, made by benchmarks.carriers

Unit vectors in 2,000 clusters of a 48-dimensional subspace with noise, as embeddings have them. Recall is the share of
the ten nearest by plain cosine (of the same float16 rows) that the index returns. Each figure is a median (and 95th
percentile) of one process's CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from benchmarks import carriers, common, sets  # noqa: E402
from benchmarks.words import milliseconds  # noqa: E402

from muniment.recall import vectors  # noqa: E402
from muniment.recall.corpus import Watermark  # noqa: E402
from muniment.recall.vector_corpus import ListVectors, VectorRow  # noqa: E402
from muniment.recall.vectors import VectorIndex  # noqa: E402

CLUSTERS, RANK, PART = 2000, 48, 4096
LIMIT = 10
Array = np.ndarray[Any, Any]


class Clustered:
    """A corpus that makes its vectors when they are read, so that it takes no memory; new ones can be added."""

    def __init__(self, count: int, dimension: int) -> None:
        rng = np.random.default_rng(7)
        self.count, self.dimension = count, dimension
        self._centres = rng.standard_normal((CLUSTERS, RANK), np.float32) * np.float32(1.2)
        self._plane = rng.standard_normal((RANK, dimension), np.float32) / np.float32(np.sqrt(RANK))
        self._changes: list[tuple[int, bool]] = []
        self._made: tuple[int, Array] = (-1, np.zeros(0))

    def draw(self, count: int, seed: int) -> Array:
        """(count, dimension) float32, unit length."""
        rng = np.random.default_rng(seed)
        low = self._centres[rng.integers(0, CLUSTERS, count)]
        low = low + rng.standard_normal((count, RANK), np.float32)
        rows = low @ self._plane + np.float32(0.25) * rng.standard_normal((count, self.dimension), np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def part(self, number: int) -> Array:
        """Rows of one part, float16."""
        if self._made[0] != number:
            self._made = (number, self.draw(PART, 1000 + number).astype("<f2"))
        return self._made[1]

    def watermark(self) -> Watermark:
        return Watermark(self.count, len(self._changes), 1)

    def rows(self, after: int, upto: int) -> Iterator[VectorRow]:
        for number in range(after, upto):
            yield VectorRow(number + 1, True, False, self.part(number // PART)[number % PART].tobytes())

    def pick(self, ords: Sequence[int]) -> list[VectorRow]:
        return [row for number in ords for row in self.rows(number - 1, number)]

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        for number in range(after, upto):
            yield number + 1, self._changes[number][0], self._changes[number][1], False


def truth(corpus: Clustered, queries: Array) -> list[set[int]]:
    """The ten nearest rows of each query by plain cosine."""
    best = np.full((len(queries), LIMIT), -2.0, np.float32)
    rows = np.zeros((len(queries), LIMIT), np.int64)
    for number in range(-(-corpus.count // PART)):
        part = corpus.part(number)[: corpus.count - number * PART].astype(np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
        scores = np.concatenate([best, queries @ part.T], axis=1)
        here = np.broadcast_to(np.arange(1, len(part) + 1) + number * PART, (len(queries), len(part)))
        names = np.concatenate([rows, here], axis=1)
        top = np.argpartition(-scores, LIMIT, axis=1)[:, :LIMIT]
        best, rows = np.take_along_axis(scores, top, 1), np.take_along_axis(names, top, 1)
    return [set(line.tolist()) for line in rows]


def measure(count: int, dimension: int, queries: int) -> dict[str, Any]:
    """One size."""
    corpus = Clustered(count, dimension)
    asked = corpus.draw(queries, 5)
    few = np.random.default_rng(1).random(count + 1) < 0.01
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        index = VectorIndex(Path(folder), corpus, dimension)
        index.refresh()
        while index.maintain() and index.stats().segments > 12:
            pass
        index.refresh()
        built = time.process_time() - start
        index.close()
        before = common.rss_anon_mb()
        start = time.process_time()
        index = VectorIndex(Path(folder), corpus, dimension)
        index.refresh()
        index.search(asked[0], LIMIT)
        opened = time.process_time() - start
        search = milliseconds(lambda q: index.search(q, LIMIT), list(asked))
        filtered = milliseconds(lambda q: index.search(q, LIMIT, few), list(asked))
        grown = common.rss_anon_mb() - before
        found = [{hit.ord for hit in index.search(q, LIMIT)} for q in asked]
        wanted = truth(corpus, asked)
        stats = index.stats()

        def add(_: object) -> None:
            corpus.count += 1
            index.refresh()

        adding = milliseconds(add, list(range(200)))
    shared = sum(len(a & b) for a, b in zip(found, wanted, strict=True))
    return {
        "build_cpu_s": round(built, 2),
        "open_and_first_ms": round(opened * 1e3, 1),
        "search": search,
        "1 % filter": filtered,
        "add and see one": adding,
        "recall@10": round(shared / (LIMIT * len(found)), 4),
        "segments": stats.segments,
        "megabytes_on_disk": round(stats.bytes / 1e6, 1),
        "anonymous_megabytes_grown": round(grown, 1),
    }


def embedded(data: Path, cache: Path, tokens: int = 128) -> dict[str, dict[str, Any]]:
    """Recall@10 by model on all texts of all sets in one bank, rescoring as small a share as of 100,000 rows."""
    found: dict[str, dict[str, Any]] = {}
    for model in carriers.MODELS:
        kept = carriers.Cache(cache, model, tokens)
        banks = [bank for name in sets.NAMES for bank in sets.load(data, name)]
        rows = kept.get([text for bank in banks for text in bank.texts])
        asked = kept.get([carriers.asked(model, q.text) for bank in banks for q in bank.questions])
        if rows is None or asked is None:
            continue
        queries = carriers.unit(asked[:: max(1, len(asked) // 300)].astype(np.float32))
        corpus = ListVectors(rows.shape[1])
        for row in rows:
            corpus.add(row)
        stored = carriers.unit(
            np.stack([np.frombuffer(r.vector, "<f2") for r in corpus.rows(0, len(rows))]).astype(np.float32)
        )
        nearest = [set((np.argpartition(-line, LIMIT)[:LIMIT] + 1).tolist()) for line in queries @ stored.T]
        usual = vectors.EXACT_ROWS, vectors.RESCORED
        with tempfile.TemporaryDirectory() as folder:
            index = VectorIndex(Path(folder), corpus, rows.shape[1])
            index.refresh()
            share = len(rows) * vectors.RESCORED // 100_000
            vectors.EXACT_ROWS, vectors.RESCORED = 0, share
            hits = [{hit.ord for hit in index.search(q, LIMIT)} for q in queries]
            vectors.EXACT_ROWS, vectors.RESCORED = usual
        shared = sum(len(a & b) for a, b in zip(hits, nearest, strict=True)) / (LIMIT * len(hits))
        found[model] = {"records": len(rows), "rescored": share, "recall@10": round(shared, 4)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", type=int, nargs="*", help="records")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[Any, dict[str, Any]] = {
        f"{count:,} records, {options.dimension} dimensions": measure(
            count, options.dimension, options.queries
        )
        for count in options.sizes
    }
    if options.data and options.cache:
        result |= embedded(options.data, options.cache)
    if options.json:
        print(json.dumps({"machine": common.machine(), "sizes": result}, indent=1))
        return
    for what_of, table in result.items():
        print(f"\n{what_of}")
        for what, value in table.items():
            print(f"  {what:26s} {value}")


if __name__ == "__main__":
    main()
