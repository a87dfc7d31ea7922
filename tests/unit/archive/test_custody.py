"""How often a holder that lost something is caught, and that an honest one never is."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.archive import custody, tree
from muniment.archive.custody import CHALLENGES, SAMPLE, Challenge, Receipt
from muniment.archive.pack import pointer_of
from muniment.base.errors import RefusedProof
from muniment.identity import keys

OWNER, HOLDER = keys.keypair(bytes(32)), keys.keypair(bytes([1]) * 32)
AT = 1_800_000_000_000


def by(pair: keys.KeyPair) -> custody.Sign:
    """Signs with a pair."""
    return lambda domain, message: keys.sign(pair.secret, domain, message)


def asked(blob: bytes, nonce: bytes) -> tuple[Receipt, Challenge]:
    """A receipt for a blob, and a challenge."""
    name, root = pointer_of(blob), tree.root_of(tree.leaves_of(blob))
    receipt = Receipt(HOLDER.public, OWNER.public, name, len(blob), root, AT, AT + 10**9)
    challenge = Challenge(OWNER.public, HOLDER.public, name, nonce, SAMPLE, AT)
    return custody.signed(receipt, by(HOLDER)), custody.signed(challenge, by(OWNER))


def test_the_sample_is_what_the_arithmetic_asks_for() -> None:
    """One chunk in a hundred, 99 %: 459 chunks over all challenges."""
    assert custody.samples_needed(0.01, 0.99) == 459 <= SAMPLE * CHALLENGES


@pytest.mark.parametrize("chunks", [1, 46, 47, 100, 101, 200, 256, 10_000])
def test_one_chunk_in_a_hundred_is_caught_with_99_percent(chunks: int) -> None:
    """Of 2,000 holders that lost a hundredth of a blob, at most 1.6 % pass ten challenges: 3 sigma above 1 %."""
    rng, passed = random.Random(chunks), 0
    for holder in range(2000):
        lost = set(rng.sample(range(chunks), -(-chunks // 100)))
        nonces = (hashlib.sha256(b"%d %d %d" % (chunks, holder, n)).digest() for n in range(CHALLENGES))
        passed += all(lost.isdisjoint(custody.sampled(nonce, chunks, SAMPLE)) for nonce in nonces)
    assert passed / 2000 <= 0.01 + 3 * (0.01 * 0.99 / 2000) ** 0.5


@given(st.binary(min_size=32, max_size=32), st.integers(1, 2000), st.integers(1, 64))
def test_a_sample_is_of_different_chunks_that_are_there(nonce: bytes, chunks: int, count: int) -> None:
    """As many as were asked for, or all."""
    found = custody.sampled(nonce, chunks, count)
    assert len(set(found)) == len(found) == min(chunks, count)
    assert found == sorted(found)
    assert 0 <= found[0] <= found[-1] < chunks


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5 * tree.CHUNK), st.binary(min_size=32, max_size=32), st.data())
def test_a_holder_proves_what_it_has_and_nothing_else(size: int, nonce: bytes, data: st.DataObject) -> None:
    """The whole blob passes; with one flipped byte, or cut, it does not, though the checker has no blob."""
    blob = hashlib.shake_128(nonce).digest(size)
    receipt, challenge = asked(blob, nonce)
    good = custody.make_proof(challenge, blob, HOLDER.public, AT, by(HOLDER))
    custody.check_proof(custody.read_proof(custody.to_bytes(good)), challenge, receipt, AT)
    at = data.draw(st.integers(0, size - 1))
    flipped = blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]
    for other in (flipped, blob[:at]):
        bad = custody.make_proof(challenge, other, HOLDER.public, AT, by(HOLDER))
        with pytest.raises(RefusedProof):
            custody.check_proof(bad, challenge, receipt, AT)


def test_an_old_proof_answers_no_new_challenge() -> None:
    """A proof that was recorded is worth nothing against a fresh nonce."""
    receipt, first = asked(bytes(1000), bytes(32))
    _, second = asked(bytes(1000), bytes([1]) * 32)
    proof = custody.make_proof(first, bytes(1000), HOLDER.public, AT, by(HOLDER))
    with pytest.raises(RefusedProof, match="another challenge"):
        custody.check_proof(proof, second, receipt, AT)
