"""Where a command runs, as whom, and what the surface lends it: questions, progress, a stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from muniment.base.errors import InvalidInput, NotPermitted, UnknownAgent

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.commands.table import Result
    from muniment.memory import Memory
    from muniment.peer import Peer
    from muniment.shared_banks import Banks


def is_file_name(text: str) -> bool:
    """Whether a text that may name a file does: one that is there, or by its ending one that should be."""
    return text.endswith(".car") or os.path.lexists(text)


class Tick(Protocol):
    """Moves what shows progress."""

    def __call__(self, done: int, total: int, items: int = 0, /) -> None:
        """So much is done, of so much in all (0: unknown), and so many things came of it."""


class Context:
    """What a handler is given beside its parameters. It opens the peer when it is first needed.

    Args:
        home: The peer folder; None for the usual one.
        agent: Name of the agent that acts; None to let the peer choose.
        passphrase: Asked for the keyring's passphrase, if it has one.
        stdout: Where a file written to `-` goes; None where there is no such thing.
        options: Further keywords for opening the peer.

    Attributes:
        here: Whether whoever asks is at home on this machine: may name its files, and use its owner's key.
    """

    here: bool = True

    def __init__(
        self,
        home: str | Path | None = None,
        agent: str | None = None,
        *,
        passphrase: Callable[[], str] | None = None,
        stdout: BinaryIO | None = None,
        **options: Any,
    ) -> None:
        self.home = home
        self.agent_name = agent
        self.stdout = stdout
        self._passphrase = passphrase
        self._options = options
        self._peer: Peer | None = None

    @property
    def peer(self) -> Peer:
        """The open peer."""
        if self._peer is None:
            from muniment.peer import open_peer

            self._peer = open_peer(self.home, passphrase=self._passphrase, **self._options)
        return self._peer

    @property
    def standing_peer(self) -> Peer:
        """The open peer, if there is anything in its folder.

        Raises:
            UnknownAgent: Nothing was ever kept there.
        """
        if not self.peer.exists:
            raise UnknownAgent(
                f"nothing is remembered in {self.peer.home} yet",
                'Start with: muniment remember "…", or say where it is with --home.',
            )
        return self.peer

    def agent(self, *, for_write: bool = False) -> Agent:
        """The agent that acts.

        Raises:
            UnknownAgent: There is no agent of that name, or nothing was ever kept here.
            Ambiguous: Nobody said which of several agents is meant.
        """
        peer = self.peer if for_write else self.standing_peer
        return peer.choose_agent(self.agent_name, for_write=for_write)

    def agent_of(self, did: str) -> Agent:
        """The agent that a DID names: its own key, one bound to it, or its name here.

        Raises:
            UnknownAgent: None goes by it.
        """
        from muniment.callers import find_agent

        found = find_agent(self.standing_peer, did)
        if found is None:
            raise UnknownAgent(f"no agent goes by {did[:120]!r}", "See `muniment agent list`.")
        return found

    def acting_as(self, agent: Agent) -> Context:
        """This context, with that agent as the one that acts."""
        self.agent_name = agent.name
        return self

    def serve(self, options: Mapping[str, Any]) -> Result:  # noqa: ARG002 (surfaces that can, look at them)
        """Hold the doors of this installation open until told to stop.

        Raises:
            InvalidInput: The surface can't.
        """
        raise InvalidInput("nothing can be served from here", "Run `muniment serve` in a terminal.")

    def memory(self, bank: str | None, *, for_write: bool = False) -> Memory:
        """What the acting agent keeps in a bank, or in its own.

        Raises:
            UnknownBank | Ambiguous: No bank goes by that name, or several do.
            UnknownAgent: As for `agent`.
        """
        agent = self.agent(for_write=for_write)
        return agent if bank is None else agent.bank(bank)

    def banks(self, *, owner: bool, for_write: bool = False) -> Banks:
        """The banks, for the acting agent's key or for the owner's.

        Raises:
            NotPermitted: The owner's key is asked for by somebody who is not at home here.
            UnknownAgent | Ambiguous: As for `agent`.
        """
        if owner and not self.here:
            raise NotPermitted(
                "the owner's key does nothing for who asks from here",
                "Act as the agent, or run the command where the installation is.",
            )
        return self.standing_peer.banks if owner else self.agent(for_write=for_write).banks

    def names_file(self, text: str) -> bool:
        """Whether a text means a file of this machine; it never does to who is elsewhere, whatever lies here."""
        return self.here and is_file_name(text)

    def stream(self) -> BinaryIO:
        """Where `-` leads.

        Raises:
            InvalidInput: The surface has no such stream.
        """
        if self.stdout is None:
            raise InvalidInput("there is no output stream here", "Name a file.")
        return self.stdout

    @contextmanager
    def watch(self, label: str, unit: str) -> Iterator[Tick | None]:  # noqa: ARG002 (surfaces look at them)
        """Long work: surfaces that can show progress give a function to call now and then.

        `unit` is `bytes`, or what is counted.
        """
        yield None

    def attend(self, surface: str, **options: Any) -> None:  # noqa: ARG002 (surfaces look at them)
        """Run a server until its client leaves, where the surface can be left for one.

        Args:
            surface: Which: `mcp`.
            options: What the server is told.

        Raises:
            InvalidInput: It can't be left here.
        """
        raise InvalidInput("no server can be started from here", "Start it from a command line.")

    def close(self) -> None:
        """Let go of the peer; harmless when done twice."""
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
