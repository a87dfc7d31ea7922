"""Writes the golden vectors of sync messages: `sync.json` and `bad_sync/*.hex`, as `make.py` does for entries.

python tests/golden/sync_make.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from muniment.base import codec
from muniment.base.ids import BankId, cid_of
from muniment.identity import keys
from muniment.sync import hello, messages, packing, reconcile
from muniment.sync.messages import (
    Bodies,
    Done,
    Entries,
    Failure,
    Follow,
    Greet,
    Greeted,
    Hello,
    Message,
    Ranges,
    Reconcile,
    Took,
    Want,
    Welcome,
)
from muniment.sync.reconcile import ASK, FINGERPRINT, IDS, SKIP, Index, Range, key_of
from muniment.testing.ledger import Cast, filler

FOLDER = Path(__file__).parent
CAST = Cast()
BANK = BankId(cid_of(b"bank"))
ROUND, NONCES = filler("round", 16), (filler("client", 16), filler("server", 16))
BINDING = b"https://peer.example:8443"
KEYS = [key_of(1_750_000_000_000 + number << 16, cid_of(b"%d" % number)) for number in range(1000)]
PROOFS = {
    "client": hello.proof(hello.CLIENT, BANK, CAST["wim"], b"", NONCES, BINDING),
    "server": hello.proof(hello.SERVER, BANK, CAST["wim"], CAST["carol"], NONCES, BINDING),
}


def _sign(name: str, message: bytes) -> bytes:
    return keys.sign(CAST.pair(name).secret, codec.HELLO, message)


ONE, TWO = cid_of(b"one"), cid_of(b"two")
RANGES = (
    Range(KEYS[10][:7], SKIP),
    Range(KEYS[20][:9], FINGERPRINT, 7, filler("fingerprint", 32)),
    Range(KEYS[30], IDS, 0, packing.pack_ids([ONE, TWO])),
    Range(reconcile.END, ASK),
)
PARCELS = ((filler("envelope", 300), [filler("body", 296), None]), (filler("control", 200), []))
MESSAGES: dict[str, Message] = {
    "greet": Greet(NONCES[0]),
    "greeted": Greeted(NONCES[1], ROUND),
    "hello": Hello(ROUND, BANK, CAST["wim"], _sign("wim", PROOFS["client"])),
    "hello, with a claim": Hello(ROUND, BANK, CAST["wim"], _sign("wim", PROOFS["client"]), b"claim"),
    "welcome": Welcome(CAST["carol"], _sign("carol", PROOFS["server"])),
    "reconcile": Reconcile(ROUND, (), RANGES),
    "reconcile, a check": Reconcile(ROUND, RANGES[-2:-1], RANGES, True, ((CAST["wim"], (ONE, TWO)),)),
    "ranges": Ranges(RANGES, (), (ONE,), ((TWO, 255),), ((CAST["carol"], ()),)),
    "ranges, nothing differs": Ranges(),
    "want, by id": Want(ROUND, (ONE, TWO)),
    "want, a span of the control set": Want(ROUND, which=messages.CONTROL, span=(b"", KEYS[5][:8])),
    "want, bodies": Want(ROUND, bodies=((ONE, 0), (TWO, 7))),
    "entries, an answer": Entries(PARCELS, left=KEYS[7]),
    "entries, pushed": Entries(PARCELS[1:], ROUND),
    "entries, more to come": Entries(PARCELS[1:], more=12),
    "bodies": Bodies((((ONE, 3), filler("body", 296)),), more=1),
    "took": Took(0),
    "follow": Follow(ROUND),
    "done": Done(ROUND),
    "error": Failure(messages.REFUSED),
}


def vectors() -> dict[str, Any]:
    """Everything, in hex."""
    index = Index(KEYS)
    places = {"all": (b"", b"\xff"), "none": (b"", KEYS[0]), "some": (KEYS[100][:8], KEYS[900])}
    return {
        "proofs": {
            name: {
                "message": PROOFS[name].hex(),
                "key": CAST[by].hex(),
                "signature": _sign(by, PROOFS[name]).hex(),
            }
            for name, by in (("client", "wim"), ("server", "carol"))
        },
        "messages": {name: messages.encode(message).hex() for name, message in MESSAGES.items()},
        "fingerprints": {
            name: {"count": index.count(lo, hi), "fingerprint": index.fingerprint(lo, hi).hex()}
            for name, (lo, hi) in places.items()
        },
    }


def bad() -> dict[str, bytes]:
    """For each reason to refuse, a message that is wrong in that alone."""
    greet = {"t": "greet", "nonce": NONCES[0], "version": 1}
    want = {"t": "want", "round": ROUND}
    descending = [[one.hi, one.mode] for one in (RANGES[3], RANGES[0])]
    return {
        "oversize": codec.encode(want | {"ids": bytes(32 * 8193)}),
        "non-canonical": codec.encode(greet).replace(b"gversion\x01", b"gversion\x18\x01"),
        "unknown message": codec.encode(greet | {"t": "salute"}),
        "unknown field": codec.encode(greet | {"note": 1}),
        "malformed": codec.encode({"t": "greet", "version": 1}),
        "bad packing": codec.encode(want | {"ids": bytes(33)}),
        "bad order": codec.encode({"t": "reconcile", "round": ROUND, "data": descending}),
        "not due": messages.encode(Greeted(NONCES[1], ROUND)),
    }


def main() -> None:
    """Write the files."""
    (FOLDER / "sync.json").write_text(json.dumps(vectors(), indent=1) + "\n", "utf-8")
    (FOLDER / "bad_sync").mkdir(exist_ok=True)
    for reason, data in bad().items():
        (FOLDER / "bad_sync" / f"{reason.replace(' ', '_')}.hex").write_text(data.hex() + "\n", "utf-8")


if __name__ == "__main__":
    main()
