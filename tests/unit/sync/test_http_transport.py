"""The sync conformance suite over HTTP: a real server on loopback, signed requests, a live tail as one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import muniment
from muniment.base.errors import BadMessage
from muniment.platform.clock import SystemClock
from muniment.platform.entropy import SystemEntropy
from muniment.surfaces.serve.background import background
from muniment.surfaces.serve.options import Options
from muniment.surfaces.serve.sync_door import SyncDoor
from muniment.sync import messages
from muniment.sync.dialling import Caller, Dialled, dial
from muniment.sync.messages import Hello
from muniment.testing.link import Make
from muniment.testing.sync_suite import SyncSuite
from muniment.testing.sync_world import World

OPTIONS = replace(Options(), port=0, log=False, rate=100_000.0, burst=100_000)


class HttpWire:
    """Leads to a server. Requests are signed by the key that says hello in them."""

    def __init__(self, url: str, world: World) -> None:
        self.url, self._world = url, world

    @contextmanager
    def connect(self) -> Iterator[HttpChannel]:
        """A conversation of its own."""
        with ExitStack() as links:
            yield HttpChannel(lambda key: links.enter_context(self.dial(key)), self.key("wim"))

    def dial(self, key: bytes) -> Dialled:
        """A link for one key."""
        host = self._world.replicas.host
        clock, entropy = SystemClock(), SystemEntropy()
        return dial(self.url, Caller(key, host.keyring, clock, entropy, Path(), timeout_s=20))

    def key(self, name: str) -> bytes:
        """Somebody's key."""
        return self._world.replicas.keys[name]


class HttpChannel:
    """A conversation whose tests say with each question who asks: the link is the one of who says hello."""

    def __init__(self, links: Callable[[bytes], Dialled], first: bytes) -> None:
        self._links, self._first = links, first
        self._link: Dialled | None = None

    @property
    def binding(self) -> bytes:
        """Of the first link; all have the same."""
        return self._open(None).binding

    def _open(self, key: bytes | None) -> Dialled:
        if self._link is None or key is not None:
            self._link = self._links(key or self._first)
        return self._link

    def exchange(self, question: bytes) -> list[bytes]:
        """The answers to a question."""
        try:
            said = messages.decode(question)
        except BadMessage:
            said = None
        link = self._open(said.by if isinstance(said, Hello) else None)
        return link.exchange(question)


@contextmanager
def serving(home: Path, world: World, make: Make, options: Options = OPTIONS) -> Iterator[str]:
    """A server with the one door."""
    keyring = world.replicas.host.keyring
    with background(
        lambda: muniment.open(home), options, doors=lambda house: [SyncDoor(house, make, keyring)]
    ) as url:
        yield url


class TestHttp(SyncSuite):
    """Two ends with a real server between them."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path, world: World) -> None:
        self._home, self._world = tmp_path / "server", world

    @contextmanager
    def wire(self, make: Make) -> Iterator[HttpWire]:
        with serving(self._home, self._world, make) as url:
            yield HttpWire(url, self._world)
