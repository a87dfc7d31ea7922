"""Slash lines: `/memory …` and `!<bot> memory …` in any chat, through one parser into the commands (section 10)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput, MunimentError
from muniment.commands import COMMANDS, Command, invoke, nearest
from muniment.surfaces.danger import is_dangerous, word_of
from muniment.surfaces.slash_words import ANSWERS
from muniment.surfaces.tools.bound import sentence
from muniment.surfaces.tools.operations import Seat
from muniment.surfaces.tools.words import redact
from muniment.surfaces.typed import params_of

if TYPE_CHECKING:
    from muniment.session import Session

_HEAD = re.compile(r"\s*(?:/memory|![^\s!]+\s+memory)(?:\s+|\Z)", re.IGNORECASE)
_HINT = re.compile(r"`muniment (?:bank )?")
_BANK = "bank "
# Spelled as the ancestor does: there they are about banks, so those about records stand behind `records`.
_ALWAYS_BANKS = frozenset({"list", "import", "export"})
_ALIASES: Mapping[str, str] = {"del": "delete", "": "list", "config": "config show"}
_LEVELS: Mapping[str, str] = {"r": "read", "w": "write"}
# They wait for input of their own, or set up the machine; a chat is no place for them.
_ELSEWHERE = frozenset({"mcp", "serve", "init", "sync"})


@dataclass(frozen=True, slots=True)
class Reply:
    """What a line gave: words for the chat, and the same as JSON.

    Attributes:
        text: For the chat.
        ok: False where it was refused, or a typed word is asked for first.
        data: The result as JSON; of an error its `error`, `message` and `next_step`.
    """

    text: str
    ok: bool
    data: Any = None


def is_slash(line: str) -> bool:
    """Whether a line of a chat is meant for memory."""
    return _HEAD.match(line) is not None


class Slash:
    """Answers slash lines of one conversation.

    Args:
        session: Whose agent acts, and to which banks are attached.
        files: Whether lines may name files of this machine, and use its owner's key; a chat that strangers can write
            to should not.
    """

    def __init__(self, session: Session, *, files: bool = False) -> None:
        self._session, self._files = session, files

    def __call__(self, line: str) -> str:
        """The answer to a line, as text; errors are answers too."""
        return self.reply(line).text

    def reply(self, line: str) -> Reply:
        """The answer to a line, with its data.

        Args:
            line: The whole line, such as `/memory grant notes ben read`.
        """
        try:
            return self._run(line)
        except MunimentError as error:
            data = {
                "error": error.name,
                "message": error.message,
                "next_step": error.next_step,
                "exit_code": error.exit_code,
            }
            return Reply(_here(f"Error: {sentence(error)}"), ok=False, data=data)

    def _run(self, line: str) -> Reply:
        words, confirmed = _confirmed(_words(line))
        if words[:1] in (["help"], ["--help"]):
            return Reply(_help(), ok=True)
        command, rest = _command(words)
        self._check(command)
        is_bank = command.name.startswith(_BANK)
        params = params_of(command, rest, spill=is_bank)
        names = {param.name for param in command.params}
        if is_bank and "session" in names and "session" not in params:
            params["session"] = self._session.name
        for param in command.params if is_bank else ():
            if "read" in param.choices or param.name == "level":
                params |= _spelled_out(param.name, params.get(param.name))
        if is_dangerous(command.name, params) and confirmed != word_of(command.name):
            return self._ask(command, line)
        agent = self._session.agent
        result = invoke(command.name, Seat(agent, here=self._files), params)
        return Reply(_here(_say(command.name, result, params)), ok=True, data=redact(result.to_json()))

    def _check(self, command: Command) -> None:
        if command.name in _ELSEWHERE or any(param.type == "secret" for param in command.params):
            raise InvalidInput(f"`{command.name}` can't be done in a chat", "Use the command line.")
        if not self._files and any(param.type == "path" for param in command.params):
            raise InvalidInput(
                f"`{command.name}` reads or writes files of the machine, which is off in this chat",
                "Use the command line, or let the host allow files.",
            )

    def _ask(self, command: Command, line: str) -> Reply:
        word = word_of(command.name)
        text = f"{command.summary} If you mean it, send: {line.strip()} --confirm {word}"
        return Reply(text, ok=False, data={"confirm": word})


def _here(text: str) -> str:
    """An answer without secrets, whose hints are typed as they are typed here."""
    return redact(_HINT.sub("`/memory ", text))


def _spelled_out(name: str, level: Any) -> dict[str, Any]:
    """A level that was said by its first letter."""
    return {name: _LEVELS[level]} if isinstance(level, str) and level in _LEVELS else {}


def _words(line: str) -> list[str]:
    head = _HEAD.match(line)
    if head is None:
        raise InvalidInput("this is no line for memory", "Begin with `/memory`.")
    try:
        return shlex.split(line[head.end() :])
    except ValueError:
        raise InvalidInput("a quote is not closed", "Close it, or put a backslash before it.") from None


def _confirmed(words: list[str]) -> tuple[list[str], str | None]:
    """The words without a typed agreement at their end, and that."""
    if len(words) > 1 and words[-2] == "--confirm":
        return words[:-2], words[-1]
    return words, None


def _command(words: list[str]) -> tuple[Command, list[str]]:
    """The command that the first words name, and the words after them: the longest name that fits."""
    first = words[0] if words else ""
    if first == "records" and words[1:2] and words[1] in COMMANDS:
        return COMMANDS[words[1]], words[2:]
    for spelled in (words, [*_ALIASES.get(first, first).split(), *words[1:]]):
        for many in range(min(3, len(spelled)), 0, -1):
            name = " ".join(spelled[:many])
            rest = list(spelled[many:])
            if _BANK + name in COMMANDS:
                return COMMANDS[_BANK + name], rest
            if name in COMMANDS and name not in _ALWAYS_BANKS:
                return COMMANDS[name], rest
    near = nearest(first, [_spelled(name) for name in COMMANDS])
    raise InvalidInput(
        f"there is no command {first[:80]!r}",
        f"Did you mean `/memory {near}`?" if near else "See `/memory help`.",
    )


def _say(name: str, result: Any, params: Mapping[str, Any]) -> str:
    if name in ANSWERS:
        return ANSWERS[name](result, params)
    from muniment.surfaces.cli.plain import WRITE

    return WRITE[name](result)


def _help() -> str:
    lines = [
        f"/memory {_spelled(name)}: {COMMANDS.summary(name)}" for name in COMMANDS if name not in _ELSEWHERE
    ]
    return "\n".join(lines)


def _spelled(name: str) -> str:
    """How a command is called here."""
    return f"records {name}" if name in _ALWAYS_BANKS else name.removeprefix(_BANK)
