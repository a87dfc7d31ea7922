"""A corpus to measure speed on: pseudo-words with the frequencies of natural text (Zipf-Mandelbrot).

30 to 120 words a record; the commonest word is about 8 % of all; frequent words are short, as in English. The same
arguments give the same corpus.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

WORDS = 150_000
COMMON = 60  # the commonest words: queries hold one or two of them
RARE = 200  # the others of a query are rarer than this rank


class Synthetic:
    """Texts and queries."""

    def __init__(self, seed: int = 7) -> None:
        self._rng = np.random.default_rng(seed)
        self.words = self._make_words()
        share = 1.0 / (np.arange(WORDS) + 2.7) ** 1.07
        self._cumulated = np.cumsum(share / share.sum())
        self._first: list[np.ndarray] = []

    def _make_words(self) -> np.ndarray:
        rng, found = self._rng, dict[str, None]()
        consonants, vowels = list("bcdfghjklmnprstvwz"), list("aeiou")
        while len(found) < WORDS:
            n = len(found)
            syllables = 1 if n < 60 else 2 if n < 5000 else 3 if n < 60_000 else 4
            picks = rng.integers(0, 90, syllables)
            word = "".join(consonants[p // 5] + vowels[p % 5] for p in picks)
            found.setdefault(word + (consonants[rng.integers(18)] if rng.random() < 0.5 else ""))
        return np.array(list(found), dtype=object)

    def texts(self, count: int) -> Iterator[str]:
        """That many records; the first 10,000 are what `queries` draws from."""
        done = 0
        while done < count:
            size = min(10_000, count - done)
            lengths = self._rng.integers(30, 121, size)
            ids = np.minimum(
                np.searchsorted(self._cumulated, self._rng.random(int(lengths.sum()))), WORDS - 1
            )
            ends = np.cumsum(lengths)
            for start, end in zip(ends - lengths, ends, strict=True):
                if len(self._first) < 10_000:
                    self._first.append(ids[start:end])
                text = " ".join(self.words[ids[start:end]])
                yield text[0].upper() + text[1:] + "."
            done += size

    def queries(self, count: int) -> list[list[str]]:
        """3 to 6 words: one or two very common ones, the others from one record. Call after `texts`."""
        rng = np.random.default_rng(11)
        found = []
        for _ in range(count):
            rare = [
                int(w) for w in dict.fromkeys(self._first[int(rng.integers(len(self._first)))]) if w > RARE
            ]
            rng.shuffle(rare)
            size = int(rng.integers(3, 7))
            common = rng.choice(COMMON, 1 if size < 5 else 2, replace=False)
            picked = [int(w) for w in common] + rare[: size - len(common)]
            found.append([str(self.words[w]) for w in dict.fromkeys(picked)])
        return found

    def common_queries(self, count: int) -> list[list[str]]:
        """Two or three of the commonest words and nothing else."""
        rng = np.random.default_rng(12)
        return [
            [str(self.words[w]) for w in rng.choice(COMMON, 2 + i % 2, replace=False)] for i in range(count)
        ]
