"""Signed HTTP messages: one strict profile of RFC 9421 with RFC 9530 (design sections 8 and 11; docs/rpc.md).

A request's signature covers method, authority, path and query, and with a body its type and digest; the answer's
covers status, type, digest and the signature of the request that it answers. Ed25519 only, one signature with the
label `muniment`, a lifetime of at most a minute, a nonce, and a key named by a DID URL. Nothing here reads a clock,
draws randomness or keeps what was seen: whoever verifies also asks a replay store.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from muniment.base import codec
from muniment.base.errors import RefusedKey, RefusedSignature
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.identity.did import parse_did
from muniment.identity.fields import FIELD_BYTES, read_bytes, read_list, write_bytes

LABEL = TAG = "muniment"
ALGORITHM = "ed25519"
LIFETIME_S = 60
SKEW_S = 10  # how far a signer's clock may run ahead
# Why a signature is refused: a word for programs, and what it means.
REASONS: dict[str, str] = {
    "missing": "the message is not signed: a header of the profile is not there",
    "duplicate_header": "a header that is signed, or signs, stands there twice",
    "malformed": "a signature header is not in its canonical form, or too long",
    "wrong_label": "there is another signature than one labelled `muniment`",
    "wrong_components": "it does not cover exactly what the profile asks for",
    "wrong_parameters": "a parameter is missing, unknown, or not of its kind",
    "wrong_algorithm": "it is not Ed25519",
    "wrong_tag": "it was not made for muniment",
    "bad_nonce": "the nonce is not 16 to 64 characters of base64",
    "not_yet": "it was made in the future",
    "expired": "its time is over",
    "too_long": "it would hold for more than a minute, or ends before it begins",
    "wrong_digest": "the body is another one than was signed",
    "unknown_key": "the key's name leads to no usable Ed25519 key",
    "bad_signature": "the signature is not of this message and key",
    "replayed": "it was used before, or is older than this server's memory",
}
_SIGNERS = ("signature", "signature-input")
_NONCE = re.compile(r"[A-Za-z0-9+/=_-]{16,64}", re.ASCII)
_SAFE = re.compile(r"[\x20-\x7e]*")
_PARAMS = {"created": int, "expires": int, "nonce": str, "keyid": str, "alg": str, "tag": str}
_BOUND = '"signature";req;key="muniment"'

Headers = Iterable[tuple[str, str]]
Sign = Callable[[bytes, bytes], bytes]  # domain, the rest of the message -> 64 bytes


@dataclass(frozen=True, slots=True)
class Request:
    """What a signature covers of a request.

    Attributes:
        method: In capitals.
        authority: Host, and the port if it is not the scheme's own, in lower case.
        path: As it is sent, percent-encoded; at least `/`.
        query: What follows `?`, as it is sent, without it.
        content_type: Of the body; None where there is no body.
    """

    method: str
    authority: str
    path: str
    query: str = ""
    content_type: str | None = None
    body: bytes = b""

    def covered(self, digest: str | None) -> list[tuple[str, str]]:
        """Each covered component and its value, in the profile's order."""
        found = [
            ('"@method"', self.method),
            ('"@authority"', self.authority.lower()),
            ('"@path"', self.path or "/"),
            ('"@query"', "?" + self.query),
        ]
        if digest is not None:
            found += [('"content-type"', self.content_type or ""), ('"content-digest"', digest)]
        return found


class Claim(NamedTuple):
    """What a verified signature says: whose it is, and what a replay store has to remember until when (Unix s)."""

    key: bytes
    keyid: str
    nonce: str
    created: int
    expires: int


class Key(NamedTuple):
    """A key that signs: its name as a DID URL, and how it signs without being shown."""

    keyid: str
    sign: Sign


def key_of(seed: bytes) -> Key:
    """The signing key of a 32-byte seed, named by its did:key."""
    pair = keys.keypair(seed)
    return Key(keyid_of(pair.public), lambda domain, message: keys.sign(pair.secret, domain, message))


