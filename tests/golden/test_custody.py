"""What was once said about custody is read for ever, and each refusal has a vector that only it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import custody
from muniment.base.errors import RefusedProof

FILE: dict[str, Any] = json.loads((Path(__file__).parent / "custody.json").read_text("utf-8"))
GOOD = {name: bytes.fromhex(text) for name, text in FILE["good"].items()}
NOW: int = FILE["now"]


def look(kind: str, data: bytes) -> None:
    """Read and check bytes of one kind against the good ones of the others."""
    receipt, challenge = custody.read_receipt(GOOD["receipt"]), custody.read_challenge(GOOD["challenge"])
    if kind == "receipt":
        custody.read_receipt(data)
    elif kind == "challenge":
        custody.check_challenge(custody.read_challenge(data), receipt, NOW)
    else:
        custody.check_proof(custody.read_proof(data), challenge, receipt, NOW)


@pytest.mark.parametrize("kind", ["receipt", "challenge", "proof"])
def test_old_words_are_read_and_written_the_same(kind: str) -> None:
    """Receipt, challenge and proof hold, and their bytes are those that they were."""
    look(kind, GOOD[kind])
    reader = getattr(custody, f"read_{kind}")
    assert custody.to_bytes(reader(GOOD[kind])) == GOOD[kind]


def test_a_nonce_asks_for_the_chunks_that_it_always_asked_for() -> None:
    """Both ends draw alike, in every version."""
    assert custody.sampled(bytes(range(32)), 256, 46) == FILE["sampled"]


def test_each_reason_has_a_vector() -> None:
    """No refusal is without one."""
    assert sorted(FILE["bad"]) == sorted(custody.REASONS)


@pytest.mark.parametrize("reason", sorted(FILE["bad"]))
def test_bad_words_are_refused_for_their_reason(reason: str) -> None:
    """Each is turned down by the rule that it breaks."""
    kind, data = FILE["bad"][reason]
    with pytest.raises(RefusedProof) as caught:
        look(kind, bytes.fromhex(data))
    assert caught.value.reason == reason
