"""How a server is asked: batches, when to try again, and when to leave it alone. Pure decisions, no I/O.

Sources: exponential backoff with full jitter as in the AWS Architecture Blog (2015); circuit breaker as in
M. Nygard, "Release It!"; `Retry-After` as in RFC 9110, 10.2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Literal


def batches(sizes: Sequence[int], most: int, most_size: int) -> list[range]:
    """Cut a sequence, in order, into runs of at most `most` items and at most `most_size` in all.

    An item that is larger than `most_size` by itself has a run of its own.

    Args:
        sizes: The size of each item, such as its characters; not negative.
        most: At least 1.
        most_size: At least 1.
    """
    found: list[range] = []
    start = held = 0
    for at, size in enumerate(sizes):
        if at > start and (at - start >= most or held + size > most_size):
            found.append(range(start, at))
            start, held = at, 0
        held += size
    if start < len(sizes):
        found.append(range(start, len(sizes)))
    return found


@dataclass(frozen=True, slots=True)
class Retry:
    """When to try again after a failure that may pass.

    Attributes:
        attempts: How often to try in all; at least 1.
        base_s: The longest wait after the first failure, in seconds; doubled after each further one.
        cap_s: The longest wait that is ever chosen here.
    """

    attempts: int = 4
    base_s: float = 0.5
    cap_s: float = 8.0

    def wait_s(
        self, failures: int, chance: float, left_s: float, asked_s: float | None = None
    ) -> float | None:
        """How long to wait before the next attempt, in seconds; None: give up.

        Args:
            failures: Attempts that failed so far; at least 1.
            chance: A random number, 0 <= chance < 1: full jitter, so that many clients don't come back at once.
            left_s: What is left of the time for the whole call.
            asked_s: How long the server asks to be left alone.
        """
        if failures >= self.attempts:
            return None
        longest = min(self.cap_s, self.base_s * 2.0 ** min(failures - 1, 60))
        wait = max(chance * longest, asked_s or 0.0)
        return wait if wait < left_s else None


def retry_after_s(value: str | None, now_s: float) -> float | None:
    """The wait that a `Retry-After` header asks for, in seconds; None if it says nothing that can be read.

    Args:
        value: Seconds, or a date as HTTP writes it.
        now_s: Unix time, for dates.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text) if len(text) < 16 else None
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


State = Literal["closed", "open", "half-open"]


@dataclass(frozen=True, slots=True)
class Breaker:
    """When to stop asking: after so many failed calls in a row, for so long; then one call tries it out.

    Attributes:
        failures: Failed calls in a row that open the circuit; at least 1.
        rest_s: How long it stays open, in seconds.
    """

    failures: int = 3
    rest_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Circuit:
    """What is known of a server. Each step gives a new one; times are of any clock that never goes back.

    Attributes:
        failed: Failed calls in a row.
        opened: When it opened, in seconds; None while it is closed.
        trying: One call is under way to try it out.
    """

    failed: int = 0
    opened: float | None = None
    trying: bool = False

    def state(self, rule: Breaker, now: float) -> State:
        """`closed`: ask; `open`: don't; `half-open`: one call may try."""
        if self.opened is None:
            return "closed"
        return "open" if now - self.opened < rule.rest_s else "half-open"

    def admit(self, rule: Breaker, now: float) -> Circuit | None:
        """The circuit with one more call under way; None if that call may not be made."""
        state = self.state(rule, now)
        if state == "closed":
            return self
        return None if state == "open" or self.trying else replace(self, trying=True)

    def succeed(self) -> Circuit:
        """After a call that was answered, whatever the answer."""
        return Circuit()

    def fail(self, rule: Breaker, now: float) -> Circuit:
        """After a call that was not answered."""
        failed = self.failed + 1
        if failed >= rule.failures or self.opened is not None:
            return Circuit(failed, now)
        return Circuit(failed)

    def rest_left_s(self, rule: Breaker, now: float) -> float:
        """How long until a call may try, in seconds."""
        return 0.0 if self.opened is None else max(0.0, self.opened + rule.rest_s - now)
