"""Writes the golden vectors of packs, payloads and stubs, from fixed seeds; see `make.py` for when to run it.

    python tests/golden/make_packs.py

makes `packs.json` again: what was written (which has to be read for ever), and for each reason of refusal bytes that
are refused for it. How well a library compresses may change, so only reading is compared, and the bytes around it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import zstandard

from muniment.archive import pack as packs
from muniment.archive import tree
from muniment.archive.pack import Payload
from muniment.base import codec
from muniment.base.ids import BlobName, RecordId, VersionId, blob_text, cid_of
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.ledger import stub
from muniment.ledger.acts import Remember, to_bytes
from muniment.ledger.entry import padded_length
from muniment.testing.ledger import filler

FOLDER = Path(__file__).parent
ACT = Remember(
    RecordId(filler("record", 16)), "the harbour sleeps and the harbour wakes", 1_750_000_000_000, key="k"
)
# The older form, which nobody writes any more.
STUB_1 = (
    "28b52ffd20a28d04000408a7616350417efd2422f0bcee619cb523c2509ec1617750555e72c59536"
    "8105885db8bb1b8722036261741b000001977420dc006269645077c5fc95e3fbcaaa8ec486db2fba"
    "8fab636261677820616e640a686172626f757220320a736c656570730a74686520320a77616b6573"
    "636b6579616b647465787478282077616b657305003a2c03b6e0d400a808f40da619"
    ""
)
KEYS = [filler(f"payload key {number}", 32) for number in range(3)]


def payloads() -> list[Payload]:
    """Three payloads."""
    return [
        Payload(VersionId(cid_of(b"entry"), number), filler(f"nonce {number}", 24), to_bytes(ACT))
        for number in range(3)
    ]


def sealed() -> list[tuple[BlobName, bytes]]:
    """The same, sealed, each under its pointer."""
    made = [
        packs.seal_payload(payload, key, filler(f"seal {number}", 24))
        for number, (payload, key) in enumerate(zip(payloads(), KEYS, strict=True))
    ]
    return [(packs.pointer_of(one), one) for one in made]


def good() -> dict[str, Any]:
    """What has to be read for ever."""
    data = packs.pack(sealed())
    return {
        "pack": data.hex(),
        "name": blob_text(packs.pointer_of(data)),
        "root": tree.root_of(tree.leaves_of(data)).hex(),
        "keys": [key.hex() for key in KEYS],
        "payloads": [
            {
                "entry": p.version.entry.hex(),
                "act": p.version.act,
                "nonce": p.nonce.hex(),
                "plain": p.act.hex(),
            }
            for p in payloads()
        ],
        "pointers": [blob_text(pointer) for pointer, _ in sealed()],
        "stub": STUB_1,
        "stub 2": stub.to_bytes(stub.stub_of(ACT)).hex(),
        "stub bag": stub.stub_of(ACT).bag,
    }


def _sealed(plain: bytes, *, pad: bool = True) -> str:
    padded = plain + b"\x80"
    padded += bytes(padded_length(len(padded)) - len(padded)) if pad else b"\0"
    return keys.seal(KEYS[0], filler("seal", 24), padded, codec.PAYLOAD).hex()


def bad() -> dict[str, dict[str, list[str]]]:
    """Bytes that are refused, by reason: whole packs, and payloads under the first key."""
    data = packs.pack(sealed())
    first = sealed()[0]

    def pack(rows: object, body: bytes = first[1]) -> str:
        directory = codec.encode(rows)
        return (packs.MAGIC + body + directory + len(directory).to_bytes(4)).hex()

    row = [first[0], len(first[1])]
    fields = {"v": [cid_of(b"entry"), 0], "nonce": bytes(24), "act": b"x"}

    def payload(**changes: object) -> str:
        kept = {name: value for name, value in {**fields, **changes}.items() if value is not None}
        return _sealed(packs.squeeze(codec.encode(kept)))

    packed = {
        "not a pack": ["", b"PK\x03\x04".hex(), (b"muniment pack 2\n" + data[16:]).hex()],
        "cut off": [data[:20].hex(), data[:-1].hex(), packs.MAGIC.hex()],
        "directory malformed": [
            pack({"a": 1}), pack([row, row], first[1] * 2), pack([[first[0]]]), pack([[b"short", len(first[1])]]),
            pack([[first[0], 1]], b"x"), pack([[first[0], LIMITS.payload_bytes + 1]]), pack([[first[0], -5]]),
            (packs.MAGIC + first[1] + b"\x81\x18\x01" + (3).to_bytes(4)).hex(),
        ],
        "sizes differ": [pack([row], first[1] + b"!"), pack([row], first[1][:-1]), pack([])],
        "wrong pointer": [pack([row], bytes(len(first[1])))],
    }  # fmt: skip
    # A frame that says little and holds much, one that says much, one that says nothing, and one with a tail.
    lies = bytearray(zstandard.ZstdCompressor().compress(bytes(60_000)))
    lies[5:7] = (3).to_bytes(2, "little")
    alone = {
        "does not open": [first[1][:-1].hex() + f"{first[1][-1] ^ 1:02x}", "00" * 60, ""],
        "not compressed as it says": [
            _sealed(b"no frame"), _sealed(bytes(lies)),
            _sealed(zstandard.ZstdCompressor().compress(bytes(LIMITS.payload_bytes + 1))),
            _sealed(zstandard.ZstdCompressor(write_content_size=False).compress(codec.encode(fields))),
            _sealed(packs.squeeze(codec.encode(fields)) + b"tail"),
        ],
        "payload malformed": [
            payload(v=None), payload(more=1), payload(v=[b"x", 0]), payload(v=[cid_of(b"e"), 256]), payload(nonce=b"x"),
            payload(act=5), _sealed(packs.squeeze(b"\x80")), _sealed(packs.squeeze(b"\x18\x01")),
            _sealed(packs.squeeze(codec.encode(fields)), pad=False),
        ],
    }  # fmt: skip
    return {"packs": packed, "payloads": alone}


if __name__ == "__main__":
    (FOLDER / "packs.json").write_text(json.dumps({"good": good(), "bad": bad()}, indent=1) + "\n", "utf-8")
