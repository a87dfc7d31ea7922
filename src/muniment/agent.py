"""An agent: a key of this peer, the bank that is its memory, and its way into other banks (design sections 2, 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput
from muniment.memory import Memory
from muniment.reach import BankAccess, named, reachable, relative
from muniment.tool_rights import read as read_rights
from muniment.tool_rights import write as write_rights
from muniment.views import Record

if TYPE_CHECKING:
    from muniment.auto_config import AutoRecallConfig
    from muniment.peer import Peer
    from muniment.session import Session
    from muniment.shared_banks import Banks
    from muniment.trust import TrustConfig


class Agent(Memory):
    """Writes to and recalls from its own memory. Made by `Peer.agent`.

    Attributes:
        name: What this peer calls it.
    """

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, {self.did})"

    # Other banks

    @property
    def banks(self) -> Banks:
        """The banks of this peer, for this agent's key: made, granted, revoked."""
        from muniment.shared_banks import Banks

        return Banks(self.peer, self.peer.agent_row(self.name))

    def bank(self, ref: str) -> Memory:
        """A bank of this peer, to remember in and to recall from with this agent's own key.

        It opens nothing: each call is asked of the bank's authority.

        Args:
            ref: Its id, or what this peer calls it.

        Raises:
            UnknownBank | Ambiguous: No bank goes by that name, or several do.
        """
        from muniment.session import find_bank

        peer = self.peer
        if peer.default_memory_banks:
            from muniment.default_banks import apply

            apply(peer, self.name)
        row = find_bank(peer, ref)
        if row.bank == self._bank.id:
            return self
        return Memory(self.name, self._key, peer.bank(row.bank), peer.name_of, peer, self._bank)

    # Conversations

    def session(self, name: str) -> Session:
        """A conversation, to which banks are attached and for which memory is recalled unasked.

        Args:
            name: The conversation's id, the same in each turn.

        Raises:
            InvalidInput | LimitExceeded: It is no name, or a long one.
        """
        from muniment.session import Session

        peer, session = self.peer, Session(self.peer, name, self._key, self._bank)
        if peer.default_memory_banks:
            from muniment.default_banks import attach

            attach(peer, self.name, session)
        return session

    def auto_recall_config(self) -> AutoRecallConfig:
        """How this agent wants memory to be recalled unasked."""
        from muniment.auto_config import read

        return read(self._bank, self._key)

    def configure_auto_recall(self, **changes: Any) -> AutoRecallConfig:
        """Change settings of `AutoRecallConfig`, from the next turn on; None takes one back to its default.

        They stand in the agent's own bank, signed. Banks may be named by id or name.

        Raises:
            InvalidInput | LimitExceeded: There is no such setting, or it can't have this value; nothing is changed.
            UnknownBank | Ambiguous: `auto_recall_banks` names none, or several.
            NotPermitted | StorageError: As their names say.
        """
        from muniment.auto_config import write
        from muniment.session import bank_ids

        if changes.get("auto_recall_banks") is not None:
            changes["auto_recall_banks"] = bank_ids(self.peer, changes["auto_recall_banks"])
        return write(self._bank, self._key, changes)

    def reset_auto_recall(self) -> AutoRecallConfig:
        """Take all settings of auto-recall back to their defaults.

        Raises:
            NotPermitted | StorageError: As their names say.
        """
        from muniment.auto_config import reset

        return reset(self._bank, self._key)

    def trust(self) -> TrustConfig:
        """Whom this agent trusts: whose words may be recalled unasked, and what they weigh."""
        from muniment.trust import read

        return read(self._bank, self._key)

    def configure_trust(self, **changes: Any) -> TrustConfig:
        """Change settings of `TrustConfig`, from the next call on; None takes one back to its default.

        Raises:
            InvalidInput | LimitExceeded | RefusedKey: There is no such setting, or it can't have this value.
            NotPermitted | StorageError: As their names say.
        """
        from muniment.members import dids
        from muniment.trust import write

        for name in ("authors", "blocked"):
            if changes.get(name) is not None:
                changes[name] = dids(self.peer, changes[name])
        return write(self._bank, self._key, changes)

    def reset_trust(self) -> TrustConfig:
        """Take all settings of trust back to their defaults.

        Raises:
            NotPermitted | StorageError: As their names say.
        """
        from muniment.trust import reset

        return reset(self._bank, self._key)

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

    def reachable_banks(self) -> list[BankAccess]:
        """The banks that this agent's own key may read now: `self` first."""
        return reachable(self.peer, self._key, self._bank)

    def reachable_bank(self, bank: str) -> Memory:
        """A bank that this agent's own key may read now; what is shut looks as if it were not there.

        Args:
            bank: A name or an id as `reachable_banks` lists them; `self` for its own.

        Raises:
            UnknownBank | Ambiguous: No bank that is open to it goes by that name, or several do.
        """
        return self.bank(named(self.reachable_banks(), bank).id)

    def as_seen(self, record: Record) -> Record:
        """A record of any bank with its `source` told relative to this agent, not to the bank's."""
        return relative(record, self._bank)

    @property
    def peer(self) -> Peer:
        """The peer that opened it.

        Raises:
            InvalidInput: None did.
        """
        if self._peer is None:
            raise InvalidInput("this agent was not opened by a peer", "Use `Peer.agent`.")
        return self._peer
