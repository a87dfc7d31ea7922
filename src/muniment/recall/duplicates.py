"""Records of one answer that say nearly the same: which ones the better one can stand for. Pure.

Two texts are near if they share nine in ten of their words. One of them stands for the other only if what they differ
in is no number, no negation, no day or month, and no word of the query: those are what a correction or a contradiction
is made of, and then both are shown. Found by prefix filtering (Bayardo, Ma, Srikant 2007): of the words of each text in
one fixed order, near texts share one of the first tenth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable

NEAR = 0.9  # shared words by all words of both
LEAST = 5  # fewer different words say something by what stands around them: "yes, let's" is no copy of another one
CHARS = 20_000  # longer texts stand for themselves
_WORD = re.compile(r"[^\W_]+")
TELLING = frozenset({
    "no", "not", "never", "none", "nor", "neither", "without", "cannot", "t", "yes", "false", "true", "only", "except",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march",
    "april", "may", "june", "july", "august", "september", "october", "november", "december", "today", "tomorrow",
    "yesterday",
})  # fmt: skip


class Words:
    """The words of the texts of one answer, each text taken apart once."""

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}

    def of(self, text: str) -> frozenset[str]:
        """The words of a text, case folded; none of one that is longer than `CHARS`."""
        words = self._known.get(text)
        if words is None:
            words = frozenset(_WORD.findall(text.casefold())) if len(text) <= CHARS else frozenset()
            self._known[text] = words
        return words


def prefix_of(words: Collection[str]) -> list[str]:
    """The words of which near texts share one, the longest first: long words are seldom shared."""
    ranked = sorted(sorted(words), key=len, reverse=True)
    return ranked[: len(words) - math.ceil(NEAR * len(words)) + 1] if words else []


class Collapsing:
    """Records in order of rank, each either kept or standing behind a kept one."""

    def __init__(self, asked: Callable[[str], bool], words: Words | None = None) -> None:
        """Starts an answer.

        Args:
            asked: Whether a word (case folded) is one of the query's: none of them may be lost with a record.
            words: Where the words of texts are known from; None: nowhere.
        """
        self._asked, self._words = asked, words or Words()
        self._kept: list[frozenset[str]] = []
        self._by_word: dict[tuple[Hashable, str], list[int]] = {}

    def place(self, text: str, alike: Hashable) -> int | None:
        """The number (0, 1, 2 …) of the kept record that stands for this one; None if it is kept, as the next.

        Args:
            text: What it says.
            alike: What has to be equal too, so that one may stand for the other: its key and author, say.
        """
        words = self._words.of(text)
        words = words if len(words) >= LEAST else frozenset()
        prefix = prefix_of(words)
        numbers = {number for word in prefix for number in self._by_word.get((alike, word), ())}
        for number in sorted(numbers):
            if self._stands_for(self._kept[number], words):
                return number
        for word in prefix:
            self._by_word.setdefault((alike, word), []).append(len(self._kept))
        self._kept.append(words)
        return None

    def _stands_for(self, kept: frozenset[str], other: frozenset[str]) -> bool:
        both = len(kept & other)
        if both < NEAR * (len(kept) + len(other) - both):
            return False
        apart = kept ^ other
        return apart.isdisjoint(TELLING) and not any(
            self._asked(word) or any(c.isdigit() for c in word) for word in apart
        )
