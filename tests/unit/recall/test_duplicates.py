"""Which records of an answer stand for others."""

from __future__ import annotations

import random

import pytest

from muniment.recall.duplicates import NEAR, Collapsing

LONG = "the harbour office opens early in summer and sells tickets for every ferry to the islands on request"


def second(first: str, other: str, asked: str = "", alike: tuple[str, str] = ("a", "a")) -> int | None:
    """What becomes of a second text after a first one."""
    collapsing = Collapsing(lambda word: word in asked.split())
    assert collapsing.place(first, alike[0]) is None
    return collapsing.place(other, alike[1])


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("Thanks to all of you!", "thanks, to all of YOU"),
        (LONG, LONG.upper() + "."),
        (LONG, LONG + " please"),
    ],
)
def test_what_says_nearly_the_same_is_left_out(first: str, other: str) -> None:
    """Case and punctuation are nothing; a word in ten may differ."""
    assert second(first, other) == 0


@pytest.mark.parametrize(
    "other", [LONG + " not", LONG + " 9", LONG.replace("summer", "may"), "something else", ""]
)
def test_a_contradiction_is_shown(other: str) -> None:
    """What differs in a number, a negation, a month or much stands beside the first."""
    assert second(LONG, other) is None


def test_short_texts_stand_for_themselves() -> None:
    """Fewer than five words mean what they mean where they stand."""
    assert second("yes, let us go", "yes, let us go") is None


def test_no_word_of_the_query_is_lost() -> None:
    """Neither the one that only the second holds, nor what only the first does."""
    assert second(LONG, LONG + " kiosk", asked="kiosk") is None
    assert second(LONG, LONG + " kiosk", asked="ferry") == 0


def test_what_must_be_alike_is() -> None:
    """Nobody's words stand for another's."""
    assert second(LONG, LONG, alike=("a", "b")) is None


def test_it_finds_what_comparing_all_pairs_finds() -> None:
    """The words that are looked up lose no pair."""
    rng = random.Random(5)
    words = [f"w{c}" for c in "abcdefghijklmnopqrstuvwxyz"]
    texts = [rng.sample(words, rng.randint(8, 24)) for _ in range(40)]
    texts += [[*text[:-1], rng.choice(words)] for text in texts] + [text[:-1] for text in texts]
    rng.shuffle(texts)
    collapsing, kept = Collapsing(lambda _: False), list[set[str]]()
    for text in texts:
        near = [n for n, k in enumerate(kept) if len(k & set(text)) >= NEAR * len(k | set(text))]
        found = collapsing.place(" ".join(text), None)
        assert found == (near[0] if near else None)
        if found is None:
            kept.append(set(text))
