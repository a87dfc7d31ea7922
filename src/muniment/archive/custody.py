"""Custody of blobs: receipts, challenges and proofs, checked without the blob (design section 9).

A *receipt* is a holder's signed word that it keeps a blob until a date. A *challenge* asks for some of its chunks,
which nobody knows before a fresh nonce is drawn. A *proof* is those chunks with their paths to the root that the
receipt names (RFC 9162), signed. So whoever has the receipt alone can tell whether the holder has the bytes.

How many chunks are enough: a holder that lost a share q of a blob passes a challenge of k chunks with at most
(1 - q)^k, since each chunk is drawn among all that are left; after c challenges with at most (1 - q)^(k c). For
q = 1 % and a chance of 1 % to pass, k c >= ln 0.01 / ln 0.99 = 458.2. `SAMPLE` = 46 chunks (2.9 MB) and 10
challenges make 460. A blob of up to 46 chunks is asked for whole each time, so it is caught at once.

Pure: time and nonces are arguments. All bytes are hostile; each refusal names its rule.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from muniment.archive import tree
from muniment.base import codec
from muniment.base.errors import LimitExceeded, Malformed, RefusedKey, RefusedProof
from muniment.base.ids import BlobName
from muniment.base.limits import LIMITS, MAX_AT_MS, MIN_AT_MS
from muniment.identity import keys

SAMPLE = 46  # chunks of one challenge
CHALLENGES = 10  # after which a loss of one chunk in a hundred has been seen with 99 %
NONCE_BYTES = 32
ANSWER_MS = 10 * 60 * 1000  # how long a challenge may be answered
REASONS = (
    "too large",
    "malformed",
    "bad signature",
    "another key",
    "another blob",
    "another challenge",
    "out of time",
    "wrong chunks",
    "not in the blob",
)
_SMALL = 1024  # bytes of a receipt or a challenge
_PATH = 64  # steps of a path: more than any blob has

Sign = Callable[[bytes, bytes], bytes]  # domain, message -> 64 bytes


@dataclass(frozen=True, slots=True)
class Receipt:
    """A holder's word: `by` keeps `blob` for `to` from `at` until `until` (Unix ms).

    Attributes:
        size, root: Of the blob, as its owner saw them before it gave the blob away.
    """

    by: bytes
    to: bytes
    blob: BlobName
    size: int
    root: bytes
    at: int
    until: int
    sig: bytes = b""


@dataclass(frozen=True, slots=True)
class Challenge:
    """A question of `by` to `to` about `blob`: the chunks that follow from `nonce`, `count` of them at most."""

    by: bytes
    to: bytes
    blob: BlobName
    nonce: bytes
    count: int
    at: int
    sig: bytes = b""


class Shown(NamedTuple):
    """A chunk of a proof: its number, its bytes, and its path to the root."""

    number: int
    data: bytes
    path: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer of `by` to the challenge whose SHA-256 is `challenge`."""

    by: bytes
    challenge: bytes
    at: int
    chunks: tuple[Shown, ...]
    sig: bytes = b""


Said = TypeVar("Said", Receipt, Challenge, Proof)
_DOMAINS: dict[type, bytes] = {Receipt: codec.RECEIPT, Challenge: codec.CHALLENGE, Proof: codec.PROOF}
_NUMBERS = {"size": 1, "at": MIN_AT_MS, "until": MIN_AT_MS, "count": 1}
_BYTES = {"by": 32, "to": 32, "blob": 32, "root": 32, "nonce": NONCE_BYTES, "challenge": 32, "sig": 64}


def samples_needed(lost: float, caught: float) -> int:
    """Chunks to be drawn, over all challenges, so that a loss of a share `lost` is seen with `caught`."""
    return math.ceil(math.log(1 - caught) / math.log(1 - lost))


def sampled(nonce: bytes, chunks: int, count: int) -> list[int]:
    """The chunks that a nonce asks for: `count` different ones of `chunks`, or all; ascending.

    A shuffle (Fisher and Yates) driven by SHA-256 of the nonce and a counter. 16 bytes of each hash are taken modulo
    the number of chunks that are left, whose bias is below 2^-100.
    """
    places: dict[int, int] = {}  # what the shuffle moved; the rest stands where it was
    found = []
    for turn in range(min(count, chunks)):
        drawn = int.from_bytes(hashlib.sha256(nonce + turn.to_bytes(4)).digest()[:16])
        at = turn + drawn % (chunks - turn)
        found.append(places.get(at, at))
        places[at] = places.get(turn, turn)
    return sorted(found)


def signed(said: Said, sign: Sign) -> Said:
    """The same, signed by the key in `by`."""
    return replace(said, sig=sign(_DOMAINS[type(said)], _body(said)))


def to_bytes(said: Receipt | Challenge | Proof) -> bytes:
    """Its canonical bytes."""
    return codec.encode({**_fields(said), "sig": said.sig})


def challenge_id(challenge: Challenge) -> bytes:
    """By what a proof names the challenge that it answers."""
    return hashlib.sha256(to_bytes(challenge)).digest()


def _fields(said: Receipt | Challenge | Proof) -> dict[str, Any]:
    found = {name: getattr(said, name) for name in said.__slots__ if name != "sig"}
    if isinstance(said, Proof):
        found["chunks"] = [[chunk.number, chunk.data, list(chunk.path)] for chunk in said.chunks]
    return found


def _body(said: Receipt | Challenge | Proof) -> bytes:
    return codec.encode(_fields(said))


def read_receipt(data: bytes) -> Receipt:
    """A receipt whose form and signature are right.

    Raises:
        RefusedProof: With the reason.
    """
    found = _signed(Receipt(**_read(data, Receipt, _SMALL)))
    if found.until <= found.at or found.size > LIMITS.pack_bytes:
        raise RefusedProof("malformed", "its size or its time")
    return found


