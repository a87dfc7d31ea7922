"""did:key for Ed25519: the text form of a public key (W3C CCG did:key, multicodec 0xed, base58btc)."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from muniment.base.errors import RefusedKey
from muniment.identity.keys import check_public

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = {char: value for value, char in enumerate(_ALPHABET)}
_PREFIX = "did:key:z"
_CODEC = b"\xed\x01"
_MAX_CHARS = 64  # an Ed25519 did:key has 56


@lru_cache(maxsize=4096)
def to_did(public: bytes) -> str:
    """The did:key of a 32-byte public key."""
    number = int.from_bytes(_CODEC + public, "big")
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(_ALPHABET[digit])
    return _PREFIX + "".join(reversed(digits))


def fingerprint(public: bytes) -> str:
    """16 hex digits in fours, of the SHA-256 of a public key: short enough to be compared by two people."""
    digits = hashlib.sha256(public).hexdigest()[:16]
    return " ".join(digits[at : at + 4] for at in range(0, 16, 4))


def parse_did(text: str) -> bytes:
    """The 32-byte public key of an Ed25519 did:key.

    A fragment that repeats the key (`did:key:z6Mk…#z6Mk…`, a DID URL) is accepted and dropped.

    Raises:
        RefusedKey: Another method or key type, a bad spelling, or a key of small order.
    """
    did, _, fragment = text.partition("#")
    if not did.startswith(_PREFIX) or len(did) > _MAX_CHARS:
        raise RefusedKey(f"not a did:key of an Ed25519 key: {text[:80]!r}", "They start with `did:key:z6Mk`.")
    digits = did[len(_PREFIX) :]
    if fragment and fragment != "z" + digits:
        raise RefusedKey(f"the fragment names another key: {text[:120]!r}")
    number = 0
    for char in digits:
        if char not in _DIGITS:
            raise RefusedKey(
                f"not base58: {text[:80]!r}", "Copy the DID again; 0, O, I and l never occur in it."
            )
        number = number * 58 + _DIGITS[char]
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    if len(raw) != 34 or not raw.startswith(_CODEC) or to_did(raw[2:]) != did:
        raise RefusedKey(f"not a did:key of an Ed25519 key: {text[:80]!r}", "They start with `did:key:z6Mk`.")
    return check_public(raw[2:])
