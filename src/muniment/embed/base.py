"""What an embedder is, and what every vector must be before anybody sees it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from muniment.base.errors import EmbedderMismatch
from muniment.base.limits import LIMITS

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors of one model. Safe from several threads."""

    @property
    def name(self) -> str:
        """`<provider>/<model>`: what stands under `embeddings:` for its vectors."""
        ...

    @property
    def dimension(self) -> int | None:
        """How many numbers a vector has; None as long as nobody knows."""
        ...

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to be found: shape (n, dimension), float32, each row of length 1.

        Raises:
            EmbedderError: As its subclasses name it; none of the vectors came.
            MissingExtra: The part that runs the model is not installed.
        """
        ...

    def query(self, text: str) -> Vectors:
        """Vector of a question: shape (dimension,), float32, of length 1. One call, however it is made.

        Raises:
            EmbedderError | MissingExtra: As for `documents`.
        """
        ...

    def close(self) -> None:
        """Let go of connections and memory; harmless when done twice."""
        ...


class Shape:
    """Holds an embedder to its name and one dimension, and lets only usable vectors pass.

    Args:
        name: `<provider>/<model>`.
        dimension: The one that is asked for, or None to learn it from the first answer.
    """

    def __init__(self, name: str, dimension: int | None = None) -> None:
        self.name = name
        self.dimension = dimension
        self._lock = threading.Lock()

    def take(self, rows: Any, count: int) -> Vectors:
        """Rows of numbers as unit vectors: shape (count, dimension), float32.

        Args:
            rows: What a model or a server gave: an array or nested lists.
            count: How many texts there were.

        Raises:
            EmbedderMismatch: Another number of rows, another dimension, or a row without a direction: NaN,
                infinite, or all zero.
        """
        try:
            found = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            found = None
        if found is None:  # outside of the handler: what it holds may be a stranger's text
            raise EmbedderMismatch(f"{self.name} gave something that is no list of vectors", _LOOK)
        if count == 0 and found.size == 0:
            return np.empty((0, self.dimension or 0), np.float32)
        if found.ndim != 2 or len(found) != count:
            raise EmbedderMismatch(
                f"{self.name} gave {_shape(found)} for {count} texts, not one vector for each", _LOOK
            )
        self._check_size(found.shape[1])
        # Scaled first: the square of a large float64 is infinite, and that of a small one is 0.
        largest = np.abs(found).max(axis=1)
        if not np.all(np.isfinite(largest) & (largest > 0)):
            raise EmbedderMismatch(
                f"{self.name} gave a vector without a direction (NaN, infinite or zero)", _LOOK
            )
        self._hold(found.shape[1])  # learnt only from an answer that is good
        found /= largest[:, None]
        found /= np.linalg.norm(found, axis=1)[:, None]
        return found.astype(np.float32)

    def _check_size(self, dimension: int) -> None:
        if not 0 < dimension <= LIMITS.vector_dimension:
            raise EmbedderMismatch(
                f"{self.name} gave vectors of {dimension} numbers; 1 to {LIMITS.vector_dimension} can be kept",
                _LOOK,
            )

    def _hold(self, dimension: int) -> None:
        with self._lock:
            if self.dimension is None:
                self.dimension = dimension
            known = self.dimension
        if known != dimension:
            raise EmbedderMismatch(
                f"{self.name} gave vectors of {dimension} numbers, not {known}",
                "Another model answers under that name, or `dimensions` says otherwise: correct the settings.",
            )


class Shaped:
    """An embedder whose name and dimension its `Shape` holds."""

    _shape: Shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """`<provider>/<model>`."""
        return self._shape.name

    @property
    def dimension(self) -> int | None:
        """As given or asked for, else as the first answer had it."""
        return self._shape.dimension


_LOOK = "Look whether that model makes embeddings, and whether the address is right."


def _shape(found: NDArray[Any]) -> str:
    return " × ".join(map(str, found.shape)) + " numbers" if found.ndim else "one number"


def readable(texts: Iterable[str], max_chars: int | None = None, prefix: str = "") -> list[str]:
    """Texts as every model takes them: cut, behind their prefix, lone surrogates replaced, and never empty."""
    parts = (prefix + (text if max_chars is None else text[:max_chars]) for text in texts)
    return [part.encode("utf-8", "replace").decode() or " " for part in parts]
