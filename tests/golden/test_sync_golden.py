"""The messages of a sync do not change: what is written has the bytes that it had, and bad bytes stay bad."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import VerifyKey

from muniment.base.errors import BadMessage
from muniment.sync import messages
from muniment.sync.messages import Failure
from muniment.sync.serving import ServerRound

HERE = Path(__file__).parent
VECTORS: dict[str, Any] = json.loads((HERE / "sync.json").read_text("utf-8"))


def load() -> Any:
    """The generator, as a module."""
    spec = importlib.util.spec_from_file_location("golden_sync_make", HERE / "sync_make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = load()


@pytest.mark.parametrize("part", VECTORS)
def test_what_is_written_has_the_bytes_that_it_had(part: str) -> None:
    """The code gives the committed bytes, and nothing is left out of the file."""
    made = make.vectors()
    assert made.keys() == VECTORS.keys()
    assert made[part] == VECTORS[part]


@pytest.mark.parametrize("name", VECTORS["messages"])
def test_an_old_message_is_still_read(name: str) -> None:
    """The committed bytes say what they said, and are written again as they were."""
    data = bytes.fromhex(VECTORS["messages"][name])
    assert messages.decode(data) == make.MESSAGES[name]
    assert messages.encode(messages.decode(data)) == data


def test_every_kind_of_message_has_a_vector() -> None:
    """Each message, and each reason to refuse one, is in the files."""
    assert {message.name for message in make.MESSAGES.values()} == set(messages._KINDS)
    files = {path.stem.replace("_", " ") for path in (HERE / "bad_sync").glob("*.hex")}
    assert files == set(messages.REASONS)


@pytest.mark.parametrize("name", VECTORS["proofs"])
def test_proofs_are_plain_signatures(name: str) -> None:
    """Another implementation of Ed25519 takes them, over domain and message."""
    proof = {field: bytes.fromhex(value) for field, value in VECTORS["proofs"][name].items()}
    VerifyKey(proof["key"]).verify(b"muniment/hello/1\0" + proof["message"], proof["signature"])


@pytest.mark.parametrize("reason", [reason for reason in messages.REASONS if reason != "not due"])
def test_a_bad_message_is_refused_for_its_reason(reason: str) -> None:
    """Each committed bad message breaks exactly the rule that it is named after."""
    data = bytes.fromhex((HERE / "bad_sync" / f"{reason.replace(' ', '_')}.hex").read_text())
    with pytest.raises(BadMessage) as caught:
        messages.decode(data)
    assert caught.value.reason == reason


def test_a_message_that_is_not_due_ends_the_round() -> None:
    """Well-formed, and not what has to come now."""

    class Nobody:
        def open(self, bank: bytes, by: bytes, claim: bytes) -> None:
            return None

    data = bytes.fromhex((HERE / "bad_sync" / "not_due.hex").read_text())
    server = ServerRound(Nobody(), b"", nonce=bytes(16), round_id=bytes(16))
    assert [messages.decode(answer) for answer in server.receive(data)] == [Failure(messages.BAD)]
    assert server.closed
