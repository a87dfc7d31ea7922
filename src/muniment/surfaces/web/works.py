"""Work that takes longer than a request may: done one after another in a thread of its own, and kept for a while."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

_KEPT = 8


class Works:
    """What was begun, by what it is about; the oldest goes first."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "muniment-web")
        self._lock = threading.Lock()
        self._begun: OrderedDict[Hashable, Future[Any]] = OrderedDict()

    def result(self, name: Hashable, work: Callable[[], Any], wait_s: float) -> Any | None:
        """What came of a piece of work, or None as long as it runs; it is begun if it was not yet.

        Args:
            name: What it is about; the same name is the same result.
            work: Called in the thread.
            wait_s: Seconds to wait for it.

        Raises:
            MunimentError: What the work raised; the next call begins it anew.
        """
        with self._lock:
            future = self._begun.get(name)
            if future is None:
                future = self._begun[name] = self._thread.submit(work)
                if len(self._begun) > _KEPT:
                    self._begun.popitem(last=False)[1].cancel()
        try:
            return future.result(wait_s)
        except TimeoutError:
            return None
        except BaseException:
            with self._lock:
                self._begun.pop(name, None)
            raise

    def close(self) -> None:
        """Begin no more; what runs ends by itself."""
        self._thread.shutdown(wait=True, cancel_futures=True)
