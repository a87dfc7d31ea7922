"""Which texts may contradict each other."""

from __future__ import annotations

import pytest

from muniment.recall.contradictions import Contradictions


def against(first: str, other: str, *, about: tuple[str, ...] = ()) -> bool:
    """Whether a second text is told that it may contradict the first."""
    told = Contradictions()
    assert told.add(first, about) == []
    return told.add(other, about) == [0]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("The build takes 5 minutes", "the build takes 9 minutes."),
        ("Kim drinks coffee at work", "Kim never drinks coffee at work"),
        ("Staging is open on Monday", "Staging is open on Tuesday"),
        ("Servers restart at night", "Servers don't restart at night"),
    ],
)
def test_a_number_a_negation_or_a_day_makes_a_contradiction(first: str, other: str) -> None:
    """Whatever stands beside it is the same."""
    assert against(first, other)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("The build takes 5 minutes", "The build takes 5 minutes!"),
        ("The build takes 5 minutes", "The deploy needs 9 people"),
        ("The build takes 5 minutes", "The build takes minutes"),
        ("Kim never drinks coffee", "Kim does not drink coffee"),
        ("5", "9"),
        ("yes", "no"),
        ("", "9"),
    ],
)
def test_other_texts_stand_beside_each_other(first: str, other: str) -> None:
    """The same number, other words, or hardly a word: nothing is contradicted."""
    assert not against(first, other)


def test_of_one_subject_fewer_words_have_to_be_shared() -> None:
    """Key or title say that both are about the same."""
    first, other = "Backups run at 3 every night", "Every night at 4 backups start now"
    assert not against(first, other)
    assert against(first, other, about=("backups",))


def test_each_learns_of_all_before_it() -> None:
    """Three numbers are three sides."""
    told = Contradictions()
    found = [told.add(f"The build takes {n} minutes") for n in (5, 9, 5, 7)]
    assert found == [[], [0], [1], [0, 1, 2]]