def read_challenge(data: bytes) -> Challenge:
    """A challenge whose form and signature are right.

    Raises:
        RefusedProof: With the reason.
    """
    found = _signed(Challenge(**_read(data, Challenge, _SMALL)))
    if found.count > LIMITS.custody_samples:
        raise RefusedProof("malformed", f"it asks for {found.count} chunks")
    return found


def read_proof(data: bytes) -> Proof:
    """A proof whose form and signature are right; its chunks are not looked at.

    Raises:
        RefusedProof: With the reason.
    """
    fields = _read(data, Proof, LIMITS.custody_message_bytes)
    rows = fields["chunks"]
    if not isinstance(rows, list) or len(rows) > LIMITS.custody_samples:
        raise RefusedProof("malformed", "its chunks are no list, or a long one")
    return _signed(Proof(**{**fields, "chunks": tuple(map(_shown, rows))}))


def _shown(row: object) -> Shown:
    if not isinstance(row, list) or len(row) != 3 or type(row[0]) is not int or row[0] < 0:
        raise RefusedProof("malformed", "a chunk is not [number, bytes, path]")
    number, data, path = row
    if not isinstance(data, bytes) or not isinstance(path, list) or len(path) > _PATH:
        raise RefusedProof("malformed", "a chunk is not [number, bytes, path]")
    if not all(isinstance(step, bytes) and len(step) == tree.HASH_BYTES for step in path):
        raise RefusedProof("malformed", "a path")
    return Shown(number, data, tuple(path))


def _read(data: bytes, kind: type[Receipt | Challenge | Proof], limit: int) -> dict[str, Any]:
    try:
        fields = codec.decode(data, limit)
    except LimitExceeded:
        raise RefusedProof("too large", f"{len(data)} bytes") from None
    except Malformed as error:
        raise RefusedProof("malformed", error.message) from None
    if not isinstance(fields, dict) or set(fields) != set(kind.__slots__):
        raise RefusedProof("malformed", "its fields")
    for name, value in fields.items():
        if name in _BYTES and (not isinstance(value, bytes) or len(value) != _BYTES[name]):
            raise RefusedProof("malformed", name)
        if name in _NUMBERS and (type(value) is not int or not _NUMBERS[name] <= value <= MAX_AT_MS):
            raise RefusedProof("malformed", name)
    return fields


def _signed(said: Said) -> Said:
    try:
        keys.check_public(said.by)
    except RefusedKey:
        raise RefusedProof("bad signature", "its key is none") from None
    if not keys.verify(said.by, said.sig, _DOMAINS[type(said)], _body(said)):
        raise RefusedProof("bad signature")
    return said


def make_proof(challenge: Challenge, data: bytes, by: bytes, at: int, sign: Sign) -> Proof:
    """The answer to a challenge, by somebody who has the blob."""
    leaves = tree.leaves_of(data)
    chunks = tuple(
        Shown(
            number,
            data[number * tree.CHUNK : (number + 1) * tree.CHUNK],
            tuple(tree.path_of(leaves, number)),
        )
        for number in sampled(challenge.nonce, len(leaves), challenge.count)
    )
    return signed(Proof(by, challenge_id(challenge), at, chunks), sign)


def check_challenge(challenge: Challenge, receipt: Receipt, now: int) -> None:
    """Whether a holder has to answer: the challenge is about this receipt, by its owner, and fresh.

    Raises:
        RefusedProof: With the reason.
    """
    if (challenge.by, challenge.to) != (receipt.to, receipt.by):
        raise RefusedProof("another key")
    if challenge.blob != receipt.blob:
        raise RefusedProof("another blob")
    if abs(now - challenge.at) > ANSWER_MS:
        raise RefusedProof("out of time")


def check_receipt(receipt: Receipt, to: bytes, blob: BlobName, size: int, root: bytes, until: int) -> None:
    """Whether a receipt says what was agreed on; the blob itself is not needed.

    Raises:
        RefusedProof: With the reason.
    """
    if receipt.to != to or receipt.by == to:
        raise RefusedProof("another key")
    if (receipt.blob, receipt.size) != (blob, size) or not hmac.compare_digest(receipt.root, root):
        raise RefusedProof("another blob")
    if receipt.until != until:
        raise RefusedProof("out of time")


def check_proof(proof: Proof, challenge: Challenge, receipt: Receipt, now: int) -> None:
    """Whether a proof shows that the holder has what the challenge asked for; the blob itself is not needed.

    Raises:
        RefusedProof: With the reason.
    """
    if proof.by != receipt.by:
        raise RefusedProof("another key")
    if not hmac.compare_digest(proof.challenge, challenge_id(challenge)):
        raise RefusedProof("another challenge")
    if now - challenge.at > ANSWER_MS or now < challenge.at:
        raise RefusedProof("out of time")
    count = tree.chunk_count(receipt.size)
    if [chunk.number for chunk in proof.chunks] != sampled(challenge.nonce, count, challenge.count):
        raise RefusedProof("wrong chunks")
    for number, data, path in proof.chunks:
        if not chunk_fits(receipt.size, receipt.root, number, data, path):
            raise RefusedProof("not in the blob", f"chunk {number}")


def chunk_fits(size: int, root: bytes, number: int, data: bytes, path: Sequence[bytes]) -> bool:
    """Whether a chunk is that of the blob that size and root describe."""
    if len(data) != tree.chunk_length(size, number) or len(path) > _PATH:
        return False
    return tree.proves(root, tree.chunk_count(size), number, tree.leaf_hash(data), path)
