"""Time as entries carry it: a hybrid logical clock, milliseconds << 16 | counter (design section 3)."""

from __future__ import annotations

from typing import Protocol

from muniment.base.limits import LIMITS

COUNTER_BITS = 16


class Clock(Protocol):
    """Where the time of day comes from; the only place that a test has to replace."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        ...


def at_of(ms: int) -> int:
    """The first clock value of a millisecond."""
    return ms << COUNTER_BITS


def ms_of(at: int) -> int:
    """The millisecond of a clock value."""
    return at >> COUNTER_BITS


def tick(last: int, now_ms: int) -> int:
    """The value for a new entry: later than `last`, and not before the time of day."""
    return max(last + 1, at_of(now_ms))


def horizon(now_ms: int) -> int:
    """The last clock value that is followed: local time plus `Limits.clock_ahead_ms`.

    A new entry is later than all entries up to here, whoever signed them; no peer, and no clock that was once
    wrong, can carry the own clock further.
    """
    return at_of(now_ms + LIMITS.clock_ahead_ms)
