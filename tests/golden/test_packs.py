"""Packs, payloads and stubs that were written once are read for ever, and bad ones are refused for their reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import pack as packs
from muniment.archive import tree
from muniment.base.errors import LimitExceeded, RefusedPack
from muniment.base.ids import BlobName, blob_text, parse_blob
from muniment.base.limits import LIMITS
from muniment.ledger import acts, stub

FILE: dict[str, Any] = json.loads((Path(__file__).parent / "packs.json").read_text("utf-8"))
GOOD = FILE["good"]
PACK = bytes.fromhex(GOOD["pack"])
KEY = bytes.fromhex(GOOD["keys"][0])


def rows(kind: str) -> list[tuple[str, str]]:
    """Reason and bytes of each bad vector."""
    return [(reason, data) for reason, all_of in FILE["bad"][kind].items() for data in all_of]


def test_an_old_pack_is_read() -> None:
    """Its name, its root, its directory and each payload are those that they were."""
    assert blob_text(packs.pointer_of(PACK)) == GOOD["name"]
    assert blob_text(parse_blob(GOOD["name"])) == GOOD["name"]
    assert tree.root_of(tree.leaves_of(PACK)).hex() == GOOD["root"]
    slots = packs.directory_of(PACK)
    assert [blob_text(slot.pointer) for slot in slots] == GOOD["pointers"]
    for slot, key, said in zip(slots, GOOD["keys"], GOOD["payloads"], strict=True):
        payload = packs.open_payload(packs.payload_at(PACK, slot), bytes.fromhex(key))
        assert payload.version.entry.hex() == said["entry"]
        assert payload.version.act == said["act"]
        assert (payload.nonce.hex(), payload.act.hex()) == (said["nonce"], said["plain"])
    assert packs.pack([(slot.pointer, packs.payload_at(PACK, slot)) for slot in slots]) == PACK


def test_an_old_stub_is_read() -> None:
    """Of either form, it is that of the record that it was made of."""
    act = acts.from_bytes(acts.REMEMBER, bytes.fromhex(GOOD["payloads"][0]["plain"]))
    assert isinstance(act, acts.Remember)
    for form in ("stub", "stub 2"):
        read = stub.from_bytes(bytes.fromhex(GOOD[form]))
        assert read.bag == GOOD["stub bag"]
        assert stub.agrees(read, act)


@pytest.mark.parametrize(("reason", "data"), rows("packs"))
def test_a_bad_pack_is_refused_for_its_reason(reason: str, data: str) -> None:
    """By its directory, or where a payload is looked at."""
    raw = bytes.fromhex(data)
    with pytest.raises(RefusedPack) as caught:
        [packs.payload_at(raw, slot) for slot in packs.directory_of(raw)]
    assert caught.value.reason == reason


@pytest.mark.parametrize(("reason", "data"), rows("payloads"))
def test_a_bad_payload_is_refused_for_its_reason(reason: str, data: str) -> None:
    """Whatever it says of itself."""
    with pytest.raises(RefusedPack) as caught:
        packs.open_payload(bytes.fromhex(data), KEY)
    assert caught.value.reason == reason


def test_every_reason_has_a_vector() -> None:
    """Too large ones are made here: the files stay small."""
    for call in (
        lambda: packs.directory_of(bytes(LIMITS.pack_bytes + 1)),
        lambda: packs.open_payload(bytes(LIMITS.payload_bytes + 1), KEY),
    ):
        with pytest.raises(RefusedPack) as caught:
            call()
        assert caught.value.reason == "too large"
    assert {reason for kind in FILE["bad"].values() for reason in kind} | {"too large"} == set(packs.REASONS)


def test_what_would_be_too_large_is_not_written() -> None:
    """Neither a payload nor a pack."""
    payload = packs.open_payload(packs.payload_at(PACK, packs.directory_of(PACK)[0]), KEY)
    large = packs.Payload(payload.version, payload.nonce, bytes(LIMITS.payload_bytes))
    with pytest.raises(LimitExceeded):
        packs.seal_payload(large, KEY, bytes(24))
    with pytest.raises(LimitExceeded):
        packs.pack([(BlobName(bytes(32)), bytes(LIMITS.pack_bytes))])
