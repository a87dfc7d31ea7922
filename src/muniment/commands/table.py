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
        either: A flag without a default, that people may say both ways: `--name` and `--no-name`.
        file: A text that may name a file of this machine instead.
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
    either: bool = False
    file: bool = False

    @property
    def typed_name(self) -> str:
        """The name that people type: without dashes in front, `no-` before what is on by default."""
        if self.option:
            return self.option
        name = self.name.replace("_", "-")
        return f"no-{name}" if self.type == "flag" and self.default is True else name

    @property
    def said_by(self) -> Mapping[str, bool]:
        """Of a flag: the options that say it, dashes included, and what each of them says."""
        name = self.typed_name
        if self.either:
            return {f"--{name}": True, f"--no-{name}": False}
        said = self.default is not True
        return {f"--{name}": said} | ({f"-{self.short}": said} if self.short else {})


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
        local: It is an affair of this installation, and never offered over a network.
    """

    name: str
    description: str
    examples: tuple[Example, ...]
    params: tuple[Param, ...]
    right: Right
    writes: bool
    handler: Handler
    local: bool = False

    @property
    def remote(self) -> bool:
        """Whether it makes sense from afar: it works on a bank, and takes no file and no secret of this machine."""
        bound = any(param.type in {"path", "secret"} for param in self.params)
        return self.right != "none" and not self.local and not bound

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
    "agent trust": "Whose words an agent is shown unasked.",
    "bank": "Banks: memories that many keys may share.",
    "bank invite": "Ways in for those whose keys are not known yet.",
    "key": "The keys that sign.",
    "blobs": "The packs in which archived texts lie.",
    "custody": "Packs that others keep, and packs kept for others.",
    "credential": "API keys of embedding servers, sealed.",
    "token": "Bearer tokens, for clients that can't sign.",
    "memory": "The same memory by the verbs and flags of its ancestor.",
    "peers": "Other installations, and how syncing with them goes.",
    "skills": "Procedures that are kept step by step.",
    "playbook": "What was learned, bullet by bullet.",
    "playbook review": "Changes that wait until somebody has looked at them.",
}

# Full name -> family and summary: enough for every list, without importing a family.
_INDEX: Mapping[str, tuple[str, str]] = {
    "remember": ("records", "Keep a memory."),
    "recall": ("records", "Find memories that answer a question."),
    "get": ("records", "Show one memory in full."),
    "list": ("records", "List memories, newest first."),
    "history": ("records", "Show every version of a memory."),
    "forget": ("records", "Hide a memory from recall."),
    "clear": ("records", "Hide all memories of an agent at once."),
    "why": ("records", "Explain why a memory does, or does not, answer a question."),
    "stats": ("records", "Count what a memory holds."),
    "erase": ("erase", "Destroy the bytes of a memory, here and on every peer."),
    "archive": ("archive", "Move texts out of the bank into packs."),
    "fetch": ("archive", "Show an archived memory with its whole text."),
    "restore": ("archive", "Bring an archived text back into the bank."),
    "blobs list": ("archive", "List the packs of archived texts."),
    "blobs gc": ("archive", "Take away packs that nothing needs."),
    "custody offer": ("custody", "Give packs to another installation."),
    "custody accept": ("custody", "Keep packs of another installation."),
    "custody list": ("custody", "List who keeps packs, and whose are kept here."),
    "custody challenge": ("custody", "Let holders prove that they have the packs."),
    "custody status": ("custody", "Show when each pack was last proven."),
    "context": ("attachments", "Show what memory says unasked in a turn of a conversation."),
    "import": ("files", "Take in conversations, notes or an export."),
    "export": ("files", "Write all memories to a file, with their provenance."),
    "bank attach": ("attachments", "Look through a bank in each turn of a conversation."),
    "bank detach": ("attachments", "Look through a bank no more."),
    "bank config": ("attachments", "Show, set or reset how memory is recalled unasked."),
    "bank export": ("bank_files", "Write a whole bank to a file that proves itself."),
    "agent new": ("agents", "Make an agent: a key and a memory of its own."),
    "agent list": ("agents", "List the agents of this installation."),
    "agent show": ("agents", "Show an agent's keys and its memory."),
    "agent tools": ("agents", "Say which tools an agent has."),
    "agent bind": ("serving", "Let another DID name an agent."),
    "agent trust show": ("trust", "Show whom an agent trusts."),
    "agent trust set": ("trust", "Choose whose words an agent is shown."),
    "agent trust reset": ("trust", "Trust as at first."),
    "bank new": ("banks", "Make a bank that can be shared."),
    "bank list": ("banks", "List the banks of this installation."),
    "bank describe": ("banks", "Show a bank, or say what it is for."),
    "bank members": ("members", "List who holds what in a bank."),
    "bank grant": ("members", "Let somebody read, write or decide."),
    "bank revoke": ("members", "Take from somebody what it held."),
    "bank rekey": ("members", "Seal a bank under a new key."),
    "bank adopt": ("members", "Take back an entry that a revocation left out."),
    "bank rename": ("banks", "Call a bank otherwise here."),
    "bank delete": ("banks", "Put a bank away, here."),
    "bank undelete": ("banks", "Bring a deleted bank back."),
    "bank fork": ("banks", "Go on in a new bank with what counts in another."),
    "bank share": ("sharing", "Serve a bank to its members, and make a ticket."),
    "bank unshare": ("sharing", "Serve a bank no more."),
    "bank import": ("sharing", "Import a bank by its ticket."),
    "bank requests": ("sharing", "List who asks to be let in."),
    "bank approve": ("sharing", "Let somebody in who asked."),
    "bank deny": ("sharing", "Say no to somebody who asked."),
    "bank invite new": ("members", "Make a secret that lets somebody ask."),
    "bank invite list": ("members", "List the invites of a bank."),
    "bank invite revoke": ("members", "Answer an invite no more."),
    "key list": ("keys", "List the keys that sign here."),
    "key rotate": ("keys", "Give an agent a new key."),
    "key mine": ("keys", "Say that all entries by an agent's key are its own."),
    "key not-mine": ("keys", "Say that somebody else signs with an agent's key."),
    "credential set": ("credentials", "Keep a provider's API key, sealed."),
    "credential list": ("credentials", "List the providers that have an API key."),
    "credential remove": ("credentials", "Forget a provider's API key."),
    "token new": ("serving", "Make a bearer token for an agent."),
    "token list": ("serving", "List the tokens that were given out."),
    "token revoke": ("serving", "Take a token back."),
    "memory grant": ("ancestor", "Keep a memory."),
    "memory recall": ("ancestor", "Find memories."),
    "memory list": ("ancestor", "List memories, newest first."),
    "memory archive": ("ancestor", "Move a memory's text to content-addressed storage."),
    "serve": ("serving", "Answer agents over HTTP."),
    "sync": ("sharing", "Sync with other installations now."),
    "peers list": ("sharing", "Show other installations and how syncing with them goes."),
    "peers add": ("sharing", "Name an address where a bank is to be had."),
    "peers remove": ("sharing", "Forget an address."),
    "save-skill": ("skills", "Keep a procedure, step by step."),
    "skills list": ("skills", "List the skills, with what they are for."),
    "skills show": ("skills", "Show the steps of a skill."),
    "feedback": ("feedback", "Say that a memory helped, or did harm."),
    "playbook show": ("playbook", "Show what was learned, as a prompt takes it."),
    "playbook add": ("playbook", "Add a bullet."),
    "playbook edit": ("playbook", "Give a bullet other words."),
    "playbook merge": ("playbook", "Make bullets one."),
    "playbook delete": ("playbook", "Forget a bullet, or bring it back."),
    "playbook apply": ("playbook", "Do a batch of operations together."),
    "playbook evict": ("playbook", "Forget what does harm, is never used or is too much."),
    "playbook config": ("playbook", "Show, set or reset how a playbook is kept."),
    "playbook review list": ("playbook", "List the batches that wait."),
    "playbook review accept": ("playbook", "Apply a batch that waits."),
    "playbook review reject": ("playbook", "Take a batch out of the queue."),
    "mcp": ("mcp", "Serve an agent's memory to programs that speak MCP."),
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
