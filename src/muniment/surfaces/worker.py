"""One thread that owns what must not be shared, behind a bounded queue that an event loop can wait for."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from muniment.base.errors import InvalidInput

T = TypeVar("T")


class _Job(NamedTuple):
    work: Callable[[], Any]
    future: Future[Any]


class Worker:
    """Does jobs one after the other, in the order in which they came.

    A job that was cancelled before it began is never done; one that has begun is finished, whoever waits for it. The
    loop never waits for a lock: who finds the queue full waits like for anything else.

    Args:
        name: Of the thread.
        capacity: Jobs that may wait or be under way at once.
    """

    def __init__(self, name: str, capacity: int = 32) -> None:
        if capacity < 1:
            raise InvalidInput(f"the queue holds {capacity} jobs", "Use 1 or more.")
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(capacity)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._ended: Future[None] = Future()
        self._closing = False
        # A daemon: what is not acknowledged yet may be lost when the program ends without `close`, and no more.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    @property
    def closing(self) -> bool:
        """Whether nothing more is taken."""
        return self._closing

    async def run(self, work: Callable[[], T]) -> T:
        """Do a job in the thread, and give what it gives.

        Raises:
            InvalidInput: The worker was closed, or belongs to another event loop.
            asyncio.CancelledError: Before it began: it won't be done. Afterwards: it will.
        """
        if asyncio.get_running_loop() is not self._loop:
            raise InvalidInput("this service belongs to another event loop", "Open one for each loop.")
        await self._room.acquire()
        if self._closing:
            self._room.release()
            raise InvalidInput("the service is closed", "Open it again.")
        future: Future[T] = Future()
        self._jobs.put(_Job(work, future))
        return await asyncio.wrap_future(future)

    async def close(self, last: Callable[[], None] | None = None) -> None:
        """Do what was taken, then `last`, then end the thread; harmless when done twice.

        Args:
            last: What is to be let go of. It must not raise.
        """
        if not self._closing:
            self._closing = True
            if last is not None:
                self._jobs.put(_Job(last, Future()))
            self._jobs.put(None)
        await asyncio.shield(asyncio.wrap_future(self._ended))
        self._thread.join()  # it is at its last instruction

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                try:
                    result = job.work()
                except BaseException as error:  # noqa: BLE001 (it belongs to who waits for it)
                    job.future.set_exception(error)
                else:
                    job.future.set_result(result)
            self._tell(self._room.release)
        self._ended.set_result(None)

    def _tell(self, what: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone, and nobody waits any more
            self._loop.call_soon_threadsafe(what)
