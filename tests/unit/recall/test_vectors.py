"""The vector index: what a search returns, what it refuses, what it measures."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recall.vector_reference import agree, cosines, ids

from muniment.base.errors import InvalidInput, WrongDimension
from muniment.recall import follow, signatures, vector_follow, vectors
from muniment.recall.vector_corpus import Array, ListVectors, VectorRow, pack_vector, unpack_vectors
from muniment.recall.vectors import VectorIndex

NOWHERE = Path(os.devnull) / "index"  # can't be made: an index there lives in memory


def clustered(count: int, dimension: int, seed: int = 7) -> Array:
    """Unit rows in clusters of a subspace, as embeddings lie."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(3).standard_normal((40, 24))
    plane = np.random.default_rng(4).standard_normal((24, dimension)) / 5
    low = centres[rng.integers(0, 40, count)] + rng.standard_normal((count, 24))
    rows = low @ plane + 0.25 * rng.standard_normal((count, dimension)) + 0.3
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def corpus_of(rows: Array) -> ListVectors:
    """One row each."""
    corpus = ListVectors(rows.shape[1])
    for row in rows:
        corpus.add(row)
    return corpus


def opened(folder: Path, corpus: ListVectors, **options: str) -> VectorIndex:
    """An index that has caught up."""
    index = VectorIndex(folder, corpus, corpus.dimension, **options)
    index.refresh()
    return index


def test_an_empty_bank_has_no_hits() -> None:
    """Nothing stored, nothing found, nothing known of the background."""
    index = opened(NOWHERE, ListVectors(4))
    assert index.search(np.ones(4), 5) == []
    assert index.background() == (0.0, 0.0, 0)
    assert index.background(np.ones(4)) == (0.0, 0.0, 0)
    assert index.stats().records == 0


def test_hits_are_ordered_by_cosine_then_newest_first() -> None:
    """Equal vectors get equal cosines wherever they stand, and the newest of them comes first."""
    rows = np.zeros((9, 4))
    rows[:, 0] = 1
    rows[4] = [1, 1, 0, 0]
    index = opened(NOWHERE, corpus_of(rows))
    found = index.search(np.array([2, 0, 0, 0]), 9)
    assert [hit.ord for hit in found] == [9, 8, 7, 6, 4, 3, 2, 1, 5]
    assert len({hit.cosine for hit in found[:8]}) == 1
    assert found[0].cosine == 1.0
    assert found[-1].cosine == pytest.approx(0.5**0.5, abs=1e-3)


def test_similarities_of_zero_or_less_are_no_hits() -> None:
    """A row at a right angle or beyond is not returned, but its cosine can be asked for."""
    index = opened(NOWHERE, corpus_of(np.array([[1, 0], [0, 1], [-1, 0]])))
    query = np.array([1.0, 0.0])
    assert index.search(query, 5) == [(1, 1.0)]
    assert index.cosines(query, [1, 2, 3, 4, 0, -1]) == [1.0, 0.0, -1.0, None, None, None]
    assert index.explain(query, 3) == -1.0


def test_the_length_of_a_vector_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign row that is not of unit length gains nothing by it."""
    corpus = corpus_of(np.array([[1, 1], [1, 0]]))
    long = np.array([30, 30], "<f2").tobytes()
    monkeypatch.setattr(corpus, "_rows", [VectorRow(1, True, False, long), *corpus._rows[1:]])
    assert ids(opened(NOWHERE, corpus), np.array([1, 0])) == [2, 1]


@pytest.mark.parametrize("limit", [0, -3])
def test_no_hit_is_asked_for(limit: int) -> None:
    """A limit of nothing gives nothing."""
    assert opened(NOWHERE, corpus_of(np.eye(3))).search(np.ones(3), limit) == []


def test_many_rows_are_found_through_signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 6,000 rows in several segments the ten nearest are found, filtered or not, and nothing else is compared."""
    monkeypatch.setattr(vector_follow.VectorFollower, "BLOCK_ROWS", 1500)
    monkeypatch.setattr(follow, "BACKLOG", 100)
    corpus = corpus_of(clustered(6000, 96))
    for number in range(3, 600, 7):
        corpus.set_live(number, False)
    index = opened(tmp_path, corpus)
    corpus.add(clustered(1, 96, 99)[0])
    corpus.set_vector(4, clustered(1, 96, 98)[0])
    index.refresh()
    compared: list[int] = []
    real = VectorIndex._cosines
    monkeypatch.setattr(VectorIndex, "_cosines", lambda s, q, o: (compared.append(len(o)), real(s, q, o))[1])
    for every in (0, 2):
        allow = np.arange(6002) % every != 1 if every else None
        hits = wanted = 0
        for query in clustered(30, 96, 5):
            right = cosines(corpus, query, allow=(lambda o, a=allow: a is None or bool(a[o])))
            best = sorted(right, key=lambda n: -right[n])[:10]
            hits += len(set(best) & set(ids(index, query, 10, allow=allow)))
            wanted += len(best)
        assert hits >= 0.99 * wanted
    assert ids(index, clustered(1, 96, 99)[0], 1) == [6001]
    assert ids(index, clustered(1, 96, 98)[0], 1) == [4]
    assert max(compared) <= vectors.RESCORED + vector_follow.TAIL_MOST
    few = np.arange(6002) % 50 == 1
    assert ids(index, query, 200, allow=few) == [
        n for n, c in sorted(cosines(corpus, query, allow=lambda o: bool(few[o])).items(), key=lambda p: -p[1]) if c > 0
    ]  # fmt: skip


