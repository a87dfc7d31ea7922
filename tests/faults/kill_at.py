"""Kills its own process at one of its steps, a call that changes the disk. Stands before the text of a program."""

import os
import signal
from typing import Any


class Steps:
    """Counts calls, and is killed (`SIGKILL`) at one of them.

    Args:
        last: The number of that call, from 1.
    """

    def __init__(self, last: int) -> None:
        self.last, self.calls = last, 0

    def take(self) -> None:
        """One step that is killed before it does anything."""
        self.calls += 1
        self.die()

    def die(self) -> None:
        """Die if the last step was taken."""
        if self.calls == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(self, owner: Any, name: str, after: bool = False) -> None:
        """Make each call of `owner.name` a step, killed before it is done, or `after`."""
        real = getattr(owner, name)

        def call(*args: Any, **more: Any) -> Any:
            self.calls += 1
            if not after:
                self.die()
            result = real(*args, **more)
            self.die()
            return result

        setattr(owner, name, call)
