"""Other names of agents: a DID that an agent's key says is its own, on this peer (design section 11)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from muniment.agent import Agent
from muniment.base import codec
from muniment.base.errors import InvalidInput, LimitExceeded
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.identity.did import parse_did, to_did
from muniment.peer import Peer
from muniment.store.visitors import BindingRow

_DID = re.compile(r"did:[a-z0-9]+:[A-Za-z0-9._:%-]+(?<!:)", re.ASCII)  # DID Core 1.0, 3.1


@dataclass(frozen=True, slots=True)
class Binding:
    """That a DID names an agent here."""

    did: str
    agent: str
    key: str

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {"did": self.did, "agent": self.agent, "key": self.key}


def check_did(text: str) -> str:
    """Refuse what is no DID.

    Raises:
        InvalidInput | LimitExceeded: As their names say.
    """
    if len(text) > LIMITS.did_chars:
        raise LimitExceeded("DID characters", LIMITS.did_chars, len(text))
    if _DID.fullmatch(text) is None:
        raise InvalidInput(f"not a DID: {text[:80]!r}", "They look like `did:web:example.com`.")
    return text


def bind(peer: Peer, agent: Agent, did: str) -> Binding:
    """Let a DID name an agent of this peer, by a statement that the agent's key signs.

    Raises:
        InvalidInput | LimitExceeded: It is no DID, or one that names a key by itself.
        UnknownKey: The agent's key is not in custody here.
    """
    check_did(did)
    if did.startswith("did:key:"):
        raise InvalidInput("a did:key names its own key and nothing else", "Bind a DID of another method.")
    public = parse_did(agent.did)
    signature = peer.host.keyring.sign(public, codec.BINDING, did.encode())
    row = BindingRow(did, public, signature, peer.host.clock.now_ms())
    peer.made_store().visitors.bind(row)
    return Binding(did, agent.name, to_did(public))


def bound_key(peer: Peer, did: str) -> bytes | None:
    """The agent's key that a DID was bound to on this peer, proven again; None if it was not."""
    store = peer.standing_store()
    row = None if store is None else store.visitors.bound(did)
    if row is None or not keys.verify(row.agent, row.signature, codec.BINDING, did.encode()):
        return None
    return row.agent
