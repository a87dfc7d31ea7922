"""The sync conformance suite over HTTP: a real server on loopback, signed requests, a live tail as one stream."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import muniment
from muniment.base.errors import BadMessage, InvalidInput, SyncError, Unreachable
from muniment.identity import keys
from muniment.identity.http_signatures import Key, Request, keyid_of, sign_request
from muniment.identity.keys import keypair
from muniment.keyring.custody import Keyring
from muniment.platform.clock import SystemClock
from muniment.platform.entropy import SystemEntropy
from muniment.rounds import talk
from muniment.surfaces.serve.background import background
from muniment.surfaces.serve.options import Options
from muniment.surfaces.serve.sync_door import SyncDoor
from muniment.sync import messages
from muniment.sync.dialling import Caller, Dialled, dial
from muniment.sync.http import MEDIA_TYPE, origin_of
from muniment.sync.messages import Failure, Greet, Hello
from muniment.sync.tails import read_frames, write_frame
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

    @property
    def keyring(self) -> Keyring:
        """Everybody's."""
        return self._world.replicas.host.keyring

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

    def test_a_live_tail_comes_as_one_stream(self, world: World) -> None:
        """A client that follows gets what is written later, each frame signed, until it hangs up."""
        self.round(world, "wim", "carol")
        with self.wire(world.make("carol")) as wire, wire.dial(wire.key("wim")) as link:
            client = world.client("wim", link.binding, follow=True)
            question = talk(client, link)
            assert question is not None
            stream = link.tail(question)
            assert next(stream) == b""
            world.at("carol").remember("tea")
            message = next(part for part in stream if part)
            assert client.receive(message) == []
            assert "tea" in [record["text"] for _, record in world.at("wim").shown()["records"]]

    def test_a_closed_link_wakes_who_waits_for_it(self, world: World) -> None:
        """`close` from another thread ends a tail that is silent."""
        self.round(world, "wim", "carol")
        with self.wire(world.make("carol")) as wire:
            link = wire.dial(wire.key("wim"))
            question = talk(world.client("wim", link.binding, follow=True), link)
            assert question is not None
            stream = link.tail(question)
            next(stream)
            threading.Timer(0.2, link.close).start()
            with pytest.raises(Unreachable):
                for _ in stream:
                    pass

    def test_a_question_of_another_key_than_the_rounds_is_turned_down(self, world: World) -> None:
        """Who steals a round's id can't go on with it."""
        self.round(world, "wim", "carol")
        with self.wire(world.make("carol")) as wire, wire.connect() as channel:
            client = world.client("wim", channel.binding)
            question = client.start()
            for _ in range(2):
                question = client.receive(channel.exchange(question[0])[0])
            with wire.dial(wire.key("vera")) as other:
                assert other.exchange(question[0]) == [messages.encode(Failure(messages.BAD))]

    def test_a_request_that_is_repeated_is_refused(self, world: World) -> None:
        """The same signed bytes count once."""
        with self.wire(world.make("carol")) as wire:
            body = messages.encode(Greet(b"n" * 16))
            headers = signed(wire, body)
            assert post(wire, body, headers)[0] == 200
            status, words = post(wire, body, headers)
        assert status == 401
        assert b"used before" in words

    @pytest.mark.parametrize("spoil", ["body", "signature", "missing", "type", "host"])
    def test_what_is_not_signed_as_it_has_to_be_comes_to_no_round(self, world: World, spoil: str) -> None:
        """An altered body, another signature, none, another type, and a host that is not this server's."""
        with self.wire(world.make("carol")) as wire:
            body = messages.encode(Greet(b"n" * 16))
            headers = signed(wire, body)
            if spoil == "body":
                body = messages.encode(Greet(b"m" * 16))
            elif spoil == "signature":
                headers["signature"] = "muniment=:" + "A" * 86 + "==:"
            elif spoil == "missing":
                del headers["signature"]
            elif spoil == "type":
                headers["content-type"] = "application/json"
            else:
                headers["host"] = "evil.example"
            status, _ = post(wire, body, headers)
        assert status == {"type": 415, "host": 421}.get(spoil, 401)

    def test_a_strangers_question_is_short(self, world: World) -> None:
        """More than a few kB are only read of a key that is in a round."""
        with self.wire(world.make("carol")) as wire:
            body = bytes(100_000)
            assert post(wire, body, signed(wire, body))[0] == 413

    def test_a_proxy_may_change_host_and_path_where_the_public_address_is_named(self, world: World) -> None:
        """The client signs what it dialled; the round is bound to it, too."""
        options = replace(OPTIONS, public_urls=("https://memory.example/team",))
        keyring = world.replicas.host.keyring
        with background(
            lambda: muniment.open(self._home),
            options,
            doors=lambda house: [SyncDoor(house, world.make("carol"), keyring)],
        ) as url:
            wire = HttpWire(url, world)
            body = messages.encode(Greet(b"n" * 16))
            parts = Request("POST", "memory.example", "/team/sync/1", "", MEDIA_TYPE, body)
            assert post(wire, body, signed(wire, body, parts))[0] == 200
            parts = Request("POST", "evil.example", "/team/sync/1", "", MEDIA_TYPE, body)
            assert post(wire, body, signed(wire, body, parts))[0] == 401

    def test_an_address_that_asks_too_often_has_to_wait(self, world: World) -> None:
        """Whatever keys it uses; noise counts for more."""
        options = replace(OPTIONS, rate=1.0, burst=2)
        with serving(self._home, world, world.make("carol"), options) as url:
            wire = HttpWire(url, world)
            body = messages.encode(Greet(b"n" * 16))
            found = [post(wire, body, {"content-type": MEDIA_TYPE})[0] for _ in range(8)]
        assert found[0] == 401
        assert 429 in found


