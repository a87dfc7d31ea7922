"""Embeddings by a server: any that speaks OpenAI's `/v1/embeddings`, and Ollama's own `/api/embed`.

Sources: the OpenAI API reference, "Create embeddings"; the Ollama API, "Generate embeddings". What goes over the
line is in `wire`; here is what is asked and how the answer is read.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import orjson

from muniment.base.errors import EmbedderMismatch, EmbedderRefused
from muniment.base.limits import LIMITS
from muniment.embed.base import Shape, Shaped, Vectors, readable
from muniment.embed.calls import Calls, Means, Passing
from muniment.embed.options import Options, key_may_travel
from muniment.embed.policy import Breaker, Retry, batches, retry_after_s
from muniment.embed.wire import Answer, Key, Wire, passing

_WORDS = 200  # of a server's message
_BATCH_CHARS = 200_000  # in one call
_NUMBER_BYTES = 32  # the longest that a number is written, with its comma
_QUERY_ATTEMPTS = 2  # somebody waits


class Dialect(NamedTuple):
    """How one kind of server is asked.

    Attributes:
        path: Behind the address of the server.
        ask: The JSON object to send, from the texts and the options.
        read: The rows of numbers in the answer, in the order of the texts, from its JSON and their number.
    """

    path: str
    ask: Callable[[Sequence[str], Options], dict[str, Any]]
    read: Callable[[Any, int], list[Any]]


def _ask_openai(texts: Sequence[str], options: Options) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": options.model, "input": list(texts)}
    if options.encoding != "float":  # the default of the API, which simpler servers don't know by name
        asked["encoding_format"] = options.encoding
    if options.dimensions is not None:
        asked["dimensions"] = options.dimensions
    return asked


def _read_openai(answer: Any, count: int) -> list[Any]:
    """Each item says by `index` which text it belongs to; where none does, they stand in order."""
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise EmbedderMismatch("no list of embeddings in the answer", _LOOK)
    if len(items) != count:
        raise EmbedderMismatch(f"{len(items)} embeddings for {count} texts", _LOOK)
    places = [item.get("index") for item in items]
    if any(place is not None for place in places):
        if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
            raise EmbedderMismatch("embeddings whose `index` is not that of the texts", _LOOK)
        items = sorted(items, key=lambda item: int(item["index"]))
    return [_numbers(item.get("embedding")) for item in items]


def _numbers(value: Any) -> Any:
    """One embedding: a list of numbers, or base64 of little-endian float32."""
    if not isinstance(value, str):
        return value
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        data = b"?"
    if not data or len(data) % 4:
        raise EmbedderMismatch("an embedding that is no base64 of float32 numbers", _LOOK)
    return np.frombuffer(data, "<f4")


def _ask_ollama(texts: Sequence[str], options: Options) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": options.model, "input": list(texts), "truncate": True}
    if options.dimensions is not None:
        asked["dimensions"] = options.dimensions
    return asked


def _read_ollama(answer: Any, count: int) -> list[Any]:
    rows = answer.get("embeddings") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        raise EmbedderMismatch(f"not {count} embeddings in the answer", _LOOK)
    return rows


_LOOK = "Look whether that model makes embeddings, and whether the address is right."
DIALECTS = {
    "openai": Dialect("/embeddings", _ask_openai, _read_openai),
    "ollama": Dialect("/api/embed", _ask_ollama, _read_ollama),
}


class ServerEmbedder(Shaped):
    """An embedder by a server.

    Args:
        options: With backend `openai` or `ollama`.
        key: Gives the API key, or None; called for each request and kept nowhere.
        breaker: When to leave the server alone.
        means: Clock, sleep and chance.
    """

    def __init__(
        self, options: Options, key: Key, *, breaker: Breaker | None = None, means: Means | None = None
    ) -> None:
        self._options, self._key, self._means = options, key, means or Means()
        self._dialect = DIALECTS[options.backend]
        base = options.api_base or ""
        self._url = base + self._dialect.path
        self._shape = Shape(options.name, options.dimensions)
        self._calls = Calls(f"{options.name} at {self._url}", breaker or Breaker(), self._means)
        self._wire = Wire(self._url, key, key_may_travel=key_may_travel(base, plain_http=options.plain_http))

    def __repr__(self) -> str:
        return f"ServerEmbedder({self.name!r}, {self._url!r})"

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts: shape (n, dimension), float32, unit length; in as many calls as it takes.

        Raises:
            EmbedderUnavailable: No answer came in time, or the server is left alone after failures.
            EmbedderRefused: The server says no.
            EmbedderMismatch: The answer is no vectors, or others than were asked for.
            InvalidInput: The API key can't be sent.
        """
        options = self._options
        clean = readable(texts, options.max_chars, options.document_prefix or "")
        runs = batches([len(text) for text in clean], options.batch, _BATCH_CHARS)
        retry = Retry(attempts=options.attempts)
        found = [self._call(clean[run.start : run.stop], retry, options.timeout) for run in runs]
        return np.concatenate(found) if found else self._shape.take([], 0)

    def query(self, text: str) -> Vectors:
        """Vector of a question: shape (dimension,), float32, unit length; one call.

        Raises:
            EmbedderError | InvalidInput: As for `documents`.
        """
        options = self._options
        clean = readable([text], options.max_chars, options.query_prefix or "")
        retry = Retry(attempts=min(_QUERY_ATTEMPTS, options.attempts))
        found: Vectors = self._call(clean, retry, min(options.timeout, options.query_timeout))[0]
        return found

    def close(self) -> None:
        """Let go of the connections; harmless when done twice."""
        self._wire.close()

    def _call(self, texts: list[str], retry: Retry, timeout_s: float) -> Vectors:
        payload = orjson.dumps(self._dialect.ask(texts, self._options))
        numbers = len(texts) * (self.dimension or LIMITS.vector_dimension)
        most = min(LIMITS.embedder_answer_bytes, numbers * _NUMBER_BYTES + 65_536)
        return self._calls.run(partial(self._attempt, payload, most, len(texts)), retry, timeout_s)

    def _attempt(self, payload: bytes, most: int, count: int, left_s: float) -> Vectors | Passing:
        answer = self._wire.post(payload, left_s, most)
        if isinstance(answer, Passing):
            return answer
        if passing(answer.status):
            asked = retry_after_s(answer.headers.get("retry-after"), self._means.wall())
            return Passing(f"answers with {answer.status}{self._words(answer)}", asked)
        if not 200 <= answer.status < 300:
            raise EmbedderRefused(
                f"{self._shape.name} at {self._url} answers with {answer.status}{self._words(answer)}",
                _steps(answer.status, self._options.provider),
            )
        return self._vectors(answer.body, count)

    def _vectors(self, body: bytes, count: int) -> Vectors:
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:
            value = None
        try:
            rows = self._dialect.read(value, count)
        except EmbedderMismatch as error:
            fault = error
        else:
            return self._shape.take(rows, count)
        raise EmbedderMismatch(f"{self._shape.name} gave {fault.message}", fault.next_step)

    def _words(self, answer: Answer) -> str:
        """What the server says, in short, with the key taken out wherever it stands."""
        words = _message(answer.body)
        key = self._key()
        if key:
            words = words.replace(key, "…")
        words = " ".join("".join(char if char.isprintable() else " " for char in words).split())
        if not words:
            return ""
        return f": {words if len(words) <= _WORDS else words[: _WORDS - 1] + '…'}"


def _message(body: bytes) -> str:
    """The message of an error as OpenAI, Ollama and others write it; else the text itself."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace")
    for _ in range(3):
        if isinstance(value, dict):
            value = next((value[name] for name in ("error", "message", "detail") if name in value), "")
    return value if isinstance(value, str) else ""


def _steps(status: int, provider: str) -> str:
    if status in {401, 403}:
        return f"Set the API key: muniment credential set {provider}"
    if status == 404:
        return "Look at `api_base` and `model` in the settings."
    return "Look at the server's words, and at `embedding:` in the settings."
