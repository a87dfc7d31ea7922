"""A line of words as a command and its parameters, where people type in a chat: the same table, no shell around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.commands.table import Command, Param, nearest
from muniment.commands.values import from_words


def params_of(command: Command, words: Sequence[str], *, spill: bool = False) -> dict[str, Any]:
    """What the words say, by parameter name.

    Options are `--name value`, `--name=value` or `-n value`, of flags the name alone; after `--` nothing is an option.

    Args:
        command: Whose parameters.
        words: As a shell would part them.
        spill: Words beyond the positional ones fill the text options in their order.

    Raises:
        InvalidInput: There is no such option, one lacks its value, or a word is left over.
    """
    given: dict[str, list[str]] = {}
    flags: dict[str, bool] = {}
    loose: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            loose += queue
            break
        if not _is_option(word):
            loose.append(word)
            continue
        name, equals, value = word.partition("=")
        param = _option(command, name)
        if param.type == "flag":
            if equals:
                raise InvalidInput(f"{name} takes no value", f"Say just {name}, or leave it out.")
            flags[param.name] = param.said_by[name]
        elif equals or queue:
            given.setdefault(param.name, []).append(value if equals else queue.pop(0))
        else:
            raise InvalidInput(f"{name} lacks its value", f"{param.help}.")
    _place(command, loose, given, spill=spill)
    known = {param.name: param for param in command.params}
    return {name: from_words(known[name], said) for name, said in given.items()} | flags


def usage(command: Command) -> str:
    """How the command is typed, in one line."""
    parts = [command.name]
    for param in command.params:
        shown = param.metavar or param.name.upper()
        if param.positional:
            parts.append(shown if param.required else f"[{shown}]")
        elif param.type == "flag":
            parts.append(f"[{'|'.join(name for name in param.said_by if name.startswith('--'))}]")
        else:
            parts.append(f"[--{param.typed_name} {shown}]")
    return " ".join(parts)


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and not word[1].isdigit()


def _option(command: Command, name: str) -> Param:
    options = {spelled: param for param in command.params for spelled in _spellings(param)}
    if name not in options:
        near = nearest(name, list(options))
        hint = f"Did you mean {near}? " if near else ""
        raise InvalidInput(
            f"`{command.name}` has no option {name[:40]!r}",
            f"{hint}Words that start with a dash go after `--`.",
        )
    return options[name]


def _spellings(param: Param) -> list[str]:
    """The words that name an option."""
    if param.positional:
        return []
    if param.type == "flag":
        return list(param.said_by)
    return [f"--{param.typed_name}", *([f"-{param.short}"] if param.short else [])]


def _place(command: Command, loose: list[str], given: dict[str, list[str]], *, spill: bool) -> None:
    """Words without a name, by their place."""
    takers = [param for param in command.params if param.positional]
    if spill:
        takers += [p for p in command.params if not p.positional and p.type == "text" and p.name not in given]
    for param in takers:
        if not loose:
            return
        if param.rest or param.repeatable:
            given[param.name] = list(loose)
            return
        given[param.name] = [loose.pop(0)]
    if loose:
        raise InvalidInput(
            f"`{command.name}` has no use for {loose[0][:60]!r}",
            f"Write: {usage(command)}. Put quotes around words that belong together.",
        )
