"""What a reranker is: it reads a question and a record together and says how well one answers the other.

A model that reads both at once (a cross-encoder) knows more than two vectors do, and takes as long for each record as
an embedder takes for a text; so it looks at the best records only. No package that carries one is known, so there is
none to be named: it comes from a folder, or it is a function of yours.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from muniment.base.errors import EmbedderMismatch, EmbedderUnavailable, InvalidInput, MunimentError
from muniment.embed.base import readable
from muniment.embed.carriers import read_file
from muniment.embed.rerank_options import RerankOptions

if TYPE_CHECKING:
    from muniment.embed.onnx import Runner

Scores = NDArray[np.float64]


class Reranker(Protocol):
    """Scores texts for a question. Safe from several threads."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    def scores(self, query: str, texts: Sequence[str]) -> Scores:
        """How well each text answers: shape (n,), float64, finite; more is better, on any scale.

        Raises:
            EmbedderError: As its subclasses name it; there are no scores.
            MissingExtra: The part that runs the model is not installed.
        """
        ...

    def close(self) -> None:
        """Let go of memory; harmless when done twice."""
        ...


class CallableReranker:
    """A reranker by a function from a question and texts to a number each.

    Args:
        name: What to call it in messages.
        function: Takes the question and a list of texts and gives as many numbers; more is better, on any scale. If
            several threads recall, it is called from each of them.

    Raises:
        InvalidInput: The name is empty or not printable.
    """

    def __init__(self, name: str, function: Callable[[str, list[str]], Any]) -> None:
        if not name.strip() or not name.isprintable():
            raise InvalidInput(f"not the name of a reranker: {name[:80]!r}", "Use letters and digits.")
        self._name, self._function = name, function

    def __repr__(self) -> str:
        return f"CallableReranker({self._name!r})"

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    def scores(self, query: str, texts: Sequence[str]) -> Scores:
        """What the function gives.

        Raises:
            EmbedderUnavailable: The function raised something.
            EmbedderMismatch: It gave no number for each text.
        """
        try:
            found = self._function(readable([query])[0], readable(texts))
        except MunimentError:
            raise
        except Exception as error:  # a function of somebody else's: it raises anything
            raise EmbedderUnavailable(
                f"the function of {self._name} raised {type(error).__name__}: {str(error)[:200]}",
                "The order stays as it was meanwhile.",
            ) from error
        return usable(found, len(texts), self._name)

    def close(self) -> None:
        """Nothing is held."""


class LocalReranker:
    """A cross-encoder by an ONNX model on this machine: a folder with `model.onnx` and `tokenizer.json`.

    The model takes a pair of texts and gives one number for it, or two, of which the second speaks for the record.

    Args:
        options: The `rerank:` block.

    Raises:
        MissingExtra: `onnxruntime` or `tokenizers` is not installed.
    """

    def __init__(self, options: RerankOptions, timer: Callable[[], float] = time.monotonic) -> None:
        from muniment.embed.onnx import need

        need("a reranker on this machine")
        self._options, self._timer = options, timer
        self._lock = threading.Lock()
        self._runner: Runner | None = None

    def __repr__(self) -> str:
        return f"LocalReranker({self.name!r})"

    @property
    def name(self) -> str:
        """`local/<model>`."""
        return f"local/{self._options.model}"

    def scores(self, query: str, texts: Sequence[str]) -> Scores:
        """What the model gives for each pair, cut at the tokens that the options allow.

        Raises:
            EmbedderUnavailable: The model is not here, fails, or takes longer than it may.
            EmbedderMismatch: It is another one, can't be read, or gives no number a pair.
        """
        until = self._timer() + self._options.timeout
        runner, most = self._open(), self._options.max_chars
        found = np.zeros(len(texts))
        for run in runner.runs(readable(texts, most), readable([query], most)[0]):
            found[run.places] = _logits(run.found, len(run.places), self.name)
            if self._timer() > until:  # nobody waits any more: don't go on to the end
                raise EmbedderUnavailable(
                    f"{self.name} took too long", "Raise `rerank.timeout`, or lower `top`."
                )
        return usable(found, len(texts), self.name)

    def close(self) -> None:
        """Let go of the model; it is loaded again if it is used again."""
        with self._lock:
            self._runner = None

    def _open(self) -> Runner:
        from muniment.embed.local import pinned
        from muniment.embed.onnx import TOKENIZER, Runner

        options, folder = self._options, Path(self._options.folder)
        with self._lock:
            if self._runner is None:
                self._runner = Runner(
                    self.name,
                    pinned(folder, options.sha256),
                    read_file(folder / TOKENIZER),
                    max_tokens=options.max_tokens,
                    threads=options.threads,
                    most=options.batch,
                    hint="A cross-encoder takes input_ids, attention_mask and perhaps token_type_ids.",
                )
            return self._runner


def _logits(found: NDArray[np.float64], count: int, name: str) -> Scores:
    """One number a pair, of one column or of two."""
    if found.ndim == 1 and len(found) == count:
        return found
    if found.ndim != 2 or len(found) != count or found.shape[1] not in {1, 2}:
        shape = " × ".join(map(str, found.shape))
        raise EmbedderMismatch(f"{name} gave {shape} numbers for {count} pairs", _LOOK)
    last: Scores = found[:, -1] - found[:, 0] if found.shape[1] == 2 else found[:, 0]
    return last


def usable(found: Any, count: int, name: str) -> Scores:
    """Scores as they may be used.

    Raises:
        EmbedderMismatch: Not one finite number for each text.
    """
    try:
        scores = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        scores = None
    if scores is None or scores.shape != (count,) or not np.all(np.isfinite(scores)):
        raise EmbedderMismatch(f"{name} gave no number for each of {count} texts", _LOOK)
    return scores


_LOOK = "Look whether that model scores pairs of a question and a text."
