"""The vector index against plain cosine, over random histories of a bank."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.recall.vector_reference import agree

from muniment.recall import follow, vector_follow, vectors
from muniment.recall.vector_corpus import Array, ListVectors
from muniment.recall.vectors import VectorIndex

DIMENSION = 5
VECTOR = st.lists(st.integers(-3, 3), min_size=DIMENSION, max_size=DIMENSION).filter(any).map(np.array)
ADD = st.tuples(st.just("add"), st.one_of(st.none(), VECTOR, VECTOR, VECTOR), st.booleans())
FLIP = st.tuples(st.just("flip"), st.integers(0, 60), st.booleans())
SET = st.tuples(st.just("set"), st.integers(0, 60), st.one_of(st.none(), VECTOR))
ERASE = st.tuples(st.sampled_from(["erase", "void"]), st.integers(0, 60))
OTHER = st.tuples(st.sampled_from(["refresh", "maintain", "reopen", "other", "purge"]))
STEP = st.one_of(ADD, ADD, ADD, FLIP, SET, ERASE, OTHER, OTHER)
Step = tuple[object, ...]


class small_sizes:
    """Segments of a few rows, so that short histories reach every path."""

    def __enter__(self) -> None:
        follower = vector_follow.VectorFollower
        small = [
            (follow, name, n) for name, n in (("TAIL_ROWS", 4), ("BACKLOG", 6), ("FAN_OUT", 3), ("PICKED", 2))
        ]
        small += [
            (vector_follow, "TAIL_MOST", 9),
            (follower, "BLOCK_ROWS", 5),
            (VectorIndex, "SHORT_ROWS", 8),
        ]
        self.old = [(owner, name, getattr(owner, name)) for owner, name, _ in small]
        for owner, name, value in small:
            setattr(owner, name, value)

    def __exit__(self, *_: object) -> None:
        for module, name, value in self.old:
            setattr(module, name, value)


def apply(corpus: ListVectors, step: Step) -> None:
    """One event in the life of a bank."""
    kind, size = step[0], corpus.watermark().last_ord
    if kind == "add":
        corpus.add(step[1], live=bool(step[2]) or size % 3 > 0)  # type: ignore[arg-type]
    elif size and kind in {"flip", "set", "erase", "void"}:
        number = 1 + int(step[1]) % size  # type: ignore[call-overload]
        if kind == "flip":
            corpus.set_live(number, bool(step[2]))
        elif kind == "set":
            corpus.set_vector(number, step[2])  # type: ignore[arg-type]
        else:
            getattr(corpus, str(kind))(number)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=50), st.lists(VECTOR, min_size=1, max_size=3))
def test_any_history_is_searched_as_by_plain_cosine(steps: list[Step], queries: list[Array]) -> None:
    """After any history all rows are found as by plain cosine, by the instance that wrote and by one that followed."""
    corpus = ListVectors(DIMENSION)
    with tempfile.TemporaryDirectory() as folder, small_sizes():
        index, other = (VectorIndex(Path(folder), corpus, DIMENSION) for _ in range(2))
        for step in steps:
            apply(corpus, step)
            if step[0] == "refresh":
                index.refresh()
            elif step[0] == "maintain":
                index.refresh()
                index.maintain()
            elif step[0] == "reopen":
                index.close()
                index = VectorIndex(Path(folder), corpus, DIMENSION)
            elif step[0] == "other":
                other.refresh()
                other.maintain()
            elif step[0] == "purge" and corpus.watermark().last_ord:
                corpus.erase(1)
                other.refresh()
                other.purge([1])
        for instance in (index, other):
            instance.refresh()
            for query in queries:
                agree(instance, corpus, query)
                agree(instance, corpus, query, every=3)
                agree(instance, corpus, query, past=True)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 130), st.sampled_from([0, 2, 3, 50]))
def test_signatures_lose_nothing_that_they_keep_enough_of(seed: int, dimension: int, every: int) -> None:
    """With more candidates than rows the two-step search is plain cosine, for any dimension and any filter."""
    rng = np.random.default_rng(seed)
    corpus = ListVectors(dimension)
    for row in rng.standard_normal((120, dimension)):
        corpus.add(row)
    old = vectors.EXACT_ROWS, vectors.RESCORED
    with tempfile.TemporaryDirectory() as folder, small_sizes():
        index = VectorIndex(Path(folder), corpus, dimension)
        index.refresh()
        query = rng.standard_normal(dimension)
        agree(index, corpus, query, every=every)
        vectors.EXACT_ROWS, vectors.RESCORED = 0, 90
        try:
            found = index.search(query, 3)
        finally:
            vectors.EXACT_ROWS, vectors.RESCORED = old
        assert len(found) == min(3, len(index.search(query, 3)))
