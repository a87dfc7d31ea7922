"""No signed request counts twice: the nonces seen, and the moment before which nothing is believed."""

from __future__ import annotations

import hashlib

from muniment.base.clock import Clock
from muniment.base.errors import RefusedSignature
from muniment.identity.http_signatures import SKEW_S, Claim
from muniment.peer import Peer
from muniment.store.visitors import NonceStore


class Replays:
    """Asked once for each verified claim. The nonces stand in `peer.db`, so all processes of a peer share them.

    Nonces are not synced to the disk one by one. After a power cut some may be lost, so a request that was
    created before this server started is refused: its nonce may be one of them.
    """

    def __init__(self, peer: Peer) -> None:
        peer.made_store()
        self._clock: Clock = peer.host.clock
        self._store = NonceStore(peer.home / "peer.db")
        self._since = self._now()

    def _now(self) -> int:
        return self._clock.now_ms() // 1000

    def check(self, claim: Claim) -> None:
        """Take a claim as used.

        Raises:
            RefusedSignature: `replayed`: it was used before, or made before this server started.
            Overloaded: There are more unexpired ones than can be remembered.
            StorageError: `peer.db` can't be written.
        """
        step = "Sign the request anew."
        if claim.created < self._since:
            raise RefusedSignature("replayed", "it was signed before this server started", step)
        name = hashlib.sha256(f"{claim.keyid}\0{claim.nonce}".encode()).digest()[:16]
        if not self._store.add(name, claim.expires + SKEW_S, self._now()):
            raise RefusedSignature("replayed", "this nonce was used before", step)

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()
