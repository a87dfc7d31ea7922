"""The `embedding:` block of the settings: its names, defaults and rules. Imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal
from urllib.parse import urlsplit

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS

Backend = Literal["openai", "ollama", "local", "fastembed"]
BACKENDS = ("openai", "ollama", "local", "fastembed")
REMOTE = ("openai", "ollama")
DEFAULT_BASE = {"openai": "https://api.openai.com/v1", "ollama": "http://127.0.0.1:11434"}
DEFAULT_MODEL = {"local": "bge-small-en-v1.5", "fastembed": "BAAI/bge-small-en-v1.5"}
NAME_CHARS = 256  # of `<provider>/<model>`, as the format has it
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
_SECRETIVE = re.compile(r"key|token|secret|passw|auth|credential|bearer", re.IGNORECASE)
_ADDRESS = re.compile(r"[!-\[\]-~]+")  # printable ASCII but for the backslash, which parsers read in two ways
_PLACE = re.compile(r"([\w-]{1,63}(\.[\w-]{1,63})*|\[[0-9a-f:.]+\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")


@dataclass(frozen=True, slots=True)
class Options:
    """What the `embedding:` block may say; None: as the backend has it.

    Attributes:
        backend: `openai` (any server that speaks `/v1/embeddings`), `ollama`, `local` (an ONNX model on this
            machine) or `fastembed` (downloads its model when it is first used).
        provider: What the vectors and the API key stand under; the backend's name without it.
        model: As the server calls it; for `local` an installed carrier's model, or a name for `folder`.
        api_base: Address of the server, up to `/v1` for `openai`.
        dimensions: Numbers in a vector. A server is asked for so many; an answer with others is an error.
        timeout: For one call, with all its attempts, in seconds; `query_timeout` for that of a question.
        attempts: How often one call is tried.
        batch: Most texts in one call, or in one run of the model.
        max_chars: What is longer is cut before it is embedded, in characters.
        encoding: `float` or `base64`: how an `openai` server is asked to write vectors.
        query_prefix: Put before a question; `document_prefix` before a text.
        threads: Of a model on this machine.
        folder: Of a model on this machine: `model.onnx` and `tokenizer.json`.
        sha256: Of `model.onnx`: any other file is refused.
        pooling: `mean` or `cls`: how token vectors become one.
        plain_http: Whether an API key may go over http to another machine.
    """

    backend: Backend
    provider: str
    model: str
    api_base: str | None = None
    dimensions: int | None = None
    timeout: float = 30.0
    query_timeout: float = 10.0
    attempts: int = 4
    batch: int = 64
    max_chars: int = 8000
    encoding: Literal["float", "base64"] = "float"
    query_prefix: str | None = None
    document_prefix: str | None = None
    threads: int = 2
    folder: str | None = None
    sha256: str | None = None
    pooling: Literal["mean", "cls"] | None = None
    plain_http: bool = False

    @property
    def name(self) -> str:
        """`<provider>/<model>`."""
        return f"{self.provider}/{self.model}"


NAMES = tuple(field.name for field in fields(Options))


def text_of(most: int) -> Callable[[Any], bool]:
    """Whether a value is printable text of 1 to so many characters."""
    return lambda value: isinstance(value, str) and 0 < len(value) <= most and value.isprintable()


def _prefix(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 1000


def number_of(least: float, most: float, *, whole: bool) -> Callable[[Any], bool]:
    """Whether a value is a number between two, both inclusive."""
    kinds = (int,) if whole else (int, float)
    return lambda value: isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most


def is_sha256(value: Any) -> bool:
    """Whether a value is a hash as the settings write it."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _one_of(*choices: str) -> Callable[[Any], bool]:
    return lambda value: value in choices


Rules = Mapping[str, tuple[Callable[[Any], bool], str]]  # what each name takes, as a test and in words

