"""What an agent's tools need beside records: skills, the banks it may open, which tools it has, and a clean slate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.base.errors import InvalidInput
from muniment.base.ids import BankId, parse_cid
from muniment.forgetting import clear, unclear
from muniment.reach import BankAccess, named, reachable, relative
from muniment.reading import Reader
from muniment.skills import Skill, find, listed, save
from muniment.tool_rights import read as read_rights
from muniment.tool_rights import write as write_rights
from muniment.views import Cleared, Record, Remembered

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.peer import Peer


class Toolbox:
    """The part of `Agent` that its tools call."""

    name: str
    _key: bytes
    _bank: Bank
    _reader: Reader
    _peer: Peer | None

    @property
    def peer(self) -> Peer:
        """The peer that opened it.

        Raises:
            InvalidInput: None did.
        """
        if self._peer is None:
            raise InvalidInput("this agent was not opened by a peer", "Use `Peer.agent`.")
        return self._peer

    # Skills

    def save_skill(self, name: str, steps: Sequence[str], description: str = "") -> Remembered:
        """Keep a procedure step by step; the same name again makes a new version.

        Raises:
            InvalidInput | LimitExceeded: It has no name or no steps, or is too long.
            NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As for `remember`.
        """
        return save(self._me(), name, steps, description)

    def skill(self, name: str) -> Skill:
        """The skill of that name, with its steps.

        Raises:
            UnknownRecord | InvalidInput | Ambiguous | NotPermitted: As their names say.
        """
        return find(self._me(), name)

    def skills(self, *, limit: int = 100) -> list[Skill]:
        """The skills of this memory, by name."""
        return listed(self._me(), limit)

    # Banks

    def banks(self) -> list[BankAccess]:
        """The banks that this agent's own key may read now: `self` first."""
        return reachable(self.peer, self._key, self._bank)

    def in_bank(self, bank: str) -> Agent:
        """This agent at another bank: it signs and reads there with its own key, by the level it has.

        Args:
            bank: A name or an id as `banks` lists them; `self` for its own.

        Raises:
            UnknownBank | Ambiguous: No bank that is open to it goes by that name, or several do.
        """
        me, peer = self._me(), self.peer
        other = peer.bank(BankId(parse_cid(named(self.banks(), bank).id)))
        return me if other is self._bank else type(me)(self.name, self._key, other, peer.name_of, peer)

    def as_seen(self, record: Record) -> Record:
        """A record of any bank with its `source` told relative to this agent, not to the bank's."""
        return relative(record, self._bank)

    # Tools

    def allowed_tools(self) -> tuple[str, ...] | None:
        """The tools that it has, by name; None: all of them."""
        return read_rights(self._bank, self._key)

    def allow_tools(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        """Say which tools it has; None: all of them, an empty list: none. Signed, in its own bank.

        Raises:
            InvalidInput: There is no tool of that name; nothing is changed.
            NotPermitted | StorageError: As their names say.
        """
        return write_rights(self._bank, self._key, names)

    # A clean slate

    def clear(self, *, undo: bool = False) -> Cleared:
        """Forget all live records of the bank; `undo` brings back what was forgotten by this last.

        Raises:
            UnknownRecord: There is nothing to undo.
            NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
        """
        act = unclear if undo else clear
        return Cleared(self.name, act(self._bank, self._key), undone=undo)

    def _me(self) -> Agent:
        from muniment.agent import Agent

        assert isinstance(self, Agent)  # noqa: S101 - nothing else is built on this
        return self
