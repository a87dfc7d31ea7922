"""One request of somebody who is in: as which agent, in which bank, and the commands that it leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, RedirectResponse, Response

from muniment.commands.context import Context
from muniment.commands.table import COMMANDS, invoke
from muniment.surfaces.serve.house import House
from muniment.surfaces.web.logins import Pass, form_token
from muniment.surfaces.web.rendering import render
from muniment.surfaces.web.works import Works

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.memory import Memory
    from muniment.peer import Peer

Form = Mapping[str, Sequence[str]]


class Seen(Context):
    """Where a command runs for the page: the server's open peer, and the agent in the address."""

    def __init__(self, peer: Peer, agent: str | None, stdout: IO[bytes] | None = None) -> None:
        super().__init__(peer.home, agent, stdout=cast("Any", stdout))
        self._peer = peer

    def close(self) -> None:
        """Nothing: the peer is the server's."""


@dataclass
class Visit:
    """One request.

    Attributes:
        works: What takes longer than a request.
        agent: The agent in the address, or None.
        query: What stands behind the `?`.
        form: What was sent, every value of a name.
        part: Whether a piece of a page is asked for, and not a page.
    """

    house: House
    works: Works
    session: Pass
    agent: str | None
    query: QueryParams
    form: Form = field(default_factory=dict)
    part: bool = False

    @property
    def bank(self) -> str | None:
        """The bank that is looked at; None: the agent's own memory."""
        return self.query.get("bank") or None

    # Commands

    def ask(self, command: str, stdout: IO[bytes] | None = None, /, **params: Any) -> Any:
        """Do a command as the agent of the address.

        Raises:
            MunimentError: Whatever it has to say.
        """
        return invoke(command, Seen(self.house.peer, self.agent, stdout), params)

    def ask_here(self, command: str, stdout: IO[bytes] | None = None, /, **params: Any) -> Any:
        """The same, in the bank that is looked at, where the command knows banks.

        Raises:
            MunimentError: Whatever it has to say.
        """
        known = any(param.name == "bank" for param in COMMANDS[command].params)
        return self.ask(command, stdout, **params, **({"bank": self.bank} if known and self.bank else {}))

    @property
    def acting(self) -> Agent:
        """The agent itself, for what is looked up beside commands.

        Raises:
            UnknownAgent | Ambiguous: There is none.
        """
        return Seen(self.house.peer, self.agent).agent()

    @property
    def memory(self) -> Memory:
        """What the agent keeps in the bank that is looked at.

        Raises:
            UnknownBank | Ambiguous | UnknownAgent: There is none.
        """
        return self.acting if self.bank is None else self.acting.bank(self.bank)

    # Addresses and forms

    def url(self, place: str = "", **query: Any) -> str:
        """The address of a screen of this agent, with the bank kept; what is None is left out."""
        kept = {"bank": self.bank, **query}
        pairs = [(name, value) for name, values in kept.items() for value in _each(values)]
        base = "/" if self.agent is None else f"/a/{quote(self.agent, safe='')}/"
        return base + place + (f"?{urlencode(pairs, errors='replace')}" if pairs else "")

    def said(self, name: str) -> str:
        """One value of the form; empty where it was not sent. Line ends are newlines."""
        values = self.form.get(name)
        return values[0].replace("\r\n", "\n") if values else ""

    def all_said(self, name: str) -> list[str]:
        """All values of a name in the form."""
        return list(self.form.get(name, ()))

    # Answers

    def page(self, template: str, /, status: int = 200, **values: Any) -> Response:
        """A page or a piece of one."""
        return HTMLResponse(render(template, visit=self, **values), status)

    def go(self, place: str = "", **query: Any) -> Response:
        """Lead on after something was done."""
        url = self.url(place, **query)
        if self.part:
            return Response(status_code=204, headers={"HX-Redirect": url})
        return RedirectResponse(url, 303)

    @cached_property
    def csrf(self) -> str:
        """What each form carries."""
        return form_token(self.house.options.web_secret, self.session)

    @cached_property
    def agents(self) -> list[str]:
        """Names of the agents here."""
        return [row.name for row in self.house.peer.agent_rows()] if self.house.peer.exists else []

    @cached_property
    def banks(self) -> list[tuple[str, str]]:
        """(id, name) of the shared banks that the agent may read; its own memory is not among them."""
        if self.agent is None:
            return []
        return [(one.id, one.name) for one in self.acting.reachable_banks()[1:]]

    @cached_property
    def bank_name(self) -> str:
        """What the bank that is looked at is called."""
        if self.bank is None:
            return self.agent or ""
        return next((name for id_, name in self.banks if self.bank in {id_, name}), self.bank)


def _each(value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
