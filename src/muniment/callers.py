"""Who comes over a network: from a verified key to the agent that it may act for (design section 11).

The agent's identity comes from the credential. An argument may choose among the agents that a controller's key
owns, and can never reach another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal, NamedTuple

from muniment.agent import Agent
from muniment.base.errors import Ambiguous, MunimentError, NotPermitted
from muniment.bindings import bound_key
from muniment.identity.did import parse_did
from muniment.peer import Peer
from muniment.store.peer import AgentRow

Role = Literal["agent", "controller"]
Web = Callable[[str], tuple[bytes, ...]]  # a did:web -> the keys that authenticate for it

_NOBODY = "the key that signed is neither the agent's nor its controller's"


class Caller(NamedTuple):
    """The agent that acts, and whether its own key asked or its controller's."""

    agent: Agent
    role: Role


class Callers:
    """Answers who may act for whom on one peer. Agents are opened once and shared.

    Args:
        peer: The peer.
        web: Resolves a did:web to the keys in its document; None where none are allowed.
    """

    def __init__(self, peer: Peer, web: Web | None = None) -> None:
        self._peer, self._web = peer, web
        self._agents: dict[bytes, Agent] = {}
        self._lock = threading.Lock()

    def of(self, key: bytes, named: str | None = None, *, writes: bool = True) -> Caller:
        """The agent that a verified key acts for.

        Args:
            key: The public key whose signature was verified.
            named: A DID or the name of the agent that is meant; needed where a controller has several.
            writes: Whether anything may be changed: a controller needs that right in the agent's bank itself.

        Raises:
            NotPermitted: The key owns no agent here, or not the one that is named.
            Ambiguous: It controls several and none is named.
        """
        own = self._own(key)
        if named is None and own is not None:
            return Caller(self._open(own), "agent")
        if named is None:
            return Caller(self._controlled(key, writes=writes), "controller")
        row = self._row(named)
        if row is not None and row.key == key:
            return Caller(self._open(row), "agent")
        if row is None or not self._controls(key, row, writes=writes):
            # An agent that is not here and one that is not yours look the same.
            raise NotPermitted(_NOBODY, "Sign with the key of the agent that is named, or of its controller.")
        return Caller(self._open(row), "controller")

    def known(self, key: bytes) -> None:
        """Refuse a key that owns no agent here.

        Raises:
            NotPermitted: It is no agent's, and no controller's.
        """
        if self._own(key) is None and not self._owned(key):
            raise NotPermitted(_NOBODY, "Sign with the key of an agent of this installation.")

    def _controlled(self, key: bytes, *, writes: bool) -> Agent:
        rows = [row for row in self._owned(key) if self._controls(key, row, writes=writes)]
        if not rows:
            raise NotPermitted(_NOBODY, "Sign with the key of an agent of this installation.")
        if len(rows) > 1:
            names = [row.name for row in rows]
            raise Ambiguous("the key controls several agents", names, "Name one as `agent_did`.")
        return self._open(rows[0])

    def _controls(self, key: bytes, row: AgentRow, *, writes: bool) -> bool:
        """Whether a key is the agent's controller, and the bank still says so."""
        if key != row.controller:
            return False
        authority = self._peer.bank(row.bank).authority
        check = authority.check_write if writes else authority.check_read
        try:
            check(key, self._peer.host.clock.now_ms())
        except MunimentError:
            return False
        return True

    def _row(self, named: str) -> AgentRow | None:
        row = find_row(self._peer, named)
        if row is None and named.startswith("did:web:") and self._web is not None:
            found = [own for key in self._web(named) if (own := self._own(key)) is not None]
            return found[0] if found else None
        return row

    def _own(self, key: bytes) -> AgentRow | None:
        store = self._peer.standing_store()
        return None if store is None else store.agent_by_key(key)

    def _owned(self, key: bytes) -> list[AgentRow]:
        store = self._peer.standing_store()
        return [] if store is None else store.agents_of(key)

    def _open(self, row: AgentRow) -> Agent:
        with self._lock:
            if row.key not in self._agents:
                self._agents[row.key] = self._peer.agent(row.name)
            return self._agents[row.key]


def find_row(peer: Peer, named: str) -> AgentRow | None:
    """The agent that a DID (its own, or one bound to it here) or a name stands for."""
    store = peer.standing_store()
    if store is None:
        return None
    if not named.startswith("did:"):
        return store.agent_by_name(named)
    if not named.startswith("did:key:"):
        key = bound_key(peer, named)
        return None if key is None else store.agent_by_key(key)
    try:
        return store.agent_by_key(parse_did(named))
    except MunimentError:
        return None


def find_agent(peer: Peer, named: str) -> Agent | None:
    """The same, opened."""
    row = find_row(peer, named)
    return None if row is None else peer.agent(row.name)
