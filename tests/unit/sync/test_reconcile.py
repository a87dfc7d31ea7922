"""Finding differences: the index says of any set what a plain list says, and two ends find all that differs."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from muniment.base.ids import EntryId, cid_of
from muniment.sync import reconcile
from muniment.sync.reconcile import ASK, END, FINGERPRINT, START, Difference, Index, Range, id_of, key_of


def key(number: int, at: int | None = None) -> bytes:
    """A key, by number."""
    return key_of((1 << 50) + (number if at is None else at), EntryId(cid_of(b"%d" % number)))


def by_hand(keys: set[bytes], lo: bytes, hi: bytes) -> bytes:
    """The fingerprint as the specification says it (S-5.3)."""
    inside = [one for one in keys if lo <= one < hi]
    total = sum(int.from_bytes(hashlib.shake_128(one[8:]).digest(256)) for one in inside) % (1 << 2048)
    return hashlib.sha256(len(inside).to_bytes(8) + total.to_bytes(256)).digest()


def differences(mine: Index, theirs: Index, budget: int = 1 << 18) -> tuple[set[EntryId], set[bytes], int]:
    """What a client finds: ids that it needs, keys that the server lacks, and with how many questions."""
    found, left, asked = Difference(), [(START, mine.range(START, END))], 0
    while left:
        asked += 1
        ranges, left = reconcile.question(left, budget)
        left = reconcile.compare(mine, reconcile.answer(theirs, ranges, budget), found) + left
    need = {
        *(one for _, _, one in found.need),
        *(id_of(one[8:]) for lo, hi in found.spans for one in theirs.keys(lo, hi)),
    }
    return need, set(found.have), asked


NUMBERS = st.sets(st.integers(0, 3000), max_size=600)


@given(
    first=NUMBERS,
    more=st.lists(NUMBERS, max_size=3),
    bounds=st.tuples(st.integers(0, 3000), st.integers(0, 3000)),
)
def test_an_index_says_what_a_list_says(
    first: set[int], more: list[set[int]], bounds: tuple[int, int]
) -> None:
    """However it was filled: counts, fingerprints and keys of any range."""
    index, keys = Index(map(key, first)), {key(number) for number in first}
    for numbers in more:
        index.add(map(key, numbers))
        keys |= {key(number) for number in numbers}
    lo, hi = sorted((key(bounds[0]), key(bounds[1])))
    for low, high in ((START, END), (lo, hi), (lo[:8], hi), (START, lo), (hi, END)):
        inside = sorted(one for one in keys if low <= one < high)
        assert index.count(low, high) == len(inside)
        assert index.fingerprint(low, high) == by_hand(keys, low, high)
        assert list(index.keys(low, high)) == inside
        assert list(index.keys(low, high, newest_first=True)) == inside[::-1]
    assert len(index) == len(keys)
    assert all(one in index for one in keys)
    assert key(9999) not in index


@given(mine=NUMBERS, theirs=NUMBERS, budget=st.sampled_from([64, 1000, 1 << 18]))
def test_all_differences_are_found(mine: set[int], theirs: set[int], budget: int) -> None:
    """Whatever the two sets are, and however little fits in a message."""
    need, have, _ = differences(Index(map(key, mine)), Index(map(key, theirs)), budget)
    assert need == {id_of(key(number)[8:]) for number in theirs - mine}
    assert have == {key(number) for number in mine - theirs}


def test_equal_sets_take_one_question() -> None:
    """The whole fingerprint settles it."""
    assert differences(Index(map(key, range(5000))), Index(map(key, range(5000)))) == (set(), set(), 1)


def test_entries_of_one_moment_are_told_apart() -> None:
    """All keys with one clock value: only ids order them."""
    mine, theirs = (Index(key(number, 7) for number in range(low, low + 900)) for low in (0, 100))
    need, have, _ = differences(mine, theirs)
    assert (len(need), len(have)) == (100, 100)


def test_swapping_ids_between_ranges_is_seen() -> None:
    """Sets with equal counts and equal wholes but other parts differ in their parts."""
    index = Index(map(key, range(100)))
    other = Index(map(key, range(1, 101)))
    assert index.fingerprint(START, END) != other.fingerprint(START, END)
    assert index.fingerprint(key(1), key(100)) == other.fingerprint(key(1), key(100))


def test_splits_are_even_and_short() -> None:
    """Up to sixteen parts with as many keys each, bounds shorter than keys (S-5.4, S-5.6)."""
    index = Index(
        key_of((1 << 50) + (number << 20), EntryId(cid_of(b"%d" % number))) for number in range(1600)
    )
    bounds = index.bounds(START, END, 16)
    lo, counts = START, []
    for bound in bounds:
        counts.append(index.count(lo, bound))
        lo = bound
    assert counts == [100] * 16
    assert max(map(len, bounds)) <= 8


def test_a_full_answer_only_fingerprints_the_rest() -> None:
    """A server never says more than fits; the client asks on (S-5.4)."""
    index = Index(map(key, range(4000)))
    asked = [Range(key(1000), ASK), Range(key(2000), ASK), Range(END, ASK)]
    said = reconcile.answer(index, asked, 1000)
    assert [one.mode for one in said][1:] == [FINGERPRINT, FINGERPRINT]
    assert said[1].count == index.count(key(1000), key(2000))
