"""A rival that needs an environment of its own: run by its Python, it reads a job and writes what it answered.

    RIVAL_PYTHON benchmarks/rival_worker.py NAME JOB.json OUT.json

Imports nothing of this project. The job holds texts, questions and the files of their vectors (numpy, float16), so that
every contender embeds with the same model and pays nothing for it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any


def rss_anon_mb() -> float:
    """Anonymous memory of this process in MB (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return float("nan")


class Mem0:
    """mem0ai with `infer=False` (no language model), its in-process Qdrant, and vectors that are looked up."""

    package = "mem0ai"

    def __init__(self, vectors: dict[str, Any], dimension: int, folder: Path) -> None:
        os.environ["MEM0_TELEMETRY"], os.environ["MEM0_DIR"] = "False", str(folder)
        from mem0 import Memory
        from mem0.utils import factory

        class Embedder:
            def embed(self, text: str, memory_action: str | None = None) -> list[float]:
                return [float(number) for number in vectors[text]]

            def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
                return [self.embed(text) for text in texts]

        factory.EmbedderFactory.create = classmethod(lambda *_, **__: Embedder())
        factory.LlmFactory.create = classmethod(lambda *_, **__: object())
        store = {"path": str(folder / "qdrant"), "on_disk": False, "embedding_model_dims": dimension,
                 "collection_name": "bench"}  # fmt: skip
        self._memory = Memory.from_config({
            "vector_store": {"provider": "qdrant", "config": store}, "history_db_path": str(folder / "history.db"),
        })  # fmt: skip

    def add(self, row: int, text: str) -> None:
        self._memory.add(text, user_id="bench", infer=False, metadata={"row": row})

    def ask(self, question: str, limit: int) -> list[int]:
        found = self._memory.search(question, filters={"user_id": "bench"}, top_k=limit)["results"]
        return [int(hit["metadata"]["row"]) for hit in found]


class Inspeximus:
    """inspeximus in memory, in its usual mode (words while a store is small, then both), with vectors looked up."""

    package = "inspeximus"

    def __init__(self, vectors: dict[str, Any], dimension: int, folder: Path) -> None:
        from inspeximus import Inspeximus as Memory

        self._memory = Memory(
            embed=lambda text: [float(number) for number in vectors[text]],
            events=False,
            persist_vectors=False,
        )
        self._rows: dict[str, int] = {}

    def add(self, row: int, text: str) -> None:
        self._rows.setdefault(str(self._memory.remember(text)), row)

    def ask(self, question: str, limit: int) -> list[int]:
        return [self._rows[str(hit["id"])] for hit in self._memory.recall(question, k=limit, observe=False)]


RIVALS = {"mem0ai": Mem0, "inspeximus": Inspeximus}


def answer(rival: Any, bank: dict[str, Any], shown: int, deep: int) -> dict[str, Any]:
    """One bank: rows by question, for ten and for a long answer, with the time of the first."""
    for row, text in enumerate(bank["texts"], 1):
        rival.add(row, text)
    for question in bank["questions"][:3]:
        rival.ask(question, shown)
    ranked, times = [], []
    for question in bank["questions"]:
        began = time.process_time_ns()
        ranked.append(rival.ask(question, shown))
        times.append((time.process_time_ns() - began) / 1e6)
    held = rss_anon_mb()
    return {
        "ranked": ranked,
        "milliseconds": times,
        "held": held,
        "deep": [rival.ask(question, deep) for question in bank["questions"]] if bank["deep"] else [],
        "never": [rival.ask(question, shown) for question in bank["unanswerable"]],
    }


def main() -> None:
    """Read the job, do it, write what came of it."""
    import logging

    import numpy as np

    logging.disable(logging.CRITICAL)
    name, job, out = sys.argv[1:4]
    asked = json.loads(Path(job).read_text())
    vectors: dict[str, Any] = {}
    if asked["vectors"]:
        rows = np.load(asked["vectors"]).astype(np.float32)
        vectors = dict(zip(asked["keys"], rows, strict=True))
        vectors |= {key.strip(): row for key, row in vectors.items()}  # some rivals trim what they are asked
    before, found = rss_anon_mb(), []
    for bank in asked["banks"]:
        with tempfile.TemporaryDirectory() as folder:
            rival = RIVALS[name](vectors, asked["dimension"], Path(folder))
            found.append(answer(rival, bank, asked["shown"], asked["depth"]))
            del rival
    version = metadata.version(RIVALS[name].package)
    Path(out).write_text(json.dumps({"version": version, "before": before, "banks": found}))


if __name__ == "__main__":
    main()
