"""Who is measured by `benchmarks/quality.py`: each takes a bank's texts in and answers questions with its rows.

Another contender is a class with `open(bank, folder)` and an entry in `CONTENDERS`; one whose package is not
installed is left out.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks import carriers, rivals
from benchmarks.sets import Bank

import muniment
from muniment.remembering import Draft

AGENT = "bench"
BATCH = 1000  # records in one transaction
WORD = re.compile(r"\w+")


class Contender(Protocol):
    """One way of finding rows."""

    def open(self, bank: Bank, folder: Path) -> None:
        """Take the texts of a bank in."""

    def ask(self, question: str, limit: int) -> list[int]:
        """The best rows, best first."""

    def close(self) -> None:
        """Let go of everything."""


class Library:
    """muniment as a caller gets it: `muniment.open`, `remember_many`, `recall`; words alone, or with vectors."""

    def __init__(self, config: str = "", model: str = "", cache: carriers.Cache | None = None) -> None:
        self._config, self._model, self._cache = config, model, cache

    def open(self, bank: Bank, folder: Path) -> None:
        folder.mkdir()
        if self._config:
            (folder / "config.yaml").write_text(self._config)
        self._peer = muniment.open(folder, embedder=self._embedder())
        self.agent = self._peer.agent(AGENT, create=True)
        drafts = [
            Draft(
                text=text,
                metadata={"id": row},
                session=f"session-{session}" if session else None,
                created=said,
                type="message" if session else "note",
            )
            for row, (text, session, said) in enumerate(
                zip(bank.texts, bank.sessions, bank.times, strict=True), 1
            )
        ]
        for at in range(0, len(drafts), BATCH):
            self.agent.remember_many(drafts[at : at + BATCH])
        self.agent.recall("ready", mode="text")

    def ask(self, question: str, limit: int) -> list[int]:
        hits = self.agent.recall(question, limit=limit)
        if self._cache is not None and hits.degraded:
            raise RuntimeError(f"answered by words alone: {hits.degraded}")
        return [int(hit.record.metadata["id"]) for hit in hits]

    def sure(self, question: str) -> list[int]:
        """With the floor asked for: nothing where nothing is sure."""
        return [int(hit.record.metadata["id"]) for hit in self.agent.recall(question, floor=True)]

    def unasked(self, question: str) -> list[int]:
        """What auto-recall would show of a turn that is this question."""
        turn = self.agent.session("benchmark").recall_for(
            [{"role": "user", "content": question}], budget_ms=60_000
        )
        return [int(hit.hit.record.metadata["id"]) for store in turn.stores for hit in store.hits]

    def close(self) -> None:
        self._peer.close()

    def _embedder(self) -> Any:
        if self._cache is None:
            return None
        from muniment.embed.callable import CallableEmbedder

        get = self._cache.get

        def question(texts: list[str]) -> Any:
            return known(get([carriers.asked(self._model, text) for text in texts]))

        return CallableEmbedder(f"cache/{self._model}", lambda texts: known(get(texts)), query=question)


def known(rows: Any) -> Any:
    """Vectors that have to be there."""
    if rows is None:
        raise RuntimeError("a text has no vector in the cache: fill it with benchmarks.carriers")
    return rows


class Fts5:
    """SQLite's own full text search: OR of the words, its `porter` stemmer, ranked by its bm25, rows with texts."""

    def open(self, bank: Bank, folder: Path) -> None:
        import apsw

        self._link = apsw.Connection(str(folder))
        self._link.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')")
        with self._link:
            rows = ((text,) for text in bank.texts)
            self._link.executemany("INSERT INTO words (text) VALUES (?)", rows)
        self._link.execute("INSERT INTO words (words) VALUES ('optimize')")

    def ask(self, question: str, limit: int) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in WORD.findall(question))
        if not words:
            return []
        sql = "SELECT rowid, text FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        return [int(row[0]) for row in self._link.execute(sql, (words, limit)).fetchall()]

    def close(self) -> None:
        self._link.close()


class Bm25s:
    """bm25s with English stop words and Snowball stems, as its documentation shows it; it ranks only."""

    def open(self, bank: Bank, folder: Path) -> None:
        import bm25s
        import Stemmer

        self._stem, self._lib = Stemmer.Stemmer("english"), bm25s
        self._index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        self._rows = len(bank.texts)
        self._index.index(self._tokens(bank.texts, ids=True), show_progress=False)

    def ask(self, question: str, limit: int) -> list[int]:
        found, scores = self._index.retrieve(
            self._tokens([question], ids=False), k=min(limit, self._rows), show_progress=False
        )
        return [int(row) + 1 for row, score in zip(found[0], scores[0], strict=True) if score > 0]

    def close(self) -> None:
        del self._index

    def _tokens(self, texts: list[str], *, ids: bool) -> Any:
        return self._lib.tokenize(
            texts, stopwords="en", stemmer=self._stem, return_ids=ids, show_progress=False
        )


@dataclass(frozen=True)
class Entry:
    """A contender by name; `needs` are packages beyond the project's own."""

    make: Callable[[], Contender]
    needs: tuple[str, ...] = ()


CONTENDERS = {
    "plain BM25 (`analyzer: plain`)": Entry(lambda: Library("analyzer: plain\n")),
    "bm25s, stops and stems": Entry(Bm25s, ("bm25s", "Stemmer")),
    "SQLite FTS5, porter": Entry(Fts5),
    "muniment, words": Entry(Library),
    "muniment, words, `context: false`": Entry(lambda: Library("context: false\n")),
}
BASE, WORDS = next(iter(CONTENDERS)), "muniment, words"
HYBRID = "muniment, hybrid "
STORE = "langgraph InMemoryStore, "


def names(cache: Path | None, tokens: int) -> list[str]:
    """Those that can run here: packages importable, models in the cache."""
    found = [
        name
        for name, entry in CONTENDERS.items()
        if all(importlib.util.find_spec(package) for package in entry.needs)
    ]
    if cache is not None:
        here = [m for m in carriers.MODELS if (cache / f"{m}-{tokens}.keys").exists()]
        found += [HYBRID + m for m in here]
        if importlib.util.find_spec("langgraph"):
            found += [STORE + m for m in here[:1]]
    return found


def absent(cache: Path | None, tokens: int) -> list[str]:
    """Those that can't run here, and what they lack."""
    lacking = [
        f"{name}: no package {package}"
        for name, entry in CONTENDERS.items()
        for package in entry.needs
        if not importlib.util.find_spec(package)
    ]
    here = names(cache, tokens)
    lacking += [
        f"{HYBRID}{model}: no vectors, see benchmarks.carriers"
        for model in carriers.MODELS
        if HYBRID + model not in here
    ]
    if not any(name.startswith(STORE) for name in here):
        lacking.append(f"{STORE.strip(', ')}: no package langgraph, or no vectors")
    return lacking


def make(name: str, cache: Path | None, tokens: int) -> Contender:
    """A contender by its name."""
    if name.startswith(HYBRID) and cache is not None:
        model = name.removeprefix(HYBRID)
        return Library(model=model, cache=carriers.Cache(cache, model, tokens))
    if name.startswith(STORE) and cache is not None:
        model = name.removeprefix(STORE)
        return rivals.Store(carriers.Cache(cache, model, tokens), model)
    return CONTENDERS[name].make()