def test_a_sparse_filter_looks_at_its_own_rows_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one row in eight is allowed or fewer, no other signature is read; the hits are the right ones."""
    monkeypatch.setattr(vectors, "EXACT_ROWS", 100)
    monkeypatch.setattr(vectors, "RESCORED", 150)
    corpus = corpus_of(clustered(3000, 64))
    index = opened(tmp_path, corpus)
    index.maintain()
    scanned: list[int] = []
    real = signatures.distances
    monkeypatch.setattr(vectors, "distances", lambda s, q: (scanned.append(s.shape[1]), real(s, q))[1])
    allow = np.arange(3001) % 10 == 1
    query = clustered(1, 64, 5)[0]
    right = cosines(corpus, query, allow=lambda o: bool(allow[o]))
    best = sorted(right, key=lambda n: -right[n])[:10]
    assert ids(index, query, 10, allow=allow) == best
    assert sum(scanned) == 300


def test_a_filter_is_by_row_number() -> None:
    """Rows beyond the end of the mask are not allowed; past ones need `past` besides."""
    corpus = corpus_of(np.ones((6, 3)))
    corpus.set_live(2, False)
    index = opened(NOWHERE, corpus)
    mask = np.array([True, True, True, True, False])
    assert ids(index, np.ones(3), 9, allow=mask) == [3, 1]
    assert ids(index, np.ones(3), 9, allow=mask, past=True) == [3, 2, 1]
    assert index.explain(np.ones(3), 2) is None
    assert index.explain(np.ones(3), 2, past=True) is not None


def test_a_vector_that_comes_later_is_found() -> None:
    """A row without a vector is passed over until it has one; a replaced or withdrawn one is not found again."""
    corpus = ListVectors(2)
    for _ in range(3):
        corpus.add(None)
    index = opened(NOWHERE, corpus)
    assert index.stats().records == 0
    corpus.set_vector(2, np.array([1, 0]))
    index.refresh()
    assert ids(index, np.array([1, 0])) == [2]
    corpus.set_vector(2, np.array([-1, 0]))
    corpus.set_vector(3, np.array([1, 1]))
    index.refresh()
    assert ids(index, np.array([1, 0])) == [3]
    corpus.set_vector(3, None)
    index.refresh()
    assert index.search(np.array([1, 0]), 5) == []


def test_a_wrong_dimension_is_named() -> None:
    """Writing or asking with a vector of another length says both lengths and what to do."""
    with pytest.raises(WrongDimension, match="3 dimensions, the model 4") as caught:
        pack_vector([1, 2, 3], 4)
    assert (caught.value.expected, caught.value.given) == (4, 3)
    assert caught.value.next_step
    index = opened(NOWHERE, ListVectors(4))
    for query in (np.ones(5), np.ones((1, 4)), np.float32(1)):
        with pytest.raises(WrongDimension):
            index.search(query, 1)
    with pytest.raises(InvalidInput):
        VectorIndex(NOWHERE, ListVectors(1), 0)


@pytest.mark.parametrize("values", [[0, 0], [1, float("nan")], [float("inf"), 1]])
def test_a_vector_of_nothing_is_named(values: list[float]) -> None:
    """Zeros, infinities and what is no number have no direction."""
    with pytest.raises(InvalidInput):
        pack_vector(values, 2)
    with pytest.raises(InvalidInput):
        opened(NOWHERE, ListVectors(2)).search(np.array(values), 1)


def test_stored_vectors_have_unit_length() -> None:
    """What is written is little-endian float16 of length 1."""
    row = np.frombuffer(pack_vector([3.0, 4.0], 2), "<f2")
    assert row.tolist() == pytest.approx([0.6, 0.8], abs=1e-3)
    for size in (1e308, 1e-300):
        assert pack_vector([3 * size, 4 * size] if size < 1 else [0.75 * size, size], 2) == row.tobytes()


def test_unusable_rows_of_others_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a wrong length, of zeros or with infinities are counted and do not stop the index."""
    good = pack_vector([1, 0], 2)
    bad = [b"", good + good, bytes(4), np.array([1, np.inf], "<f2").tobytes()]
    corpus = corpus_of(np.ones((5, 2)))
    rows = [VectorRow(n, True, False, row) for n, row in enumerate([bad[0], good, *bad[1:]], 1)]
    monkeypatch.setattr(corpus, "_rows", rows)
    index = opened(NOWHERE, corpus)
    assert ids(index, np.array([1, 0])) == [2]
    assert (index.stats().records, index.stats().unusable) == (1, 4)
    matrix, usable = unpack_vectors([None, *bad, good], 2)
    assert (matrix.tolist(), usable.tolist()) == ([[1, 0]], [False] * 5 + [True])


