"""The clocks and the entropy that tests use."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muniment.testing.clock import FixedClock, TickingClock
from muniment.testing.entropy import SeededEntropy


def test_fixed_and_ticking_clocks_do_as_told() -> None:
    """A fixed clock stands until it is moved; a ticking one moves with each look."""
    clock = FixedClock(10)
    assert [clock.now_ms(), clock.now_ms()] == [10, 10]
    clock.advance(-3)
    assert clock.now_ms() == 7
    ticking = TickingClock(5, step=2)
    assert [ticking.now_ms(), ticking.now_ms()] == [5, 7]


@given(st.integers(), st.lists(st.integers(0, 200), max_size=6))
def test_seeded_entropy_repeats_whatever_the_sizes(seed: int, sizes: list[int]) -> None:
    """The stream depends on the seed alone, not on how it is cut."""
    cut = SeededEntropy(seed)
    whole = SeededEntropy(seed).bytes(sum(sizes))
    assert b"".join(cut.bytes(size) for size in sizes) == whole
    assert SeededEntropy(seed + 1).bytes(32) != SeededEntropy(seed).bytes(32)
