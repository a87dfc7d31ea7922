"""Python's collector of cycles, in programs that answer for long: a seventh of a recall was spent in it."""

from __future__ import annotations

import gc
import threading

_NEW = 10_000  # objects made between two looks at the young ones; Python's own 700 come several times in one recall


def settle() -> None:
    """Leave what stands now out of every later look, and look less often; nothing in a thread beside the main one.

    For a program that has opened what it works with. What runs in a thread is a guest: its host decides.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW, 20, 50)
