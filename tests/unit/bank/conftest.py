"""Peers for tests: a clock that is set by hand, entropy that repeats, and a check of every bank at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muniment.agent import Agent
from muniment.bank import Bank
from muniment.peer import Peer
from muniment.testing.clock import START_MS, TickingClock
from muniment.testing.entropy import SeededEntropy

MakePeer = Callable[..., Peer]


class Clock(TickingClock):
    """Ticks a millisecond with each look, from the first of January 2026."""


@pytest.fixture
def clock() -> Clock:
    """The clock of the peers of this test."""
    return Clock(START_MS)


@pytest.fixture
def make_peer(tmp_path: Path, clock: Clock) -> Iterator[MakePeer]:
    """Opens peers by name, each in a folder of its own; closes them, and finds their banks clean."""
    opened: list[Peer] = []

    def make(
        name: str = "peer", *, config: str = "", seed: int | None = None, checked: bool = True, **more: object
    ) -> Peer:
        home = tmp_path / name
        if config:
            home.mkdir(exist_ok=True)
            (home / "config.yaml").write_text(config, "utf-8")
        entropy = SeededEntropy(f"{name} {len(opened) if seed is None else seed}".encode())
        peer = Peer(home, clock=clock, entropy=entropy, **more)  # type: ignore[arg-type]
        if checked:
            opened.append(peer)
        return peer

    yield make
    for peer in opened:
        for info in peer.agents():
            assert peer.agent(info.name).check() == []
        peer.close()


@pytest.fixture
def peer(make_peer: MakePeer) -> Peer:
    """One peer, in which nothing was written yet."""
    return make_peer()


@pytest.fixture
def ava(peer: Peer) -> Agent:
    """An agent of that peer."""
    return peer.agent("ava", create=True)


@pytest.fixture
def bank(ava: Agent) -> Bank:
    """Its bank."""
    return ava._bank
