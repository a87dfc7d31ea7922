"""Writes the golden vectors: the exact bytes of everything that is signed or sealed, from fixed seeds.

    python tests/golden/make.py

makes `vectors.json` and `bad/*.hex` again. The test compares and never writes: if it fails, the format has
changed, and banks that were written before can no longer be read or verified. So this is only run when a
*new* thing gets a vector, and the difference must then show added lines alone.

All byte strings are hex. A line of a `.hex` file is hex, or hex, a star and how often it stands there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from muniment.base import codec
from muniment.base.clock import at_of
from muniment.base.ids import BankId, EntryId, RecordId, VersionId, cid_of, cid_text, record_text, uuid7
from muniment.base.limits import LIMITS
from muniment.epoch_keys import commitment, start
from muniment.identity import keys
from muniment.identity.did import to_did
from muniment.ledger import acts, claims, control
from muniment.ledger import entry as entries
from muniment.ledger.entry import Entry, Header
from muniment.ledger.levels import parse_level
from muniment.testing.ledger import Cast, filler

FOLDER = Path(__file__).parent
MS = 1_750_000_000_000
CAST = Cast()
NAMES = ("carol", "vera", "wim", "invite")
ONE, TWO = VersionId(cid_of(b"one"), 0), VersionId(cid_of(b"two"), 255)
RECORD = uuid7(MS, filler("record", 10))

ACTS: dict[str, Any] = {
    "remember, least": acts.Remember(RECORD, "tea", MS),
    "remember, all fields": acts.Remember(
        id=RecordId(bytes(range(16))),
        text="Zażółć 記憶 🍵\r\n\0",
        created=MS,
        key="project.deadline",
        title="Deadline",
        type="skill",
        tags=("ß", "b", "a", "b"),
        metadata={"a": [1, -1, 2.5, None, True, {"deep": "x"}], "": {}, "big": (1 << 63) - 1},
        session="2026-01-01/standup",
        valid_from=0,
        valid_until=(1 << 53) - 1,
        over=(TWO, ONE),
        tool=True,
        recalled=True,
        ref="sha256:ab#7",
    ),
    "remember, lone surrogates": acts.Remember(
        RECORD, "a\ud800b", 0, key="\udfff", tags=("\ud83d\ude00", "é"), metadata={"w": "\udc80"}
    ),
    "vector of a version": acts.Vector("local/minilm", 4, filler("vector", 8), version=ONE),
    "vector of an act": acts.Vector("local/minilm", 2, filler("vector", 4), act=3),
    "archive": acts.Archive(ONE, filler("pointer", 32), filler("payload key", 32), b"stub"),
    "forget": acts.Forget(versions=(TWO, ONE)),
    "forget, undo": acts.Forget(undo=(ONE,)),
    "feedback": acts.Feedback(TWO, -100),
    "describe": acts.Describe("Conventions", "What we agreed on"),
    "set": acts.Set("refs", "team", {"bank": "x", "n": [1]}),
    "set, removed": acts.Set("refs", "team"),
}


def body(bank: BankId, epoch: control.EpochId, index: int, act: Any) -> dict[str, Any]:
    """An act, sealed."""
    key, nonce = filler("epoch key", 32), filler(f"nonce {index}", 24)
    plain = acts.to_bytes(act)
    bound_to = entries.associated(bank, epoch, CAST["vera"], act.code, index)
    sealed = entries.seal_body(key, nonce, plain, bound_to)
    return {"nonce": nonce, "plain": plain, "associated": bound_to, "sealed": sealed}


def signed(by: str, header: Header) -> Entry:
    """A signed entry."""
    data = entries.header_bytes(header)
    return entries.assemble(data, keys.sign(CAST.pair(by).secret, codec.ENTRY, data), header)


def ledger() -> tuple[dict[str, Entry], dict[str, Any]]:
    """A bank's entries in order, and the sealed bodies of the one that has them."""
    founders = (
        control.Founder(CAST["carol"], parse_level("admin(0)")),
        control.Founder(CAST["vera"], parse_level("admin(1)"), agent=True),
    )
    salt = filler("bank salt", control.SALT_BYTES)
    found = signed(
        "carol", Header(None, CAST["carol"], (), (), at_of(MS), ctl=(control.Found(founders, salt),))
    )
    made = {"found": found}
    bank = found.bank

    def add(name: str, by: str, *ctl: control.Control, **more: Any) -> Entry:
        last = [entry for entry in made.values() if entry.header.by == CAST[by]][-1:]
        heads = [entry for entry in made.values() if entry.is_control][-1:]
        header = Header(
            bank,
            CAST[by],
            tuple(e.id for e in last),
            tuple(e.id for e in heads),
            at_of(MS + len(made)) + 7,
            ctl=ctl,
        )
        made[name] = signed(by, replace(header, **more))
        return made[name]

    readers = (CAST["carol"], CAST["vera"])
    seeds = {reader: filler(f"ephemeral {reader.hex()}", 32) for reader in (*readers, CAST["wim"])}
    old = start(bank, filler("old key", 32), filler("old salt", 16), readers, {}, ephemeral=seeds, nonces={})
    first = control.EpochId(add("epoch, first", "carol", old).id, 0)
    new = start(
        bank, filler("epoch key", 32), filler("epoch salt", 16), readers, {first: filler("old key", 32)},
        ephemeral=seeds, nonces={first: filler("link nonce", 24)},
    )  # fmt: skip
    epoch = control.EpochId(add("epoch, opens the first", "carol", new).id, 0)
    write, until = parse_level("write"), MS + 86_400_000
    add("grant", "carol", control.Grant(CAST["wim"], write))
    full = control.Grant(
        CAST["wim"],
        parse_level("admin(7)"),
        until,
        delegable=True,
        agent=True,
        invite=epoch,
        succeeds=CAST["vera"],
    )
    add("grant, all fields", "carol", full)
    box = keys.box(CAST["wim"], filler("epoch key", 32), seeds[CAST["wim"]])
    add("share", "vera", control.Share(epoch, CAST["wim"], box))
    add("policy", "carol", control.Policy(1, 604_800_000))
    add("invite", "carol", control.Invite(CAST["invite"], parse_level("read"), until, 3))
    add("erase", "carol", control.Erase((ONE, TWO)))
    add("revoke", "carol", control.Revoke(CAST["wim"], (ONE.entry,)))
    over = control.Revoke(CAST["wim"], tuple(sorted((ONE.entry, TWO.entry))), (made["revoke"].id,))
    add("revoke, in place of another", "carol", over, control.Grant(CAST["wim"], parse_level("relay")))
    bodies = {name: body(bank, epoch, index, act) for index, (name, act) in enumerate(ACTS.items())}
    refs = tuple(
        entries.act_ref(act.code, sealed["sealed"])
        for act, sealed in zip(ACTS.values(), bodies.values(), strict=True)
    )
    add("acts", "vera", epoch=epoch, acts=refs)
    return made, bodies


