"""Signed HTTP messages: the profile, the RFC's own example, another implementation, and one bad vector a reason."""

from __future__ import annotations

import base64
import datetime
import time
from dataclasses import replace

import http_message_signatures as oracle
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from muniment.base.errors import RefusedSignature
from muniment.identity import keys
from muniment.identity.did import to_did
from muniment.identity.fields import read_bytes, read_list
from muniment.identity.http_signatures import (
    REASONS,
    Request,
    base_of,
    digest_of,
    key_of,
    keyid_of,
    sign_answer,
    sign_request,
    verify_answer,
    verify_request,
)

SEED = bytes(range(32))
PUBLIC = keys.keypair(SEED).public
KEY = key_of(SEED)
NOW = 1_760_000_000
NONCE = "AAECAwQFBgcICQoLDA0ODw"
REQUEST = Request("POST", "memory.example:8377", "/rpc", "", "application/json", b'{"jsonrpc":"2.0"}')
RFC_SEED = base64.b64decode("n4Ni+HpISpVObnQMW0wOhCKROaIKqKtW/2ZYb2p9KcU=")


def headers(request: Request = REQUEST, created: int = NOW, nonce: str = NONCE) -> dict[str, str]:
    """A signed request's headers."""
    own = {"host": request.authority, "content-type": request.content_type or "text/plain"}
    return own | sign_request(request, KEY, created, nonce)


def test_the_example_of_the_rfc() -> None:
    """RFC 9421, B.2.6: the base and the signature of its Ed25519 example, byte for byte."""
    covered = [
        ('"date"', "Tue, 20 Apr 2021 02:07:55 GMT"),
        ('"@method"', "POST"),
        ('"@path"', "/foo"),
        ('"@authority"', "example.com"),
        ('"content-type"', "application/json"),
        ('"content-length"', "18"),
    ]
    params = f'({" ".join(name for name, _ in covered)});created=1618884473;keyid="test-key-ed25519"'
    signature = keys.sign(keys.keypair(RFC_SEED).secret, b"", base_of(covered, params))
    assert base64.b64encode(signature).decode() == (
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    )


def test_the_profile_has_the_bytes_that_it_had() -> None:
    """A golden request: signers elsewhere can compare theirs."""
    made = sign_request(REQUEST, KEY, NOW, NONCE)
    assert made == {
        "content-digest": "sha-256=:BJq6WaUDXOPrt4Hh+RdvqlIwLS9csjuaaSZzZU8zT+Y=:",
        "signature-input": (
            'muniment=("@method" "@authority" "@path" "@query" "content-type" "content-digest")'
            ';created=1760000000;expires=1760000060;nonce="AAECAwQFBgcICQoLDA0ODw"'
            ';keyid="did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd'
            '#z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd";alg="ed25519";tag="muniment"'
        ),
        "signature": (
            "muniment=:EcC0tsQ2tRqEB0eR2NhQyh4z48DA/1iUNBAVxphnyKXbMkwOCe3vG4ngrh8bg4WCBPlgpWbYYGRKmxWKOBdxBg==:"
        ),
    }
    assert verify_request(REQUEST, headers().items(), NOW).key == PUBLIC


def test_what_was_signed_is_verified_and_says_whose_it_is() -> None:
    """The claim holds all that a replay store needs."""
    claim = verify_request(REQUEST, headers().items(), NOW + 60)
    assert claim == (PUBLIC, keyid_of(PUBLIC), NONCE, NOW, NOW + 60)
    bare = Request("GET", "memory.example", "/sync/1", "bank=a%20b")
    assert verify_request(bare, sign_request(bare, KEY, NOW, NONCE).items(), NOW).key == PUBLIC


def edited(name: str, old: str, new: str) -> dict[str, str]:
    """Signed headers with one word of one of them replaced."""
    made = headers()
    assert old in made[name]
    return made | {name: made[name].replace(old, new)}


def without(name: str) -> dict[str, str]:
    """Signed headers without one."""
    return {n: v for n, v in headers().items() if n != name}


def signed_otherwise(old: str, new: str) -> dict[str, str]:
    """Signed headers whose parameters were others when they were signed."""
    made = headers()
    params = made["signature-input"].partition("=")[2].replace(old, new)
    assert params != made["signature-input"].partition("=")[2]
    base = base_of(REQUEST.covered(made["content-digest"]), params)
    signature = KEY.sign(b"", base)
    return made | {
        "signature-input": f"muniment={params}",
        "signature": f"muniment=:{base64.b64encode(signature).decode()}:",
    }


