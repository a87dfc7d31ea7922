"""The sync conformance suite over iroh: real endpoints on loopback."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muniment import syncing
from muniment.base.errors import InvalidInput, MissingExtra, SyncRefused, Unreachable
from muniment.sync import messages
from muniment.sync.messages import Greet
from muniment.sync.serving import ServerRound
from muniment.testing.link import Channel, Make
from muniment.testing.sync_attacks import Wire, texts
from muniment.testing.sync_suite import SyncSuite
from muniment.testing.sync_world import World

pytest.importorskip("iroh", reason="needs the extra p2p")

from muniment.sync.iroh import Endpoint

LOOPBACK = "127.0.0.1:0"


@dataclass
class IrohWire:
    """An endpoint that answers, and one that dials it."""

    client: Endpoint
    address: str

    def connect(self) -> AbstractContextManager[Channel]:
        """A stream on a connection of its own."""
        return self.client.dial(self.address)


class TestIroh(SyncSuite):
    """The whole suite between two endpoints."""

    @contextmanager
    def wire(self, make: Make) -> Iterator[Wire]:
        with (
            Endpoint(b"s" * 32, make, bind=LOOPBACK, threads=1) as server,
            Endpoint(b"c" * 32, bind=LOOPBACK) as client,
        ):
            yield IrohWire(client, server.address())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Carol's bank."""
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def client() -> Iterator[Endpoint]:
    """An endpoint that only dials."""
    with Endpoint(b"c" * 32, bind=LOOPBACK) as endpoint:
        yield endpoint


def serving(world: World, **how: Any) -> Endpoint:
    """Carol's bank, served."""
    return Endpoint(b"s" * 32, world.make("carol"), **{"bind": LOOPBACK, "threads": 1, **how})


def test_a_live_tail_comes_by_itself(world: World, client: Endpoint) -> None:
    """Once a client follows, what is written at the server comes without another question."""
    with serving(world) as server, client.dial(server.address()) as link:
        round_ = world.client("wim", link.binding, follow=True)
        asked = round_.start()
        while not round_.following:
            (answer,) = link.exchange(asked[0])
            asked = round_.receive(answer)
        tail = link.tail(asked[0])
        assert next(tail) == b""
        world.at("carol").remember("tea")
        message = next(message for message in tail if message)
        assert round_.receive(message) == []
    assert texts(world.at("wim")) == ["tea"]


def test_a_tail_ends_when_the_server_goes(world: World, client: Endpoint) -> None:
    """A client that listens is told so at once."""
    server = serving(world)
    server.open()
    with client.dial(server.address()) as link:
        round_ = world.client("wim", link.binding, follow=True)
        asked = round_.start()
        while not round_.following:
            asked = round_.receive(link.exchange(asked[0])[0])
        tail = link.tail(asked[0])
        assert next(tail) == b""
        server.close()
        with pytest.raises(Unreachable):
            list(tail)


def test_a_link_that_is_closed_elsewhere_ends_its_wait(world: World, client: Endpoint) -> None:
    """Whoever waits in it is told, when another thread closes it."""
    with serving(world) as server, client.dial(server.address()) as link:
        threading.Timer(0.2, link.close).start()
        with pytest.raises(Unreachable):
            list(link.tail(messages.encode(Greet(b"n" * 16))))


def test_the_same_key_is_found_again_at_the_same_port(world: World, client: Endpoint) -> None:
    """After a restart the old address leads there, without waiting for the old connection to die."""
    with serving(world) as server:
        address = server.address()
        assert syncing.run(*_talk(world, client.dial(address))).done
    place = address.rpartition("@")[2]
    with serving(world, bind=place) as server:
        assert server.address() == address
        assert syncing.run(*_talk(world, client.dial(address))).done


def test_another_key_at_the_known_place_is_not_taken(world: World, client: Endpoint) -> None:
    """Whoever answers at the place has to be the key that the address names."""
    with serving(world) as server, Endpoint(b"x" * 32, bind=LOOPBACK) as other:
        address = f"iroh:{other.id.hex()}@" + server.address().rpartition("@")[2]
        with pytest.raises(Unreachable):
            client.dial(address)


