"""The two indexes as the folder tests see them: what a row says, how it is asked for, what a file holds of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from muniment.recall import follow, vector_follow, word_follow
from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus
from muniment.recall.lexical import ContextWeights, WordIndex
from muniment.recall.vector_corpus import Array, ListVectors, pack_vector
from muniment.recall.vectors import VectorIndex

NOWHERE = Path(os.devnull) / "index"  # can't be made: an index there lives in memory
DIMENSION = 8
Answers = list[list[tuple[int, float]]]


def spell(number: int) -> str:
    """A number in letters: digits would make identifiers of the words."""
    return str(number).translate(str.maketrans("0123456789", "bcdfghjkmp"))


def text_of(number: int) -> str:
    """What row `number` says: words shared by many, by some and by none."""
    return f"common shared{spell(number % 7)} shared{spell(number % 31)} only{spell(number)}"


def vector_of(number: int) -> Array:
    """What row `number` means."""
    return np.random.default_rng(number).standard_normal(DIMENSION)


class Words:
    """The word index."""

    what = "word index"
    index, follower = WordIndex, word_follow.WordFollower
    merge = (word_follow, "merge_postings")

    def empty(self, generation: int = 1) -> ListCorpus:
        """A corpus without rows."""
        return ListCorpus(generation)

    def add(self, corpus: ListCorpus, number: int) -> None:
        """A row that says `number`, in conversations of ten."""
        corpus.add(text_of(number), session=1 + number // 10)

    def make(self, folder: Path, corpus: ListCorpus, *, other: bool = False) -> WordIndex:
        """An index that has not caught up; with `other`, of other settings."""
        analyzer = Analyzer(kind="plain" if other else "standard")
        return WordIndex(folder, corpus, analyzer, context=ContextWeights())

    def ids(self, index: WordIndex, number: int, limit: int = 10, *, past: bool = False) -> list[int]:
        """The rows found by what row `number` says."""
        return [hit.ord for hit in index.search(text_of(number), limit, past=past).hits]

    def answers(self, index: WordIndex) -> Answers:
        """What it says to a few queries; sums taken in another order may differ in their last digits."""
        asked = ("common onlyck", "sharedf sharedm", "onlygb", "common")
        return [[(hit.ord, round(hit.score, 9)) for hit in index.search(q, 10).hits] for q in asked]

    def held(self, number: int) -> bytes:
        """What a file holds that holds this row."""
        return f"only{spell(number)}".encode()


class Vectors:
    """The vector index."""

    what = "vector index"
    index, follower = VectorIndex, vector_follow.VectorFollower
    merge = (vector_follow, "Merged")

    def empty(self, generation: int = 1) -> ListVectors:
        """A corpus without rows."""
        return ListVectors(DIMENSION, generation)

    def add(self, corpus: ListVectors, number: int) -> None:
        """A row that means `number`."""
        corpus.add(vector_of(number))

    def make(self, folder: Path, corpus: ListVectors, *, other: bool = False) -> VectorIndex:
        """An index that has not caught up; with `other`, of another model."""
        return VectorIndex(folder, corpus, DIMENSION, model="other" if other else "")

    def ids(self, index: VectorIndex, number: int, limit: int = 10, *, past: bool = False) -> list[int]:
        """The rows found by what row `number` means."""
        return [hit.ord for hit in index.search(vector_of(number), limit, past=past)]

    def answers(self, index: VectorIndex) -> Answers:
        """What it says to a few queries."""
        found = (index.search(vector_of(number), 10) for number in (3, 150, 1001, 1002))
        return [[(hit.ord, round(hit.cosine, 6)) for hit in hits] for hits in found]

    def held(self, number: int) -> bytes:
        """What a file holds that holds this row."""
        return pack_vector(vector_of(number), DIMENSION)


Kind = Any  # Words or Vectors: what holds of one holds of the other
KINDS: dict[str, Kind] = {"words": Words(), "vectors": Vectors()}


def corpus_of(kind: Kind, rows: int, generation: int = 1) -> Any:
    """That many rows."""
    corpus = kind.empty(generation)
    for number in range(1, rows + 1):
        kind.add(corpus, number)
    return corpus


def opened(kind: Kind, folder: Path, corpus: Any, *, other: bool = False) -> Any:
    """An index that has caught up."""
    index = kind.make(folder, corpus, other=other)
    index.refresh()
    return index


def held_in(folder: Path) -> bytes:
    """All that its files hold."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


@contextmanager
def small_sizes(kind: Kind, tail: int = 16) -> Iterator[None]:
    """Segments of a few rows, so that short histories reach every path."""
    small = [
        (follow, "TAIL_ROWS", tail),
        (follow, "BACKLOG", 64),
        (follow, "FAN_OUT", 3),
        (kind.follower, "BLOCK_ROWS", 50),
    ]
    old = [(owner, name, getattr(owner, name)) for owner, name, _ in small]
    try:
        for owner, name, value in small:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in old:
            setattr(owner, name, value)


def busy(kind: Kind, rows: int, corpus: Any, then: Callable[[], None] = lambda: None) -> Any:
    """A corpus that grows while rows of it die and come back; `then` is called at every third row."""
    for number in range(1, rows + 1):
        kind.add(corpus, number)
        if number % 13 == 0:
            corpus.set_live(number - 5, False)
            corpus.set_live(number - 12, number % 2 == 0)
            if isinstance(corpus, ListVectors):
                corpus.set_vector(number - 2, vector_of(number + 5000))
                corpus.set_vector(number - 3, None)
        if number % 3 == 0:
            then()
    return corpus


def main(name: str, folder: str, rows: str) -> None:
    """A process that writes and maintains."""
    kind = KINDS[name]
    with small_sizes(kind, tail=4):
        corpus = kind.empty()
        index = kind.make(Path(folder), corpus)

        def step() -> None:
            index.refresh()
            index.maintain()

        sys.stdout.write("ready\n")
        sys.stdout.flush()
        busy(kind, int(rows), corpus, step)
        index.refresh()
        index.purge([])


if __name__ == "__main__":
    main(*sys.argv[1:])
