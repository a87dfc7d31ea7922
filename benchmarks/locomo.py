"""Recall of conversation turns by words, on the LoCoMo development half: what each step of the ranking adds.

    python -m benchmarks.locomo --data DIR [--tune] [--json]

One bank a conversation, one record a turn (`speaker: text`, and the caption of a shared photo), the session as
conversation; questions of the categories 1 to 4 with resolvable evidence. recall@10 is the share of a question's
evidence turns among the first ten, averaged. With `--tune` the weights are chosen on four conversations and measured
on the fifth, five times.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus
from muniment.recall.lexical import ContextWeights, WordIndex
from muniment.recall.scoring import Formula

TOKEN = re.compile(r"[^\W_]{2,}")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
GRID = {
    "window": (0.5, 1.0, 1.5, 2.0),
    "neighbours": (0.5, 0.75, 1.0),
    "session": (0.5, 1.0, 1.5),
}


@dataclass
class Question:
    text: str
    evidence: set[int]
    category: int


@dataclass
class Conversation:
    name: str
    corpus: ListCorpus
    questions: list[Question]


def load(folder: Path) -> list[Conversation]:
    """The conversations of `locomo_dev.json.gz`."""
    with gzip.open(folder / "locomo_dev.json.gz") as file:
        samples = json.load(file)
    return [read(sample) for sample in samples]


def read(sample: dict) -> Conversation:
    """One conversation as a corpus, and its questions."""
    corpus, ords = ListCorpus(), {}
    sessions = {k: v for k, v in sample["conversation"].items() if isinstance(v, list)}
    for number, name in enumerate(sorted(sessions, key=lambda n: int(n.split("_")[1])), 1):
        for turn in sessions[name]:
            text = f"{turn['speaker']}: {turn['text']}"
            if turn.get("blip_caption"):
                text += f" [shares a photo: {turn['blip_caption']}]"
            ords[turn["dia_id"]] = corpus.add(text, session=number)
    questions = []
    for asked in sample["qa"]:
        ids = [i for text in asked.get("evidence", []) for i in re.split(r"[;,\s]+", text) if i in ords]
        if asked["category"] in CATEGORIES and ids:
            questions.append(Question(str(asked["question"]), {ords[i] for i in ids}, asked["category"]))
    return Conversation(sample["sample_id"], corpus, questions)


class Bench:
    """Indexes of all conversations under one analyser."""

    def __init__(self, conversations: list[Conversation], analyzer: Analyzer, folder: Path) -> None:
        self.conversations = conversations
        self.indexes = []
        for conversation in conversations:
            path = folder / f"{conversation.name}-{id(analyzer)}"
            index = WordIndex(path, conversation.corpus, analyzer)
            index.refresh()
            self.indexes.append(index)

    def run(self, exact: float, context: ContextWeights | None, limit: int = 10) -> list[list[float]]:
        """recall@limit of each question, by conversation."""
        found = []
        for conversation, index in zip(self.conversations, self.indexes, strict=True):
            index.formula = Formula(1.5, 0.75, exact if index.analyzer.surfaces else 0.0, context)
            scores = []
            for question in conversation.questions:
                hits = {hit.ord for hit in index.search(question.text, limit).hits}
                scores.append(len(hits & question.evidence) / len(question.evidence))
            found.append(scores)
        return found


def mean(scores: list[list[float]]) -> float:
    return statistics.fmean(itertools.chain.from_iterable(scores))


def ablation(conversations: list[Conversation], folder: Path) -> dict[str, list[list[float]]]:
    """The steps of the ranking, each added to the one before."""
    best = ContextWeights()
    plain = Bench(conversations, Analyzer(kind="plain"), folder)
    stems = Bench(conversations, Analyzer(stops=False), folder)
    full = Bench(conversations, Analyzer(), folder)
    window = ContextWeights(best.window, best.neighbours, 0.0, best.k1, best.b)
    return {
        "plain": plain.run(0.0, None),
        "+ stems": stems.run(0.0, None),
        "+ stop words": full.run(0.0, None),
        "+ exact forms": full.run(0.2, None),
        "+ window": full.run(0.2, window),
        "+ session": full.run(0.2, best),
    }


def tune(conversations: list[Conversation], folder: Path) -> dict[str, object]:
    """Weights chosen leave-one-conversation-out."""
    bench = Bench(conversations, Analyzer(), folder)
    runs = {}
    for values in itertools.product(*GRID.values()):
        weights = ContextWeights(**dict(zip(GRID, values, strict=True)))
        runs[values] = bench.run(0.2, weights)
    chosen, held_out = [], []
    for left in range(len(conversations)):
        others = [i for i in range(len(conversations)) if i != left]
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


def rarest(conversations: list[Conversation], folder: Path) -> dict[str, int]:
    """One-token queries: for each turn whose rarest token stands in at most ten, whether all of these come first.

    Tokens are runs of letters and digits of two or more, in lower case: a plainer cut than the index makes.
    """
    bench = Bench(conversations, Analyzer(), folder)
    tried = kept = 0
    for conversation, index in zip(conversations, bench.indexes, strict=True):
        index.formula = Formula(1.5, 0.75, 0.2, ContextWeights())
        rows = conversation.corpus.rows(0, conversation.corpus.watermark().last_ord)
        tokens = {row.ord: set(TOKEN.findall(" ".join(row.parts).lower())) for row in rows}
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
    conversations = load(options.data)
    with tempfile.TemporaryDirectory() as folder:
        steps = ablation(conversations, Path(folder))
        tuned = tune(conversations, Path(folder)) if options.tune else None
        tokens = rarest(conversations, Path(folder))
    table = {
        name: {
            "recall@10": round(mean(scores), 4),
            "by_conversation": [round(statistics.fmean(s), 4) for s in scores],
            "by_category": by_category(conversations, scores),
        }
        for name, scores in steps.items()
    }
    gain = table["+ session"]["recall@10"] - table["plain"]["recall@10"]
    if options.json:
        print(
            json.dumps({"steps": table, "gain": round(gain, 4), "rarest": tokens, "tuned": tuned}, indent=1)
        )
        return
    print(f"{'LoCoMo, turns':16s} recall@10   " + " ".join(f"{c.name:>8s}" for c in conversations))
    for name, row in table.items():
        print(
            f"{name:16s} {row['recall@10']:9.4f}   " + " ".join(f"{v:8.4f}" for v in row["by_conversation"])
        )
    print("by category:", table["+ session"]["by_category"])
    print(f"gain over plain: {gain:+.4f}")
    print("rarest token of each turn:", tokens)
    if tuned:
        print(json.dumps(tuned, indent=1))


def by_category(conversations: list[Conversation], scores: list[list[float]]) -> dict[str, float]:
    """recall@10 by kind of question."""
    groups: dict[str, list[float]] = {name: [] for name in CATEGORIES.values()}
    for conversation, values in zip(conversations, scores, strict=True):
        for question, value in zip(conversation.questions, values, strict=True):
            groups[CATEGORIES[question.category]].append(value)
    return {name: round(statistics.fmean(values), 4) for name, values in groups.items()}


if __name__ == "__main__":
    main()
