"""The part of `peer.db` about those who come over a network: nonces, bound DIDs, tokens (design section 11)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from muniment.base.errors import LimitExceeded, Overloaded
from muniment.base.limits import LIMITS
from muniment.store.connection import Connections
from muniment.store.link import Link

_SELECT = "SELECT id, hash, agent, rights, label, created, expires, revoked FROM tokens "
_PRUNE_EVERY = 256  # nonces between two looks for old ones


class TokenRow(NamedTuple):
    """A bearer token, as it is kept: never itself. Times are Unix ms; `expires` and `revoked` may be None."""

    id: str
    hash: bytes
    agent: bytes
    rights: str
    label: str | None
    created_ms: int
    expires_ms: int | None
    revoked_ms: int | None


class BindingRow(NamedTuple):
    """A DID, the agent that it names here, and that agent's signature over it."""

    did: str
    agent: bytes
    signature: bytes
    created_ms: int


class VisitorStore:
    """Rows of `peer.db`, for many threads and processes at once. Each method is one transaction.

    Args:
        connections: Those of the peer's own store: what is written by them is durable on return.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def bind(self, row: BindingRow) -> None:
        """Let a DID name an agent, in place of any other."""
        with self._connections.write() as link:
            link.run("INSERT OR REPLACE INTO bindings VALUES (?, ?, ?, ?)", row)

    def bound(self, did: str) -> BindingRow | None:
        """What a DID is bound to, or None."""
        rows = self._connections.link().run(
            "SELECT did, agent, signature, created FROM bindings WHERE did = ?", (did,)
        )
        return BindingRow(*rows[0]) if rows else None

    def add_token(self, row: TokenRow) -> None:
        """Keep a token.

        Raises:
            LimitExceeded: There are too many.
        """
        with self._connections.write() as link:
            count = int(link.run("SELECT count(*) FROM tokens")[0][0])
            if count >= LIMITS.tokens:
                raise LimitExceeded("tokens", LIMITS.tokens, count + 1, "Revoke what is not used.")
            link.run("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def token(self, token_id: str) -> TokenRow | None:
        """One token by its id, revoked and expired ones included."""
        rows = self._connections.link().run(_SELECT + "WHERE id = ?", (token_id,))
        return TokenRow(*rows[0]) if rows else None

    def tokens(self) -> list[TokenRow]:
        """All tokens, oldest first."""
        return [TokenRow(*row) for row in self._connections.link().run(_SELECT + "ORDER BY created, id")]

    def revoke_token(self, token_id: str, now_ms: int) -> None:
        """Take a token back; its row stays until it would have expired anyway."""
        with self._connections.write() as link:
            link.run("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (now_ms, token_id))


class NonceStore:
    """The nonces of answered requests, shared by all processes of a peer folder.

    They are written without a sync: another process sees them at once, and they outlive a process that is
    killed, but not a power cut. Whoever uses this refuses what was signed before it started.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_ms: int = 1_000) -> None:
        self._connections = Connections(Path(path), busy_ms=busy_ms)
        self._connections.accept()
        self._relaxed: set[int] = set()
        self._count = 0

    def add(self, nonce: bytes, until: int, now: int) -> bool:
        """Remember a nonce until a moment (Unix s); False if it is known already.

        Raises:
            Overloaded: More are remembered than `Limits.nonces`.
            StorageError: The file can't be written in time.
        """
        self._relax(self._connections.link())
        with self._connections.write() as link:
            if self._count % _PRUNE_EVERY == 0:
                link.run("DELETE FROM nonces WHERE until < ?", (now,))
                if int(link.run("SELECT count(*) FROM nonces")[0][0]) >= LIMITS.nonces:
                    raise Overloaded("more requests are remembered than there is room for", 60)
            if link.run("SELECT 1 FROM nonces WHERE nonce = ?", (nonce,)):
                return False
            link.run("INSERT INTO nonces VALUES (?, ?)", (nonce, until))
            self._count += 1
        return True

    def _relax(self, link: Link) -> None:
        if id(link) not in self._relaxed:
            link.run("PRAGMA synchronous = 1")
            self._relaxed.add(id(link))

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(OSError):
            self._connections.close()
