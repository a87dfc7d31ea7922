"""did:key: the published vectors, one spelling for each key, and nothing that is no key."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base.errors import RefusedKey
from muniment.identity import keys
from muniment.identity.did import parse_did, to_did

# w3c-ccg/did-key-spec, test-vectors/ed25519-x25519.json: seed, public key, DID.
SEEDED = [
    ("00" * 32, "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
     "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"),
    ("00" * 31 + "01", "4cb5abf6ad79fbf5abbccafcc269d85cd2651ed4b885b5869f241aedf0a5ba29",
     "did:key:z6MkjchhfUsD6mmvni8mCdXHw216Xrm9bQe2mBH1P5RDjVJG"),
    ("00" * 31 + "02", "7422b9887598068e32c4448a949adb290d0f4e35b9e01b0ee5f1a1e600fe2674",
     "did:key:z6MknGc3ocHs3zdPiJbnaaqDi58NGb4pk1Sp9WxWufuXSdxf"),
]  # fmt: skip
# The specification's own text, and RFC 8032, 7.1, test 1.
NAMED = [
    ("2e6fcce36701dc791488e0d0b1745cc1e33a4c1c9fcc41c63bd343dbbe0970e6",
     "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"),
    ("095f9a1a595dde755d82786864ad03dfa5a4fbd68832566364e2b65e13cc9e44",
     "did:key:z6Mkf5rGMoatrSj1f4CyvuHBeXJELe9RPdzo2PKGNCKVtZxP"),
    ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
     "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"),
]  # fmt: skip
DID = SEEDED[0][2]
pairs = st.binary(min_size=32, max_size=32).map(keys.keypair)


@pytest.mark.parametrize(("seed", "public", "did"), SEEDED)
def test_published_seeds(seed: str, public: str, did: str) -> None:
    """A published seed gives the published key and DID."""
    assert keys.keypair(bytes.fromhex(seed)).public.hex() == public
    assert to_did(bytes.fromhex(public)) == did
    assert parse_did(did).hex() == public


@pytest.mark.parametrize(("public", "did"), NAMED)
def test_published_keys(public: str, did: str) -> None:
    """A published key and its DID are forms of each other."""
    assert to_did(bytes.fromhex(public)) == did
    assert parse_did(did).hex() == public


@given(pairs)
def test_a_did_reads_back(pair: keys.KeyPair) -> None:
    """Every key has a DID that begins z6Mk and gives the key again, also as a DID URL with its own fragment."""
    did = to_did(pair.public)
    assert did.startswith("did:key:z6Mk")
    assert parse_did(did) == pair.public
    assert parse_did(f"{did}#{did.removeprefix('did:key:')}") == pair.public


@given(st.text(max_size=80))
def test_other_text_is_refused_by_name(text: str) -> None:
    """Any text at all gives a key or RefusedKey."""
    for candidate in (text, "did:key:z" + text, DID + text):
        with contextlib.suppress(RefusedKey):
            assert to_did(parse_did(candidate)) == candidate.partition("#")[0]


@pytest.mark.parametrize(
    "text",
    [
        "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc",  # X25519
        "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",  # secp256k1
        "did:web:example.com",
        DID.replace("z6Mk", "Z6Mk"),
        DID + "1",
        DID.replace("did:key:z", "did:key:z1"),  # a leading zero byte
        DID[:-1],
        DID[:-1] + "0",
        DID.upper(),
        DID + "#" + NAMED[0][1].removeprefix("did:key:"),
        "did:key:z" + "z" * 100_000,
        "",
    ],
)
def test_what_is_no_ed25519_key_is_refused(text: str) -> None:
    """Other methods, other key types, other spellings and foreign fragments."""
    with pytest.raises(RefusedKey):
        parse_did(text)


@pytest.mark.parametrize(
    "public",
    [
        "01" + "00" * 31, "00" * 32, "ec" + "ff" * 30 + "7f", "ed" + "ff" * 30 + "7f", "02" + "00" * 31,
        "01" + "00" * 30 + "80",
    ],
)  # fmt: skip
def test_a_did_of_an_unusable_key_is_refused(public: str) -> None:
    """A key of small order, in another encoding or off the curve has a spelling but is no identity."""
    with pytest.raises(RefusedKey):
        parse_did(to_did(bytes.fromhex(public)))


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    """32 bytes, no more and no less, also within the text form."""
    with pytest.raises(RefusedKey):
        keys.check_public(bytes(length))
    with pytest.raises(RefusedKey):
        parse_did(to_did(b"\x01" * length))
