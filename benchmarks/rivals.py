"""Other memory systems that run without a network: langgraph's store here, others in an environment of their own.

All get the vectors of one of our embedders out of the cache, so that the difference is theirs and not the model's.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import carriers, sets

WORKER = Path(__file__).with_name("rival_worker.py")
PATIENCE_S = 3600


class Lookup:
    """Texts and questions to vectors, as functions that rivals take; a text that is not in the cache has zeros."""

    def __init__(self, cache: carriers.Cache, model: str) -> None:
        self._cache, self._model = cache, model

    def __call__(self, texts: list[str]) -> Any:
        """(texts, dimension) float32."""
        return np.stack([self.one(text) for text in texts])

    def one(self, text: str) -> Any:
        """Of a record's text, or else of a question."""
        for form in (text, carriers.asked(self._model, text)):
            found = self._cache.get([form])
            if found is not None:
                return found[0].astype(np.float32)
        raise RuntimeError("a text has no vector in the cache: fill it with benchmarks.carriers")


class Store:
    """langgraph's `InMemoryStore` with an index over the texts: cosines of all, one by one."""

    def __init__(self, cache: carriers.Cache, model: str) -> None:
        self._lookup, self._dimension = Lookup(cache, model), cache.dimension

    def open(self, bank: sets.Bank, folder: Path) -> None:
        from langgraph.store.memory import InMemoryStore

        def embed(texts: Any) -> Any:
            return [row.tolist() for row in self._lookup(list(texts))]

        index: Any = {"embed": embed, "dims": self._dimension, "fields": ["text"]}
        self._store = InMemoryStore(index=index)
        for row, text in enumerate(bank.texts, 1):  # `batch` breaks on two equal texts
            self._store.put(("bench",), str(row), {"text": text})

    def ask(self, question: str, limit: int) -> list[int]:
        return [int(hit.key) for hit in self._store.search(("bench",), query=question, limit=limit)]

    def close(self) -> None:
        del self._store


def has(python: Path, module: str) -> bool:
    """Whether an interpreter can import a package."""
    done = subprocess.run([str(python), "-c", f"import {module}"], capture_output=True, check=False)
    return done.returncode == 0


def apart(
    python: Path, name: str, banks: list[sets.Bank], lookup: Lookup | None, *, shown: int, depth: int
) -> dict[str, Any]:
    """All banks of a set, asked by a rival in its own interpreter: what `rival_worker` writes.

    Raises:
        RuntimeError: It failed.
    """
    job: dict[str, Any] = {"shown": shown, "depth": depth, "vectors": None, "keys": [], "dimension": 0}
    job["banks"] = [
        {
            "texts": bank.texts,
            "questions": [q.text for q in bank.questions],
            "unanswerable": [q.text for q in bank.unanswerable],
            "deep": bool(bank.questions and bank.questions[0].sessions),
        }
        for bank in banks
    ]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if lookup is not None:
            parts = [
                part
                for bank in job["banks"]
                for part in ("texts", "questions", "unanswerable")
                for part in bank[part]
            ]
            job["keys"] = list(dict.fromkeys(parts))
            rows = lookup(job["keys"])
            np.save(place / "vectors.npy", rows.astype(np.float16))
            job["vectors"], job["dimension"] = str(place / "vectors.npy"), rows.shape[1]
        (place / "job.json").write_text(json.dumps(job))
        command = [str(python), str(WORKER), name, str(place / "job.json"), str(place / "out.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        if done.returncode or not (place / "out.json").exists():
            raise RuntimeError(f"{name}: {done.stderr.strip()[-300:]}")
        found: dict[str, Any] = json.loads((place / "out.json").read_text())
        return found
