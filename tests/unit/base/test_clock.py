"""The hybrid logical clock: it never goes back, and nobody else can carry it away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muniment.base.clock import COUNTER_BITS, at_of, ms_of, observe, tick
from muniment.base.limits import LIMITS

times = st.integers(0, 1 << 45)
clocks = st.integers(0, 1 << 62)


@given(st.lists(times, min_size=1, max_size=40), clocks)
def test_each_tick_is_later(looks: list[int], last: int) -> None:
    """However the time of day jumps, each entry of one installation is later than the one before."""
    for now in looks:
        value = tick(last, now)
        assert value > last
        assert value >= at_of(now)
        last = value


@given(times, times)
def test_a_tick_is_the_time_of_day_where_that_goes_on(before: int, step: int) -> None:
    """With a clock that goes on, the value is the millisecond itself."""
    assert tick(at_of(before), before + step + 1) == at_of(before + step + 1)


@given(clocks, clocks, times)
def test_what_is_seen_moves_the_clock_within_bounds(last: int, foreign: int, now: int) -> None:
    """Never back, never past the foreign value, and at most ten minutes past the time of day."""
    value = observe(last, foreign, now)
    ahead = at_of(now + LIMITS.clock_ahead_ms)
    assert value >= last
    assert value <= max(last, foreign)
    assert value <= max(last, ahead)
    if foreign <= ahead:
        assert value >= foreign


@given(times, st.lists(st.integers(0, 1 << 63), max_size=20))
def test_nobody_can_carry_a_clock_away(now: int, foreign: list[int]) -> None:
    """After any foreign values the next own entry is at most ten minutes and a count ahead."""
    last = at_of(now)
    for value in foreign:
        last = observe(last, value, now)
    assert ms_of(tick(last, now)) <= now + LIMITS.clock_ahead_ms + 1


@given(times, st.integers(0, (1 << COUNTER_BITS) - 1))
def test_a_clock_value_holds_its_millisecond(ms: int, counter: int) -> None:
    """The counter never touches the time."""
    assert ms_of(at_of(ms) + counter) == ms
