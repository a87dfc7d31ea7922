"""What the vector index needs to know of a bank: its versions, which of them are live, and their vectors.

`ListVectors` is the whole contract in memory, for tests and benchmarks; a bank offers the same over its store, one
corpus a model. A vector is a row of little-endian float16, as its act carries it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from muniment.base.errors import InvalidInput, WrongDimension
from muniment.recall.corpus import PART, Watermark

Array = np.ndarray[Any, Any]
ROW = np.dtype("<f2")


class VectorRow(NamedTuple):
    """One version of a record, as the vector index sees it.

    Attributes:
        ord: Its number in order of local arrival, as in the word index.
        live: Whether it counts as of now; else it is searched by `past` only.
        gone: Erased or void: never searchable, its vector leaves the index at the next maintenance.
        vector: 2 * dimension bytes of little-endian float16; None if it has none (yet).
    """

    ord: int
    live: bool
    gone: bool
    vector: bytes | None


class VectorCorpus(Protocol):
    """The vectors of one model in a bank, readable as often as needed."""

    def watermark(self) -> Watermark:
        """How far it is; one cheap call. Another `generation` voids everything that was read before."""
        ...

    def vectors(self, after: int, upto: int) -> Iterator[VectorRow]:
        """Rows with `after < ord <= upto` in order, each as it is now; those without a vector may be left out."""
        ...

    def pick(self, ords: Sequence[int]) -> list[VectorRow]:
        """The rows of these numbers, in any order; unknown ones are left out."""
        ...

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """(change number, ord, live, gone), in order, of rows whose liveness or whose vector changed after they came.

        A vector that is made later than its record, replaced or withdrawn is a change of its row.
        """
        ...


class GuardedVectors:
    """A corpus whose every call is made under a lock, its answers whole: for work aside in another thread."""

    def __init__(self, corpus: VectorCorpus, lock: AbstractContextManager[object]) -> None:
        self._corpus, self._lock = corpus, lock

    def watermark(self) -> Watermark:
        """See `VectorCorpus`."""
        with self._lock:
            return self._corpus.watermark()

    def vectors(self, after: int, upto: int) -> Iterator[VectorRow]:
        """See `VectorCorpus`."""
        while after < upto:
            with self._lock:
                part = list(self._corpus.vectors(after, min(after + PART, upto)))
            yield from part
            after += PART

    def pick(self, ords: Sequence[int]) -> list[VectorRow]:
        """See `VectorCorpus`."""
        with self._lock:
            return self._corpus.pick(ords)

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """See `VectorCorpus`."""
        with self._lock:
            return iter(list(self._corpus.changes(after, upto)))


class ListVectors:
    """A corpus in memory.

    Args:
        dimension: Of every vector.
        generation: See `Watermark`.
    """

    def __init__(self, dimension: int, generation: int = 1) -> None:
        self.dimension, self.generation = dimension, generation
        self._rows: list[VectorRow] = []
        self._changes: list[tuple[int, bool, bool]] = []
        self._erased: set[int] = set()

    def add(self, vector: Array | None, *, live: bool = True, gone: bool = False) -> int:
        """Appends a row and returns its `ord`."""
        row = None if vector is None else pack_vector(vector, self.dimension)
        self._rows.append(VectorRow(len(self._rows) + 1, live, gone, row))
        return len(self._rows)

    def set_vector(self, number: int, vector: Array | None) -> None:
        """Gives a row its vector later, replaces it, or takes it away."""
        if number in self._erased:
            return
        row = None if vector is None else pack_vector(vector, self.dimension)
        self._rows[number - 1] = self._rows[number - 1]._replace(vector=row)
        self._changes.append((number, self._rows[number - 1].live, self._rows[number - 1].gone))

    def set_live(self, number: int, live: bool) -> None:
        """Makes a row live, or superseded; one that was erased stays gone."""
        if number not in self._erased:
            self._change(number, live, False)

    def erase(self, number: int) -> None:
        """Takes the row's vector away for good."""
        self._erased.add(number)
        self._change(number, False, True)
        self._rows[number - 1] = self._rows[number - 1]._replace(vector=None)

    def void(self, number: int) -> None:
        """Makes the row count for nothing; `set_live` brings it back."""
        self._change(number, False, True)

    def _change(self, number: int, live: bool, gone: bool) -> None:
        self._rows[number - 1] = self._rows[number - 1]._replace(live=live, gone=gone)
        self._changes.append((number, live, gone))

    def watermark(self) -> Watermark:
        """See `VectorCorpus`."""
        return Watermark(len(self._rows), len(self._changes), self.generation)

    def vectors(self, after: int, upto: int) -> Iterator[VectorRow]:
        """See `VectorCorpus`."""
        yield from self._rows[max(0, after) : upto]

    def pick(self, ords: Sequence[int]) -> list[VectorRow]:
        """See `VectorCorpus`."""
        return [self._rows[number - 1] for number in ords if 0 < number <= len(self._rows)]

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """See `VectorCorpus`."""
        for number in range(max(0, after), min(upto, len(self._changes))):
            row, live, gone = self._changes[number]
            yield number + 1, row, live, gone


def pack_vector(values: Array | Sequence[float], dimension: int) -> bytes:
    """A vector as it is stored: unit length, little-endian float16. Call it where vectors are written.

    Args:
        values: (dimension,) numbers of any length but 0.
        dimension: The model's.

    Raises:
        WrongDimension: It has another number of dimensions.
        InvalidInput: It holds something that is no finite number, or only zeros.
    """
    return direction(values, dimension).astype(ROW).tobytes()


def direction(values: Array | Sequence[float], dimension: int) -> Array:
    """A vector at length 1, (dimension,) float64; arguments and errors as `pack_vector`."""
    row = np.asarray(values, np.float64)
    if row.shape != (dimension,):
        raise WrongDimension(
            dimension, row.size, "Ask the embedder of this model, or name the model that made the vector."
        )
    top = float(np.abs(row).max())
    if not np.isfinite(top) or top <= 0:
        raise InvalidInput(
            "a vector needs finite numbers, not all zero", "Look at what the embedder answered to this text."
        )
    row = row / top  # so that the squares neither overflow nor vanish
    found: Array = row / np.linalg.norm(row)
    return found


def unpack_vectors(rows: Sequence[bytes | None], dimension: int) -> tuple[Array, Array]:
    """Rows of foreign bytes as a matrix, and which of them are usable.

    Returns:
        ((usable rows, dimension) float16, (rows,) bool). Rows of another length, with infinities or zeros only are
        not usable: whoever signed them, the index goes on without.
    """
    usable = np.array([row is not None and len(row) == ROW.itemsize * dimension for row in rows], np.bool_)
    joined = b"".join(
        row for row, good in zip(rows, usable.tolist(), strict=True) if good and row is not None
    )
    matrix = np.frombuffer(joined, ROW).reshape(-1, dimension).astype(np.float16, copy=False)
    sound = np.isfinite(matrix).all(axis=1) & (matrix != 0).any(axis=1)
    usable[np.flatnonzero(usable)[~sound]] = False
    return (matrix if sound.all() else matrix[sound]), usable
