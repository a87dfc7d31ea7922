"""Models that `fastembed` fetches over the network at their first use; the only file that imports it.

Only for somebody who asked for it by name: nothing here is chosen by itself.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any

from muniment.base.errors import EmbedderUnavailable, MissingExtra
from muniment.embed.base import Shape, Shaped, Vectors, readable
from muniment.embed.carriers import BGE_SMALL
from muniment.embed.options import Options

_BGE = re.compile(r"(BAAI/)?bge-(small|base|large)-en(-v1\.5)?")


class OnlineEmbedder(Shaped):
    """An embedder by `fastembed`.

    Args:
        options: With backend `fastembed`: model as it is called there, threads, batch.

    Raises:
        MissingExtra: It is not installed.
    """

    def __init__(self, options: Options) -> None:
        _kind()
        self._options = options
        self._shape = Shape(options.name, options.dimensions)
        self._lock = threading.Lock()
        self._model: Any = None

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts: shape (n, dimension), float32, unit length.

        Raises:
            EmbedderUnavailable: The model can't be fetched, or fails.
            EmbedderMismatch: It gives no usable vectors.
        """
        return self._run("passage_embed", texts, self._options.document_prefix or "")

    def query(self, text: str) -> Vectors:
        """Vector of a question: shape (dimension,), float32, unit length.

        Raises:
            EmbedderError: As for `documents`.
        """
        prefix = self._options.query_prefix
        if prefix is None:  # which it leaves out, though these models were trained with it
            prefix = BGE_SMALL.query_prefix if _BGE.fullmatch(self._options.model) else ""
        found: Vectors = self._run("query_embed", [text], prefix)[0]
        return found

    def close(self) -> None:
        """Let go of the model; it is loaded again if it is used again."""
        with self._lock:
            self._model = None

    def _run(self, how: str, texts: Sequence[str], prefix: str) -> Vectors:
        clean = readable(texts, self._options.max_chars, prefix)
        try:
            with self._lock:
                if self._model is None:
                    self._model = _kind()(model_name=self._options.model, threads=self._options.threads)
                model = self._model
            rows = list(getattr(model, how)(clean, batch_size=min(self._options.batch, 32)))
        except Exception as error:  # the network, the disk, the model: it raises anything
            raise EmbedderUnavailable(
                f"{self.name} can't be used: {type(error).__name__}: {str(error)[:200]}",
                "It is fetched over the network at its first use; `local` needs none.",
            ) from error
        return self._shape.take(rows, len(texts))


def _kind() -> Any:
    try:
        from fastembed import TextEmbedding
    except ImportError:
        found = None
    else:
        found = TextEmbedding
    if found is None:
        raise MissingExtra("fastembed", "an embedder that fetches its model")
    return found
