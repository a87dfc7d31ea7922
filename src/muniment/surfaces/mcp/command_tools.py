"""Commands as tools, for those who want to run a whole installation from a client: from the table, as the CLI is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from muniment.base.errors import MunimentError
from muniment.commands import COMMANDS, Command, Param, invoke
from muniment.commands.context import Tick
from muniment.surfaces.danger import can_be_dangerous, is_dangerous, word_of
from muniment.surfaces.tools.bound import Answer, sentence
from muniment.surfaces.tools.operations import Seat
from muniment.surfaces.tools.words import redact

if TYPE_CHECKING:
    from muniment.agent import Agent

PREFIX = "muniment_"
Report = Callable[[int, int], None]  # done, of so much (0: unknown)
_TYPES = {"text": "string", "integer": "integer", "flag": "boolean", "time": "string", "object": "object",
          "path": "string"}  # fmt: skip
_NEVER = frozenset({"mcp", "serve", "init"})  # they start or set up what is running already
_OF_THE_HOST = frozenset({"agent", "key", "credential", "token"})


def offers(*, remote: bool) -> list[tuple[Any, ...]]:
    """Name, description, schemas, read-only, destructive and idempotent of each command that can be a tool.

    Args:
        remote: Leave out what touches files, keys or other agents of this machine.
    """
    return [
        (
            tool_name(command.name),
            f"{command.summary} {command.description}",
            schema(command),
            {"type": "object"},
            not command.writes,
            can_be_dangerous(command.name) or command.name == "forget",
            not command.writes,
        )
        for command in map(COMMANDS.__getitem__, COMMANDS)
        if _fits(command, remote=remote)
    ]


def tool_name(command: str) -> str:
    """A command's name as tools are called."""
    return PREFIX + command.replace(" ", "_").replace("-", "_")


def _fits(command: Command, *, remote: bool) -> bool:
    kinds = {param.type for param in command.params}
    if command.name in _NEVER or "secret" in kinds:
        return False
    return not remote or (
        "path" not in kinds and command.right != "none" and command.group not in _OF_THE_HOST
    )


def schema(command: Command) -> dict[str, Any]:
    """JSON Schema of a command's parameters."""
    found: dict[str, Any] = {
        "type": "object",
        "properties": {param.name: _schema(param) for param in command.params},
        "additionalProperties": False,
    }
    required = [param.name for param in command.params if param.required]
    return found | ({"required": required} if required else {})


def _schema(param: Param) -> dict[str, Any]:
    one: dict[str, Any] = {"type": _TYPES[param.type]}
    if param.choices:
        one["enum"] = list(param.choices)
    bounds = {"minimum": param.minimum, "maximum": param.maximum}
    one |= {name: value for name, value in bounds.items() if value is not None}
    whole = {"type": "array", "items": one} if param.repeatable else one
    default = list(param.default) if isinstance(param.default, tuple) else param.default
    return whole | {"description": param.help} | ({} if default is None else {"default": default})


def command_of(name: str) -> str | None:
    """The command that a tool stands for."""
    return next((command for command in COMMANDS if tool_name(command) == name), None)


def question(name: str, arguments: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a person has to be asked first, and the word that agrees; None where nothing."""
    command = command_of(name)
    if command is None or not is_dangerous(command, arguments):
        return None
    word = word_of(command)
    told = ", ".join(f"{key} = {str(value)[:60]}" for key, value in arguments.items())
    about = f" ({told})" if told else ""
    return f"{COMMANDS.summary(command)}{about} Type `{word}` if you mean it.", word


class _Watched(Seat):
    """A seat whose long work is reported."""

    def __init__(self, agent: Agent, report: Report, *, remote: bool) -> None:
        super().__init__(agent, here=not remote)
        self._report = report

    @contextmanager
    def watch(self, label: str, unit: str) -> Iterator[Tick | None]:  # noqa: ARG002
        """Report each step."""

        def tick(done: int, total: int, items: int = 0, /) -> None:  # noqa: ARG001
            self._report(done, total)

        yield tick


def call(agent: Agent, name: str, arguments: Any, report: Report, *, remote: bool) -> Answer:
    """Run a command for an agent.

    Args:
        agent: Who acts.
        name: The tool's name.
        arguments: What it was told.
        report: Told of long work.
        remote: Whether the caller is on another machine.
    """
    from muniment.surfaces.cli.plain import WRITE

    command = command_of(name)
    assert command is not None  # noqa: S101 - it was offered
    try:
        result = invoke(command, _Watched(agent, report, remote=remote), arguments or {})
    except MunimentError as error:
        return Answer(redact(sentence(error)), ok=False, error=error.name)
    return Answer(redact(WRITE[command](result)), data=redact(result.to_json()))
