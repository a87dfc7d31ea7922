"""A function of yours as an embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from muniment.base.errors import EmbedderUnavailable, InvalidInput, MunimentError
from muniment.embed.base import Shape, Shaped, Vectors, readable
from muniment.embed.policy import batches

Function = Callable[[list[str]], Any]


class CallableEmbedder(Shaped):
    """An embedder by a function from texts to rows of numbers.

    Args:
        name: `<provider>/<model>`: what stands under `embeddings:` for its vectors. Another model needs another.
        function: Takes a list of texts and gives as many rows: an array of shape (n, dimension), or nested lists.
            They need not be of length 1. If several threads recall, it is called from each of them.
        dimension: If it is known before the first call.
        query: The same for questions; `function` if not given.
        batch: Most texts in one call.

    Raises:
        InvalidInput: The name has no provider or no model.
    """

    def __init__(
        self,
        name: str,
        function: Function,
        *,
        dimension: int | None = None,
        query: Function | None = None,
        batch: int = 256,
    ) -> None:
        provider, _, model = name.partition("/")
        if not provider or not model or not name.isprintable():
            raise InvalidInput(f"not the name of an embedder: {name[:80]!r}", "Write `<provider>/<model>`.")
        self._shape = Shape(name, dimension)
        self._function, self._query, self._batch = function, query or function, max(1, batch)

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts: shape (n, dimension), float32, unit length.

        Raises:
            EmbedderUnavailable: The function raised something.
            EmbedderMismatch: It gave no usable vectors, or of another dimension than before.
        """
        clean = readable(texts)
        runs = batches([0] * len(clean), self._batch, 1)
        found = [self._call(self._function, clean[run.start : run.stop]) for run in runs]
        return np.concatenate(found) if found else self._shape.take([], 0)

    def query(self, text: str) -> Vectors:
        """Vector of a question: shape (dimension,), float32, unit length.

        Raises:
            EmbedderError: As for `documents`.
        """
        found: Vectors = self._call(self._query, readable([text]))[0]
        return found

    def close(self) -> None:
        """Nothing is held."""

    def _call(self, function: Function, texts: list[str]) -> Vectors:
        try:
            rows = function(texts)
        except MunimentError:
            raise
        except Exception as error:  # a function of somebody else's: it raises anything
            raise EmbedderUnavailable(
                f"the function of {self.name} raised {type(error).__name__}: {str(error)[:200]}",
                "Memories are found by words meanwhile.",
            ) from error
        return self._shape.take(rows, len(texts))
