"""What the meaning adds to the words: NDCG@10 and recall@10 of each fusion, with a paired bootstrap.

    python -m benchmarks.fusion --data DIR [--cache DIR] [--models random minilm …] [--floor] [--json]

Both sides are asked as recall asks them, with conversations, speakers and times. `random` gives each text a vector of
its own out of its hash: an embedder that knows nothing. The others are read from a cache that `benchmarks/carriers.py`
fills; those that are not in it are skipped. Differences to words alone are given with the 95 % interval over questions.
`pooled` takes all questions of all sets together. With `--floor`: how many questions of the bank itself, and of another
bank of the same set, find something that clears the floor.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from benchmarks import carriers, common, indexes, sets  # noqa: E402
from benchmarks.metrics import CUT, interval, ndcg, recall  # noqa: E402

from muniment.recall.fusion import (  # noqa: E402
    UNASKED,
    Evidence,
    Floor,
    agreement,
    convex,
    rrf,
    stands,
)
from muniment.recall.lexical import WordIndex  # noqa: E402
from muniment.recall.sides import Sides, both_sides  # noqa: E402
from muniment.recall.vectors import VectorIndex  # noqa: E402

DEPTH = 100  # records that each side brings in
SHOWN = 3  # records that a reader is shown unasked
Array = np.ndarray[Any, Any]


@dataclass
class Asked:
    """One question as both sides answered it."""

    relevant: set[int]
    sides: Sides
    evidence: dict[int, tuple[float, int | None]]

    @property
    def words(self) -> list[tuple[int, float]]:
        """Rows and scores by words."""
        return [(one.ord, one.score) for one in self.sides.words]


METHODS: dict[str, Callable[[Asked], list[int]]] = {
    "rrf": lambda a: [n for n, _ in rrf([[n for n, _ in a.words], a.sides.near])],
    "convex .5": lambda a: [f.ord for f in convex(a.words, a.sides.cosines, 0.5, a.sides.background.mean)],
    "convex .2": lambda a: [f.ord for f in convex(a.words, a.sides.cosines, 0.2, a.sides.background.mean)],
    "the product's": lambda a: [f.ord for f in a.sides.fused()],
}


class Embedded:
    """Texts and questions as vectors, of a model in the cache or of none."""

    def __init__(self, model: str, cache: Path | None, tokens: int) -> None:
        self.model = model
        random = model.startswith("random")
        self.dimension = 384 if random else carriers.DIMENSION[model]
        self._cache = None if random or cache is None else carriers.Cache(cache, model, tokens)

    def __call__(self, texts: list[str], *, questions: bool = False) -> Array | None:
        if self._cache is not None:
            texts = [carriers.asked(self.model, text) for text in texts] if questions else texts
            return self._cache.get(texts)
        if not self.model.startswith("random"):
            return None
        seeds = [
            int.from_bytes(carriers.digest(f"{self.model} {questions} {text}")[:8], "big") for text in texts
        ]
        return np.stack([np.random.default_rng(s).standard_normal(self.dimension) for s in seeds])


def answer(words: WordIndex, vectors: VectorIndex, text: str, query: Array) -> Asked:
    """Both sides' answers to a question."""
    sides = both_sides(words, vectors, text, query, DEPTH, spans=indexes.times(text))
    evidence = {}
    for hit in sides.words:
        mass = sum(term.idf for term in hit.terms) or 1.0
        held = [term for term in hit.terms if term.tf]
        evidence[hit.ord] = (sum(t.idf for t in held) / mass, min((t.df for t in held), default=None))
    return Asked(set(), sides, evidence)


def ask(banks: list[sets.Bank], embed: Embedded, *, foreign: bool) -> tuple[list[Asked], list[Asked]] | None:
    """(answers to a set's own questions, to questions of the next bank); None if vectors are missing."""
    own, strange = [], []
    for number, bank in enumerate(banks):
        rows = embed(bank.texts)
        if rows is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            words = indexes.words(bank, Path(folder) / "words")
            vectors = indexes.meaning(rows, Path(folder) / "vectors")
            for source, questions in ((own, bank.questions), (strange, banks[number - 1].questions)):
                if source is strange and (not foreign or len(banks) == 1):
                    continue
                queries = embed([q.text for q in questions], questions=True)
                if queries is None:
                    return None
                for question, query in zip(questions, queries, strict=True):
                    asked = answer(words, vectors, question.text, query)
                    asked.relevant = question.relevant
                    source.append(asked)
    return own, strange


