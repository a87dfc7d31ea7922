"""What can be called: `memory.<command>` for every command that makes sense from afar (design sections 10, 11).

A command goes remote if it works on the memory of an agent, and needs no file, no secret and no machine of the one who
asks. Its parameters are those of the table, by name or by place. `agent_did` may stand beside them, and says which
agent a controller means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from muniment.agent import Agent
from muniment.base.errors import InvalidInput, MunimentError
from muniment.callers import Caller
from muniment.commands.context import Context
from muniment.commands.table import COMMANDS, Command, invoke
from muniment.commands.values import checked
from muniment.peer import Peer
from muniment.surfaces.rpc import tenzro
from muniment.surfaces.rpc.faults import bug, fault_of
from muniment.surfaces.rpc.openrpc import document
from muniment.surfaces.rpc.protocol import NO_METHOD, Params, RpcError

PREFIX = "memory."
AGENT = "agent_did"
DISCOVER = "rpc.discover"

Who = Callable[[str | None, bool], Caller]  # the agent that is named, whether anything is written


def method_of(command: str) -> str:
    """The method's name for a command: `memory.key.mine` for `key mine`."""
    return PREFIX + command.replace(" ", ".").replace("-", "_")


@cache
def methods() -> Mapping[str, Command]:
    """All methods of commands, by name."""
    found = ((name, COMMANDS[name]) for name in COMMANDS)
    return {method_of(name): command for name, command in found if command.remote}


class Served(Context):
    """Where a command runs for a caller from afar: an open peer, and the one agent that the caller may act for."""

    here = False

    def __init__(self, peer: Peer, caller: Caller) -> None:
        super().__init__(peer.home, caller.agent.name)
        self._peer, self._caller = peer, caller

    def agent(self, *, for_write: bool = False) -> Agent:  # noqa: ARG002 (it is the same one)
        """The caller's agent; no argument leads to another one."""
        return self._caller.agent

    def agent_of(self, did: str) -> Agent:  # noqa: ARG002 (it was looked up, and checked, before)
        """The caller's agent too."""
        return self._caller.agent

    def close(self) -> None:
        """Nothing: the peer is the server's."""


@dataclass(frozen=True, slots=True)
class Methods:
    """The methods of one peer for one caller.

    Attributes:
        who: Gives the agent that the caller may act for.
        note: Told each method and how it ended.
    """

    peer: Peer
    who: Who
    note: Callable[[str, str], None]

    def call(self, method: str, params: Params) -> Any:
        """Do what a method asks.

        Raises:
            RpcError: Whatever goes wrong.
        """
        known = method in methods() or method in tenzro.METHODS or method == DISCOVER
        try:
            result = self._call(method, params)
        except MunimentError as error:
            self.note(method if known else "unknown", error.name)
            raise fault_of(error) from None
        except RpcError as error:
            self.note(method if known else "unknown", str(error.data.get("reason")))
            raise
        except Exception as error:
            self.note(method if known else "unknown", "bug")
            raise bug(error) from error
        self.note(method, "ok")
        return result

    def _call(self, method: str, params: Params) -> Any:
        if method == DISCOVER:
            return document(methods())
        if method in tenzro.METHODS:
            command = COMMANDS[tenzro.METHODS[method]]
            given = checked(command, by_name(command, positions(params)))  # before anything is looked up
            return self._run(command, given[AGENT], given)
        found = methods().get(method)
        if found is None:
            raise RpcError(
                NO_METHOD, f"there is no method {method[:80]!r}",
                {"reason": "method_not_found", "next_step": f"`{DISCOVER}` lists what there is."},
            )  # fmt: skip
        given = by_name(found, params)
        return self._run(found, given.pop(AGENT, None), given)

    def _run(self, command: Command, named: Any, params: Mapping[str, Any]) -> Any:
        if named is not None and not isinstance(named, str):
            raise InvalidInput(f"`{AGENT}` is no text", "It is the DID of the agent.")
        caller = self.who(named, command.writes)
        return invoke(command.name, Served(self.peer, caller), params).to_json()


def by_name(command: Command, params: Params) -> dict[str, Any]:
    """Parameters by name; those given by place have the places of the table.

    Raises:
        InvalidInput: There are more than the command takes.
    """
    if isinstance(params, Mapping):
        return dict(params)
    names = [param.name for param in command.params]
    if len(params) > len(names):
        raise InvalidInput(
            f"`{command.name}` takes {len(names)} parameters, not {len(params)}",
            f"In this order: {', '.join(names) or 'none'}.",
        )
    return dict(zip(names, params, strict=False))


def positions(params: Params) -> Params:
    """The one object of an array, as the ancestor's clients send it; all else as it is."""
    if isinstance(params, Sequence) and len(params) == 1 and isinstance(params[0], Mapping):
        return params[0]
    return params
