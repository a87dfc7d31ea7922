"""What a tool is: its name and arguments as a model sees them, and what is made of what the model gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from muniment.base.limits import LIMITS

Kind = Literal["text", "integer", "flag", "list", "object", "json"]
Shape = Literal["openai", "anthropic"]
Schema = dict[str, Any]

_JSON_TYPES = {
    "text": "string",
    "integer": "integer",
    "flag": "boolean",
    "object": "object",
    "json": "string",
}
_SAID = {
    "text": "a text",
    "integer": "a whole number",
    "flag": "true or false",
    "list": "a list of texts",
    "object": "an object",
    "json": "a text that holds a JSON object",
}
_MISSING = object()


class WrongCall(Exception):
    """A call that can't be made; the message is a sentence that the model can act on."""


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument.

    Attributes:
        kind: `json` is a text that holds a JSON object, as one ancestor asks for it; an object is taken too.
        told: Whether the schema says that it is required, where that is not what the call needs.
    """

    name: str
    kind: Kind
    help: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    told: bool = False

    def schema(self) -> Schema:
        """The argument as JSON Schema."""
        if self.kind == "list":
            found: Schema = {"type": "array", "items": {"type": "string"}}
        else:
            found = {"type": _JSON_TYPES[self.kind]}
        if self.help:
            found["description"] = self.help
        for name, value in (("minimum", self.minimum), ("maximum", self.maximum), ("default", self.default)):
            if value is not None:
                found[name] = value
        return found | ({"enum": list(self.choices)} if self.choices else {})

    def take(self, value: Any) -> Any:
        """The value that was given, as the tool needs it.

        Raises:
            WrongCall: It is of another type, or out of bounds.
        """
        if value is None:
            return self.default
        if self.kind == "json":
            return self._object(value)
        if not self._fits(value):
            raise self._wrong(value)
        if self.choices and value not in self.choices:
            raise WrongCall(f"`{self.name}` is {_shown(value)}; use one of {', '.join(self.choices)}.")
        if self.kind == "integer":
            self._bound(value)
        return value

    def _fits(self, value: Any) -> bool:
        if self.kind == "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        if self.kind == "list":
            return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        return isinstance(value, {"text": str, "flag": bool}.get(self.kind, Mapping))

    def _bound(self, value: int) -> None:
        low, high = self.minimum, self.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            bounds = f"from {low} to {high}" if high is not None else f"of at least {low}"
            raise WrongCall(f"`{self.name}` is {value}; use a whole number {bounds}.")

    def _object(self, value: Any) -> Any:
        if isinstance(value, str):
            if not value.strip():
                return self.default
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise self._wrong(value) from None
        if value is not None and not isinstance(value, Mapping):
            raise self._wrong(value)
        return self.default if value is None else value

    def _wrong(self, value: Any) -> WrongCall:
        return WrongCall(f"`{self.name}` is {_shown(value)}; use {_SAID[self.kind]}.")


@dataclass(frozen=True, slots=True)
class Done:
    """What an operation did: the views that came of it, by name, and a note where less was done than asked."""

    view: Any
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of one profile.

    Attributes:
        name: As the model calls it.
        operation: What it does, by the name of our own profile.
        description: For the model.
        args: In order.
        prepare: From checked arguments to those of the operation.
        data: The answer as JSON; `text` the answer as words, from the operation's result and the arguments.
        output: JSON Schema of the data.
        by_words: What the description adds where no embedder is configured; `by_meaning` where one is.
        strict: Marked so, and closed to arguments that it does not list.
    """

    name: str
    operation: str
    description: str
    args: tuple[Arg, ...]
    prepare: Callable[[dict[str, Any]], dict[str, Any]]
    data: Callable[[Done, dict[str, Any]], dict[str, Any]]
    text: Callable[[Done, dict[str, Any]], str]
    output: Schema
    by_words: str = ""
    by_meaning: str = ""
    strict: bool = False

    def said(self, *, meaning: bool) -> str:
        """The description, for a memory with vectors or without."""
        extra = self.by_meaning if meaning else self.by_words
        return f"{self.description} {extra}" if extra else self.description

    def input(self) -> Schema:
        """JSON Schema of the arguments."""
        found: Schema = {"type": "object", "properties": {arg.name: arg.schema() for arg in self.args}}
        if needed := [arg.name for arg in self.args if arg.required or arg.told]:
            found["required"] = needed
        return found | ({"additionalProperties": False} if self.strict else {})

    def definition(self, shape: Shape, *, meaning: bool = False) -> dict[str, Any]:
        """The tool as a provider's API takes it."""
        about = self.said(meaning=meaning)
        if shape == "anthropic":
            return {"name": self.name, "description": about, "input_schema": self.input()}
        function: dict[str, Any] = {"name": self.name, "description": about, "parameters": self.input()}
        return {"type": "function", "function": function | ({"strict": True} if self.strict else {})}

    def checked(self, given: Any) -> dict[str, Any]:
        """All arguments by name, from an object or from its JSON text.

        Raises:
            WrongCall: They are not what the schema says.
        """
        values = _mapping(self.name, given)
        known = {arg.name: arg for arg in self.args}
        for name in values:
            if name not in known:
                near = get_close_matches(str(name), known, n=1)
                hint = f"Did you mean `{near[0]}`?" if near else f"It takes: {', '.join(known) or 'nothing'}."
                raise WrongCall(f"`{self.name}` has no argument {_shown(name)}. {hint}")
        for arg in self.args:
            if arg.required and values.get(arg.name) is None:
                raise WrongCall(f"`{self.name}` needs `{arg.name}`: {arg.help or _SAID[arg.kind]}")
        return {name: arg.take(values.get(name)) for name, arg in known.items()}


def _mapping(tool: str, given: Any) -> Mapping[str, Any]:
    if isinstance(given, str | bytes):
        if len(given) > LIMITS.tool_argument_bytes:
            raise WrongCall(f"The arguments of `{tool}` are too long: {len(given):,} characters. Say less.")
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            raise WrongCall(f"The arguments of `{tool}` are not JSON. Send one JSON object.") from None
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise WrongCall(f"The arguments of `{tool}` are {_shown(given)}. Send one JSON object.")
    return given


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
