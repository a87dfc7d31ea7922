"""What tools do, on behalf of one agent: each calls the command of that name, with the same checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from muniment.commands import Context, Result, invoke
from muniment.surfaces.tools.spec import Done
from muniment.views import Hits

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.peer import Peer
    from muniment.session import Session


class Seat(Context):
    """Where the commands of an agent's tools run: its identity is that of whoever opened it, never an argument.

    Args:
        agent: The agent that sits here.
        here: Whether whoever asks is at home on this machine, as `Context.here` says.
    """

    def __init__(self, agent: Agent, *, here: bool = False) -> None:
        super().__init__(agent.peer.home, agent.name)
        self._agent, self.here = agent, here

    @property
    def peer(self) -> Peer:
        """The agent's own peer, which is not ours to close."""
        return self._agent.peer

    def agent(self, *, for_write: bool = False) -> Agent:  # noqa: ARG002 - it is always the same
        """The agent that sits here."""
        return self._agent

    def close(self) -> None:
        """Nothing: the peer belongs to who opened it."""


class Desk:
    """An agent at its memory, in one conversation or none."""

    def __init__(self, agent: Agent, session: Session | None = None) -> None:
        self.agent, self.session = agent, session

    @property
    def meaning(self) -> bool:
        """Whether an embedder is configured."""
        return self.agent.peer.host.meaning is not None

    def run(self, operation: str, given: dict[str, Any]) -> Done:
        """Do it.

        Raises:
            MunimentError: Whatever the command has to say.
            WrongCall: The call itself makes no sense.
        """
        return _OPERATIONS[operation](self, given)

    def call(self, command: str, bank: str | None = None, /, **params: Any) -> Result:
        """A command, as this agent, in its own memory or at another bank."""
        place = None if bank is None else self.agent.reachable_bank(bank).bank_id
        if place is not None and place != self.agent.bank_id:
            params["bank"] = place
        return invoke(
            command, Seat(self.agent), {key: value for key, value in params.items() if value is not None}
        )


def _remember(desk: Desk, given: dict[str, Any]) -> Done:
    session = None if desk.session is None else desk.session.name
    made: Any = desk.call("remember", given.pop("bank", None), session=session, **given)
    return Done(made, None if made.degraded is None else f"kept without a vector: {made.degraded}")


def _recall(desk: Desk, given: dict[str, Any]) -> Done:
    if given.get("mode") == "vector" and not desk.meaning:
        given["mode"] = "hybrid"  # which is answered by words, and says so
    hits: Any = desk.call("recall", given.pop("bank", None), **given)
    seen = [replace(hit, record=desk.agent.as_seen(hit.record)) for hit in hits]
    return Done(
        Hits(seen, hits.mode, hits.degraded),
        None if hits.degraded is None else f"by words alone: {hits.degraded}",
    )


def _banks(desk: Desk, _given: dict[str, Any]) -> Done:
    return Done(desk.agent.reachable_banks())


def _save_skill(desk: Desk, given: dict[str, Any]) -> Done:
    return Done(desk.call("save-skill", **given))


def _read_skill(desk: Desk, given: dict[str, Any]) -> Done:
    return Done(desk.call("skills show", **given))


def _forget(desk: Desk, given: dict[str, Any]) -> Done:
    return _versions(desk, desk.call("forget", given.pop("bank", None), **given))


def _history(desk: Desk, given: dict[str, Any]) -> Done:
    return _versions(desk, desk.call("history", given.pop("bank", None), **given))


def _versions(desk: Desk, records: Any) -> Done:
    return Done([desk.agent.as_seen(record) for record in records])


def _archive(desk: Desk, given: dict[str, Any]) -> Done:
    desk.call("archive", **given)
    return Done(desk.agent.get(given["ref"]))


_OPERATIONS: Mapping[str, Callable[[Desk, dict[str, Any]], Done]] = {
    "remember": _remember,
    "recall": _recall,
    "list_memory_banks": _banks,
    "save_skill": _save_skill,
    "read_skill": _read_skill,
    "forget": _forget,
    "history": _history,
    "archive": _archive,
}
