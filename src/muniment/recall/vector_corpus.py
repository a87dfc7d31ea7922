"""What the vector index reads of a bank: its versions, which of them are live, and their vectors.

`ListVectors` is the whole contract in memory, for tests and benchmarks; a bank offers the same over its store, one
corpus a model. A vector is a row of little-endian float16, as its act carries it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from muniment.base.errors import InvalidInput, WrongDimension
from muniment.recall.corpus import ListRows

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


class ListVectors(ListRows[VectorRow]):
    """The vectors of a bank in memory.

    Args:
        dimension: Of every vector.
        generation: See `Watermark`.
    """

    def __init__(self, dimension: int, generation: int = 1) -> None:
        super().__init__(generation)
        self.dimension = dimension

    def add(self, vector: Array | None, *, live: bool = True, gone: bool = False) -> int:
        """Appends a row and returns its `ord`."""
        row = None if vector is None else pack_vector(vector, self.dimension)
        self._rows.append(VectorRow(len(self._rows) + 1, live, gone, row))
        return len(self._rows)

    def set_vector(self, number: int, vector: Array | None) -> None:
        """Gives a row its vector later, replaces it, or takes it away."""
        if number in self._erased:
            return
        row = self._rows[number - 1]
        packed = None if vector is None else pack_vector(vector, self.dimension)
        self._rows[number - 1] = row._replace(vector=packed)
        self._changes.append((number, row.live, row.gone))

    def _counting(self, row: VectorRow, live: bool, gone: bool) -> VectorRow:
        return row._replace(live=live, gone=gone)

    def _bare(self, row: VectorRow) -> VectorRow:
        return row._replace(vector=None)


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
