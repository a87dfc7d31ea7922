"""The indexes' tails go to the disk, whoever writes and whoever asks."""

from pathlib import Path

import pytest

import muniment
from muniment.recall import follow


def stats_of(home: Path) -> tuple[int, int]:
    """Of the agent's word index as another process finds it: rows in segments or tail, and rows in the tail."""
    with muniment.open(home) as peer:
        agent = peer.agent("ava")
        agent._bank.index.refresh()
        found = agent._bank.index.stats()
        return found.records, found.tail


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose index counts a tail of eight rows as grown."""
    monkeypatch.setattr(follow, "TAIL_ROWS", 8)
    return tmp_path / "home"


def test_a_question_puts_a_grown_tail_down(home: Path) -> None:
    """Written by processes that never ask, each a memory: the first question leaves an index behind for all others."""
    for number in range(10):
        with muniment.open(home) as peer:
            peer.agent("ava", create=True).remember(f"tea number {number}")
    assert stats_of(home) == (10, 10)
    with muniment.open(home) as peer:
        assert len(peer.agent("ava").recall("tea", limit=20)) == 10
    assert stats_of(home) == (10, 0)


def test_a_short_tail_is_left_alone(home: Path) -> None:
    """A question about few new memories writes nothing."""
    with muniment.open(home) as peer:
        agent = peer.agent("ava", create=True)
        for number in range(7):
            agent.remember(f"tea number {number}")
        agent.recall("tea")
    assert stats_of(home) == (7, 7)


def test_a_folder_that_can_not_be_written_stops_no_question(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail stays in memory then, and the answer is whole."""
    with muniment.open(home) as peer:
        agent = peer.agent("ava", create=True)
        for number in range(10):
            agent.remember(f"tea number {number}")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("muniment.recall.manifest.lock", full)
        assert len(agent.recall("tea", limit=20)) == 10


def test_writes_through_many_hands_are_counted_together(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request may open the memory anew: the index takes in what came all the same."""
    monkeypatch.setattr("muniment.bank._TIDY_EVERY", 16)
    with muniment.open(home) as peer:
        agent = peer.agent("ava", create=True)
        agent.recall("tea")  # an index is open here
        for number in range(16):
            agent.bank(agent.bank_id).remember(f"tea number {number}")
        assert agent._bank.index.stats().tail == 0
