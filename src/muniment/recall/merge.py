"""Several segments into one, keeping some of their rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muniment.recall.segments import Array, Postings, Segment

CHUNK = 1 << 22  # postings moved at a time: bounds the memory a merge takes beside its result


def merge_postings(sources: Sequence[tuple[Segment, Array]], last: int) -> tuple[Postings, Array]:
    """Postings and rows of the segments, of each only the rows named beside it.

    Args:
        sources: (segment, rows to keep of it, ascending); no row is kept twice.
        last: The greatest row number that can occur.

    Returns:
        The postings (terms without rows are left out) and the kept rows, ascending.
    """
    sources = sorted((s for s in sources if len(s[1])), key=lambda s: int(s[1][0]))
    ords = np.sort(np.concatenate([kept for _, kept in sources])) if sources else np.zeros(0, np.int32)
    vocabularies = [list(segment.keys()) for segment, _ in sources]
    keys = sorted(set().union(*vocabularies))
    number = {key: i for i, key in enumerate(keys)}
    slots = [np.fromiter((number[k] for k in v), np.int64, len(v)) for v in vocabularies]
    del number, vocabularies
    masks, sizes = [], []
    for segment, kept in sources:
        mask, size = _kept(segment, kept, last)
        masks.append(mask)
        sizes.append(size)
    totals = np.zeros(len(keys), np.int64)
    for slot, size in zip(slots, sizes, strict=True):
        totals[slot] += size
    starts = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(totals, out=starts[1:])
    rows = np.empty(int(starts[-1]), np.int32)
    counts = np.empty(
        len(rows),
        max(
            (s.arrays["counts"].dtype for s, _ in sources),
            key=lambda d: d.itemsize,
            default=np.dtype(np.uint8),
        ),
    )
    cursor = starts[:-1].copy()
    for (segment, _), slot, mask, size in zip(sources, slots, masks, sizes, strict=True):
        _place(segment, mask, size, cursor[slot], (rows, counts))
        cursor[slot] += size
    if _overlap([kept for _, kept in sources]):
        _sort_terms(starts, rows, counts)
    used = np.flatnonzero(totals)
    if len(used) < len(keys):
        keys = [keys[i] for i in used.tolist()]
        starts = np.append(starts[used], starts[-1])
    return Postings(keys, starts, rows, counts), ords.astype(np.int32, copy=False)


def _kept(segment: Segment, kept: Array, last: int) -> tuple[Array | None, Array]:
    """(mask over the postings, None if all stay; how many stay of each term)."""
    starts = segment.arrays["starts"]
    if len(kept) == len(segment.ords):
        return None, np.diff(starts)
    wanted = np.zeros(last + 1, np.bool_)
    wanted[kept] = True
    mask = wanted[segment.arrays["rows"]]
    running = np.zeros(len(mask) + 1, np.int64)
    np.cumsum(mask, out=running[1:])
    return mask, np.diff(running[starts])


def _place(segment: Segment, mask: Array | None, size: Array, at: Array, into: tuple[Array, Array]) -> None:
    """Copies a segment's postings to where its terms go, some millions at a time."""
    rows, counts = into
    starts = segment.arrays["starts"]
    terms = len(size)
    low = 0
    while low < terms:
        high = max(low + 1, int(np.searchsorted(starts, starts[low] + CHUNK, "right")) - 1)
        part = slice(int(starts[low]), int(starts[high]))
        taken, held = segment.arrays["rows"][part], segment.arrays["counts"][part]
        if mask is not None:
            taken, held = taken[mask[part]], held[mask[part]]
        n = size[low:high]
        before = np.cumsum(n) - n
        to = np.repeat(at[low:high] - before, n) + np.arange(int(n.sum()))
        rows[to] = taken
        counts[to] = held
        low = high


def _overlap(kept: Sequence[Array]) -> bool:
    """Whether the row ranges of the sources, given in order of their first rows, run into each other."""
    return any(int(a[-1]) > int(b[0]) for a, b in zip(kept, kept[1:], strict=False))


def _sort_terms(starts: Array, rows: Array, counts: Array) -> None:
    """Puts the rows of each term in order again."""
    low, terms = 0, len(starts) - 1
    while low < terms:
        high = max(low + 1, int(np.searchsorted(starts, starts[low] + CHUNK, "right")) - 1)
        part = slice(int(starts[low]), int(starts[high]))
        term = np.repeat(np.arange(high - low), np.diff(starts[low : high + 1]))
        order = np.argsort((term << 32) | rows[part], kind="stable")
        rows[part] = rows[part][order]
        counts[part] = counts[part][order]
        low = high
