"""The only bytes form of signed things: canonical DAG-CBOR, and the table of domain strings.

The library's decoder takes numbers that are not written in their shortest form, so whatever is decoded
is encoded again and compared: a byte string has one meaning and a meaning has one byte string. Its encoder
takes any bytes that begin like a CID for a link; here the 36 bytes of an entry's id are one, and nothing else.
"""

from __future__ import annotations

import struct
from typing import Any

import libipld

from muniment.base.errors import LimitExceeded, Malformed
from muniment.base.ids import CID_PREFIX, is_cid

# Every use of a key has its own domain, so a signature or commitment made for one can't be shown for another.
ENTRY = b"muniment/entry/1\0"  # signatures over entry headers
EPOCH = b"muniment/epoch/1\0"  # commitments of epoch keys
BODY = b"muniment/body/1\0"  # associated data of sealed bodies
LINK = b"muniment/link/1\0"  # associated data of older epoch keys, sealed under a newer one
PAYLOAD = b"muniment/payload/1\0"  # associated data of sealed payloads of archived records
RECEIPT = b"muniment/receipt/1\0"  # signatures of those who keep a blob for somebody
CHALLENGE = b"muniment/challenge/1\0"  # and over questions whether they do
PROOF = b"muniment/proof/1\0"  # and over the answers
CALL = (
    b"muniment/call/1\0"  # signatures of those who ask about custody over a channel that has proved both ends
)
EXPORT = b"muniment/export/1\0"  # signatures over manifests of exported banks
HTTP_REQUEST = b'"@method": '  # how the base of a signed HTTP request begins (RFC 9421)
HTTP_ANSWER = b'"@status": '  # and that of an answer
BINDING = b"muniment/binding/1\0"  # a key says that another DID is its own
CLAIM = b"muniment/claim/1\0"  # signatures over claims of an invite
HELLO = b"muniment/hello/1\0"  # signatures that open a round of sync
ENDPOINT = b"muniment/endpoint/1\0"  # a signature that is told to nobody: an endpoint's seed is its hash
MARK = b"muniment/mark/1\0"  # by which those who know a bank find each other on a LAN
ASK = b"muniment/ask/1\0"  # signatures of strangers who ask for a bank
TAIL = b"muniment/tail/1\0"  # signatures over what a server tells unasked, over HTTP
DOMAINS: tuple[bytes, ...] = (
    *(ENTRY, EPOCH, BODY, LINK, EXPORT),
    *(HTTP_REQUEST, HTTP_ANSWER, BINDING, CLAIM, HELLO, ASK, TAIL),
    *(ENDPOINT, MARK, PAYLOAD),
    *(RECEIPT, CHALLENGE, PROOF, CALL),
)

_TAG = b"\xd8\x2a"  # tag 42
_ENTRY_LINK = _TAG + b"\x58\x25\x00" + CID_PREFIX
_WRONG = (ValueError, TypeError, OverflowError, RecursionError, AttributeError)


def encode(value: Any) -> bytes:
    """Canonical DAG-CBOR of `value`: maps sorted, shortest numbers, 64-bit floats, entry ids as links.

    Raises:
        Malformed: `value` holds what DAG-CBOR can't say (NaN, lone surrogates, integers over 64 bits).
    """
    try:
        return _encode(value)
    except _WRONG as error:
        raise Malformed(f"can't be written as DAG-CBOR: {error}") from None


def decode(data: bytes, limit: int) -> Any:
    """Read canonical DAG-CBOR of at most `limit` bytes; links come back as their 36 bytes.

    Raises:
        LimitExceeded: `data` is longer than `limit`.
        Malformed: `data` is not DAG-CBOR, or not in its canonical form.
    """
    if len(data) > limit:
        raise LimitExceeded("encoded bytes", limit, len(data))
    try:
        value = libipld.decode_dag_cbor(data)
        again = _encode(value)
    except _WRONG as error:
        raise Malformed(f"not DAG-CBOR: {error}") from None
    if again != data:
        raise Malformed("not canonical DAG-CBOR")
    return value


def _encode(value: Any) -> bytes:
    """By the library where every link that it wrote is an entry's id, else by hand."""
    data: bytes = libipld.encode_dag_cbor(value)
    return data if data.count(_TAG) == data.count(_ENTRY_LINK) else _by_hand(value)


def _by_hand(value: Any) -> bytes:
    if isinstance(value, bytes):
        return _TAG + _head(2, 37) + b"\0" + value if is_cid(value) else _head(2, len(value)) + value
    if isinstance(value, dict):
        items = sorted(
            ((key.encode(), item) for key, item in value.items()), key=lambda pair: (len(pair[0]), pair[0])
        )
        return _head(5, len(items)) + b"".join(
            _head(3, len(key)) + key + _by_hand(item) for key, item in items
        )
    if isinstance(value, list | tuple):
        return _head(4, len(value)) + b"".join(map(_by_hand, value))
    scalar: bytes = libipld.encode_dag_cbor(value)
    return scalar


def _head(major: int, number: int) -> bytes:
    """The head of a CBOR item, in its shortest form (RFC 8949, 3)."""
    if number < 24:
        return bytes([major << 5 | number])
    for code, form, top in ((24, ">B", 1 << 8), (25, ">H", 1 << 16), (26, ">I", 1 << 32)):
        if number < top:
            return bytes([major << 5 | code]) + struct.pack(form, number)
    return bytes([major << 5 | 27]) + struct.pack(">Q", number)
