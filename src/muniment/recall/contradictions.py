"""Records of one answer that say the same but for a number, a negation or a day. Pure.

Nobody can tell by words alone which of two is right, or whether both are ("room 4 is green", "room 5 is green"): so
both are shown, and each names the other. Two texts are compared without such words. Of one key or title they have to
share half of what is left, else nine in ten; pairs are found by prefix filtering, as near copies are.
"""

from __future__ import annotations

from collections.abc import Hashable

from muniment.recall.duplicates import NEAR, TELLING, Words, prefix_of

SAME_SUBJECT = 0.5  # shared words by all words of both, where key or title say that it is about the same
LEAST = 2  # fewer words than these beside a number say nothing that could be said of another one
_NEGATIONS = frozenset(["no", "not", "never", "none", "nor", "neither", "without", "cannot", "t"])
_HELPING = frozenset({
    "do", "does", "did", "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "won", "wouldn", "can", "couldn",
    "shouldn", "hasn", "haven", "hadn", "doing",
})  # fmt: skip


def tells(word: str) -> bool:
    """Whether a word (case folded) alone turns what a text says: a number, a negation, a day or month."""
    return word in TELLING or any(c.isdigit() for c in word)


class Contradictions:
    """Texts that come one after another; each learns which earlier ones it may contradict."""

    def __init__(self, words: Words | None = None) -> None:
        """Starts an answer.

        Args:
            words: Where the words of texts are known from; None: nowhere.
        """
        self._words = words or Words()
        self._texts: list[tuple[frozenset[str], frozenset[str]]] = []
        self._places: dict[Hashable, list[int]] = {}

    def add(self, text: str, subjects: tuple[Hashable, ...] = ()) -> list[int]:
        """Takes a text in, as the next of 0, 1, 2 …, and returns the numbers of those that it may contradict.

        Args:
            text: What it says.
            subjects: What it is about for certain, as far as that is known: its key, its title.
        """
        words = self._words.of(text)
        # Most words are letters alone: told at once.
        telling = (words & TELLING) | {word for word in words if not word.isalpha() and tells(word)}
        rest = words - telling - _HELPING
        number = len(self._texts)
        self._texts.append((rest, telling))
        if len(rest) < LEAST:
            return []
        prefix = prefix_of(rest)
        found: set[int] = set()
        for least, keys in ((SAME_SUBJECT, subjects), (NEAR, tuple(("", word) for word in prefix))):
            for key in keys:
                here = self._places.setdefault(key, [])
                found.update(other for other in here if self._apart(other, rest, telling, least))
                here.append(number)
        return sorted(found)

    def _apart(self, other: int, rest: frozenset[str], telling: frozenset[str], least: float) -> bool:
        words, turns = self._texts[other]
        both = len(words & rest)
        return _turned(turns, telling) and both >= least * (len(words) + len(rest) - both)


def _turned(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether such words turn what is said: one side denies, or each says a number or day that the other does not."""
    if one.isdisjoint(_NEGATIONS) != other.isdisjoint(_NEGATIONS):
        return True
    said, replied = one - _NEGATIONS, other - _NEGATIONS
    return bool(said - replied and replied - said)
