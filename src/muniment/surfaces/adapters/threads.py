"""What blocks, beside an event loop: one thread, in the order in which it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Beside:
    """A thread that is started when it is first needed, for any event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "muniment-adapter")

    async def run(self, work: Callable[[], T]) -> T:
        """Give what the work gives; what is cancelled before it began is not done."""
        return await asyncio.wrap_future(self._pool.submit(work))
