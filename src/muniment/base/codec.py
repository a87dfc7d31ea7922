"""The only bytes form of signed things: canonical DAG-CBOR, and the table of domain strings.

The library's decoder takes numbers that are not written in their shortest form, so whatever is decoded
is encoded again and compared: a byte string has one meaning and a meaning has one byte string.
A byte string that is itself a well-formed CID is written as a link (tag 42), everywhere alike.
"""

from __future__ import annotations

from typing import Any

import libipld

from muniment.base.errors import LimitExceeded, Malformed

# Every use of a key has its own domain, so a signature or commitment made for one can't be shown for another.
ENTRY = b"muniment/entry/1\0"  # signatures over entry headers
EPOCH = b"muniment/epoch/1\0"  # commitments of epoch keys
BODY = b"muniment/body/1\0"  # associated data of sealed bodies
LINK = b"muniment/link/1\0"  # associated data of older epoch keys, sealed under a newer one
EXPORT = b"muniment/export/1\0"  # signatures over exported files
DOMAINS: tuple[bytes, ...] = (ENTRY, EPOCH, BODY, LINK, EXPORT)


def encode(value: Any) -> bytes:
    """Canonical DAG-CBOR of `value`: maps sorted, shortest numbers, 64-bit floats, 36-byte CIDs as links.

    Raises:
        Malformed: `value` holds what DAG-CBOR can't say (NaN, lone surrogates, integers over 64 bits).
    """
    try:
        return libipld.encode_dag_cbor(value)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
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
        again = libipld.encode_dag_cbor(value)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise Malformed(f"not DAG-CBOR: {error}") from None
    if again != data:
        raise Malformed("not canonical DAG-CBOR")
    return value
