"""Waiting for somebody else's work no longer than one may: what comes late is let go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_LATE = 4  # calls that nobody waits for any more, beyond which none is begun


class Waiting:
    """Makes calls that may take too long, each in a thread of its own.

    Args:
        what: What is waited for, as messages call it.
        task: What the threads are called.
    """

    def __init__(self, what: str, task: str) -> None:
        self._what, self._task = what, task
        self._lock = threading.Lock()
        self._late: list[threading.Thread] = []

    def within(self, call: Callable[[], T], seconds: float) -> T | str:
        """What a call gives if it comes in time, or why there is nothing.

        Args:
            call: Gives no text.
            seconds: How long to wait.
        """
        made: list[T] = []
        thread = threading.Thread(target=lambda: made.append(call()), name=self._task, daemon=True)
        with self._lock:
            self._late = [late for late in self._late if late.is_alive()]
            if len(self._late) >= _LATE:
                return f"the {self._what} is busy with earlier questions"
            self._late.append(thread)
            thread.start()
        thread.join(max(0.0, seconds))
        if made:
            return made[0]
        return f"the {self._what} did not answer in time" if thread.is_alive() else f"the {self._what} failed"