def clearing(answers: list[Asked], floor: Floor) -> tuple[float, float]:
    """(share of questions with something above the floor, with evidence among the first `SHOWN` above it)."""
    some = good = 0
    for asked in answers:
        ranked = [f.ord for f in asked.sides.fused()][:CUT]
        kept = []
        for number in ranked:
            mass, df = asked.evidence.get(number, (0.0, None))
            if stands(Evidence(mass, df, asked.sides.cosines.get(number)), asked.sides.background, floor):
                kept.append(number)
        some += bool(kept)
        good += bool(set(kept[:SHOWN]) & asked.relevant)
    return some / len(answers), good / len(answers)


def measure(
    data: Path, cache: Path | None, models: list[str], tokens: int, *, floor: bool
) -> list[dict[str, Any]]:
    """A row for each model, set and method."""
    rows: list[dict[str, Any]] = []
    loaded = {name: sets.load(data, name) for name in sets.NAMES if (data / sets.FILES[name]).exists()}
    for model in models:
        pooled: dict[str, list[Array]] = {method: [] for method in METHODS}
        embed = Embedded(model, cache, tokens)
        for name, banks in loaded.items():
            found = ask(banks, embed, foreign=floor)
            if found is None:
                print(f"skipped: {model} on {name} (fill the cache with benchmarks.carriers)", flush=True)
                continue
            own, strange = found
            ranked = [[n for n, _ in a.words] for a in own]
            base = np.array([ndcg(r, a.relevant) for r, a in zip(ranked, own, strict=True)])
            based = np.mean([recall(r, a.relevant) for r, a in zip(ranked, own, strict=True)])
            agreed = [agreement(a.words, a.sides.cosines, a.sides.background) for a in own]
            for method, order in METHODS.items():
                fused = [order(a) for a in own]
                scores = np.array([ndcg(r, a.relevant) for r, a in zip(fused, own, strict=True)])
                pooled[method].append(scores - base)
                rows.append({
                    "model": model, "set": name, "method": method, "questions": len(own),
                    "words": round(float(base.mean()), 4), "ndcg@10": round(float(scores.mean()), 4),
                    "difference": [round(x, 4) for x in interval(scores - base)],
                    "recall@10": [round(float(based), 4), round(float(np.mean(
                        [recall(r, a.relevant) for r, a in zip(fused, own, strict=True)])), 4)],
                    "agreement": [round(float(x), 2) for x in np.percentile(agreed, [5, 50, 95])],
                })  # fmt: skip
            if floor and strange:
                for label, rule in (("asked", Floor()), ("unasked", UNASKED)):
                    rows[-1][f"floor {label}"] = [
                        round(x, 3) for x in (*clearing(own, rule), clearing(strange, rule)[0])
                    ]
        for method, parts in pooled.items():
            if parts:
                together = [round(x, 4) for x in interval(np.concatenate(parts))]
                rows.append({"model": model, "set": "pooled", "method": method, "difference": together})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """A table."""
    cells = []
    for row in rows:
        mean, low, high = row["difference"]
        before, after = row.get("recall@10", ("", ""))
        cells.append([
            row["model"], row["set"], row["method"], str(row.get("words", "")), str(row.get("ndcg@10", "")),
            f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]", f"{before} -> {after}", str(row.get("agreement", "")),
        ])  # fmt: skip
    heads = [
        "model", "set", "fusion", "words", "NDCG@10", "difference", "recall@10", "agreement 5/50/95 %",
    ]  # fmt: skip
    print(common.markdown(heads, cells))
    for row in rows:
        for key in (k for k in row if k.startswith("floor ")):
            print(
                f"{row['model']} on {row['set']}, {key}: own questions, evidence shown, foreign: {row[key]}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--models", nargs="+", default=["random", "random-2", *carriers.MODELS])
    parser.add_argument("--tokens", type=int, default=128, help="as the cache was filled")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.data, options.cache, options.models, options.tokens, floor=options.floor)
    if options.json:
        print(json.dumps({"machine": common.machine(), "rows": rows}, indent=1))
    else:
        show(rows)


if __name__ == "__main__":
    main()
