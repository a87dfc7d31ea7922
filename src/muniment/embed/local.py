"""An embedding model on this machine, from a folder or from a package that carries it. Loaded when it is first used."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muniment.base.errors import EmbedderMismatch, EmbedderUnavailable
from muniment.embed.base import Shape, Shaped, Vectors, readable
from muniment.embed.carriers import Carrier, Pooling, find, read_file
from muniment.embed.onnx import MAX_TOKENS, MODEL, MOST_CHARS, TOKENIZER, Run, Runner, need
from muniment.embed.options import Options

CONFIG = "embedder.json"
POOLING_CONFIG = "1_Pooling/config.json"  # as sentence-transformers writes it


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be run.

    Attributes:
        onnx: The ONNX file's bytes, or its path.
        tokenizer: The bytes of `tokenizer.json`.
        pooling: How token vectors become one; of no matter where the model gives one vector a text.
    """

    onnx: bytes | Path
    tokenizer: bytes
    pooling: Pooling
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = MAX_TOKENS


def from_carrier(carrier: Carrier, search: Sequence[str] | None = None) -> Model:
    """The model that an installed package carries.

    Raises:
        EmbedderUnavailable | EmbedderMismatch: None does, or it is another one.
    """
    files = find(carrier, search)
    return Model(files.model, files.tokenizer, carrier.pooling, carrier.query_prefix)


def from_folder(folder: Path, sha256: str | None = None) -> Model:
    """The model in a folder: `model.onnx`, `tokenizer.json`, and perhaps what is to be known of it.

    `embedder.json` may have `pooling` (`mean` or `cls`), `query_prefix`, `document_prefix` and `max_tokens`.
    Without it, `1_Pooling/config.json` says how to pool; without either, the mean is taken.

    Args:
        folder: Its path.
        sha256: Of `model.onnx`, in hex; None takes any.

    Raises:
        EmbedderUnavailable: A file is missing or can't be read.
        EmbedderMismatch: The model is another one, or what is said of it has no meaning.
    """
    tokenizer, onnx = read_file(folder / TOKENIZER), pinned(folder, sha256)
    said = _config(folder)
    pooling, tokens = said.get("pooling", "mean"), said.get("max_tokens", MAX_TOKENS)
    prefixes = said.get("query_prefix", ""), said.get("document_prefix", "")
    sound = pooling in {"mean", "cls"} and all(isinstance(prefix, str) for prefix in prefixes)
    if not sound or type(tokens) is not int or not 2 < tokens <= MAX_TOKENS:
        raise EmbedderMismatch(
            f"{folder / CONFIG} says something without meaning",
            f"pooling is mean or cls, prefixes are text, max_tokens is 3 to {MAX_TOKENS}.",
        )
    return Model(onnx, tokenizer, pooling, *prefixes, tokens)


def pinned(folder: Path, sha256: str | None) -> bytes | Path:
    """The `model.onnx` of a folder: its path, or, where a hash is set, the bytes that have it.

    Raises:
        EmbedderUnavailable: It is missing or can't be read.
        EmbedderMismatch: It is another one.
    """
    path = folder / MODEL
    if sha256 is None:
        if not path.is_file():
            raise EmbedderUnavailable(f"there is no {path}", "Name the `folder` that holds it.")
        return path
    onnx = read_file(path)  # what was hashed is what is run
    if hashlib.sha256(onnx).hexdigest() != sha256:
        raise EmbedderMismatch(
            f"{path} is not the model whose sha-256 is set", "Get it again, or correct `sha256`."
        )
    return onnx


def _config(folder: Path) -> dict[str, Any]:
    ours, theirs = folder / CONFIG, folder / POOLING_CONFIG
    if ours.is_file():
        return _object(ours)
    if theirs.is_file():
        said = _object(theirs)
        return {"pooling": "cls" if said.get("pooling_mode_cls_token") else "mean"}
    return {}


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_file(path))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise EmbedderMismatch(f"{path} is no JSON object", "Correct it, or take it away.")
    return value


class LocalEmbedder(Shaped):
    """An embedder by an ONNX model on this machine.

    Args:
        options: With backend `local`: model, folder or carrier, threads, batch.
        carrier: The carrier of `options.model`, where no folder is named.
        search: Folders to look for carriers in; those of this interpreter if not given.

    Raises:
        MissingExtra: `onnxruntime` or `tokenizers` is not installed.
    """

    def __init__(
        self, options: Options, carrier: Carrier | None = None, *, search: Sequence[str] | None = None
    ) -> None:
        need("an embedder on this machine")
        self._options, self._carrier, self._search = options, carrier, search
        self._shape = Shape(options.name, options.dimensions or (carrier.dimension if carrier else None))
        self._lock = threading.Lock()
        self._runner: _Pooled | None = None

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts: shape (n, dimension), float32, unit length; what is over 512 tokens is cut.

        Raises:
            EmbedderUnavailable: The model is not here, or fails.
            EmbedderMismatch: It is another one, can't be read, or gives no usable vectors.
        """
        runner = self._open()
        return self._run(runner, texts, self._options.document_prefix, runner.model.document_prefix)

    def query(self, text: str) -> Vectors:
        """Vector of a question: shape (dimension,), float32, unit length.

        Raises:
            EmbedderError: As for `documents`.
        """
        runner = self._open()
        rows = self._run(runner, [text], self._options.query_prefix, runner.model.query_prefix)
        found: Vectors = rows[0]
        return found

    def close(self) -> None:
        """Let go of the model; it is loaded again if it is used again."""
        with self._lock:
            self._runner = None

    def _run(self, runner: _Pooled, texts: Sequence[str], chosen: str | None, own: str) -> Vectors:
        most = min(self._options.max_chars, MOST_CHARS)
        clean = readable(texts, most, own if chosen is None else chosen)
        return self._shape.take(runner.run(clean), len(texts))

    def _open(self) -> _Pooled:
        with self._lock:
            if self._runner is None:
                if self._carrier is not None:
                    model = from_carrier(self._carrier, self._search)
                else:
                    model = from_folder(Path(self._options.folder or ""), self._options.sha256)
                self._runner = _Pooled(model, self._options)
            return self._runner


class _Pooled:
    """A loaded model whose token vectors become one a text."""

    def __init__(self, model: Model, options: Options) -> None:
        self.model = model
        self._pooling = options.pooling or model.pooling
        self._runner = Runner(
            options.name,
            model.onnx,
            model.tokenizer,
            max_tokens=model.max_tokens,
            threads=options.threads,
            most=options.batch,
            hint="A model for embeddings takes input_ids, attention_mask and perhaps token_type_ids.",
        )

    def run(self, texts: list[str]) -> list[NDArray[np.float64]]:
        """A row of numbers for each text, in their order."""
        rows: list[Any] = [None] * len(texts)
        for run in self._runner.runs(texts):
            for place, row in zip(run.places, self._pool(run), strict=True):
                rows[place] = row
        return rows

    def _pool(self, run: Run) -> NDArray[np.float64]:
        """Shape (n, dimension)."""
        states, mask = run.found, run.mask
        if states.ndim == 3 and states.shape[:2] == mask.shape:
            if self._pooling == "cls":
                return np.asarray(states[:, 0])
            return np.asarray((states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None])
        return states  # one vector a text, or else refused by its shape