def claim(bank: BankId, invite: EntryId) -> dict[str, Any]:
    """A claim of an invite: its fields, what is signed, and how it travels."""
    asked = claims.Claim(bank, control.EpochId(invite, 0), CAST["wim"], filler("claim nonce", 16))
    by_invite = claims.sign_by_invite(asked, CAST.pair("invite"))
    by_joiner = keys.sign(CAST.pair("wim").secret, codec.CLAIM, asked.signed())
    return {
        "invite": {"entry": invite, "act": 0, "key": CAST["invite"]},
        "joiner": asked.joiner,
        "nonce": asked.nonce,
        "signed": asked.signed(),
        "claim": claims.claim_bytes(asked, by_invite, by_joiner),
    }


def vectors() -> dict[str, Any]:
    """Everything, in plain values."""
    made, bodies = ledger()
    bank = made["found"].bank
    people = {
        name: {"seed": filler(f"seed of {name}", 32), "public": CAST[name], "did": to_did(CAST[name])}
        for name in NAMES
    }
    return {
        "keys": people,
        "ids": {
            "bank": {"cid": bank, "text": cid_text(bank)},
            "record": {"bytes": RECORD, "text": record_text(RECORD)},
            "version": {"entry": TWO.entry, "act": TWO.act, "text": str(TWO)},
        },
        "entries": {
            name: {
                "header": entry.header_bytes,
                "envelope": entry.envelope,
                "id": entry.id,
                "text": cid_text(entry.id),
                "control": [codec.encode(control.to_map(act)) for act in entry.header.ctl],
            }
            for name, entry in made.items()
        },
        "bodies": bodies,
        "epoch": {
            "key": filler("epoch key", 32),
            "salt": filler("epoch salt", 16),
            "commitment": commitment(bank, filler("epoch salt", 16), filler("epoch key", 32)),
        },
        "box": {
            "to": CAST["wim"],
            "message": filler("epoch key", 32),
            "ephemeral": filler("ephemeral", 32),
            "box": keys.box(CAST["wim"], filler("epoch key", 32), filler("ephemeral", 32)),
        },
        "claim": claim(bank, made["invite"].id),
        "digests": {
            name: {"content": acts.content_digest(act), "write": acts.write_digest(act, CAST["vera"])}
            for name, act in ACTS.items()
            if isinstance(act, acts.Remember)
        },
    }


def bad() -> dict[str, list[str]]:
    """For each reason to refuse, the lines of a file that is wrong in that alone."""
    made, _ = ledger()
    entry, found = made["policy"], made["found"]
    fields = codec.decode(entry.header_bytes, 1 << 20)

    def sealed(header: bytes, by: str = "carol") -> list[str]:
        return [codec.encode([header, keys.sign(CAST.pair(by).secret, codec.ENTRY, header)]).hex()]

    def other(**changed: Any) -> list[str]:
        left = {name: value for name, value in (fields | changed).items() if value is not None}
        return sealed(codec.encode(left))

    another = control.Found(found.header.ctl[0].founders, filler("other salt", 16))  # type: ignore[union-attr]
    founding = entries.header_bytes(replace(found.header, ctl=(another,)))
    return {
        "oversize": ["82", f"00*{LIMITS.header_bytes + 128}"],
        "wrong magic": [codec.encode({"header": entry.header_bytes}).hex()],
        "non-canonical": sealed(entry.header_bytes.replace(b"\x61v\x01", b"\x61v\x18\x01")),
        "unknown version": other(v=2),
        "unknown field": other(note=1),
        "malformed": other(prev=None),
        "bad key": other(by=bytes([1]) + bytes(31)),
        "bad time": other(at=at_of(4_102_444_800_000)),
        "wrong bank": other(bank=EntryId(cid_of(b"another bank"))),
        "second founding entry": sealed(founding),
        "bad signature": [entry.envelope[:-1].hex() + f"{entry.envelope[-1] ^ 1:02x}"],
    }


def as_hex(value: Any) -> Any:
    """The same, with byte strings as hex."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {name: as_hex(item) for name, item in value.items()}
    return [as_hex(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    """Write the files."""
    (FOLDER / "vectors.json").write_text(
        json.dumps(as_hex(vectors()), indent=1, ensure_ascii=True) + "\n", "utf-8"
    )
    (FOLDER / "bad").mkdir(exist_ok=True)
    for reason, lines in bad().items():
        (FOLDER / "bad" / f"{reason.replace(' ', '_')}.hex").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
