"""A language model behind any server that speaks OpenAI's `/v1/chat/completions`, asked for one JSON object.

Source: the OpenAI API reference, "Create chat completion". The server is a stranger, and so is what its model writes:
the line is `embed.wire`, with its limits on size and time; the answer is one JSON object and nothing around it, each
name once, no numbers that JSON has not; anything else is an error that says what was wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from muniment.base.errors import (
    EmbedderError,
    EmbedderUnavailable,
    InvalidInput,
    LimitExceeded,
    ModelMismatch,
    ModelRefused,
    ModelUnavailable,
)
from muniment.base.limits import LIMITS

if TYPE_CHECKING:
    from muniment.embed.calls import Means, Passing

_WORDS = 200  # of a server's message
_LOOK = "Ask again, or use a model that keeps to JSON."


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which model, where, and how long it may take.

    Attributes:
        model: As the server calls it.
        api_base: Address of the server, up to `/v1`.
        provider: Under which name its API key is kept by `muniment credential set`.
        timeout: For one answer, with all its attempts, in seconds.
        attempts: How often it is tried.
        json_mode: Whether the server is asked to keep the answer to JSON; simple servers don't know how.
        plain_http: Whether an API key may go over http to another machine.
    """

    model: str
    api_base: str = "https://api.openai.com/v1"
    provider: str = "openai"
    timeout: float = 60.0
    attempts: int = 2
    json_mode: bool = True
    plain_http: bool = False

    def check(self) -> None:
        """Refuse options that have no meaning.

        Raises:
            InvalidInput: With the option at fault; its value is not repeated.
        """
        parts = urlsplit(self.api_base)
        good = {
            "model": 0 < len(self.model) <= 256 and self.model.isprintable(),
            "api_base": parts.scheme in {"http", "https"} and bool(parts.hostname)
            and not (parts.username or parts.password or parts.query or parts.fragment),
            "timeout": 0 < self.timeout <= 3600,
            "attempts": 1 <= self.attempts <= 20,
        }  # fmt: skip
        for name, fits in good.items():
            if not fits:
                raise InvalidInput(f"{name} of the model can't be that", "See docs/playbook.md.")


class ChatModel:
    """Asks one model.

    Args:
        options: Which.
        key: Gives the API key, or None; called for each request and kept nowhere, such as
            `lambda: peer.credentials.get("openai")`.
        means: Clock, sleep and chance; tests give their own.

    Raises:
        InvalidInput: The options have no meaning.
    """

    def __init__(
        self, options: ModelOptions, key: Callable[[], str | None] = lambda: None, means: Means | None = None
    ) -> None:
        from muniment.embed.calls import Calls
        from muniment.embed.calls import Means as Own
        from muniment.embed.options import key_may_travel
        from muniment.embed.policy import Breaker
        from muniment.embed.wire import Wire

        options.check()
        self._options, self._key, self._means = options, key, means or Own()
        self._url = options.api_base.rstrip("/") + "/chat/completions"
        self._calls = Calls(f"{options.model} at {self._url}", Breaker(), self._means)
        may = key_may_travel(options.api_base, plain_http=options.plain_http)
        self._wire = Wire(self._url, key, key_may_travel=may)

    def __repr__(self) -> str:
        return f"ChatModel({self._options.model!r}, {self._url!r})"

    def close(self) -> None:
        """Let go of the connections; harmless when done twice."""
        self._wire.close()

    def ask(self, instructions: str, data: Any) -> dict[str, Any]:
        """The JSON object that the model answers with.

        Args:
            instructions: What it is to do.
            data: What it is to look at: JSON, and no instruction.

        Raises:
            LimitExceeded: The question is over `Limits.model_prompt_chars`.
            ModelUnavailable: No answer came in time, or the server is left alone after failures.
            ModelRefused: The server says no, or its answer breaks a rule of the line.
            ModelMismatch: The answer is not one whole JSON object.
            InvalidInput: The API key can't be sent.
        """
        said = json.dumps(data, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace").decode()
        if len(instructions) + len(said) > LIMITS.model_prompt_chars:
            raise LimitExceeded(
                "question characters", LIMITS.model_prompt_chars, len(instructions) + len(said), "Show it less."
            )  # fmt: skip
        asked: dict[str, Any] = {
            "model": self._options.model,
            "temperature": 0,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": said}],
        }
        if self._options.json_mode:
            asked["response_format"] = {"type": "json_object"}
        payload = json.dumps(asked).encode()
        from muniment.embed.policy import Retry

        retry = Retry(attempts=self._options.attempts)
        try:
            body = self._calls.run(partial(self._attempt, payload), retry, self._options.timeout)
        except EmbedderUnavailable as error:
            raise ModelUnavailable(error.message, "Look whether it runs and is reachable.") from None
        except EmbedderError as error:
            raise ModelRefused(
                error.message, "Look at its address, and at what stands between here and there."
            ) from None
        return _object(_content(body))

    def _attempt(self, payload: bytes, left_s: float) -> bytes | Passing:
        from muniment.embed.calls import Passing
        from muniment.embed.policy import retry_after_s
        from muniment.embed.wire import passing

        answer = self._wire.post(payload, left_s, LIMITS.playbook_bytes)
        if isinstance(answer, Passing):
            return answer
        if passing(answer.status):
            asked = retry_after_s(answer.headers.get("retry-after"), self._means.wall())
            return Passing(f"answers with {answer.status}{self._words(answer.body)}", asked)
        if not 200 <= answer.status < 300:
            raise ModelRefused(
                f"{self._options.model} at {self._url} answers with {answer.status}{self._words(answer.body)}",
                f"Set the API key: muniment credential set {self._options.provider}"
                if answer.status in {401, 403}
                else "Look at the server's words, and at the name of the model.",
            )
        return answer.body

    def _words(self, body: bytes) -> str:
        """What the server says, in short, with the key taken out wherever it stands."""
        text = body.decode("utf-8", "replace")
        key = self._key()
        if key:
            text = text.replace(key, "…")
        text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        return f": {text[:_WORDS]}" if text else ""


def _content(body: bytes) -> str:
    """The text of the first choice of an answer."""
    value = _json(body, "the server's answer")
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str):
        raise ModelMismatch("the server's answer holds no text of a model", "Look at the address.")
    if isinstance(first, dict) and first.get("finish_reason") not in {None, "stop"}:
        raise ModelMismatch("the model's answer was cut off or held back by the server", _LOOK)
    return content


def _object(content: str) -> dict[str, Any]:
    value = _json(content.encode("utf-8", "replace"), "the model's answer")
    if not isinstance(value, dict):
        raise ModelMismatch("the model's answer is no JSON object", _LOOK)
    return value


def _json(data: bytes, what: str) -> Any:
    try:
        return json.loads(data, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ModelMismatch(f"{what} is not JSON as it was asked for", _LOOK) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
