"""How often one key may ask: a bucket that fills again at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict

from muniment.base.errors import Overloaded

_KEYS = 10_000  # buckets kept; the one that was used longest ago goes first


class Rates:
    """Buckets by key, for one process. Used from its event loop's thread alone, or under a lock of the caller.

    Args:
        rate: Requests a second, on average.
        burst: Requests at once.
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(burst)
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def take(self, key: bytes, now: float | None = None) -> None:
        """Count one request.

        Raises:
            Overloaded: The bucket is empty; `.retry_after` says when the next request would pass.
        """
        now = time.monotonic() if now is None else now
        left, then = self._buckets.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        self._buckets[key] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _KEYS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = round((1 - left) / self._rate, 3)
            raise Overloaded(f"more than {self._rate:g} requests a second by one key", max(wait, 0.001))
