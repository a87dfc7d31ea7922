"""From rows to postings, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

import numpy as np

from muniment.recall.analyzer import Analyzer
from muniment.recall.segments import Array, Postings

EXTRA = 1 << 31  # marks a term that adds nothing to the length
FLUSH_TERMS = 1 << 18  # terms held as Python numbers before they are moved to an array


class _Numbers(dict[str, tuple[int, ...]]):
    """Raw token -> numbers of its keys, given out on first sight (a dict, so that look-ups run in C)."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self.keys_by_number: list[bytes] = []
        self._analyzer = analyzer
        self._numbers: dict[bytes, int] = {}

    def __missing__(self, token: str) -> tuple[int, ...]:
        keys = self._analyzer.keys(token)
        numbers = tuple(map(self._number, keys.counted)) + self.uncounted(keys.extra)
        self[token] = numbers
        return numbers

    def uncounted(self, keys: Iterable[bytes]) -> tuple[int, ...]:
        """The numbers of keys that add nothing to the length."""
        return tuple(EXTRA | self._number(key) for key in keys)

    def _number(self, key: bytes) -> int:
        number = self._numbers.setdefault(key, len(self.keys_by_number))
        if number == len(self.keys_by_number):
            self.keys_by_number.append(key)
        return number


class Builder:
    """Collects rows (in ascending order) and turns them into postings."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._numbers = _Numbers(analyzer)
        self._ords: list[int] = []
        self._sizes: list[int] = []
        self._terms: list[int] = []
        self._blocks: list[Array] = []
        self._speakers: dict[tuple[str, ...], tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._ords)

    def add(self, number: int, parts: Iterable[str], speakers: tuple[str, ...] = ()) -> None:
        """Adds a row; its number is above all that were added before."""
        before = len(self._terms)
        tokens = self._analyzer.tokens(" ".join(parts))
        self._terms.extend(chain.from_iterable(map(self._numbers.__getitem__, tokens)))
        if speakers:
            self._terms.extend(self._spoken(speakers))
        self._ords.append(number)
        self._sizes.append(len(self._terms) - before)
        if len(self._terms) >= FLUSH_TERMS:
            self._blocks.append(np.array(self._terms, np.uint32))
            self._terms = []

    def _spoken(self, speakers: tuple[str, ...]) -> tuple[int, ...]:
        found = self._speakers.get(speakers)
        if found is None:
            found = self._numbers.uncounted(self._analyzer.speaker_keys(speakers))
            self._speakers[speakers] = found
        return found

    def finish(self) -> tuple[Postings, Array, Array]:
        """(postings, rows, lengths); the builder is used up."""
        self._blocks.append(np.array(self._terms, np.uint32))
        terms = np.concatenate(self._blocks)
        ords = np.array(self._ords, np.int32)
        holder = np.repeat(np.arange(len(ords), dtype=np.int64), self._sizes)
        counted = terms < EXTRA
        lengths = np.bincount(holder[counted], minlength=len(ords)).astype(np.int32)
        keys = self._numbers.keys_by_number
        order = sorted(range(len(keys)), key=keys.__getitem__)
        rank = np.empty(len(keys), np.int64)
        rank[order] = np.arange(len(keys))
        pairs = (rank[terms & np.uint32(EXTRA - 1)] << 32) | holder
        pairs.sort()
        first = np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]]) if len(pairs) else np.zeros(0, np.int64)
        counts = np.diff(np.append(first, len(pairs)))
        pairs = pairs[first]
        starts = np.searchsorted(pairs, np.arange(len(keys) + 1, dtype=np.int64) << 32)
        rows = ords[pairs & 0xFFFFFFFF]
        return Postings([keys[i] for i in order], starts, rows, counts), ords, lengths


def postings_of(terms: Mapping[bytes, tuple[Array, Array]]) -> Postings:
    """Postings of terms given as key -> (rows ascending, occurrences)."""
    keys = sorted(key for key, (rows, _) in terms.items() if len(rows))
    starts = np.zeros(len(keys) + 1, np.int64)
    if not keys:
        return Postings(keys, starts, np.zeros(0, np.int32), np.zeros(0, np.int64))
    np.cumsum([len(terms[key][0]) for key in keys], out=starts[1:])
    rows = np.concatenate([terms[key][0] for key in keys])
    counts = np.concatenate([terms[key][1] for key in keys])
    return Postings(keys, starts, rows, counts)
