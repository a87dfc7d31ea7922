"""Shared banks of one peer, for tests: founded by an agent, granted and revoked as the founder's key decides."""

from __future__ import annotations

from typing import Any

from muniment import founding
from muniment.agent import Agent
from muniment.base.ids import cid_text
from muniment.identity.did import parse_did
from muniment.ledger.control import Control, Founder, Grant, Revoke
from muniment.ledger.levels import parse_level
from muniment.peer import Peer
from muniment.remembering import Draft, remember
from muniment.views import Remembered
from muniment.writing import Writer


class SharedBank:
    """A bank that an agent founds and holds as admin(0), on the list of its peer.

    Args:
        peer: Where it lies.
        founder: An agent of that peer.
        name: What the peer calls it.
    """

    def __init__(self, peer: Peer, founder: Agent, name: str) -> None:
        self._key, self.name = parse_did(founder.did), name
        founders = (Founder(self._key, parse_level("admin(0)")),)
        store = founding.found(peer.host, self._key, founders, peer.make_store)
        bank = store.bank
        store.close()
        peer.made_store().add_bank(bank, "shared", name, peer.host.clock.now_ms())
        self.bank = peer.bank(bank)

    @classmethod
    def of(cls, peer: Peer, agent: Agent) -> SharedBank:
        """An agent's own bank, as the peer's owner holds it: it can be granted like any other."""
        made = cls.__new__(cls)
        made.bank, made.name, made._key = agent._bank, agent.name, peer.owner()
        return made

    @property
    def id(self) -> str:
        """The bank's id, as text."""
        return cid_text(self.bank.id)

    def grant(self, agent: Agent, level: str = "read") -> None:
        """Grant, and start an epoch for those who read then."""
        self._decide(Grant(parse_did(agent.did), parse_level(level)))

    def revoke(self, agent: Agent) -> None:
        """Revoke with all that the key signed so far, and start an epoch without it."""
        key = parse_did(agent.did)
        self._decide(Revoke(key, self.bank.store.tips(key)))

    def remember(self, text: str, *, by: Agent | None = None, **fields: Any) -> Remembered:
        """Remember as the founder, or as another agent that may write; the fields are those of `Draft`."""
        return self.remember_many([Draft(text, **fields)], by=by)[0]

    def remember_many(self, drafts: list[Draft], *, by: Agent | None = None) -> list[Remembered]:
        """The same for several at once."""
        return remember(self.bank, self._key if by is None else parse_did(by.did), drafts)

    def _decide(self, act: Control) -> None:
        with self.bank.write() as authority:
            writer, clock = Writer(self.bank, self._key), self.bank.host.clock
            writer.commit_control(authority, [act], clock.now_ms())
            writer.start_epoch(self.bank.authority, clock.now_ms())
