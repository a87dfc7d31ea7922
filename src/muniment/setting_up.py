"""Choosing how a peer is set up, before or in place of the defaults of the first write (design section 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput
from muniment.choosing import DEFAULT_AGENT
from muniment.identity.did import to_did
from muniment.names import check_name

if TYPE_CHECKING:
    from muniment.peer import Peer

UNSEALED = "file mode"  # keys that nothing but the mode of their file protects


def set_up(
    peer: Peer, name: str | None, agent: str | None, passphrase: str | None, *, use_system_keyring: bool
) -> dict[str, Any]:
    """See `Peer.init`."""
    sealing = passphrase is not None or use_system_keyring
    if passphrase is not None and use_system_keyring:
        raise InvalidInput("a passphrase and the system keyring are both chosen", "Choose one.")
    settled = bool(peer.agents())  # a folder that only holds API keys is not
    if settled and (agent is not None or not (sealing or name)):
        raise InvalidInput(f"{peer.home} is set up already", "See `muniment agent list`, `muniment doctor`.")
    if name is not None:
        check_name(name)
    peer.folder.make()
    if sealing:
        _seal_keys(peer, passphrase)
    if not settled:
        peer.new_agent(agent or DEFAULT_AGENT)
    store = peer.made_store()
    if name is not None:
        store.set_meta("name", name)
    return {
        "home": str(peer.home),
        "name": store.meta("name"),
        "owner": to_did(peer.owner()),
        "keys": peer.host.keyring.protection,
        "agents": [info.to_json() for info in peer.agents()],
    }


def _seal_keys(peer: Peer, passphrase: str | None) -> None:
    keyring = peer.host.keyring
    if keyring.protection not in {None, UNSEALED}:
        raise InvalidInput(f"the keys are sealed already, by {keyring.protection}")
    if passphrase is None:
        keyring.use_system_keyring()
    elif passphrase:
        keyring.set_passphrase(None, lambda: passphrase)
    else:
        raise InvalidInput("an empty passphrase seals nothing", "Choose one of several words.")
