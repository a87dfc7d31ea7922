"""Signatures, sealing and boxes: published vectors, and the same answers as libsodium itself."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl import bindings as sodium
from nacl.public import PrivateKey, SealedBox

from muniment.base.codec import DOMAINS, ENTRY
from muniment.base.errors import RefusedBody
from muniment.identity import keys

# RFC 8032, 7.1: secret, public, message, signature.
RFC_8032 = [
    ("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     ("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
     "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b")),
    ("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     ("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
     "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")),
    ("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     ("6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
     "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a")),
]  # fmt: skip
PLAIN = (
    b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
    b"sunscreen would be it."
)
# draft-irtf-cfrg-xchacha-03, A.3.1
XCHACHA = (
    "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
    "404142434445464748494a4b4c4d4e4f5051525354555657",
    "50515253c0c1c2c3c4c5c6c7",
    (
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39"
        "ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
        "21f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49"
    ),
)
seeds = st.binary(min_size=32, max_size=32)
few = settings(max_examples=40)


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_rfc_8032(secret: str, public: str, message: str, signature: str) -> None:
    """Published keys, messages and signatures; `sign` puts a domain in front, here an empty one."""
    pair = keys.keypair(bytes.fromhex(secret))
    assert pair.public.hex() == public
    assert keys.sign(pair.secret, b"", bytes.fromhex(message)).hex() == signature
    assert keys.verify(pair.public, bytes.fromhex(signature), b"", bytes.fromhex(message))


def test_xchacha20_poly1305() -> None:
    """The published vector of the cipher, with the nonce in front."""
    key, nonce, associated, sealed = map(bytes.fromhex, XCHACHA)
    assert keys.seal(key, nonce, PLAIN, associated) == nonce + sealed
    assert keys.unseal(key, nonce + sealed, associated) == PLAIN


@few
@given(seeds, st.binary(max_size=80), st.sampled_from(DOMAINS), st.sampled_from(DOMAINS))
def test_a_signature_holds_in_its_domain_alone(
    seed: bytes, message: bytes, domain: bytes, other: bytes
) -> None:
    """Signing is a function of key, domain and message, and a signature made for one use is none for another."""
    pair = keys.keypair(seed)
    signature = keys.sign(pair.secret, domain, message)
    assert signature == keys.sign(pair.secret, domain, message)
    assert keys.verify(pair.public, signature, domain, message)
    assert keys.verify(pair.public, signature, other, message) == (domain == other)


@few
@given(seeds, st.binary(max_size=40), st.integers(0, 511), st.binary(max_size=70))
def test_anything_else_is_no_signature(seed: bytes, message: bytes, bit: int, noise: bytes) -> None:
    """A flipped bit, another message, another key, and bytes of any length say no and raise nothing."""
    pair, other = keys.keypair(seed), keys.keypair(bytes(reversed(seed)))
    signature = keys.sign(pair.secret, ENTRY, message)
    flipped = (int.from_bytes(signature, "big") ^ 1 << bit).to_bytes(64, "big")
    assert not keys.verify(pair.public, flipped, ENTRY, message)
    assert not keys.verify(pair.public, signature, ENTRY, message + b"!")
    assert keys.verify(other.public, signature, ENTRY, message) == (other.public == pair.public)
    assert not keys.verify(pair.public, noise, ENTRY, message)
    assert not keys.verify(noise, signature, ENTRY, message) or noise == pair.public


@few
@given(seeds, st.binary(min_size=24, max_size=24), st.binary(max_size=300), st.binary(max_size=20), st.data())
def test_what_is_sealed_opens_only_as_it_was(
    key: bytes, nonce: bytes, plain: bytes, associated: bytes, data: st.DataObject
) -> None:
    """The same inputs seal to the same bytes; another key, other associated data or a flipped bit open nothing."""
    sealed = keys.seal(key, nonce, plain, associated)
    assert sealed == keys.seal(key, nonce, plain, associated)
    assert len(sealed) == len(plain) + keys.SEAL_OVERHEAD
    assert keys.unseal(key, sealed, associated) == plain
    at = data.draw(st.integers(0, len(sealed) * 8 - 1))
    flipped = (int.from_bytes(sealed, "big") ^ 1 << at).to_bytes(len(sealed), "big")
    other = bytes([key[0] ^ 1]) + key[1:]
    for wrong in ((key, flipped, associated), (other, sealed, associated), (key, sealed, associated + b"x")):
        with pytest.raises(RefusedBody):
            keys.unseal(*wrong)
    with pytest.raises(RefusedBody):
        keys.unseal(key, sealed[: data.draw(st.integers(0, len(sealed) - 1))], associated)


@few
@given(seeds, seeds, st.binary(max_size=80))
def test_a_box_is_libsodiums_sealed_box(seed: bytes, ephemeral: bytes, message: bytes) -> None:
    """libsodium opens our boxes, we open libsodium's, and ours follow from the ephemeral seed alone."""
    pair = keys.keypair(seed)
    boxed = keys.box(pair.public, message, ephemeral)
    assert boxed == keys.box(pair.public, message, ephemeral)
    assert len(boxed) == len(message) + 48
    private = PrivateKey(sodium.crypto_sign_ed25519_sk_to_curve25519(pair.secret))
    assert SealedBox(private).decrypt(boxed) == message
    assert keys.unbox(pair, boxed) == message
    assert keys.unbox(pair, SealedBox(private.public_key).encrypt(message)) == message


@few
@given(seeds, st.data())
def test_a_box_opens_for_its_key_alone(seed: bytes, data: st.DataObject) -> None:
    """Another key, a flipped bit and bytes of any length are refused by name."""
    pair, other = keys.keypair(seed), keys.keypair(bytes([seed[0] ^ 1]) + seed[1:])
    boxed = keys.box(pair.public, b"the key of an epoch, 32 bytes...", bytes(range(32)))
    # The top bit of an X25519 key is passed over (RFC 7748, 5), but the nonce covers it.
    at = data.draw(st.integers(0, len(boxed) * 8 - 1))
    flipped = (int.from_bytes(boxed, "big") ^ 1 << at).to_bytes(len(boxed), "big")
    for wrong in (flipped, boxed[:-1], boxed + b"x", data.draw(st.binary(max_size=100))):
        with pytest.raises(RefusedBody):
            keys.unbox(pair, wrong)
    with pytest.raises(RefusedBody):
        keys.unbox(other, boxed)


def test_a_secret_is_not_shown() -> None:
    """Neither its text form nor a traceback with local values holds the secret."""
    pair = keys.keypair(b"\x07" * 32)
    assert pair.secret.hex() not in repr(pair)
    assert repr(pair.secret) not in repr(pair)
    with pytest.raises(TypeError) as caught:
        len(pair, pair)  # type: ignore[call-arg]
    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert "KeyPair" in shown
    assert repr(pair.secret) not in shown