_RULES: Rules = {
    "backend": (_one_of(*BACKENDS), f"one of {', '.join(BACKENDS)}"),
    "provider": (
        lambda value: isinstance(value, str) and _PROVIDER.fullmatch(value) is not None,
        "a short name of a-z, 0-9, dot, dash and underscore",
    ),
    "model": (text_of(NAME_CHARS), "the name of a model"),
    "api_base": (text_of(2000), "an address that begins with http:// or https://"),
    "dimensions": (
        number_of(1, LIMITS.vector_dimension, whole=True),
        f"a whole number, 1 to {LIMITS.vector_dimension}",
    ),
    "timeout": (number_of(0.01, 3600, whole=False), "seconds, 0.01 to 3600"),
    "query_timeout": (number_of(0.01, 3600, whole=False), "seconds, 0.01 to 3600"),
    "attempts": (number_of(1, 20, whole=True), "a whole number, 1 to 20"),
    "batch": (number_of(1, 2048, whole=True), "a whole number, 1 to 2048"),
    "max_chars": (number_of(1, LIMITS.text_chars, whole=True), f"a whole number, 1 to {LIMITS.text_chars}"),
    "encoding": (_one_of("float", "base64"), "float or base64"),
    "query_prefix": (_prefix, "text of at most 1000 characters"),
    "document_prefix": (_prefix, "text of at most 1000 characters"),
    "threads": (number_of(1, 64, whole=True), "a whole number, 1 to 64"),
    "folder": (text_of(4096), "the path of a folder"),
    "sha256": (is_sha256, "64 hex digits in small letters"),
    "pooling": (_one_of("mean", "cls"), "mean or cls"),
    "plain_http": (lambda value: isinstance(value, bool), "true or false"),
}


def options(values: Any) -> Options:
    """The options that a mapping holds. No value is repeated in an error: one may be a key, misplaced.

    Raises:
        InvalidInput: It is no mapping, a name is unknown, or a value has no meaning; the message names it.
    """
    check_block("embedding", values, _RULES, _unknown)
    backend = values.get("backend")
    if backend is None:
        raise InvalidInput(
            "embedding.backend is missing", f"It is one of {', '.join(BACKENDS)}; see docs/embedders.md."
        )
    given = {"provider": backend, "model": _model(values), **values}
    if backend in REMOTE:
        given["api_base"] = checked_base(given.get("api_base") or DEFAULT_BASE[backend])
    found = Options(**given)
    if len(found.name) > NAME_CHARS:
        raise InvalidInput(f"embedding.model is too long: {found.name[:40]}…", "See docs/embedders.md.")
    return found


def check_block(block: str, values: Any, rules: Rules, unknown: Callable[[str], InvalidInput]) -> None:
    """Hold a block of the settings against what each name takes. No value is repeated: one may be a key, misplaced.

    Args:
        block: Its name.
        values: What it holds.
        rules: What each name takes.
        unknown: What to say of a name that is not among them.

    Raises:
        InvalidInput: It is no mapping, a name is unknown, or a value has no meaning; the message names it.
    """
    if not isinstance(values, Mapping):
        raise InvalidInput(f"{block} is not a block of names and values", "See docs/embedders.md.")
    for name, value in values.items():
        if name not in rules:
            raise unknown(str(name))
        test, words = rules[name]
        if not test(value):
            raise InvalidInput(f"{block}.{name} has a value that it can't have", f"It takes {words}.")


def _unknown(name: str) -> InvalidInput:
    if _SECRETIVE.search(name):
        return InvalidInput(
            f"embedding.{name[:40]}: keys are not kept in a settings file",
            "Take it out, and keep it sealed: muniment credential set PROVIDER",
        )
    return InvalidInput(f"unknown setting embedding.{name[:40]}", f"There are {', '.join(NAMES)}.")


def _model(values: Mapping[str, Any]) -> str:
    backend = values["backend"]
    if "model" in values:
        return str(values["model"])
    if backend in REMOTE:
        raise InvalidInput("embedding.model is missing", "Name the model as the server does.")
    if "folder" in values:
        raise InvalidInput("embedding.model is missing", "Give the model in that folder a name.")
    return DEFAULT_MODEL[backend]


def checked_base(address: str) -> str:
    """An address of a server, without a slash at its end.

    Raises:
        InvalidInput: It is no http address, or holds a name, a password, a query or a fragment.
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or not _ADDRESS.fullmatch(address):
        raise InvalidInput(
            "embedding.api_base is no address", "It begins with http:// or https:// and has a host."
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(
            "embedding.api_base holds a name or a password",
            "Take it out, and keep the key sealed: muniment credential set PROVIDER",
        )
    if parts.query or parts.fragment:
        raise InvalidInput("embedding.api_base has a query or a fragment", "It ends with a path, as in …/v1.")
    if not _PLACE.fullmatch(parts.netloc) or len(host) > 253:
        raise InvalidInput("embedding.api_base has no host", "It is a name or a number, perhaps with a port.")
    return address.rstrip("/")


def key_may_travel(address: str, *, plain_http: bool) -> bool:
    """Whether an API key may go to that address: over TLS, on this machine, or because somebody said so."""
    parts = urlsplit(address)
    return parts.scheme == "https" or plain_http or _LOOPBACK.fullmatch(parts.hostname or "") is not None
