"""The time of day, from the system."""

from __future__ import annotations

import time


class SystemClock:
    """`muniment.base.clock.Clock` over the system's own clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return time.time_ns() // 1_000_000

    def __repr__(self) -> str:
        return "SystemClock()"