def keyid_of(public: bytes) -> str:
    """The DID URL of a key: its did:key and the same again as fragment."""
    from muniment.identity.did import to_did

    did = to_did(public)
    return f"{did}#{did.removeprefix('did:key:')}"


def digest_of(body: bytes) -> str:
    """The `Content-Digest` of a body (RFC 9530), by SHA-256."""
    return write_bytes("sha-256", hashlib.sha256(body).digest())


def base_of(covered: Iterable[tuple[str, str]], params: str) -> bytes:
    """The signature base (RFC 9421, 2.5)."""
    lines = [f"{name}: {value}" for name, value in covered]
    return "\n".join([*lines, f'"@signature-params": {params}']).encode("ascii")


# Signing


def sign_request(request: Request, key: Key, created: int, nonce: str) -> dict[str, str]:
    """The headers that make a request a signed one.

    Args:
        request: Its parts; with a body also `content_type`.
        key: Who signs.
        created: Now, Unix seconds.
        nonce: 16 to 64 characters of base64, drawn for this request alone.

    Raises:
        RefusedSignature: A part can't be signed: it is not printable ASCII, or the nonce is none.
    """
    digest = digest_of(request.body) if request.body else None
    headers = _signed(request.covered(digest), key, created, nonce, codec.HTTP_REQUEST)
    return headers if digest is None else {"content-digest": digest, **headers}


def sign_answer(
    status: int, content_type: str, body: bytes, request_signature: str, key: Key, *, created: int, nonce: str
) -> dict[str, str]:
    """The headers that make an answer a signed one, bound to the request with that `Signature` header.

    Raises:
        RefusedSignature: As for `sign_request`.
    """
    digest = digest_of(body)
    covered = _answer(status, content_type, digest, request_signature)
    return {"content-digest": digest, **_signed(covered, key, created, nonce, codec.HTTP_ANSWER)}


def _answer(status: int, content_type: str, digest: str, request_signature: str) -> list[tuple[str, str]]:
    bound = read_bytes(request_signature)
    if bound is None or bound[0] != LABEL:
        raise _refused("missing", "the request that is answered has no such signature")
    return [
        ('"@status"', str(status)),
        ('"content-type"', content_type),
        ('"content-digest"', digest),
        (_BOUND, request_signature.partition("=")[2]),
    ]


def _signed(
    covered: list[tuple[str, str]], key: Key, created: int, nonce: str, domain: bytes
) -> dict[str, str]:
    if _NONCE.fullmatch(nonce) is None:
        raise _refused("bad_nonce")
    if not all(_SAFE.fullmatch(value) for _, value in covered):
        raise _refused("malformed", "a part that is signed is not printable ASCII")
    params = (
        f"({' '.join(name for name, _ in covered)});created={created};expires={created + LIFETIME_S}"
        f';nonce="{nonce}";keyid="{key.keyid}";alg="{ALGORITHM}";tag="{TAG}"'
    )
    base = base_of(covered, params)
    # The base itself begins with the domain, so no other use of the key can be taken for this one.
    signature = key.sign(domain, base[len(domain) :])
    return {"signature-input": f"{LABEL}={params}", "signature": write_bytes(LABEL, signature)}


# Verifying


def verify_request(
    request: Request, headers: Headers, now: int, resolve: Callable[[str], bytes] = parse_did
) -> Claim:
    """Check a request's signature.

    Args:
        request: As it arrived.
        headers: Names and values, names in any case.
        now: Unix seconds.
        resolve: From a key's DID URL to its 32 bytes; it may raise any `MunimentError`.

    Returns:
        Whose it is. The caller still has to ask a replay store whether (keyid, nonce) is new.

    Raises:
        RefusedSignature: `.reason` is one of `REASONS`.
    """
    found = _headers(headers, {"content-type", "content-digest", "host"})
    digest = _checked_digest(found, request.body) if request.body or "content-digest" in found else None
    covered = request.covered(digest)
    return _verified(covered, found, now, resolve)