def test_nobody_home_is_told_in_time(client: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead address costs seconds, not the half minute of the binding."""
    monkeypatch.setattr("muniment.sync.iroh._CONNECT_S", 0.3)
    with Endpoint(b"x" * 32, bind=LOOPBACK) as gone:
        address = gone.address()
    with pytest.raises(Unreachable, match="does not answer"):
        client.dial(address)


def test_a_server_that_falls_silent_is_left(client: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that gets no answer ends with an error, and the next conversation is not held up."""
    monkeypatch.setattr("muniment.sync.iroh._ANSWER_S", 0.3)
    stuck = threading.Event()

    def make(binding: bytes) -> ServerRound:
        stuck.wait(20)
        raise SyncRefused("never")

    with Endpoint(b"s" * 32, make, bind=LOOPBACK) as server:
        with pytest.raises(Unreachable, match="no answer"):
            client.dial(server.address()).exchange(b"anybody?")
        stuck.set()


def test_a_silent_stranger_is_put_out(
    world: World, client: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who opens a conversation and says nothing loses it; a member is served meanwhile and after."""
    monkeypatch.setattr("muniment.sync.iroh._STRANGER_S", 0.5)
    with serving(world) as server:
        silent = client.dial(server.address())
        assert syncing.run(*_talk(world, client.dial(server.address()))).done
        with pytest.raises(Unreachable):
            list(silent.tail(messages.encode(Greet(b"n" * 16))))
        assert syncing.run(*_talk(world, client.dial(server.address()))).done


def test_one_address_gets_so_many_connections(
    world: World, client: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood of connections from one place is refused at the door, and room comes back when they go."""
    monkeypatch.setattr("muniment.sync.iroh._MOST_FROM_ONE", 3)
    with serving(world) as server:
        held = [client.dial(server.address()) for _ in range(3)]
        for link in held:
            link.exchange(messages.encode(Greet(b"n" * 16)))
        with pytest.raises(Unreachable):
            client.dial(server.address())
        for link in held:
            link.close()
        for _ in range(100):
            with suppress(Unreachable):
                assert syncing.run(*_talk(world, client.dial(server.address()))).done
                break
        else:
            pytest.fail("no room came back")


def test_a_port_in_use_is_said(world: World) -> None:
    """Two that want one port: the second is told, without a trace from inside."""
    with serving(world) as server:
        place = server.address().rpartition("@")[2]
        with pytest.raises(InvalidInput, match=r"can't listen on 127\.0\.0\.1") as told:
            Endpoint(b"x" * 32, bind=place).open()
    assert "cargo" not in str(told.value)


def test_the_seed_is_in_no_repr() -> None:
    """An endpoint may be logged."""
    seed = bytes(range(32))
    endpoint = Endpoint(seed)
    assert seed.hex() not in repr(endpoint)
    assert str(seed) not in repr(endpoint)
    endpoint.close()


@pytest.mark.parametrize("address", ["https://a.example", "http://127.0.0.1:1"])
def test_addresses_of_other_transports_are_refused(client: Endpoint, address: str) -> None:
    """It dials iroh's addresses alone."""
    with pytest.raises(InvalidInput, match="not an address of iroh"):
        client.dial(address)


def test_a_binding_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow write is mended through a private name: where that is gone, the version is named."""
    from iroh import iroh_ffi

    from muniment.sync import iroh

    monkeypatch.delattr(iroh_ffi, "_UniffiRustBufferBuilder")
    with pytest.raises(MissingExtra, match="version"):
        iroh.need.__wrapped__()


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install stands in the error."""
    from muniment.sync import iroh

    monkeypatch.setitem(sys.modules, "iroh", None)
    with pytest.raises(MissingExtra, match=r"muniment\[p2p\]"):
        iroh.need.__wrapped__()


def _talk(world: World, link: Any) -> tuple[Any, Any]:
    return world.client("wim", link.binding), link.exchange
