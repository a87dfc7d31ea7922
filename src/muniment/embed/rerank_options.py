"""The `rerank:` block of the settings: its names, defaults and rules. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.embed.options import NAME_CHARS, Rules, check_block, is_sha256, number_of, text_of

MOST = 200  # records that are looked at again at most


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """What the `rerank:` block may say.

    Attributes:
        folder: Of the model: `model.onnx` and `tokenizer.json`; empty where a reranker is given by the program.
        model: What to call it.
        sha256: Of `model.onnx`: any other file is refused.
        top: How many of the best records it looks at.
        timeout: Seconds for one question, after which the order stays as it was.
        max_chars: What is longer is cut, in characters.
        max_tokens: Tokens of question and record together at most.
        batch: Most pairs in one run of the model.
        threads: That it takes.
        always: Whether each recall is reranked that does not say otherwise.
    """

    folder: str = ""
    model: str = "reranker"
    sha256: str | None = None
    top: int = 50
    timeout: float = 2.0
    max_chars: int = 2000
    max_tokens: int = 256
    batch: int = 16
    threads: int = 2
    always: bool = True


_RULES: Rules = {
    "backend": (lambda value: value == "local", "local"),
    "folder": (text_of(4096), "the path of a folder"),
    "model": (text_of(NAME_CHARS), "a name for the model"),
    "sha256": (is_sha256, "64 hex digits in small letters"),
    "top": (number_of(2, MOST, whole=True), f"a whole number, 2 to {MOST}"),
    "timeout": (number_of(0.01, 3600, whole=False), "seconds, 0.01 to 3600"),
    "max_chars": (number_of(1, 100_000, whole=True), "a whole number, 1 to 100000"),
    "max_tokens": (number_of(8, 512, whole=True), "a whole number, 8 to 512"),
    "batch": (number_of(1, 256, whole=True), "a whole number, 1 to 256"),
    "threads": (number_of(1, 64, whole=True), "a whole number, 1 to 64"),
    "always": (lambda value: isinstance(value, bool), "true or false"),
}


def rerank_options(values: Any) -> RerankOptions:
    """The options that a mapping holds.

    Raises:
        InvalidInput: It is no mapping, a name is unknown, or a value has no meaning; the message names it.
    """
    check_block("rerank", values, _RULES, _unknown)
    for name in ("backend", "folder"):
        if name not in values:
            raise InvalidInput(f"rerank.{name} is missing", f"It takes {_RULES[name][1]}.")
    return RerankOptions(**{name: value for name, value in values.items() if name != "backend"})


def _unknown(name: str) -> InvalidInput:
    return InvalidInput(f"unknown setting rerank.{name[:40]}", f"There are {', '.join(_RULES)}.")
