"""Ed25519 signatures and XChaCha20-Poly1305 sealing by libsodium; nothing here draws randomness.

Sources: RFC 8032, RFC 8439 and draft-irtf-cfrg-xchacha, libsodium's sealed boxes; design section 3.
libsodium refuses keys of small order, which OpenSSL accepts; one library, one verdict.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple

from nacl import bindings as sodium
from nacl import exceptions

from muniment.base.errors import RefusedBody, RefusedKey

PUBLIC_BYTES = 32
SEED_BYTES = 32
SIGNATURE_BYTES = 64
KEY_BYTES = 32  # symmetric
NONCE_BYTES = 24
SEAL_OVERHEAD = NONCE_BYTES + 16


class KeyPair(NamedTuple):
    """A public key (32 bytes) and libsodium's secret form (seed and public key, 64 bytes)."""

    public: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"KeyPair(public={self.public.hex()}, secret=…)"  # a traceback must never show it


def keypair(seed: bytes) -> KeyPair:
    """The Ed25519 pair of a 32-byte seed (RFC 8032, 5.1.5)."""
    public, secret = sodium.crypto_sign_seed_keypair(seed)
    return KeyPair(public, secret)


def check_public(public: bytes) -> bytes:
    """Return `public` if it is a canonical point of the prime-order group.

    Raises:
        RefusedKey: Wrong length, not on the curve, not canonical, or of small order.
    """
    if len(public) != PUBLIC_BYTES or not _is_point(public):
        raise RefusedKey(f"not a usable Ed25519 public key: {public[:40].hex()}")
    return public


@lru_cache(maxsize=4096)  # as dear as verifying a signature, and the same few keys sign everything
def _is_point(public: bytes) -> bool:
    return bool(sodium.crypto_core_ed25519_is_valid_point(public))


def sign(secret: bytes, domain: bytes, message: bytes) -> bytes:
    """Signature (64 bytes) over `domain + message`."""
    signature: bytes = sodium.crypto_sign(domain + message, secret)[:SIGNATURE_BYTES]
    return signature


def verify(public: bytes, signature: bytes, domain: bytes, message: bytes) -> bool:
    """Whether `signature` over `domain + message` is by `public`, as libsodium's detached verify says."""
    if len(signature) != SIGNATURE_BYTES or len(public) != PUBLIC_BYTES:
        return False
    try:
        sodium.crypto_sign_open(signature + domain + message, public)
    except (exceptions.BadSignatureError, exceptions.ValueError, ValueError):
        return False
    return True


def seal(key: bytes, nonce: bytes, plain: bytes, associated: bytes) -> bytes:
    """`nonce` (24 bytes) followed by the XChaCha20-Poly1305 ciphertext of `plain`."""
    sealed: bytes = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, associated, nonce, key)
    return nonce + sealed


def unseal(key: bytes, sealed: bytes, associated: bytes) -> bytes:
    """The plain bytes of `sealed`, as `seal` made them.

    Raises:
        RefusedBody: Another key, other associated data, or altered bytes.
    """
    if len(sealed) < SEAL_OVERHEAD:
        raise RefusedBody(f"sealed bytes are {len(sealed)} long, at least {SEAL_OVERHEAD} are needed")
    try:
        plain: bytes = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
            sealed[NONCE_BYTES:], associated, sealed[:NONCE_BYTES], key
        )
    except exceptions.CryptoError:
        raise RefusedBody("sealed bytes do not open under this key") from None
    return plain


def box(public: bytes, message: bytes, ephemeral_seed: bytes) -> bytes:
    """A sealed box for an Ed25519 key, as `crypto_box_seal` makes it, from an ephemeral seed (32 bytes)."""
    recipient = sodium.crypto_sign_ed25519_pk_to_curve25519(public)
    ephemeral_public, ephemeral_secret = sodium.crypto_box_seed_keypair(ephemeral_seed)
    nonce = hashlib.blake2b(ephemeral_public + recipient, digest_size=NONCE_BYTES).digest()
    boxed: bytes = sodium.crypto_box(message, nonce, recipient, ephemeral_secret)
    return bytes(ephemeral_public) + boxed


def unbox(pair: KeyPair, boxed: bytes) -> bytes:
    """Open a sealed box made for `pair.public`.

    Raises:
        RefusedBody: It was made for another key, or altered.
    """
    secret = sodium.crypto_sign_ed25519_sk_to_curve25519(pair.secret)
    public = sodium.crypto_sign_ed25519_pk_to_curve25519(pair.public)
    try:
        message: bytes = sodium.crypto_box_seal_open(boxed, public, secret)
    except (exceptions.CryptoError, exceptions.TypeError, exceptions.ValueError):
        raise RefusedBody("a sealed box does not open with this key") from None
    return message
