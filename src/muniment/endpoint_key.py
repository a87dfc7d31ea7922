"""The key under which this peer is found over iroh: made for that alone, and drawn from the keyring (design section 8).

Private keys never leave the keyring, and iroh wants a secret of its own. So a key in custody signs a fixed message in
a domain that is used for nothing else, and the hash of that signature is the seed. Ed25519 signs without chance: the
same key gives the same endpoint after each start, and the endpoint's secret leads back to no key.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from muniment.base import codec

if TYPE_CHECKING:
    from muniment.peer import Peer

LABEL = "iroh endpoint"
_META = "endpoint"  # the public half of the key in custody
_MESSAGE = b"iroh"


def endpoint_seed(peer: Peer) -> bytes:
    """The seed (32 bytes) of this peer's endpoint; the key that it is drawn from is made if it must be.

    Raises:
        KeyringLocked | WrongPassphrase | UnknownKey | StorageError: The key can't be used or made.
    """
    ring = peer.host.keyring
    peer.owner()  # the first key is the owner's
    with peer.folder.lock("agents"):
        store = peer.made_store()
        key: bytes | None = store.meta(_META)
        if key is None:
            key = ring.create(label=LABEL)
            store.set_meta(_META, key)
    return hashlib.sha256(codec.ENDPOINT + ring.sign(key, codec.ENDPOINT, _MESSAGE)).digest()
