"""Writes custody.json: a receipt, a challenge and a proof, and one bad vector for each refusal. Run by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from muniment.archive import custody, tree
from muniment.archive.custody import Challenge, Proof, Receipt
from muniment.archive.pack import pointer_of
from muniment.base import codec
from muniment.identity import keys

OWNER, HOLDER, OTHER = (keys.keypair(bytes([n]) * 32) for n in (1, 2, 3))
DATA = bytes(range(256)) * 300  # two chunks
AT = 1_800_000_000_000
BLOB = pointer_of(DATA)
ROOT = tree.root_of(tree.leaves_of(DATA))


def by(pair: keys.KeyPair) -> custody.Sign:
    """Signs with a pair."""
    return lambda domain, message: keys.sign(pair.secret, domain, message)


def vectors() -> dict[str, Any]:
    """All of it, hexadecimal."""
    receipt = custody.signed(
        Receipt(HOLDER.public, OWNER.public, BLOB, len(DATA), ROOT, AT, AT + 86_400_000), by(HOLDER)
    )
    challenge = custody.signed(
        Challenge(OWNER.public, HOLDER.public, BLOB, bytes(range(32)), 1, AT + 1000), by(OWNER)
    )
    proof = custody.make_proof(challenge, DATA, HOLDER.public, AT + 2000, by(HOLDER))
    other = custody.signed(replace(challenge, nonce=bytes(32)), by(OWNER))
    (shown,) = proof.chunks
    flipped = shown._replace(data=bytes([shown.data[0] ^ 1]) + shown.data[1:])

    def again(*chunks: custody.Shown) -> str:
        made = custody.signed(Proof(HOLDER.public, proof.challenge, proof.at, chunks), by(HOLDER))
        return custody.to_bytes(made).hex()

    of_other = custody.make_proof(challenge, DATA, OTHER.public, AT + 2000, by(OTHER))
    bad = {
        "too large": ["receipt", (custody.to_bytes(receipt) + bytes(2000)).hex()],
        "malformed": ["receipt", codec.encode({"by": HOLDER.public}).hex()],
        "bad signature": ["receipt", custody.to_bytes(replace(receipt, until=receipt.until + 1)).hex()],
        "another key": ["proof", custody.to_bytes(of_other).hex()],
        "another challenge": [
            "proof",
            custody.to_bytes(custody.make_proof(other, DATA, HOLDER.public, AT + 2000, by(HOLDER))).hex(),
        ],
        "wrong chunks": ["proof", again()],
        "not in the blob": ["proof", again(flipped)],
        "another blob": [
            "challenge",
            custody.to_bytes(custody.signed(replace(challenge, blob=pointer_of(b"")), by(OWNER))).hex(),
        ],
        "out of time": [
            "challenge",
            custody.to_bytes(custody.signed(replace(challenge, at=AT - 10**7), by(OWNER))).hex(),
        ],
    }
    good = {name: custody.to_bytes(said).hex() for name, said in
            (("receipt", receipt), ("challenge", challenge), ("proof", proof))}  # fmt: skip
    return {"now": AT + 3000, "good": good, "sampled": custody.sampled(bytes(range(32)), 256, 46), "bad": bad}


if __name__ == "__main__":
    path = Path(__file__).parent / "custody.json"
    path.write_text(json.dumps(vectors(), indent=1) + "\n", "utf-8")
