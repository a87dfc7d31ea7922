"""`--url`: the same commands, done by an installation elsewhere and shown as if they were done here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from muniment.base.errors import BadAnswer, InvalidInput
from muniment.commands.context import Context, is_file_name
from muniment.commands.table import Command
from muniment.commands.values import checked

# The ancestor's verbs have methods of their own.
_METHODS = {
    "memory grant": "tenzro_memoryGrant",
    "memory recall": "tenzro_memoryRecall",
    "memory list": "tenzro_listMemoryRecords",
    "memory archive": "tenzro_memoryArchive",
}


# Members whose own names are a user's words or ids, and no attributes of a view.
_MAPS = frozenset(
    {
        *("metadata", "settings", "signals", "index", "versions", "authors", "unreadable", "findings"),
        *("archive", "skipped", "left", "operations"),
    }
)
# Parts of a view whose members stand among the view's own in JSON.
_FLAT = frozenset({"found", "invite", "record"})


class Shape:
    """A JSON object whose members are read as attributes, as those of the view that it was made from."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._whole = value
        self.__dict__.update((name, _shaped(name, item)) for name, item in value.items())

    def __getattr__(self, name: str) -> Any:
        if name in _FLAT:
            return self
        raise AttributeError(name)

    def to_json(self) -> Any:
        """The object as it came."""
        return self._whole


class Answer(Shape):
    """A result: it iterates over its list, if it has one, as the results of commands do."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__(value)
        if isinstance(self.__dict__.get("hit"), Shape):  # its terms stand beside it in JSON
            self.hit.terms = self.terms
        self._rows = next((item for item in self.__dict__.values() if isinstance(item, list)), [])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Any:
        return self._rows[place]


def _shaped(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return value if name in _MAPS else Shape(value)
    if not isinstance(value, list):
        return value
    inner = name if name in _MAPS else ""  # of a list of maps each is one
    return [_shaped(inner, item) for item in value]


@contextmanager
def read_as_told() -> Iterator[None]:
    """While an answer is shown: what it lacks is the server's fault, which may be of another version.

    Raises:
        BadAnswer: It lacks something, or holds something else.
    """
    try:
        yield
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise BadAnswer(
            f"the answer lacks what it should have: {type(error).__name__}",
            "The server may be of another version; --json shows what it sent.",
        ) from error


def ask(
    command: Command, context: Context, url: str, key_file: str | None, params: Mapping[str, Any]
) -> Answer:
    """Do a command at `url`, signed with a key of this home or of a file.

    Raises:
        InvalidInput: The command is an affair of one installation, or its parameters have no meaning.
        RemoteError: No answer came.
        MunimentError: What the command has to say there.
    """
    if not command.remote and command.name not in _METHODS:
        raise InvalidInput(
            f"`{command.name}` is an affair of the installation itself, and not done from afar",
            "Run it there, without --url.",
        )
    for param in command.params:
        if param.file and is_file_name(str(params.get(param.name) or "")):
            raise InvalidInput(
                f"{str(params[param.name])[:120]!r} is a file of this machine, and not looked at from afar",
                "Leave --url out; a bank of that name goes by its id.",
            )
    checked(command, params)
    from muniment.client import Client, key_from_file, key_from_peer

    named = context.agent_name
    if key_file is not None:
        key, own = key_from_file(key_file), False
    else:
        key, own = key_from_peer(context.peer, named)
    with Client(url, key, None if own else named) as client:
        method = _METHODS.get(command.name)
        return Answer(client.call(method, params) if method else client.command(command.name, params))
