"""ONNX models on this machine, run by `onnxruntime` and `tokenizers`: the only file that imports them.

A run takes one or two threads and none of them spins while it waits (measured: with spinning, other work on a busy
machine takes almost twice as long). Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muniment.base.errors import EmbedderMismatch, EmbedderUnavailable, MissingExtra
from muniment.embed.policy import batches

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
MAX_TOKENS = 512
MOST_CHARS = MAX_TOKENS * 32  # of a text; more than so many tokens hold in any writing
_RUN_TOKENS = 1024  # of one run, padding included, to hold the memory that it takes
_RUN_TEXTS = 32
_TAKEN = {"input_ids", "attention_mask", "token_type_ids"}


class Run(NamedTuple):
    """What a model gave for some of the texts.

    Attributes:
        places: Which texts, by their place in the sequence.
        found: What it gave, a row for each; float64.
        mask: Shape (n, tokens): 1 where a token stands, 0 where the row was filled up.
    """

    places: list[int]
    found: NDArray[np.float64]
    mask: NDArray[np.int64]


def need(what_for: str) -> tuple[Any, Any]:
    """`onnxruntime` and `tokenizers`.

    Raises:
        MissingExtra: One of them is not installed.
    """
    try:
        import onnxruntime
        import tokenizers
    except ImportError:
        found = None
    else:
        found = onnxruntime, tokenizers
    if found is None:
        raise MissingExtra("local", what_for)
    return found


class Runner:
    """A loaded model and its tokenizer.

    Args:
        name: What to call it in messages.
        onnx: The ONNX file's bytes, or its path.
        tokenizer: The bytes of `tokenizer.json`.
        max_tokens: Texts are cut there; of a pair its longer text first.
        threads: That one run takes.
        most: Texts of one run at most.
        hint: What to say of a model that takes other things than tokens.

    Raises:
        EmbedderMismatch: It can't be loaded, or takes something else than tokens.
        MissingExtra: `onnxruntime` or `tokenizers` is not installed.
    """

    def __init__(
        self, name: str, onnx: bytes | Path, tokenizer: bytes, *,
        max_tokens: int, threads: int, most: int, hint: str,
    ) -> None:  # fmt: skip
        runtime, tokenizers = need("a model on this machine")
        self._name, self._most = name, min(most, _RUN_TEXTS)
        how = runtime.SessionOptions()
        how.intra_op_num_threads, how.inter_op_num_threads = threads, 1
        how.add_session_config_entry("session.intra_op.allow_spinning", "0")
        how.add_session_config_entry("session.inter_op.allow_spinning", "0")
        how.enable_cpu_mem_arena = False  # what a long text took is given back
        how.log_severity_level = 4
        source = onnx if isinstance(onnx, bytes) else str(onnx)
        try:
            runtime.disable_telemetry_events()
            self._session = runtime.InferenceSession(source, how, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer.decode())
            self._tokenizer.enable_truncation(max_tokens)
            self._tokenizer.no_padding()
        except Exception as error:  # both raise bare exceptions of their own
            raise EmbedderMismatch(
                f"{name} can't be loaded: {_first_line(error)}",
                "Look whether model.onnx and tokenizer.json are whole and belong together.",
            ) from error
        self._inputs = {given.name for given in self._session.get_inputs()}
        if not self._inputs <= _TAKEN:
            raise EmbedderMismatch(
                f"{name} is no text model: it takes {', '.join(sorted(self._inputs))[:200]}", hint
            )
        self._output = self._session.get_outputs()[0].name

    def runs(self, texts: Sequence[str], query: str | None = None) -> Iterator[Run]:
        """Texts, or pairs of a question and each text, run by run, those of like length together.

        Args:
            texts: As `muniment.embed.base.readable` gives them.
            query: The first of each pair; None for texts alone.

        Raises:
            EmbedderUnavailable: The model fails.
        """
        coded = [self._encode(text, query) for text in texts]
        order = sorted(range(len(coded)), key=lambda at: len(coded[at][0]))
        # Sorted by length, so the last of a run is its longest; as a rule runs are as full as that allows.
        longest = max((len(ids) for ids, _ in coded), default=1)
        for run in batches([len(coded[at][0]) for at in order], self._most, max(_RUN_TOKENS, longest)):
            places = [order[at] for at in run]
            yield self._run(places, [coded[at] for at in places])

    def _encode(self, text: str, query: str | None) -> tuple[list[int], list[int]]:
        """Token ids, and which of the two texts each belongs to."""
        found = self._tokenizer.encode(text) if query is None else self._tokenizer.encode(query, text)
        return (found.ids, found.type_ids) if found.ids else ([0], [0])

    def _run(self, places: list[int], coded: list[tuple[list[int], list[int]]]) -> Run:
        ids = np.zeros((len(coded), max(len(line) for line, _ in coded)), np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, (line, kinds) in enumerate(coded):
            ids[row, : len(line)] = line
            types[row, : len(line)] = kinds
            mask[row, : len(line)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        try:
            (found,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        except Exception as error:  # it raises bare exceptions of its own
            raise EmbedderUnavailable(
                f"{self._name} fails: {_first_line(error)}", "Memories are found without it meanwhile."
            ) from error
        return Run(places, np.asarray(found, dtype=np.float64), mask)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
