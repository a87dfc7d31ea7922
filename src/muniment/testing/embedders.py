"""Embedders for tests: vectors that mean nothing and never change, late ones, failing ones, and a count."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from muniment.base.errors import EmbedderError, EmbedderUnavailable
from muniment.embed.base import Embedder, Shape, Shaped, Vectors


class RandomEmbedder:
    """Deterministic random directions by the hash of the text: equal texts agree, all others are unrelated.

    Args:
        dimension: Numbers in a vector.
        seed: Another one makes another model.
    """

    def __init__(self, dimension: int = 384, seed: int = 0) -> None:
        self._shape = Shape(f"random/{dimension}-{seed}", dimension)
        self._seed = seed

    @property
    def name(self) -> str:
        """`random/<dimension>-<seed>`."""
        return self._shape.name

    @property
    def dimension(self) -> int:
        """As given."""
        return self._shape.dimension or 0

    def documents(self, texts: Sequence[str]) -> Vectors:
        """One direction a text: shape (n, dimension)."""
        return self._shape.take([self._direction(text) for text in texts], len(texts))

    def query(self, text: str) -> Vectors:
        """The same direction that the text has as a document."""
        found: Vectors = self.documents([text])[0]
        return found

    def close(self) -> None:
        """Nothing is held."""

    def _direction(self, text: str) -> Vectors:
        digest = hashlib.sha256(f"{self._seed}\0".encode() + text.encode("utf-8", "surrogatepass")).digest()
        drawn = np.random.Generator(np.random.PCG64(int.from_bytes(digest)))
        return drawn.standard_normal(self.dimension, dtype=np.float32)


class StaticEmbedder(Shaped):
    """Vectors as a table has them; a text that is not in it is an error.

    Args:
        table: Text -> numbers, all of one dimension.
        name: `<provider>/<model>`.
    """

    def __init__(self, table: Mapping[str, Sequence[float]], name: str = "static/table") -> None:
        self._table, self._shape = dict(table), Shape(name)

    def documents(self, texts: Sequence[str]) -> Vectors:
        """The rows of the table, made unit length: shape (n, dimension)."""
        missing = [text for text in texts if text not in self._table]
        if missing:
            raise EmbedderUnavailable(f"not in the table: {missing[0][:80]!r}")
        return self._shape.take([self._table[text] for text in texts], len(texts))

    def query(self, text: str) -> Vectors:
        """The row of a text."""
        found: Vectors = self.documents([text])[0]
        return found

    def close(self) -> None:
        """Nothing is held."""


class _Wrapper:
    """Another embedder, with something done before each call."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        """That of the inner one."""
        return self.inner.name

    @property
    def dimension(self) -> int | None:
        """That of the inner one."""
        return self.inner.dimension

    def documents(self, texts: Sequence[str]) -> Vectors:
        """As the inner one, if the call gets through."""
        self._before(list(texts))
        return self.inner.documents(texts)

    def query(self, text: str) -> Vectors:
        """As the inner one, if the call gets through."""
        self._before([text])
        return self.inner.query(text)

    def close(self) -> None:
        """Close the inner one."""
        self.inner.close()

    def _before(self, texts: list[str]) -> None:
        raise NotImplementedError


class SlowEmbedder(_Wrapper):
    """Takes its time before each call.

    Args:
        inner: Who answers in the end.
        seconds: How long.
        sleep: Waits; `time.sleep` if not given.
    """

    def __init__(self, inner: Embedder, seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        super().__init__(inner)
        self.seconds, self._sleep = seconds, sleep

    def _before(self, texts: list[str]) -> None:  # noqa: ARG002
        self._sleep(self.seconds)


class FailingEmbedder(_Wrapper):
    """Fails so many times, or for ever, and answers then.

    Args:
        inner: Who answers in the end.
        times: How often it fails first; None: always.
        error: What it raises.
    """

    def __init__(
        self, inner: Embedder, times: int | None = None, error: Callable[[], EmbedderError] | None = None
    ) -> None:
        super().__init__(inner)
        self.left = times
        self._error = error or (lambda: EmbedderUnavailable("no embedder answers", "This one never does."))

    def _before(self, texts: list[str]) -> None:  # noqa: ARG002
        if self.left is None:
            raise self._error()
        if self.left > 0:
            self.left -= 1
            raise self._error()


class CountingEmbedder(_Wrapper):
    """Counts what it is asked.

    Attributes:
        calls: How often it was called; `texts` every text in order.
    """

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self.calls = 0
        self.texts: list[str] = []

    def _before(self, texts: list[str]) -> None:
        self.calls += 1
        self.texts += texts