def test_the_background_is_what_unrelated_rows_have() -> None:
    """Mean and spread of cosines between rows, and of a query with rows, from a sample that does not change."""
    rows = clustered(3000, 48)
    index = opened(NOWHERE, corpus_of(rows))
    among = rows @ rows.T
    told = index.background()
    assert told.mean == pytest.approx(among[np.triu_indices(3000, 1)].mean(), abs=0.02)
    assert told.spread == pytest.approx(among[np.triu_indices(3000, 1)].std(), abs=0.03)
    assert 250 <= told.rows <= vectors.SAMPLED
    query = clustered(1, 48, 5)[0]
    asked = index.background(query)
    assert asked.mean == pytest.approx((rows @ query).mean(), abs=0.03)
    assert asked.spread == pytest.approx((rows @ query).std(), abs=0.03)
    assert index.background(query) == opened(NOWHERE, corpus_of(rows)).background(query)


def test_the_background_follows_the_bank() -> None:
    """Rows that come and go are in the next measurement."""
    corpus = corpus_of(np.array([[1, 0], [1, 0]]))
    index = opened(NOWHERE, corpus)
    assert index.background() == (1.0, 0.0, 2)
    corpus.add(np.array([0, 1]))
    index.refresh()
    assert index.background().rows == 3
    assert index.background().mean == pytest.approx(1 / 3)


@pytest.mark.parametrize("dimension", [1, 63, 64, 65, 200, 384])
def test_distances_count_differing_bits(dimension: int) -> None:
    """Signatures are compared bit by bit, whatever the dimension, with or without a counting instruction."""
    rng = np.random.default_rng(dimension)
    rows = signatures.unit(rng.standard_normal((70, dimension)))
    query, mean = (
        signatures.unit(rng.standard_normal((1, dimension)))[0],
        np.full(dimension, 0.01, np.float32),
    )
    wanted = ((rows > mean) != (query > mean)).sum(axis=1)
    signs, probe = signatures.sign(rows, mean), signatures.Probe(query, mean)
    assert signs.bits.shape == (signatures.words_of(dimension), 70)
    assert signatures.distances(signs.bits, probe.bits).tolist() == wanted.tolist()
    assert signatures._count_by_table(signs.bits[0]).tolist() == [
        bin(int(w)).count("1") for w in signs.bits[0]
    ]


@pytest.mark.parametrize("dimension", [1, 63, 65, 384])
def test_cosines_are_estimated_from_bits(dimension: int) -> None:
    """The estimate is the formula of the module; it is exact for the row itself, and right on average for others."""
    rng = np.random.default_rng(dimension)
    rows = signatures.unit(rng.standard_normal((500, dimension)) + 0.3)
    mean = rows.mean(axis=0)
    signs = signatures.sign(rows, mean)
    for number in range(3):
        itself = signatures.Probe(rows[number], mean).estimate(signs.take(np.array([number])))
        assert itself[0] == pytest.approx(1.0, abs=1e-4)
    query = signatures.unit(rng.standard_normal((1, dimension)) + 0.3)[0]
    apart = rows - mean
    plain = (np.where(apart > 0, 1, -1) @ (query - mean)) * (apart**2).sum(axis=1) / np.abs(apart).sum(axis=1)
    guessed = signatures.Probe(query, mean).estimate(signs)
    assert np.allclose(guessed, plain + apart @ mean + query @ mean, atol=1e-4)
    assert abs(float((guessed - rows @ query).mean())) < 0.02


def test_the_nearest_of_many_blocks_are_kept() -> None:
    """Whatever the order in which blocks come, no distance that is kept is above one that is not."""
    rng = np.random.default_rng(2)
    distances = rng.integers(0, 300, 5000).astype(np.uint16)
    among = rng.random(5000) < 0.7
    nearest = signatures.Nearest(100)
    for first in range(0, 5000, 333):
        part = slice(first, first + 333)
        nearest.offer(np.arange(5000)[part], distances[part], among[part])
    kept = nearest.take()
    assert len(kept) == 100
    assert among[kept].all()
    assert distances[kept].max() <= np.sort(distances[among])[99]
    assert len(signatures.Nearest(5).take()) == 0


def test_an_unwritable_folder_is_searched_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a place for files all rows are still found, through segments in memory, and nothing is read twice."""
    corpus = corpus_of(clustered(5000, 32))
    index = opened(NOWHERE, corpus)
    assert index.stats().segments >= 1
    with monkeypatch.context() as patch:
        patch.setattr(corpus, "rows", None)
        index.refresh()
    corpus.add(clustered(1, 32, 6)[0])
    index.refresh()
    assert ids(index, clustered(1, 32, 6)[0], 1) == [5001]
    agree(index, corpus, clustered(1, 32, 5)[0], every=9)
