"""What the word index and the vector index do alike with the follower that they search through."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from muniment.recall import follow
from muniment.recall.corpus import Guarded
from muniment.recall.follow import Follower
from muniment.recall.segments import Array

FollowerOf = TypeVar("FollowerOf", bound=Follower[Any, Any])


class FollowingIndex(Generic[FollowerOf]):
    """An index in a folder that follows a corpus. Thread-safe."""

    SHORT_ROWS: ClassVar[int]  # merges of up to so many rows are short work

    def __init__(self, follower: FollowerOf) -> None:
        self._follower = follower
        self._lock = threading.RLock()

    def refresh(self) -> None:
        """Catches up with the corpus and with what other processes wrote; cheap when nothing moved."""
        with self._lock:
            self._follower.refresh()

    @property
    def grown(self) -> bool:
        """Whether the tail, which is in memory and made again by every process, should go to the disk."""
        return len(self._follower.tail) >= follow.TAIL_ROWS

    def maintain(self, budget: int | None = None) -> bool:
        """Writes the tail as a segment and merges segments where that is due.

        Searches of other threads wait for short work only; long merges are done aside.

        Args:
            budget: Rows that one merge may move at most; None for all that is due.

        Returns:
            False if another process is at it.

        Raises:
            StorageError: The folder can't be written; what it holds stays as it was.
        """
        with self._lock:
            short = self.SHORT_ROWS if budget is None else min(budget, self.SHORT_ROWS)
            if not self._follower.maintain(short):
                return False
            if budget == short or not self._follower.due(budget):
                return True
        return self._follower.aside(Guarded(self._follower.corpus, self._lock)).maintain(budget)

    def purge(self, ords: Sequence[int]) -> bool:
        """Takes these rows out of the index and its files now; False if another process maintains."""
        with self._lock:
            self._follower.forget(ords)
            return self._follower.maintain(None)

    def close(self) -> None:
        """Lets go of all files; the index opens again on the next `refresh`."""
        with self._lock:
            self._follower.close()

    def _allowed(self, allow: Array | None, past: bool) -> Array:
        """Which rows a search may return of those that its caller allows, by row number."""
        allowed = self._follower.searchable(past)
        if allow is not None:
            size = min(len(allow), len(allowed))
            allowed = np.append(allowed[:size] & allow[:size], np.zeros(len(allowed) - size, np.bool_))
        return allowed
