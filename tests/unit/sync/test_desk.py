"""Rounds of a stateless transport: found by their id, forgotten in time, bound to their channel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from muniment import syncing
from muniment.base.limits import LIMITS
from muniment.sync import messages
from muniment.sync.desk import Desk
from muniment.sync.messages import Done, Failure, Greet, Greeted
from muniment.testing.link import Make
from muniment.testing.sync_attacks import Wire
from muniment.testing.sync_suite import SyncSuite
from muniment.testing.sync_world import World

BAD = [messages.encode(Failure(messages.BAD))]


@dataclass
class DeskWire:
    """Each question is a request of its own, to one desk."""

    desk: Desk
    binding: bytes = b"desk"
    now_ms: count[int] = field(default_factory=count)

    @contextmanager
    def connect(self) -> Iterator[DeskWire]:
        """There are no connections."""
        yield self

    def exchange(self, question: bytes) -> list[bytes]:
        """The answer of the desk."""
        return self.desk.answer(question, self.binding, next(self.now_ms))


class TestStateless(SyncSuite):
    """The whole suite over single requests."""

    @contextmanager
    def wire(self, make: Make) -> Iterator[Wire]:
        yield DeskWire(Desk(make))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Carol's bank."""
    made = World(tmp_path)
    yield made
    made.close()


def test_many_rounds_at_once_are_kept_apart(world: World) -> None:
    """Questions of two clients, by turns, go to the round of each; both are forgotten at the end."""
    world.at("carol").remember("tea")
    desk = Desk(world.make("carol"))
    talks = [world.client(name, b"c") for name in ("wim", "vera")]
    asked = [talk.start() for talk in talks]
    while any(asked):
        asked = [
            talk.receive(desk.answer(question[0], b"c", 1)[0]) if question else []
            for talk, question in zip(talks, asked, strict=True)
        ]
    assert all(talk.done for talk in talks)
    assert len(desk) == 0


def test_a_silent_round_is_forgotten(world: World) -> None:
    """After its time it is answered like one that never was, and a new one loses nothing."""
    desk = Desk(world.make("carol"))
    client = world.client("wim", b"c")
    question = client.receive(desk.answer(client.start()[0], b"c", 1000)[0])[0]
    assert desk.answer(question, b"c", 1000 + LIMITS.sync_round_ms) == BAD
    assert syncing.run(world.client("wim", b"c"), lambda asked: desk.answer(asked, b"c", 2000)).done


def test_a_round_is_bound_to_its_channel(world: World) -> None:
    """Its id alone, over another channel, is worth nothing."""
    desk = Desk(world.make("carol"))
    (greeted,) = desk.answer(messages.encode(Greet(b"n" * 16)), b"one", 1)
    said = messages.decode(greeted)
    assert isinstance(said, Greeted)
    assert desk.answer(messages.encode(Done(said.round)), b"two", 2) == BAD


def test_the_number_of_rounds_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever only greets drives out the most silent, never more than there is room for."""

    class Few:
        sync_rounds, sync_round_ms = 3, 60_000

    monkeypatch.setattr("muniment.sync.desk.LIMITS", Few)
    desk = Desk(world.make("carol"))
    for now in range(10):
        desk.answer(messages.encode(Greet(b"n" * 16)), b"c", now)
    assert len(desk) == 3
