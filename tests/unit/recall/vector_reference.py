"""Plain cosine over a corpus of vectors: what the vector index has to agree with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from muniment.recall.vector_corpus import Array, ListVectors
from muniment.recall.vectors import VectorIndex


def cosines(
    corpus: ListVectors, query: Array, *, past: bool = False, allow: Callable[[int], bool] = lambda _: True
) -> dict[int, float]:
    """The cosine of every row that a search may return, in float64."""
    asked = np.asarray(query, np.float64)
    found = {}
    for row in corpus.rows(0, corpus.watermark().last_ord):
        if row.vector is None or row.gone or not (row.live or past) or not allow(row.ord):
            continue
        vector = np.frombuffer(row.vector, "<f2").astype(np.float64)
        found[row.ord] = float(vector @ asked / np.linalg.norm(vector) / np.linalg.norm(asked))
    return found


def agree(
    index: VectorIndex, corpus: ListVectors, query: Array, *, past: bool = False, every: int = 0
) -> None:
    """Same rows in the same order with the same cosines, for several limits; with `every`, under a filter."""
    size = corpus.watermark().last_ord + 1
    allow = np.arange(size) % every != 1 if every else None
    wanted = cosines(corpus, query, past=past, allow=(lambda o: allow is None or bool(allow[o])))
    above = {number: cosine for number, cosine in wanted.items() if cosine > 1e-6}
    below = {number for number, cosine in wanted.items() if cosine < -1e-6}
    for limit in (1, 3, size + 5):
        got = index.search(query, limit, allow, past=past)
        assert len(got) >= min(limit, len(above))
        assert not below & {hit.ord for hit in got}
        assert all(abs(wanted[hit.ord] - hit.cosine) < 1e-5 for hit in got)
        assert got == sorted(got, key=lambda hit: (-hit.cosine, -hit.ord))
        worst = got[-1].cosine if len(got) == limit else 0.0
        missed = set(above) - {hit.ord for hit in got}
        assert all(above[number] < worst + 1e-5 for number in missed) or len(got) < limit and not missed
    for hit in index.search(query, 3, allow, past=past):
        assert index.explain(query, hit.ord, past=past) == hit.cosine


def ids(index: VectorIndex, query: Array, limit: int = 10, **options: object) -> list[int]:
    """The rows found."""
    return [hit.ord for hit in index.search(query, limit, **options)]  # type: ignore[arg-type]