def verify_answer(
    status: int,
    body: bytes,
    headers: Headers,
    request_signature: str,
    now: int,
    resolve: Callable[[str], bytes] = parse_did,
) -> Claim:
    """Check an answer's signature, and that it answers the request with that `Signature` header.

    Raises:
        RefusedSignature: `.reason` is one of `REASONS`.
    """
    found = _headers(headers, {"content-type", "content-digest"})
    covered = _answer(status, found.get("content-type", ""), _checked_digest(found, body), request_signature)
    return _verified(covered, found, now, resolve)


def _headers(headers: Headers, more: set[str]) -> dict[str, str]:
    """The headers that matter, each once."""
    found: dict[str, str] = {}
    for name, value in headers:
        low = name.lower()
        if low in _SIGNERS or low in more:
            if low in found:
                raise _refused("duplicate_header", low)
            found[low] = value.strip(" \t")
    return found


def _checked_digest(found: dict[str, str], body: bytes) -> str:
    text = found.get("content-digest")
    if text is None:
        raise _refused("missing", "content-digest")
    read = read_bytes(text)
    if read is None:
        raise _refused("malformed", "content-digest")
    if read[0] != "sha-256" or not hmac.compare_digest(read[1], hashlib.sha256(body).digest()):
        raise _refused("wrong_digest")
    return text


def _verified(
    covered: list[tuple[str, str]], found: dict[str, str], now: int, resolve: Callable[[str], bytes]
) -> Claim:
    if any(name not in found for name in _SIGNERS):
        raise _refused("missing", "signature")
    if any(len(found[name]) > FIELD_BYTES for name in _SIGNERS):
        raise _refused("malformed", "too long")
    listed, signed = read_list(found["signature-input"]), read_bytes(found["signature"])
    if listed is None or signed is None:
        raise _refused("malformed")
    if listed.label != LABEL or signed[0] != LABEL:
        raise _refused("wrong_label")
    if listed.items != tuple(name for name, _ in covered):
        raise _refused("wrong_components", " ".join(name for name, _ in covered))
    params = listed.params
    if params.keys() != _PARAMS.keys() or any(type(params[n]) is not kind for n, kind in _PARAMS.items()):
        raise _refused("wrong_parameters", f"it has {', '.join(_PARAMS)}")
    claim = _timely(params, now)
    if not all(_SAFE.fullmatch(value) for _, value in covered):
        raise _refused("malformed", "a part that is signed is not printable ASCII")
    try:
        key = resolve(claim.keyid)
    except RefusedKey as error:
        raise _refused("unknown_key", error.message) from None
    base = base_of(covered, listed.text)
    if not keys.verify(key, signed[1], b"", base):
        raise _refused("bad_signature")
    return claim._replace(key=key)


def _timely(params: dict[str, int | str], now: int) -> Claim:
    """The parameters as a claim, if they are in time and of this profile."""
    created, expires = params["created"], params["expires"]
    if not isinstance(created, int) or not isinstance(expires, int):
        raise _refused("wrong_parameters")
    if params["alg"] != ALGORITHM:
        raise _refused("wrong_algorithm")
    if params["tag"] != TAG:
        raise _refused("wrong_tag")
    if _NONCE.fullmatch(str(params["nonce"])) is None:
        raise _refused("bad_nonce")
    if not 0 < expires - created <= LIFETIME_S:
        raise _refused("too_long")
    if created > now + SKEW_S:
        raise _refused("not_yet", f"{created - now} s ahead of the clock here")
    if expires < now:
        raise _refused("expired", f"{now - expires} s ago by the clock here")
    keyid = str(params["keyid"])
    if len(keyid) > LIMITS.did_chars:
        raise _refused("unknown_key", "its name is too long")
    return Claim(b"", keyid, str(params["nonce"]), created, expires)


def _refused(reason: str, detail: str = "") -> RefusedSignature:
    return RefusedSignature(reason, f"{REASONS[reason]}{f' ({detail})' if detail else ''}")
