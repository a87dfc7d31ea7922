"""Recall of conversation turns by words, on the LoCoMo development half: what each step of the ranking adds.

    python -m benchmarks.locomo --data DIR [--tune] [--json]

One bank a conversation, one record a turn (`speaker: text`, and the caption of a shared photo) with its time, the
session as conversation; questions of the categories 1 to 4 with resolvable evidence. recall@10 is the share of a
question's evidence turns among the first ten, averaged. With `--tune` the weights are chosen on four conversations and
measured on the fifth, five times.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import statistics
import tempfile
from pathlib import Path

from benchmarks import indexes, sets

from muniment.recall.analyzer import Analyzer
from muniment.recall.favours import FavourWeights
from muniment.recall.lexical import ContextWeights
from muniment.recall.scoring import Formula

TOKEN = re.compile(r"[^\W_]{2,}")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
ALONE = ContextWeights(people=1.0)  # the same for conversations of any kind
GRID = {
    "window": (0.5, 1.0, 1.5, 2.0),
    "neighbours": (0.5, 0.75, 1.0),
    "session": (0.5, 1.0, 1.5),
    "people": (1.0, 1.5, 2.0, 3.0),
}


class Bench:
    """Indexes of all conversations under one analyser."""

    def __init__(self, banks: list[sets.Bank], analyzer: Analyzer, folder: Path) -> None:
        self.banks = banks
        self.indexes = [
            indexes.words(bank, folder / f"{bank.name}-{id(analyzer)}", analyzer) for bank in banks
        ]

    def run(
        self,
        exact: float,
        context: ContextWeights | None,
        favours: FavourWeights | None = None,
        *,
        dated: bool = False,
        limit: int = 10,
    ) -> list[list[float]]:
        """recall@limit of each question, by conversation."""
        found = []
        for bank, index in zip(self.banks, self.indexes, strict=True):
            plain = not index.analyzer.surfaces
            index.formula = Formula(1.5, 0.75, 0.0 if plain else exact, context)
            index.favours = None if plain else favours
            scores = []
            for question in bank.questions:
                spans = indexes.times(question.text) if dated else ()
                hits = {hit.ord for hit in index.search(question.text, limit, spans=spans).hits}
                scores.append(len(hits & question.relevant) / len(question.relevant))
            found.append(scores)
        return found


def mean(scores: list[list[float]]) -> float:
    return statistics.fmean(itertools.chain.from_iterable(scores))


def ablation(banks: list[sets.Bank], folder: Path) -> dict[str, list[list[float]]]:
    """The steps of the ranking, each added to the one before."""
    plain = Bench(banks, Analyzer(kind="plain"), folder)
    stems = Bench(banks, Analyzer(stops=False), folder)
    full = Bench(banks, Analyzer(), folder)
    window = ContextWeights(session=0.0, people=1.0)
    return {
        "plain": plain.run(0.0, None),
        "+ stems": stems.run(0.0, None),
        "+ stop words": full.run(0.0, None),
        "+ exact forms": full.run(0.2, None),
        "+ window": full.run(0.2, window),
        "+ session": full.run(0.2, ALONE),
        "+ speakers": full.run(0.2, ALONE, FavourWeights(dated=1.0)),
        "+ times": full.run(0.2, ALONE, FavourWeights(), dated=True),
        "+ people": full.run(0.2, ContextWeights(), FavourWeights(), dated=True),
    }


def tune(banks: list[sets.Bank], folder: Path) -> dict[str, object]:
    """Weights chosen leave-one-conversation-out."""
    bench = Bench(banks, Analyzer(), folder)
    runs = {}
    for values in itertools.product(*GRID.values()):
        weights = ContextWeights(**dict(zip(GRID, values, strict=True)))
        runs[values] = bench.run(0.2, weights, FavourWeights(), dated=True)
    chosen, held_out = [], []
    for left in range(len(banks)):
        others = [i for i in range(len(banks)) if i != left]
        best = max(runs, key=lambda values: mean([runs[values][i] for i in others]))
        chosen.append(dict(zip(GRID, best, strict=True)))
        held_out.append(runs[best][left])
    ranked = sorted(runs, key=lambda values: -mean(runs[values]))
    return {
        "held_out": mean(held_out),
        "by_conversation": [round(statistics.fmean(scores), 4) for scores in held_out],
        "chosen": chosen,
        "all": [(dict(zip(GRID, v, strict=True)), round(mean(runs[v]), 4)) for v in ranked[:12]],
        "spread_of_grid": [round(mean(runs[ranked[-1]]), 4), round(mean(runs[ranked[0]]), 4)],
    }


def rarest(banks: list[sets.Bank], folder: Path) -> dict[str, int]:
    """One-token queries: for each turn whose rarest token stands in at most ten, whether all of these come first.

    Tokens are runs of letters and digits of two or more, in lower case: a plainer cut than the index makes.
    """
    bench = Bench(banks, Analyzer(), folder)
    tried = kept = 0
    for bank, index in zip(banks, bench.indexes, strict=True):
        index.formula = Formula(1.5, 0.75, 0.2, ContextWeights())
        tokens = {n: set(TOKEN.findall(text.lower())) for n, text in enumerate(bank.texts, 1)}
        holders: dict[str, set[int]] = {}
        for number, held in tokens.items():
            for token in held:
                holders.setdefault(token, set()).add(number)
        for held in tokens.values():
            token = min(held, key=lambda one: (len(holders[one]), one), default=None)
            if token is None or len(holders[token]) > 10:
                continue
            tried += 1
            first = [hit.ord for hit in index.search(token, 10).hits][: len(holders[token])]
            kept += set(first) == holders[token]
    return {"records tried": tried, "all holders first": kept}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    banks = sets.load(options.data, "locomo")
    with tempfile.TemporaryDirectory() as folder:
        steps = ablation(banks, Path(folder))
        tuned = tune(banks, Path(folder)) if options.tune else None
        tokens = rarest(banks, Path(folder))
    table = {
        name: {
            "recall@10": round(mean(scores), 4),
            "by_conversation": [round(statistics.fmean(s), 4) for s in scores],
            "by_category": by_category(banks, scores),
        }
        for name, scores in steps.items()
    }
    gain = table["+ people"]["recall@10"] - table["plain"]["recall@10"]
    if options.json:
        print(
            json.dumps({"steps": table, "gain": round(gain, 4), "rarest": tokens, "tuned": tuned}, indent=1)
        )
        return
    print(f"{'LoCoMo, turns':16s} recall@10   " + " ".join(f"{c.name:>8s}" for c in banks))
    for name, row in table.items():
        print(
            f"{name:16s} {row['recall@10']:9.4f}   " + " ".join(f"{v:8.4f}" for v in row["by_conversation"])
        )
    print("by category:", table["+ people"]["by_category"])
    print(f"gain over plain: {gain:+.4f}")
    print("rarest token of each turn:", tokens)
    if tuned:
        print(json.dumps(tuned, indent=1))


def by_category(banks: list[sets.Bank], scores: list[list[float]]) -> dict[str, float]:
    """recall@10 by kind of question."""
    groups: dict[str, list[float]] = {name: [] for name in CATEGORIES.values()}
    for bank, values in zip(banks, scores, strict=True):
        for question, value in zip(bank.questions, values, strict=True):
            groups[CATEGORIES[question.kind]].append(value)
    return {name: round(statistics.fmean(values), 4) for name, values in groups.items()}


if __name__ == "__main__":
    main()
