"""What a second look is worth, and that it does no harm: NDCG@10 and recall@10 with it, less those without it.

    python -m benchmarks.rerank --data DIR [--cache DIR --model bge-small] [--carriers DIR] [--folder DIR] [--sets …]

Whole calls of `recall(rerank=True)` beside `recall(rerank=False)`, paired by question, with 95 % intervals. Rerankers
are: random scores, one score for all, the opposite of the order (none of which may do harm); token MaxSim, the best
match of each word of the question among those of the record by static vectors of words, weighed by rarity (with
`--carriers`, a folder that has wordllama); a simulated model that knows the answers two sigmas above noise and MaxSim,
to see what one that is good would gain; and a cross-encoder in `--folder` (`model.onnx`, `tokenizer.json`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from benchmarks import carriers, common, contenders, metrics, sets  # noqa: E402

from muniment.embed.rerank import CallableReranker, LocalReranker, Reranker  # noqa: E402
from muniment.embed.rerank_options import RerankOptions  # noqa: E402
from muniment.reranking import Reranking  # noqa: E402

LIMIT = 10
PATIENT = RerankOptions(timeout=600)
Score = Callable[[str, list[str]], Any]


def noise(query: str, texts: list[str]) -> Any:
    """Normal numbers out of a hash."""
    seeds = [zlib.crc32(f"{query}\n{text}".encode()) for text in texts]
    return np.array([np.random.default_rng(seed).standard_normal() for seed in seeds])


class MaxSim:
    """Static token vectors: for each token of the question its nearest in the record, weighed by rarity in the bank."""

    def __init__(self, folder: Path) -> None:
        static = carriers.Static(folder)
        self._tokenizer = static._tokenizer
        self._unit = carriers.unit(static._table)
        self._idf = np.ones(len(self._unit))

    def learn(self, texts: list[str]) -> None:
        """How rare each token is."""
        held = np.zeros(len(self._unit))
        for ids in map(self._ids, texts):
            held[ids] += 1
        self._idf = np.log((len(texts) - held + 0.5) / (held + 0.5) + 1)

    def _ids(self, text: str) -> Any:
        return np.unique(self._tokenizer.encode(text, add_special_tokens=False).ids[:400] or [0])

    def __call__(self, query: str, texts: list[str]) -> Any:
        asked = self._ids(query)
        weights = self._idf[asked]
        best = [(self._unit[asked] @ self._unit[self._ids(text)].T).max(axis=1) for text in texts]
        return np.array([float(one @ weights) for one in best]) / max(float(weights.sum()), 1e-9)


class Knowing:
    """A model that does not exist: MaxSim and noise, and two sigmas more for what answers the question."""

    def __init__(self, like: MaxSim) -> None:
        self._like, self.answers = like, dict[str, set[str]]()

    def __call__(self, query: str, texts: list[str]) -> Any:
        found = self._like(query, texts)
        known = np.array([text in self.answers.get(query, ()) for text in texts])
        spread = float(found.std()) or 1.0
        return (found - found.mean()) / spread + 0.5 * noise(query, texts) + 2.0 * known


def rerankers(folder: Path | None, model: Path | None) -> dict[str, Reranker]:
    """Those that can be had here."""
    scores: dict[str, Score] = {
        "random": noise,
        "one for all": lambda _, texts: [1.0] * len(texts),
        "the opposite": lambda _, texts: list(range(len(texts))),
    }
    if folder is not None:
        like = MaxSim(folder)
        scores |= {"token MaxSim": like, "simulated, good": Knowing(like)}
    found: dict[str, Reranker] = {name: CallableReranker(name, score) for name, score in scores.items()}
    if model is not None:
        found["cross-encoder"] = LocalReranker(RerankOptions(folder=str(model), timeout=600))
    return found


def measure(options: argparse.Namespace, name: str, step: int) -> dict[str, Any]:
    """Differences on one set, by reranker."""
    each: dict[str, list[tuple[float, float]]] = {}
    made = rerankers(options.carriers, options.folder)
    plain: list[tuple[float, float]] = []
    for number, bank in enumerate(sets.load(options.data, name, step)):
        for one in made.values():
            function = getattr(one, "_function", None)
            if isinstance(function, MaxSim):
                function.learn(bank.texts)
            elif isinstance(function, Knowing):
                function.answers = {
                    q.text: {bank.texts[row - 1] for row in q.relevant} for q in bank.questions
                }
        with tempfile.TemporaryDirectory() as folder:
            who = contenders.HYBRID + options.model if options.cache else contenders.WORDS
            contender: Any = contenders.make(who, options.cache, 128)
            contender.open(bank, Path(folder) / str(number))
            agent = contender.agent
            for question in bank.questions:
                before = rows(agent.recall(question.text, limit=LIMIT, rerank=False))
                base = metrics.ndcg(before, question.relevant), metrics.recall(before, question.relevant)
                plain.append(base)
                for label, reranker in made.items():
                    host = agent._bank.host
                    object.__setattr__(host, "reranking", Reranking(lambda r=reranker: r, PATIENT))
                    hits = agent.recall(question.text, limit=LIMIT, rerank=True)
                    if hits.degraded:
                        raise RuntimeError(hits.degraded)
                    found = rows(hits)
                    each.setdefault(label, []).append((
                        metrics.ndcg(found, question.relevant) - base[0],
                        metrics.recall(found, question.relevant) - base[1],
                    ))  # fmt: skip
                    object.__setattr__(host, "reranking", None)
            contender.close()
    told = {
        label: [metrics.interval(np.array(pairs)[:, at]) for at in (0, 1)] for label, pairs in each.items()
    }
    return {"without": np.array(plain).mean(axis=0).tolist(), "with": told}


def rows(hits: Any) -> list[int]:
    """The rows of an answer."""
    return [int(hit.record.metadata["id"]) for hit in hits]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the question sets")
    parser.add_argument("--cache", type=Path, help="folder with vectors: the ranking is then hybrid")
    parser.add_argument("--model", choices=carriers.MODELS, default="bge-small")
    parser.add_argument("--carriers", type=Path, help="folder that has the package wordllama")
    parser.add_argument("--folder", type=Path, help="a cross-encoder: model.onnx and tokenizer.json")
    parser.add_argument("--sets", nargs="+", choices=sets.NAMES, default=list(sets.NAMES))
    parser.add_argument("--quick", action="store_true", help="one question in five")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {name: measure(options, name, 5 if options.quick else 1) for name in options.sets}
    if options.json:
        print(json.dumps({"machine": common.machine(), "sets": found}, indent=1))
        return 0
    print(common.machine_line())
    for at, what in enumerate(("NDCG@10", "recall@10")):
        labels = list(next(iter(found.values()))["with"])
        table = [["without", *(f"{one['without'][at]:.3f}" for one in found.values())]]
        for label in labels:
            told = [one["with"][label][at] for one in found.values()]
            table.append([label, *(f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]" for mean, low, high in told)])
        print("\n" + common.markdown([what, *found], table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
