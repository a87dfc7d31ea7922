"""The root of an exported bank: what the file holds, signed by whoever wrote it (docs/format.md, "Exported banks").

It says that this key wrote this set at that time. What the set is worth is never taken from it: every entry
carries its own signature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from muniment.base import codec
from muniment.base.errors import LimitExceeded, Malformed, RefusedFile, RefusedKey
from muniment.base.ids import BankId, EntryId, is_cid
from muniment.base.limits import LIMITS
from muniment.identity import keys

VERSION = 1
_FIELDS = {"v", "bank", "by", "at", "heads", "entries", "bodies", "blobs"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an exporter signs.

    Attributes:
        bank: The bank; `by` the exporter's public key; `at` when, Unix ms.
        heads: Entries that no other one in the file names in `prev`, `auth` or `epoch`, sorted. All others can be
            reached from them, so none can be taken out unnoticed.
        entries, bodies, blobs: How many of each are in the file.
    """

    bank: BankId
    by: bytes
    at: int
    heads: tuple[EntryId, ...]
    entries: int
    bodies: int
    blobs: int


def write(manifest: Manifest, sign: Callable[[bytes, bytes], bytes]) -> bytes:
    """The root block: canonical DAG-CBOR of `[manifest bytes, signature]`.

    Args:
        manifest: What is in the file.
        sign: Signs (domain, message) with the key `manifest.by`.

    Raises:
        LimitExceeded: The bank has more heads than `Limits.export_heads`.
    """
    if len(manifest.heads) > LIMITS.export_heads:
        raise LimitExceeded("heads of a bank", LIMITS.export_heads, len(manifest.heads))
    signed = codec.encode(
        {
            "v": VERSION,
            "bank": manifest.bank,
            "by": manifest.by,
            "at": manifest.at,
            "heads": list(manifest.heads),
            "entries": manifest.entries,
            "bodies": manifest.bodies,
            "blobs": manifest.blobs,
        }
    )
    return codec.encode([signed, sign(codec.EXPORT, signed)])


def read(data: bytes) -> Manifest:
    """A manifest whose form and signature were checked.

    Raises:
        RefusedFile: `no manifest` or `bad signature`.
    """
    try:
        pair = codec.decode(data, LIMITS.manifest_bytes)
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(item, bytes) for item in pair):
            raise RefusedFile("no manifest")
        manifest = _of(codec.decode(pair[0], LIMITS.manifest_bytes))
    except (Malformed, LimitExceeded, RefusedKey) as error:
        raise RefusedFile("no manifest", error.message) from None
    if not keys.verify(manifest.by, pair[1], codec.EXPORT, pair[0]):
        raise RefusedFile("bad signature")
    return manifest


def _of(fields: Any) -> Manifest:
    if not isinstance(fields, dict) or set(fields) != _FIELDS or fields["v"] != VERSION:
        raise RefusedFile("no manifest", "not of version 1")
    bank, by, heads = fields["bank"], fields["by"], fields["heads"]
    numbers = [fields[name] for name in ("at", "entries", "bodies", "blobs")]
    if not all(type(number) is int and 0 <= number < 1 << 53 for number in numbers):
        raise RefusedFile("no manifest", "a time or a count")
    if not is_cid(bank) or not isinstance(by, bytes):
        raise RefusedFile("no manifest", "bank or key")
    if not isinstance(heads, list) or len(heads) > LIMITS.export_heads or not all(map(is_cid, heads)):
        raise RefusedFile("no manifest", "heads")
    if any(a >= b for a, b in pairwise(heads)):
        raise RefusedFile("no manifest", "heads are not sorted and unique")
    keys.check_public(by)
    at, entries, bodies, blobs = numbers
    return Manifest(BankId(bank), by, at, tuple(EntryId(head) for head in heads), entries, bodies, blobs)
