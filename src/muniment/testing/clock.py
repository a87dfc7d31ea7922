"""Clocks for tests: time stands still, or goes on as told."""

from __future__ import annotations

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class FixedClock:
    """A clock that shows what it is set to.

    Attributes:
        ms: Unix time in milliseconds.
    """

    def __init__(self, ms: int = START_MS) -> None:
        self.ms = ms

    def now_ms(self) -> int:
        """The time it is set to."""
        return self.ms

    def advance(self, ms: int) -> None:
        """Move on by `ms`; back, if negative."""
        self.ms += ms


class TickingClock(FixedClock):
    """A clock that moves on by `step` milliseconds with each look."""

    def __init__(self, ms: int = START_MS, step: int = 1) -> None:
        super().__init__(ms)
        self.step = step

    def now_ms(self) -> int:
        """The time, and one step on."""
        shown = self.ms
        self.ms += self.step
        return shown
