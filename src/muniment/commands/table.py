"""What a command is, and the table of all of them (design section 10).

A command is defined once, in the module of its family; surfaces look it up here, translate what they were
given into its parameters, and call `invoke`. A family is imported when one of its commands is asked for,
so a list of names and summaries costs nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from muniment.base.errors import InvalidInput

if TYPE_CHECKING:
    from muniment.commands.context import Context

Type = Literal["text", "integer", "flag", "time", "object", "path", "secret"]
Right = Literal["none", "read", "write", "admin"]


class Result(Protocol):
    """What a command gives back."""

    def to_json(self) -> Any:
        """The plain value that `--json` prints."""
        ...


@dataclass(frozen=True, slots=True)
class Param:
    """One thing that a command can be told.

    Attributes:
        name: As the library calls it, and as JSON surfaces do.
        type: `text` · `integer` · `flag` (true or false) · `time` (ISO 8601 or Unix ms) · `object` (JSON
            object; `key=value` where words are typed) · `path` · `secret` (never taken from a command line:
            an option asks for a new passphrase, a positional for a key, unseen or from standard input).
        help: One sentence, without full stop.
        default: What holds when nothing is said; the handler gets it.
        option: The name that people type, where it differs: `tag` for `tags`.
        short: One letter for people in a hurry.
        positional: Given by place and not by name, where words are typed.
        rest: A positional that takes all words that are left, joined by spaces.
        stdin: `-`, or nothing while something is piped in, means standard input.
        minimum, maximum: Bounds of an integer, both inclusive.
        nested: A dot in a typed name of an `object` opens an object inside it.
    """

    name: str
    type: Type
    help: str
    default: Any = None
    required: bool = False
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    option: str | None = None
    short: str | None = None
    metavar: str | None = None
    positional: bool = False
    rest: bool = False
    stdin: bool = False
    minimum: int | None = None
    maximum: int | None = None
    nested: bool = False

    @property
    def typed_name(self) -> str:
        """The name that people type: without dashes in front, `no-` before what is on by default."""
        if self.option:
            return self.option
        name = self.name.replace("_", "-")
        return f"no-{name}" if self.type == "flag" and self.default is True else name


class Example(NamedTuple):
    """A line that works, and what it is for."""

    line: str
    purpose: str


Handler = Callable[..., Result]


@dataclass(frozen=True, slots=True)
class Command:
    """Something a person or a program can ask for.

    Attributes:
        name: Full name, group first: `agent new`.
        description: What is worth knowing before one uses it; paragraphs parted by an empty line.
        right: What it needs in the bank: `none`, `read`, `write` or `admin`.
        writes: Whether it may change anything.
        handler: Takes the context and the checked parameters; gives the result.
    """

    name: str
    description: str
    examples: tuple[Example, ...]
    params: tuple[Param, ...]
    right: Right
    writes: bool
    handler: Handler

    @property
    def summary(self) -> str:
        """Its one sentence for lists."""
        return COMMANDS.summary(self.name)

    @property
    def group(self) -> str:
        """The group it stands in, or an empty text."""
        return self.name.rpartition(" ")[0]


# Group -> what it is about.
GROUPS: Mapping[str, str] = {
    "agent": "The agents of this installation.",
    "key": "The keys that sign.",
    "blobs": "The packs in which archived texts lie.",
    "credential": "API keys of embedding servers, sealed.",
}

# Full name -> family and summary: enough for every list, without importing a family.
_INDEX: Mapping[str, tuple[str, str]] = {
    "remember": ("records", "Keep a memory."),
    "recall": ("records", "Find memories that answer a question."),
    "get": ("records", "Show one memory in full."),
    "list": ("records", "List memories, newest first."),
    "history": ("records", "Show every version of a memory."),
    "forget": ("records", "Hide a memory from recall."),
    "why": ("records", "Explain why a memory does, or does not, answer a question."),
    "stats": ("records", "Count what a memory holds."),
    "archive": ("archive", "Move texts out of the bank into packs."),
    "fetch": ("archive", "Show an archived memory with its whole text."),
    "restore": ("archive", "Bring an archived text back into the bank."),
    "blobs list": ("archive", "List the packs of archived texts."),
    "blobs gc": ("archive", "Take away packs that nothing needs."),
    "import": ("files", "Take in conversations, notes or an export."),
    "export": ("files", "Write all memories to a file, with their provenance."),
    "agent new": ("agents", "Make an agent: a key and a memory of its own."),
    "agent list": ("agents", "List the agents of this installation."),
    "agent show": ("agents", "Show an agent's keys and its memory."),
    "key mine": ("agents", "Say that all entries by an agent's key are its own."),
    "credential set": ("credentials", "Keep a provider's API key, sealed."),
    "credential list": ("credentials", "List the providers that have an API key."),
    "credential remove": ("credentials", "Forget a provider's API key."),
    "init": ("host", "Choose how this installation is set up."),
    "check": ("host", "Look for damage in files, and mend what can be made again."),
    "verify": ("host", "Prove every signature and every right to write."),
    "reindex": ("host", "Make the vectors that are missing."),
    "doctor": ("host", "Say what is in order here and what is not."),
}


class Table(Mapping[str, Command]):
    """All commands by full name; a family is imported on first use."""

    def __getitem__(self, name: str) -> Command:
        family, _ = _INDEX[name]
        module = importlib.import_module(f"muniment.commands.{family}")
        found: Command = module.COMMANDS[name]
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_INDEX)

    def __len__(self) -> int:
        return len(_INDEX)

    def __contains__(self, name: object) -> bool:
        return name in _INDEX

    def summary(self, name: str) -> str:
        """A command's one sentence, without importing its family."""
        return _INDEX[name][1]

    def in_group(self, group: str) -> list[str]:
        """Full names of a group's commands (an empty text: those outside any group)."""
        return [name for name in _INDEX if name.rpartition(" ")[0] == group]


COMMANDS = Table()


def family(*commands: Command) -> dict[str, Command]:
    """A family's commands by full name."""
    return {item.name: item for item in commands}


def nearest(word: str, known: list[str]) -> str | None:
    """The known word that is most like the one given, or None where nothing is near."""
    import difflib

    found = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return found[0] if found else None


def lookup(name: str) -> Command:
    """The command of that full name.

    Raises:
        InvalidInput: There is none; the next step names the nearest.
    """
    if name in COMMANDS:
        return COMMANDS[name]
    near = nearest(name, list(COMMANDS))
    raise InvalidInput(
        f"there is no command {name[:80]!r}", f"Did you mean `{near}`?" if near else "See `muniment --help`."
    )


def invoke(name: str, context: Context, params: Mapping[str, Any]) -> Result:
    """Check what a command was told, and do it.

    Args:
        name: The command's full name.
        context: Where, as whom and with what help from the surface.
        params: Values by parameter name; what is missing takes its default.

    Raises:
        InvalidInput: An unknown command or parameter, or a value of the wrong type or outside the choices.
        LimitExceeded: A number outside its bounds.
        MunimentError: Whatever the command itself has to say.
    """
    from muniment.commands.values import checked

    command = lookup(name)
    return command.handler(context, **checked(command, params))
