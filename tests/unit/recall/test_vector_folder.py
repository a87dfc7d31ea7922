"""What is the vector index's own of its files: vectors replaced, parts that do not fit, means that are outgrown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recall.followed import DIMENSION, KINDS, corpus_of, held_in, opened, small_sizes, vector_of
from tests.unit.recall.vector_reference import ids

from muniment.base.errors import StoreCorrupt
from muniment.recall import follow, packing
from muniment.recall.vector_segments import Segment

VECTORS = KINDS["vectors"]


@pytest.fixture(autouse=True)
def _small_segments() -> Iterator[None]:
    with small_sizes(VECTORS):
        yield


def test_vectors_stay_on_the_disk(tmp_path: Path) -> None:
    """The rows of an index that is opened from its files are mapped, not read."""
    corpus = corpus_of(VECTORS, 200)
    opened(VECTORS, tmp_path, corpus).purge([])
    index = opened(VECTORS, tmp_path, corpus)
    assert not any(segment.rows.flags.owndata for segment in index._follower.segments)


def test_no_vector_of_a_gone_row_stays_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an erasure the row is not returned, and after `purge` its vector is in no file, nor an older one of it."""
    monkeypatch.setattr(follow, "FAN_OUT", 9)
    corpus = corpus_of(VECTORS, 100)
    index = opened(VECTORS, tmp_path, corpus)
    index.purge([])
    old = corpus.pick([40])[0].vector
    corpus.set_vector(40, vector_of(4000))
    index.refresh()
    index.maintain()
    new = corpus.pick([40])[0].vector
    assert old
    assert new
    index._follower._settle(None)
    held = held_in(tmp_path)
    assert old in held
    assert new in held
    corpus.erase(40)
    index.refresh()
    for past in (False, True):
        assert 40 not in ids(index, vector_of(4000), 100, past=past)
    assert index.explain(vector_of(40), 40, past=True) is None
    assert index.purge([40])
    held = held_in(tmp_path)
    assert old not in held
    assert new not in held


@pytest.mark.parametrize("wrong", ["rows", "bits", "scale", "offset", "mean", "ords", "order", "zero"])
def test_a_segment_whose_parts_do_not_fit_is_refused(tmp_path: Path, wrong: str) -> None:
    """A file with arrays of different lengths or rows out of order is damaged, not read."""
    arrays: packing.Arrays = {
        "ords": np.array([1, 2, 3], np.int32), "rows": np.ones(3 * DIMENSION, np.float16),
        "bits": np.zeros(3, np.uint64), "mean": np.zeros(DIMENSION, np.float32),
        "scale": np.ones(3, np.float32), "offset": np.ones(3, np.float32),
    }  # fmt: skip
    packing.write(tmp_path / "good", arrays, {"spread": 3})
    assert len(Segment.open(tmp_path / "good", DIMENSION).ords) == 3
    if wrong in {"order", "zero"}:
        arrays["ords"] = np.array([1, 3, 2] if wrong == "order" else [0, 1, 2], np.int32)
    else:
        arrays[wrong] = arrays[wrong][: -DIMENSION if wrong == "rows" else -1]
    packing.write(tmp_path / "bad", arrays, {"spread": 3})
    with pytest.raises(StoreCorrupt):
        Segment.open(tmp_path / "bad", DIMENSION)


def test_pieces_are_written_as_one_array(tmp_path: Path) -> None:
    """An array given in pieces comes back whole."""
    pieces = (np.full(5, n, np.float16) for n in range(4))
    packing.write(tmp_path / "a", {"x": packing.Parts("float16", 20, pieces)}, {})
    assert packing.read(tmp_path / "a")[0]["x"].tolist() == [n for n in range(4) for _ in range(5)]


def test_signatures_follow_a_bank_that_outgrows_their_mean(tmp_path: Path) -> None:
    """A mean serves until a segment is much larger than the rows it was taken of; then it is taken anew."""
    corpus = corpus_of(VECTORS, 40)
    index = opened(VECTORS, tmp_path, corpus)
    index.purge([])
    first = index._follower.segments[0].mean.copy()
    for number in range(41, 1001):
        corpus.add(vector_of(number) + 2)
        if number % 16 == 0:
            index.refresh()
            index.maintain()
    largest = max(index._follower.segments, key=lambda segment: len(segment.ords))
    assert not np.allclose(first, largest.mean)
    assert largest.spread * follow.FAN_OUT >= len(largest.ords) // 4
