"""Whether the stated sampling sees what it should: a loss of one chunk in a hundred, and keepers of some paths."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.archive import custody, tree
from muniment.archive.custody import CHALLENGES, SAMPLE, Challenge, Proof, Receipt, Shown
from muniment.archive.source import outline_of
from muniment.base.errors import RefusedProof
from muniment.base.ids import BlobName
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.testing.entropy import SeededEntropy

MOST = LIMITS.pack_bytes // tree.CHUNK
NOW = 1_800_000_000_000
OWNER, HOLDER = keys.keypair(b"o" * 32), keys.keypair(b"h" * 32)
DATA = SeededEntropy(b"a pack").bytes(100 * tree.CHUNK - 77)
OUTLINE = outline_of(DATA)
NAME = BlobName(bytes(32))
LEAVES = tree.leaves_of(DATA)
ALL = {
    number: Shown(
        number, DATA[number * tree.CHUNK : (number + 1) * tree.CHUNK], tuple(tree.path_of(LEAVES, number))
    )
    for number in range(len(LEAVES))
}


def nonce(*what: object) -> bytes:
    """A fresh one."""
    return hashlib.sha256(repr(what).encode()).digest()


def unseen(chunks: int, lost: int) -> float:
    """The chance that all challenges miss `lost` chunks of `chunks`: hypergeometric, as none is drawn twice."""
    k = min(SAMPLE, chunks)
    return (comb(chunks - lost, k) / comb(chunks, k)) ** CHALLENGES


@pytest.mark.parametrize("chunks", [*range(1, MOST + 1)])
def test_a_loss_of_one_chunk_in_a_hundred_is_seen_with_99_percent(chunks: int) -> None:
    """Exactly, for each size that a pack may have: at least one chunk, and at least one in a hundred."""
    lost = max(1, -(-chunks // 100))
    assert unseen(chunks, lost) <= 0.01


def test_the_draws_are_as_even_as_the_arithmetic_says() -> None:
    """Of 4000 holders that lost one chunk in a hundred, all but about a hundredth are seen (five deviations)."""
    missed = 0
    for trial in range(4000):
        gone = set(custody.sampled(nonce("gone", trial), 200, 2))
        missed += all(
            not gone & set(custody.sampled(nonce(trial, turn), 200, SAMPLE)) for turn in range(CHALLENGES)
        )
    chance = unseen(200, 2)
    assert missed <= 4000 * chance + 5 * (4000 * chance) ** 0.5


def receipt() -> Receipt:
    """The holder's word for the pack."""
    made = Receipt(HOLDER.public, OWNER.public, NAME, OUTLINE.size, OUTLINE.root, NOW, NOW + 1_000_000)
    return custody.signed(made, lambda domain, message: keys.sign(HOLDER.secret, domain, message))


def asked(once: bytes) -> Challenge:
    """A question."""
    made = Challenge(OWNER.public, HOLDER.public, NAME, once, SAMPLE, NOW)
    return custody.signed(made, lambda domain, message: keys.sign(OWNER.secret, domain, message))


def answered(challenge: Challenge, chunks: dict[int, Shown]) -> Proof:
    """The answer of a holder that has these chunks, and makes up what it lacks."""
    wanted = custody.sampled(challenge.nonce, tree.chunk_count(OUTLINE.size), challenge.count)
    any_one = next(iter(chunks.values()))
    shown = tuple(chunks.get(number, any_one._replace(number=number)) for number in wanted)
    made = Proof(HOLDER.public, custody.challenge_id(challenge), NOW, shown)
    return custody.signed(made, lambda domain, message: keys.sign(HOLDER.secret, domain, message))


@pytest.mark.parametrize("harm", ["dropped", "truncated", "flipped"])
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_challenge_fails_if_and_only_if_it_draws_a_harmed_chunk(harm: str, data: st.DataObject) -> None:
    """Dropped and replaced by another one, cut short, or one bit off: the same."""
    lost = data.draw(st.integers(0, len(ALL) - 1))
    once = data.draw(st.binary(min_size=32, max_size=32))
    chunks = dict(ALL)
    if harm == "dropped":
        del chunks[lost]
    elif harm == "truncated":
        chunks[lost] = chunks[lost]._replace(data=chunks[lost].data[: data.draw(st.integers(0, 1000))])
    else:
        at = data.draw(st.integers(0, len(chunks[lost].data) - 1))
        body = bytearray(chunks[lost].data)
        body[at] ^= 1 << data.draw(st.integers(0, 7))
        chunks[lost] = chunks[lost]._replace(data=bytes(body))
    challenge = asked(once)
    proof = answered(challenge, chunks)
    if lost in custody.sampled(once, len(ALL), SAMPLE):
        with pytest.raises(RefusedProof) as caught:
            custody.check_proof(proof, challenge, receipt(), NOW)
        assert caught.value.reason == "not in the blob"
    else:
        custody.check_proof(proof, challenge, receipt(), NOW)


def test_a_holder_that_keeps_only_what_was_asked_for_is_caught_by_the_next_nonce() -> None:
    """Its old answer passes for no other question, and the chunks in it are not those of the next one."""
    first = asked(nonce("first"))
    kept = {n: ALL[n] for n in custody.sampled(first.nonce, len(ALL), SAMPLE)}
    old = answered(first, kept)
    custody.check_proof(old, first, receipt(), NOW)
    for turn in range(50):
        again = asked(nonce("again", turn))
        with pytest.raises(RefusedProof) as caught:
            custody.check_proof(old, again, receipt(), NOW)
        assert caught.value.reason == "another challenge"
        relabelled = replace(old, challenge=custody.challenge_id(again))
        with pytest.raises(RefusedProof) as caught:
            custody.check_proof(relabelled, again, receipt(), NOW)
        assert caught.value.reason == "wrong chunks"
        with pytest.raises(RefusedProof) as caught:
            custody.check_proof(answered(again, kept), again, receipt(), NOW)
        assert caught.value.reason == "not in the blob"
