"""One call to a server: attempts, waits and the circuit, by the decisions of `policy`."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from muniment.base.errors import EmbedderUnavailable, MunimentError
from muniment.embed.policy import Breaker, Circuit, Retry, State

T = TypeVar("T")


class Passing(NamedTuple):
    """A failure that may pass: what happened, and how long the server asks to be left alone, in seconds."""

    reason: str
    asked_s: float | None = None


@dataclass(frozen=True, slots=True)
class Means:
    """What calls draw on; tests put their own in its place.

    Attributes:
        now: Seconds, of a clock that never goes back.
        wall: Unix time in seconds.
        sleep: Waits so many seconds.
        chance: A random number, 0 <= n < 1; no secret depends on it.
    """

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


class Calls:
    """All calls to one server. They share a circuit, whatever thread makes them.

    Args:
        who: What the server is called in messages.
        breaker: When to leave it alone.
        means: Clock, sleep and chance.
    """

    def __init__(self, who: str, breaker: Breaker, means: Means) -> None:
        self._who, self._breaker, self._means = who, breaker, means
        self._circuit = Circuit()
        self._lock = threading.Lock()

    @property
    def state(self) -> State:
        """Of the circuit, now."""
        return self._circuit.state(self._breaker, self._means.now())

    def run(self, attempt: Callable[[float], T | Passing], retry: Retry, timeout_s: float) -> T:
        """What `attempt` gives, tried again while it fails in a way that may pass.

        Args:
            attempt: Is given the seconds that are left; an error of its own ends the call at once.
            retry: How often, and with what waits.
            timeout_s: For the whole call, waits included.

        Raises:
            EmbedderUnavailable: It failed to the end, or the circuit is open and nothing was tried.
            MunimentError: Whatever `attempt` raises.
        """
        if self._admit():
            retry = replace(retry, attempts=1)
        answered = False
        try:
            found = self._attempts(attempt, retry, self._means.now() + timeout_s)
            answered = True
        except EmbedderUnavailable:
            raise
        except MunimentError:
            answered = True  # it said no, so it is there
            raise
        finally:
            with self._lock:
                if answered:
                    self._circuit = self._circuit.succeed()
                else:
                    self._circuit = self._circuit.fail(self._breaker, self._means.now())
        return found

    def _admit(self) -> bool:
        """Take note of one more call; whether it is the one that tries the server out."""
        with self._lock:
            now = self._means.now()
            admitted = self._circuit.admit(self._breaker, now)
            if admitted is None:
                left = self._circuit.rest_left_s(self._breaker, now)
                raise EmbedderUnavailable(
                    f"{self._who} is left alone after {self._circuit.failed} failed calls",
                    f"It is asked again in {left:.0f} s." if left else "One call is trying it out.",
                )
            self._circuit = admitted
            return admitted.trying

    def _attempts(self, attempt: Callable[[float], T | Passing], retry: Retry, until: float) -> T:
        failures = 0
        while True:
            found = attempt(max(until - self._means.now(), 0.001))
            if not isinstance(found, Passing):
                return found
            failures += 1
            left = until - self._means.now()
            wait = retry.wait_s(failures, self._means.chance(), left, found.asked_s)
            if wait is None:
                raise EmbedderUnavailable(
                    f"{self._who} {found.reason} ({failures} {'attempt' if failures == 1 else 'attempts'})",
                    f"It asks to be left alone for {found.asked_s:.0f} s."
                    if found.asked_s
                    else "Look whether it runs and is reachable; memories are found by words meanwhile.",
                )
            self._means.sleep(wait)
