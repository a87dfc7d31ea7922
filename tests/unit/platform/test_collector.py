"""The collector of a program that answers for long, and of a guest."""

import gc
import threading
from collections.abc import Iterator

import pytest

from muniment.platform import collector


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The collector of the tests is what it was."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_what_stands_is_left_alone() -> None:
    """What was there before is in no generation any more, and new cycles are still found."""
    collector.settle()
    assert gc.get_freeze_count() > 1000
    assert gc.get_threshold()[0] > 700
    ring: list[object] = []
    ring.append(ring)
    del ring
    assert gc.collect() >= 1


def test_a_guest_changes_nothing() -> None:
    """In a thread beside the main one it leaves the host's collector as it is."""
    gc.unfreeze()
    before = gc.get_threshold(), gc.get_freeze_count()
    guest = threading.Thread(target=collector.settle)
    guest.start()
    guest.join()
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
