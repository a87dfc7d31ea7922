"""Proofs of key that open a round (docs/sync.md, section 4; rule 14 of the protocol review)."""

from __future__ import annotations

from muniment.base import codec
from muniment.base.errors import Malformed, RefusedKey
from muniment.base.ids import BankId
from muniment.identity import keys

CLIENT, SERVER = 1, 2


def proof(
    role: int, bank: BankId, client: bytes, server: bytes, nonces: tuple[bytes, bytes], binding: bytes
) -> bytes:
    """What an end signs: its role, the bank, both keys, both nonces and what binds them to the channel.

    The client proves itself before it knows the server's key: then `server` is empty.
    """
    return codec.encode([role, bank, client, server, *nonces, binding])


def holds(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether a proof was signed by a key."""
    try:
        keys.check_public(key)
    except (RefusedKey, Malformed):
        return False
    return keys.verify(key, signature, codec.HELLO, message)