def signed(wire: HttpWire, body: bytes, parts: Request | None = None) -> dict[str, str]:
    """The headers of a request by wim."""
    host, key = wire.url.removeprefix("http://"), wire.key("wim")
    ring = wire.keyring
    by = Key(keyid_of(key), lambda domain, rest: ring.sign(key, domain, rest))
    asked = parts or Request("POST", host, "/sync/1", "", MEDIA_TYPE, body)
    nonce = SystemEntropy().bytes(12).hex()
    return {"content-type": MEDIA_TYPE, **sign_request(asked, by, SystemClock().now_ms() // 1000, nonce)}


def post(wire: HttpWire, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """One request by hand."""
    connection = http.client.HTTPConnection(wire.url.removeprefix("http://"), timeout=20)
    try:
        connection.request("POST", "/sync/1", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_origins_have_one_spelling() -> None:
    """Case and the scheme's own port make no difference."""
    assert (
        origin_of("https", "Peer.Example")
        == origin_of("https", "peer.example:443")
        == "https://peer.example:443"
    )
    assert origin_of("http", "[::1]:80") == "http://[::1]:80"


def test_nothing_leaves_the_machine_unencrypted_unasked(world_free_caller: Caller) -> None:
    """Plain HTTP is for loopback, unless the settings say otherwise."""
    with pytest.raises(InvalidInput, match="not encrypted"):
        dial("http://10.0.0.7:8377", world_free_caller)
    with dial("http://10.0.0.7:8377", replace(world_free_caller, plain=True)) as link:
        assert link.binding == b"http://10.0.0.7:8377"
    with dial("http://127.0.0.1:9", world_free_caller) as link, pytest.raises(Unreachable):
        link.exchange(b"hello")


@pytest.fixture
def world_free_caller(tmp_path: Path) -> Caller:
    """Somebody who dials."""
    with muniment.open(tmp_path) as peer:
        key = peer.owner()
        return Caller(key, peer.host.keyring, SystemClock(), SystemEntropy(), tmp_path)


@pytest.mark.parametrize("spoil", ["message", "order", "key", "request", "length"])
def test_a_frame_of_a_tail_holds_for_its_place_alone(spoil: str) -> None:
    """Altered, taken out of order, by another key, of another answer, or too long."""
    pair, other = keypair(bytes(32)), keypair(b"\1" * 32)

    def sign(domain: bytes, rest: bytes) -> bytes:
        return keys.sign((other if spoil == "key" else pair).secret, domain, rest)

    frames = [write_frame(sign, "muniment=:AA==:", number, b"news") for number in range(2)]
    if spoil == "message":
        frames[0] = frames[0][:-1] + b"X"
    elif spoil == "order":
        frames.reverse()
    elif spoil == "length":
        frames[0] = b"\xff" * 4 + frames[0][4:]
    asked = "muniment=:AB==:" if spoil == "request" else "muniment=:AA==:"
    with pytest.raises(BadMessage):
        list(read_frames(frames, pair.public, asked))


def test_frames_are_read_however_they_are_cut() -> None:
    """Byte by byte as well as all at once."""
    pair = keypair(bytes(32))
    frames = b"".join(
        write_frame(
            lambda domain, rest: keys.sign(pair.secret, domain, rest), "muniment=:AA==:", number, news
        )
        for number, news in enumerate([b"", b"one", b"two"])
    )
    pieces = [frames[at : at + 1] for at in range(len(frames))]
    assert list(read_frames(pieces, pair.public, "muniment=:AA==:")) == [b"", b"one", b"two"]


def test_a_server_that_is_none_is_said_to_be_none(world_free_caller: Caller) -> None:
    """Another program at the address: a clear error, and no crash."""

    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<h1>hello</h1>")

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with (
            dial(f"http://127.0.0.1:{server.server_port}", world_free_caller) as link,
            pytest.raises(SyncError, match="no peer of muniment"),
        ):
            link.exchange(messages.encode(Greet(b"n" * 16)))
