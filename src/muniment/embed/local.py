"""A model on this machine, run by `onnxruntime` and `tokenizers`: the only file that imports them.

It takes one or two threads and none of them spins while it waits (measured: with spinning, other work on a busy
machine takes almost twice as long). Nothing is downloaded. A model is loaded when it is first used.
"""

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

from muniment.base.errors import EmbedderMismatch, EmbedderUnavailable, MissingExtra
from muniment.embed.base import Shape, Vectors, readable
from muniment.embed.carriers import Carrier, Pooling, find, read_file
from muniment.embed.options import Options
from muniment.embed.policy import batches

MODEL, TOKENIZER, CONFIG = "model.onnx", "tokenizer.json", "embedder.json"
POOLING_CONFIG = "1_Pooling/config.json"  # as sentence-transformers writes it
MAX_TOKENS = 512
_MOST_CHARS = MAX_TOKENS * 32  # of a text; more than so many tokens hold in any writing
_RUN_TOKENS = 1024  # of one run, padding included, to hold the memory that it takes
_RUN_TEXTS = 32


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
    tokenizer = read_file(folder / TOKENIZER)
    onnx: bytes | Path = folder / MODEL
    if sha256 is not None:  # what was hashed is what is run
        onnx = read_file(folder / MODEL)
        if hashlib.sha256(onnx).hexdigest() != sha256:
            raise EmbedderMismatch(
                f"{folder / MODEL} is not the model whose sha-256 is set",
                "Get it again, or correct `sha256`.",
            )
    elif not (folder / MODEL).is_file():
        raise EmbedderUnavailable(f"there is no {folder / MODEL}", "Name the `folder` that holds it.")
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


class LocalEmbedder:
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
        _modules()
        self._options, self._carrier, self._search = options, carrier, search
        self._shape = Shape(options.name, options.dimensions or (carrier.dimension if carrier else None))
        self._lock = threading.Lock()
        self._runner: _Runner | None = None

    def __repr__(self) -> str:
        return f"LocalEmbedder({self.name!r})"

    @property
    def name(self) -> str:
        """`<provider>/<model>`."""
        return self._shape.name

    @property
    def dimension(self) -> int | None:
        """Of a carrier, as it is known; of a folder, once it was used."""
        return self._shape.dimension

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

    def _run(self, runner: _Runner, texts: Sequence[str], chosen: str | None, own: str) -> Vectors:
        most = min(self._options.max_chars, _MOST_CHARS)
        clean = readable(texts, most, own if chosen is None else chosen)
        return self._shape.take(runner.run(clean), len(texts))

    def _open(self) -> _Runner:
        with self._lock:
            if self._runner is None:
                if self._carrier is not None:
                    model = from_carrier(self._carrier, self._search)
                else:
                    model = from_folder(Path(self._options.folder or ""), self._options.sha256)
                self._runner = _Runner(model, self._options)
            return self._runner


class _Runner:
    """A loaded model."""

    def __init__(self, model: Model, options: Options) -> None:
        runtime, tokenizers = _modules()
        self.model = model
        self._name = options.name
        self._most = min(options.batch, _RUN_TEXTS)
        self._pooling = options.pooling or model.pooling
        how = runtime.SessionOptions()
        how.intra_op_num_threads, how.inter_op_num_threads = options.threads, 1
        how.add_session_config_entry("session.intra_op.allow_spinning", "0")
        how.add_session_config_entry("session.inter_op.allow_spinning", "0")
        how.enable_cpu_mem_arena = False  # what a long text took is given back
        how.log_severity_level = 4
        source = model.onnx if isinstance(model.onnx, bytes) else str(model.onnx)
        try:
            runtime.disable_telemetry_events()
            self._session = runtime.InferenceSession(source, how, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_str(model.tokenizer.decode())
            self._tokenizer.enable_truncation(model.max_tokens)
            self._tokenizer.no_padding()
        except Exception as error:  # both raise bare exceptions of their own
            raise EmbedderMismatch(
                f"{self._name} can't be loaded: {_first_line(error)}",
                "Look whether model.onnx and tokenizer.json are whole and belong together.",
            ) from error
        self._inputs = {given.name for given in self._session.get_inputs()}
        if not self._inputs <= {"input_ids", "attention_mask", "token_type_ids"}:
            raise EmbedderMismatch(
                f"{self._name} is no text model: it takes {', '.join(sorted(self._inputs))[:200]}",
                "A model for embeddings takes input_ids, attention_mask and perhaps token_type_ids.",
            )
        self._output = self._session.get_outputs()[0].name

    def run(self, texts: list[str]) -> list[NDArray[np.float64]]:
        """A row of numbers for each text, in their order."""
        tokens = [self._tokenizer.encode(text).ids or [0] for text in texts]
        order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        rows: list[Any] = [None] * len(tokens)
        # Sorted by length, so the last of a run is its longest; as a rule runs are as full as that allows.
        longest = max((len(ids) for ids in tokens), default=1)
        for run in batches([len(tokens[at]) for at in order], self._most, max(_RUN_TOKENS, longest)):
            places = [order[at] for at in run]
            for place, row in zip(places, self._pooled([tokens[at] for at in places]), strict=True):
                rows[place] = row
        return rows

    def _pooled(self, tokens: list[list[int]]) -> NDArray[np.float64]:
        """Shape (n, dimension) from n lists of token ids."""
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, line in enumerate(tokens):
            ids[row, : len(line)] = line
            mask[row, : len(line)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            (found,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        except Exception as error:  # it raises bare exceptions of its own
            raise EmbedderUnavailable(
                f"{self._name} fails: {_first_line(error)}", "Memories are found by words meanwhile."
            ) from error
        states = np.asarray(found, dtype=np.float64)
        if states.ndim == 3 and states.shape[:2] == ids.shape:
            if self._pooling == "cls":
                return np.asarray(states[:, 0])
            return np.asarray((states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None])
        return states  # one vector a text, or else refused by its shape


def _modules() -> tuple[Any, Any]:
    try:
        import onnxruntime
        import tokenizers
    except ImportError:
        found = None
    else:
        found = onnxruntime, tokenizers
    if found is None:
        raise MissingExtra("local", "an embedder on this machine")
    return found


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