SMALL = keyid_of(b"\x01" + bytes(31))
BAD: list[tuple[str, dict[str, str], int]] = [
    ("missing", without("signature"), NOW),
    ("missing", without("signature-input"), NOW),
    ("missing", without("content-digest"), NOW),
    ("duplicate_header", headers() | {"Signature": "muniment=:AAAA:"}, NOW),
    ("malformed", edited("signature", "=:", "=: "), NOW),
    ("malformed", edited("signature-input", ";alg", " ;alg"), NOW),
    ("malformed", edited("signature-input", "created=", "created=0"), NOW),
    ("malformed", edited("signature-input", ";alg", ";created=1;alg"), NOW),
    ("malformed", edited("signature-input", '"muniment"', '"muni\\"ment"'), NOW),
    ("malformed", edited("signature-input", "did:key:", "did:key:" + "z" * 1000), NOW),
    ("malformed", headers() | {"content-digest": "sha-256=AAAA"}, NOW),
    ("wrong_label", edited("signature", "muniment=", "sig1="), NOW),
    ("wrong_components", signed_otherwise('"@path" ', ""), NOW),
    ("wrong_components", signed_otherwise('"@method" "@authority"', '"@authority" "@method"'), NOW),
    ("wrong_parameters", signed_otherwise(';nonce="' + NONCE + '"', ""), NOW),
    ("wrong_parameters", signed_otherwise(";alg", ";more=1;alg"), NOW),
    ("wrong_parameters", signed_otherwise("created=1760000000", 'created="1760000000"'), NOW),
    ("wrong_algorithm", signed_otherwise('"ed25519"', '"hmac-sha256"'), NOW),
    ("wrong_tag", signed_otherwise('tag="muniment"', 'tag="web-bot-auth"'), NOW),
    ("bad_nonce", signed_otherwise(NONCE, "short"), NOW),
    ("not_yet", headers(), NOW - 11),
    ("expired", headers(), NOW + 61),
    ("too_long", signed_otherwise("expires=1760000060", "expires=1760000061"), NOW),
    ("too_long", signed_otherwise("expires=1760000060", "expires=1759999999"), NOW),
    ("wrong_digest", headers() | {"content-digest": digest_of(b"another body")}, NOW),
    ("unknown_key", signed_otherwise(keyid_of(PUBLIC), SMALL), NOW),
    ("unknown_key", signed_otherwise(keyid_of(PUBLIC), "did:web:example.com#a"), NOW),
    ("bad_signature", signed_otherwise(keyid_of(PUBLIC), keyid_of(keys.keypair(bytes(32)).public)), NOW),
    ("bad_signature", edited("signature-input", NONCE, NONCE[::-1]), NOW),
]


@pytest.mark.parametrize(("reason", "bad", "now"), BAD, ids=[f"{n}-{row[0]}" for n, row in enumerate(BAD)])
def test_a_bad_message_is_refused_by_name(reason: str, bad: dict[str, str], now: int) -> None:
    """Each rule has a message that breaks it, and says so."""
    with pytest.raises(RefusedSignature) as caught:
        verify_request(REQUEST, bad.items(), now)
    assert caught.value.reason == reason


def test_every_reason_has_a_bad_message() -> None:
    """A reason that nothing gives promises what does not happen; replays are refused by the store."""
    assert {row[0] for row in BAD} | {"replayed"} == set(REASONS)


