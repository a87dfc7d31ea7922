"""Where memories lie on a map by what they mean: two main directions, and words for the regions. Pure numpy.

With vectors these are their first two principal components. Without, each record is the sum of random directions of its
words, weighted by how rare they are: words that come together lie together (random projection, Johnson and
Lindenstrauss 1984; random indexing, Kanerva et al. 2000).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float32]]
DIRECTIONS = 128
REGIONS = 7
_ROUNDS = 12
_SEED = 20_260_101


def by_words(documents: Sequence[Mapping[bytes, int]]) -> Array:
    """A row of `DIRECTIONS` numbers for each document, given how often it holds each term."""
    held = Counter(term for counts in documents for term in counts)
    chance = np.random.default_rng(_SEED)
    known = {term: row for row, term in enumerate(sorted(t for t, n in held.items() if n > 1))}
    directions = chance.standard_normal((len(known) or 1, DIRECTIONS)).astype(np.float32)
    found = np.zeros((len(documents), DIRECTIONS), np.float32)
    for row, counts in enumerate(documents):
        for term, often in counts.items():
            if term in known:
                rarity = math.log(len(documents) / held[term]) + 0.01
                found[row] += directions[known[term]] * (1 + math.log(often)) * rarity
        length = float(np.linalg.norm(found[row]))
        found[row] /= length or 1.0
    return found


def flat(rows: Array) -> Array:
    """A place for each row, both coordinates from 0 to 1; what lies far outside is drawn to the edge."""
    centred = rows - rows.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    places = centred @ directions[:, np.argsort(values)[::-1][:2]]
    low, high = np.percentile(places, [1, 99], axis=0)
    spread = np.where(high - low > 1e-9, high - low, 1.0)
    inside: Array = np.clip((places - low) / spread, 0.0, 1.0).astype(np.float32)
    return inside


def regions(places: Array, count: int = REGIONS) -> tuple[Array, Sequence[int]]:
    """The middles of at most `count` regions, and the region of each place (k-means, from places far apart)."""
    middles = [places[0]]
    while len(middles) < min(count, len(places)):
        away = np.min([((places - middle) ** 2).sum(axis=1) for middle in middles], axis=0)
        middles.append(places[int(np.argmax(away))])
    found = np.array(middles)
    nearest = np.zeros(len(places), np.int64)
    for _ in range(_ROUNDS):
        nearest = ((places[:, None, :] - found[None]) ** 2).sum(axis=2).argmin(axis=1)
        for number in range(len(found)):
            if (mine := places[nearest == number]).size:
                found[number] = mine.mean(axis=0)
    return found, [int(number) for number in nearest]


def names(words: Sequence[frozenset[str]], nearest: Sequence[int], count: int) -> list[str]:
    """For each region the word that tells it best from the others; empty where none does; each word once."""
    all_words = Counter(word for one in words for word in one)
    taken: set[str] = set()
    found = []
    for number in range(count):
        mine = [one for one, region in zip(words, nearest, strict=True) if region == number]
        inside = Counter(word for one in mine for word in one)
        scored = [
            (often * (often / len(mine)) / all_words[word], word)
            for word, often in inside.items()
            if often > 1 and word not in taken and len(word) > 3 and not word.isdigit()
        ]
        best = max(scored, default=(0.0, ""))[1]
        taken.add(best)
        found.append(best)
    return found
