"""From words and JSON to what a handler may rely on: types, choices and bounds, the same for every surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from muniment.base.errors import InvalidInput, LimitExceeded
from muniment.commands.table import Command, Param, nearest

_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


def checked(command: Command, params: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a command, with defaults for what was not said.

    Raises:
        InvalidInput: An unknown or missing parameter, a value of the wrong type or outside the choices.
        LimitExceeded: A number outside its bounds.
    """
    known = {param.name: param for param in command.params}
    for name in params:
        if name not in known:
            near = nearest(str(name), list(known))
            hint = f"Did you mean `{near}`?" if near else f"It takes: {', '.join(known) or 'nothing'}."
            raise InvalidInput(f"`{command.name}` has no parameter {str(name)[:80]!r}", hint)
    return {name: _value(command, param, params.get(name)) for name, param in known.items()}


def _value(command: Command, param: Param, given: Any) -> Any:
    if given is None:
        if param.required:
            raise InvalidInput(
                f"`{command.name}` needs {_label(param)}: {param.help}",
                f"See `muniment {command.name} --help`.",
            )
        return param.default
    if not param.repeatable:
        return _single(param, given)
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise _wrong(param, given, "a list")
    return tuple(_single(param, item) for item in given)


def _single(param: Param, given: Any) -> Any:
    match param.type:
        case "text" | "secret":
            value: Any = _of(param, given, str, "text")
        case "integer":
            value = _integer(param, given)
        case "flag":
            value = _of(param, given, bool, "true or false")
        case "time":
            value = _of(param, given, (int, str, datetime), "a time")
        case "object":
            value = dict(_of(param, given, Mapping, "an object"))
        case "path":
            value = _of(param, given, (str, Path), "a path")
    if param.choices and value not in param.choices:
        near = nearest(str(value), list(param.choices))
        raise InvalidInput(
            f"{_label(param)} is {_shown(value)}, which it can't be",
            f"It is one of: {', '.join(param.choices)}." + (f" Did you mean `{near}`?" if near else ""),
        )
    return value


def _of(param: Param, given: Any, kinds: Any, meant: str) -> Any:
    # True is an int to Python, and to nobody else.
    if not isinstance(given, kinds) or (isinstance(given, bool) and kinds is not bool):
        raise _wrong(param, given, meant)
    return given


def _integer(param: Param, given: Any) -> int:
    value: int = _of(param, given, int, "a whole number")
    if param.minimum is not None and value < param.minimum:
        raise InvalidInput(f"{_label(param)} is {value}, the least is {param.minimum}")
    if param.maximum is not None and value > param.maximum:
        raise LimitExceeded(_label(param), param.maximum, value, f"{param.help}.")
    return value


def _wrong(param: Param, given: Any, meant: str) -> InvalidInput:
    # A secret is not repeated, whatever is wrong with it.
    what = "the value given" if param.type == "secret" else _shown(given)
    return InvalidInput(f"{_label(param)} is {what}, not {meant}", f"{param.help}.")


def _label(param: Param) -> str:
    return f"`{param.name}`"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# Words, as they are typed on a command line or in a chat


def from_words(param: Param, words: Sequence[str]) -> Any:
    """A parameter's value from typed words: one word, or all that were given for a repeatable one.

    Raises:
        InvalidInput: The words don't make a value of the parameter's type.
    """
    if param.type == "object":
        whole = _whole(words)
        return _pairs(param, words) if whole is None else whole
    if param.repeatable:
        return [_word(param, word) for word in words]
    return _word(param, " ".join(words) if param.rest else words[-1])


def _whole(words: Sequence[str]) -> dict[str, Any] | None:
    """An object that was typed as JSON; None where it is something else."""
    if len(words) != 1 or not words[0].lstrip().startswith("{"):
        return None
    found = _json_or_text(words[0])
    return found if isinstance(found, dict) else None


def _word(param: Param, word: str) -> Any:
    if param.type == "integer":
        try:
            return int(word)
        except ValueError:
            raise _wrong(param, word, "a whole number") from None
    if param.type == "time":
        return _time(param, word)
    if param.type == "flag":
        if word.lower() not in _TRUE | _FALSE:
            raise _wrong(param, word, "true or false")
        return word.lower() in _TRUE
    return word


def _time(param: Param, word: str) -> int | str:
    """A typed time: a long number is Unix milliseconds, a year or a date without dashes is what it looks like."""
    if not word.isascii() or not word.isdigit():
        return word
    if len(word) > 18:
        raise _wrong(param, word, "a time")
    if len(word) == 4:
        return f"{word}-01-01"
    return f"{word[:4]}-{word[4:6]}-{word[6:]}" if len(word) == 8 else int(word)


def _pairs(param: Param, words: Sequence[str]) -> dict[str, Any]:
    """`name=value` words as an object; a dot opens an object inside, where the parameter says so."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise InvalidInput(f"{_label(param)} is {_shown(word)}, not `name=value`", f"{param.help}.")
        place, path = found, name.split(".") if param.nested else [name]
        for step in path[:-1]:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise InvalidInput(f"{_label(param)}: {name!r} is given inside a plain value")
        if path[-1] in place:
            raise InvalidInput(f"{_label(param)}: {name!r} is given twice")
        place[path[-1]] = _json_or_text(text)
    return found


def _json_or_text(text: str) -> Any:
    """A value as JSON where it reads as such, else the text itself."""
    import json

    def refuse(word: str) -> Any:
        raise ValueError(word)

    try:
        # NaN and infinity are words, not JSON.
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return text
