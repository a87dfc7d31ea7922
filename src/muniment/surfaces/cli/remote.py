"""`--url`: the same commands, done by an installation elsewhere and shown as if they were done here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.commands.context import Context
from muniment.commands.table import Command
from muniment.commands.values import checked

# The ancestor's verbs have methods of their own.
_METHODS = {
    "memory grant": "tenzro_memoryGrant",
    "memory recall": "tenzro_memoryRecall",
    "memory list": "tenzro_listMemoryRecords",
    "memory archive": "tenzro_memoryArchive",
}


class Shape(dict[str, Any]):
    """A JSON object whose members can be read as attributes, as those of the views that it was made from."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__({name: _shaped(item) for name, item in value.items()})
        self.__dict__.update(self)


class Answer(Shape):
    """A result: it iterates over its list, if it has one, as the results of commands do."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._whole = value
        if isinstance(value.get("hit"), Mapping) and "terms" in value:  # they stand beside the hit in JSON
            value = {**value, "hit": {**value["hit"], "terms": value["terms"]}}
        super().__init__(value)
        self._rows = next((item for item in self.values() if isinstance(item, list)), [])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __bool__(self) -> bool:
        return True

    def to_json(self) -> Any:
        """The result as it came."""
        return self._whole


def _shaped(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Shape(value)
    return [_shaped(item) for item in value] if isinstance(value, list) else value


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