@pytest.mark.parametrize(
    "change",
    [
        {"method": "PUT"},
        {"authority": "other.example:8377"},
        {"path": "/rpc/"},
        {"query": "a=1"},
        {"content_type": "text/plain"},
        {"body": b"{}"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_no_part_can_be_changed(change: dict[str, str | bytes]) -> None:
    """A signature is good for one method, host, path, query, type and body."""
    with pytest.raises(RefusedSignature):
        verify_request(replace(REQUEST, **change), headers().items(), NOW)  # type: ignore[arg-type]


def test_a_signature_made_for_anything_else_is_no_request() -> None:
    """The base begins with its own domain, which no other use of a key begins with."""
    from muniment.base import codec

    for other in codec.DOMAINS:
        assert other in {codec.HTTP_REQUEST, codec.HTTP_ANSWER} or not other.startswith(b'"')
    params = sign_request(REQUEST, KEY, NOW, NONCE)["signature-input"].partition("=")[2]
    assert base_of(REQUEST.covered(digest_of(REQUEST.body)), params).startswith(codec.HTTP_REQUEST)


def test_an_answer_is_bound_to_its_request() -> None:
    """An answer proves itself for the request that it was made for, and for no other."""
    first, second = headers(), headers(nonce=NONCE[::-1])
    made = sign_answer(200, "application/json", b"{}", first["signature"], KEY, created=NOW, nonce=NONCE)
    full = made | {"content-type": "application/json"}
    assert verify_answer(200, b"{}", full.items(), first["signature"], NOW).key == PUBLIC
    for wrong in (
        lambda: verify_answer(200, b"{}", full.items(), second["signature"], NOW),
        lambda: verify_answer(201, b"{}", full.items(), first["signature"], NOW),
        lambda: verify_answer(200, b"[]", full.items(), first["signature"], NOW),
        lambda: verify_answer(200, b"{}", (full | {"content-type": "a/b"}).items(), first["signature"], NOW),
        lambda: verify_answer(200, b"{}", made.items(), "other=:AAAA:", NOW),
    ):
        with pytest.raises(RefusedSignature):
            wrong()


# Against another implementation


class Message:
    """A request as the other implementation wants it."""

    def __init__(self, fields: dict[str, str], request: Request = REQUEST) -> None:
        self.method, self.headers, self.body = request.method, dict(fields), request.body
        self.url = f"https://{request.authority}{request.path}" + (
            f"?{request.query}" if request.query else ""
        )


class Ours(oracle.HTTPSignatureKeyResolver):
    """The test's key, for the other implementation."""

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        return Ed25519PublicKey.from_public_bytes(PUBLIC)

    def resolve_private_key(self, key_id: str) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(SEED)


def moment(seconds: int) -> datetime.datetime:
    """Unix seconds as the other implementation wants them."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


TIMES = st.integers(0, 50)
BODIES = st.binary(min_size=1, max_size=200)
PATHS = st.text("abc/%20-._~", max_size=20).map(lambda text: "/" + text.replace("%", "%25"))
COVERED = ("@method", "@authority", "@path", "@query", "content-type", "content-digest")


@given(TIMES, BODIES, PATHS)
def test_another_implementation_takes_our_signatures(age: int, body: bytes, path: str) -> None:
    """What we sign, it verifies, and says that it covers what we say."""
    now = int(time.time())
    request = replace(REQUEST, body=body, path=path.replace("//", "/a/"))
    fields = {"content-type": "application/json"} | sign_request(request, KEY, now - age, NONCE)
    verifier = oracle.HTTPMessageVerifier(signature_algorithm=oracle.algorithms.ED25519, key_resolver=Ours())
    (result,) = verifier.verify(Message(fields, request), body=body, expect_tag="muniment")
    assert {name.strip('"') for name in result.covered_components} >= set(COVERED)


@given(TIMES, BODIES, PATHS)
def test_we_take_the_signatures_of_another_implementation(age: int, body: bytes, path: str) -> None:
    """What it signs within the profile, in its own order of parameters, we verify."""
    request = replace(REQUEST, body=body, path=path.replace("//", "/a/"))
    message = Message({"content-type": "application/json", "content-digest": digest_of(body)}, request)
    signer = oracle.HTTPMessageSigner(signature_algorithm=oracle.algorithms.ED25519, key_resolver=Ours())
    signer.sign(
        message,
        key_id=keyid_of(PUBLIC),
        created=moment(NOW - age),
        expires=moment(NOW - age + 60),
        nonce=NONCE,
        label="muniment",
        tag="muniment",
        covered_component_ids=COVERED,
        use_existing_digest=True,
    )
    fields = [(str(name), str(value)) for name, value in message.headers.items()]
    assert verify_request(request, fields, NOW).key == PUBLIC


@given(st.binary(max_size=600))
def test_reading_fields_never_breaks(data: bytes) -> None:
    """Any bytes are a field or none; nothing else comes of them."""
    text = data.decode("latin-1")
    for reader in (read_list, read_bytes):
        reader(text)
        reader("muniment=" + text)
        reader("muniment=(" + text)


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=100))
def test_any_headers_are_verified_or_refused(first: str, second: str, third: str) -> None:
    """Whatever stands in the headers, the answer is a claim or a reason."""
    fields = [("signature", first), ("signature-input", second), ("content-digest", third)]
    with pytest.raises(RefusedSignature):
        verify_request(REQUEST, fields, NOW)


@given(st.integers(0, 700), st.integers(0, 255))
def test_one_changed_byte_is_refused(place: int, byte: int) -> None:
    """No byte of what signs can be another one."""
    good = headers()
    whole = good["signature-input"] + "\0" + good["signature"]
    at = place % len(whole)
    bad = whole[:at] + chr(byte) + whole[at + 1 :]
    if bad == whole or bad.count("\0") != 1:
        return
    params, signature = bad.split("\0")
    with pytest.raises(RefusedSignature):
        verify_request(REQUEST, (good | {"signature-input": params, "signature": signature}).items(), NOW)


def test_a_did_url_names_the_key_twice() -> None:
    """The key's name is a DID URL whose fragment is the key."""
    did = to_did(PUBLIC)
    assert keyid_of(PUBLIC) == f"{did}#{did[8:]}"
