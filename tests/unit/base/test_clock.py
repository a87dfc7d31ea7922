"""The hybrid logical clock: it never goes back, and nobody else can carry it away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muniment.base.clock import COUNTER_BITS, at_of, horizon, ms_of, tick
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


@given(times, st.lists(st.integers(0, 1 << 63), max_size=20))
def test_nobody_can_carry_a_clock_away(now: int, seen: list[int]) -> None:
    """Whatever is seen, the next own entry is later than what is followed, and ten minutes ahead at most."""
    last = max((value for value in seen if value <= horizon(now)), default=0)
    following = tick(last, now)
    assert following > last
    assert ms_of(following) <= now + LIMITS.clock_ahead_ms + 1


@given(times, st.integers(0, (1 << COUNTER_BITS) - 1))
def test_a_clock_value_holds_its_millisecond(ms: int, counter: int) -> None:
    """The counter never touches the time."""
    assert ms_of(at_of(ms) + counter) == ms
