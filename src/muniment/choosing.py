"""Which agent is meant where none, or not enough, was said (design section 6)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from muniment.base.errors import Ambiguous, UnknownAgent

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.peer import Peer

AGENT_VARIABLE = "MUNIMENT_AGENT"
DEFAULT_AGENT = "default"


def chosen(peer: Peer, asked: str | None, *, for_write: bool) -> Agent:
    """The agent that is meant, as `Peer.choose_agent` says."""
    name = asked or os.environ.get(AGENT_VARIABLE) or peer.host.settings.agent
    if name:
        return peer.agent(name)
    rows = peer.agent_rows()
    if len(rows) == 1:
        return peer.agent(rows[0].name)
    if not rows:
        if for_write:
            return peer.agent(DEFAULT_AGENT, create=True)
        raise UnknownAgent(f"nothing is remembered in {peer.home} yet", 'Start with: muniment remember "…"')
    names = [row.name for row in rows]
    raise Ambiguous("this peer has several agents", names, "Name one with --agent, or set MUNIMENT_AGENT.")
