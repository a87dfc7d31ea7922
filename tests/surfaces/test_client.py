"""The Python client and `--url`: the methods, results and errors of an agent, from afar."""

from __future__ import annotations

import datetime
import inspect
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import muniment
from muniment.agent import Agent
from muniment.base.errors import (
    BadAnswer,
    InvalidInput,
    LimitExceeded,
    NotPermitted,
    Overloaded,
    RefusedSignature,
    StorageError,
    UnknownAgent,
    UnknownRecord,
    Unreachable,
)
from muniment.client import Client, Transport, key_from_file, key_from_peer, new_key_file
from muniment.client.transport import error_of
from muniment.identity.http_signatures import key_of

from .conftest import Cli
from .serving import client, key, served


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with an agent and some memories."""
    place = tmp_path / "home"
    with muniment.open(place) as peer:
        ava = peer.agent("ava", create=True)
        ava.remember("the deploy window is Friday", key="deploy", tags=["ops"], session="s")
        ava.remember("the deploy window is Monday", key="deploy", tags=["ops"], metadata={"a": {"b": 1}})
        ava.remember("Kim likes green tea", created_at="2026-01-02T03:04:05Z")
    return place


@pytest.fixture
def url(home: Path):
    """A server over it."""
    with served(home) as url:
        yield url


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("recall", ("when is the deploy window?",), {}),
    ("recall", ("deploy",), {"tags": ("ops",), "metadata": {"a.b": 1}, "limit": 1, "context": False}),
    ("recall", (), {}),
    ("recall", ("tea",), {"since": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "mode": "text"}),
    ("get", ("deploy",), {}),
    ("list", (), {"limit": 2, "offset": 1}),
    ("list", (), {"states": ["superseded"]}),
    ("history", ("deploy",), {}),
    ("why", ("deploy window", "deploy"), {}),
    ("why", ("tea", "deploy"), {"tags": ["ops"]}),
    ("stats", (), {}),
]


@pytest.mark.parametrize(
    ("name", "args", "more"), CALLS, ids=[f"{n}-{row[0]}" for n, row in enumerate(CALLS)]
)
def test_an_answer_from_afar_is_the_same_answer(
    url: str, home: Path, name: str, args: tuple[Any, ...], more: dict[str, Any]
) -> None:
    """Equal views, field by field, with the library's own types."""
    with muniment.open(home) as peer, client(url, home) as far:
        here = getattr(peer.agent("ava"), name)(*args, **more)
        there = getattr(far, name)(*args, **more)
        assert type(there) is type(here)
        if name in {"get", "history", "list"}:
            assert there == here
        elif name == "stats":
            assert {**there.to_json(), "index": 0} == {**here.to_json(), "index": 0}
        else:
            assert there.to_json() == here.to_json()


def test_what_a_hit_stands_for_comes_along(url: str, home: Path) -> None:
    """The ids of records that say nearly the same."""
    said = "The quarterly report of the harbour office was sent to Kim by the courier on Friday"
    with muniment.open(home) as peer:
        for end in ("morning", "morning "):
            peer.agent("ava").remember(f"{said} {end}", metadata={"n": len(end)})
        here = peer.agent("ava").recall("quarterly report of the harbour office")
    with client(url, home) as ava:
        assert ava.recall("quarterly report of the harbour office").to_json() == here.to_json()
    assert here[0].duplicates


def test_what_is_kept_from_afar_is_there(url: str, home: Path) -> None:
    """Remember, forget and undo, with every kind of value."""
    with client(url, home) as far:
        made = far.remember("ä\ud800 tea", key="k", tags={"x"}, metadata={"n": 1}, created_at="2026-05-05")
        assert made.created
        assert not far.remember(
            "ä\ud800 tea", key="k", tags={"x"}, metadata={"n": 1}, created_at="2026-05-05"
        ).created
        assert far.get("k").text == "ä\ud800 tea"
        assert [record.state for record in far.forget("k")] == ["forgotten"]
        assert [record.state for record in far.forget("k", undo=True)] == ["live"]
        assert far.command("verify", {})["ok"]
    with muniment.open(home) as peer:
        assert peer.agent("ava").get("k").author == peer.agent("ava").did


def test_errors_have_the_classes_that_they_have_here(url: str, home: Path) -> None:
    """With message, next step, and what else they carry."""
    with client(url, home) as far:
        with pytest.raises(UnknownRecord) as caught:
            far.get("nothing")
        with muniment.open(home) as peer, pytest.raises(UnknownRecord) as here:
            peer.agent("ava").get("nothing")
        assert str(caught.value) == str(here.value)
        with pytest.raises(LimitExceeded):
            far.recall("x", limit=5000)
        with pytest.raises(InvalidInput):
            far.recall("x", mode="magic")
        with pytest.raises(InvalidInput, match="JSON"):
            far.remember("x", metadata={"a": object()})
    with Client(url, key_of(bytes(32))) as stranger, pytest.raises(NotPermitted):
        stranger.stats()
    with Client(url, key(home, "ava"), agent="ben") as other, pytest.raises(NotPermitted):
        other.stats()


def test_the_client_has_the_methods_of_an_agent() -> None:
    """Under the same names, with the same places for what is given by place."""
    for name in ("remember", "recall", "get", "list", "history", "forget", "why", "stats"):
        here = inspect.signature(getattr(Agent, name)).parameters.values()
        there = inspect.signature(getattr(Client, name)).parameters.values()
        places = [p.name for p in here if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert [p.name for p in there if p.kind is p.POSITIONAL_OR_KEYWORD] == places


# Addresses, keys and answers that are none


@pytest.mark.parametrize(
    "url",
    ["", "memory.example", "ftp://memory.example", "http://memory.example", "http://10.0.0.1:8377", "https://",
     "https://user:pass@memory.example", "https://memory.example/#x", "http://127.0.0.1.evil.example"],
)  # fmt: skip
def test_an_address_that_is_none_or_not_private_is_refused(url: str) -> None:
    """Nothing leaves this machine unencrypted unless somebody says so."""
    with pytest.raises(InvalidInput):
        Transport(url, key_of(bytes(32)))
    Transport("http://memory.example", key_of(bytes(32)), insecure=True).close()
    with pytest.raises(InvalidInput):
        Transport("https://memory.example", key_of(bytes(32)), ca_file="/nowhere.pem")


def test_nobody_there() -> None:
    """A port where nothing listens, and one where nothing is said."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            Client(place, key_of(bytes(32)), timeout=0.3) as far,
            pytest.raises(Unreachable, match="in time"),
        ):
            far.stats()
    with Client(place, key_of(bytes(32))) as far, pytest.raises(Unreachable) as caught:
        far.stats()
    assert caught.value.exit_code == 11
    assert "did:key" in repr(far)


@pytest.mark.parametrize(
    ("status", "kind", "body", "error"),
    [
        (200, "text/html", b"<html>", BadAnswer),
        (200, "application/json", b"<html>", BadAnswer),
        (200, "application/json", b"[]", BadAnswer),
        (200, "application/json", b"{}", BadAnswer),
        (200, "application/json", b'{"jsonrpc":"2.0","id":7,"result":{}}', BadAnswer),
        (200, "application/json", b'{"jsonrpc":"2.0","id":1,"result":{}}', BadAnswer),
        (200, "application/json", b'{"jsonrpc":"2.0","id":1,"error":"x"}', BadAnswer),
        (200, "application/json", b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', BadAnswer),
        (302, "text/plain", b"", BadAnswer),
        (502, "text/plain", b"bad gateway", BadAnswer),
        (503, "text/plain", b"busy", Overloaded),
        (429, "text/plain", b"busy", Overloaded),
    ],
)
def test_what_is_no_answer_is_said_so(status: int, kind: str, body: bytes, error: type[Exception]) -> None:
    """Another program there, a proxy, or another version."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        with (
            Client(f"http://127.0.0.1:{server.server_address[1]}", key_of(bytes(32))) as far,
            pytest.raises(error),
        ):
            far.get("x")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_unknown_kind_of_error_keeps_its_words() -> None:
    """A server of a later version may have errors that this one has not."""
    made = error_of(
        {"code": 1042, "message": "the moon is full", "data": {"error": "MoonError", "next_step": "Wait."}}
    )
    assert (type(made), made.next_step) == (BadAnswer, "Wait.")
    assert "the moon is full" in made.message
    hostile = error_of({"code": 1, "message": "x", "data": {"error": "annotations"}})
    assert type(hostile) is BadAnswer
    refused = error_of({"code": 1, "message": "x", "data": {"error": "RefusedSignature", "rule": "expired"}})
    assert isinstance(refused, RefusedSignature)
    assert refused.reason == "expired"


def test_a_seed_file_is_its_owners_alone(tmp_path: Path) -> None:
    """It is made closed, refused when open to others, and never written over."""
    path = tmp_path / "seed"
    did = new_key_file(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert key_from_file(path).keyid.startswith(did + "#")
    with pytest.raises(StorageError):
        new_key_file(path)
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match="others"):
        key_from_file(path)
    path.chmod(0o600)
    for text in ("", "zz" * 32, "00" * 31, "00" * 33, "é"):
        path.write_text(text, "utf-8")
        with pytest.raises(InvalidInput, match="no seed"):
            key_from_file(path)
    with pytest.raises(StorageError):
        key_from_file(tmp_path / "nothing")


def test_the_local_keys_that_sign(home: Path, tmp_path: Path) -> None:
    """The agent that is named, the only one, else the owner; an empty home has none."""
    with muniment.open(home) as peer:
        did = peer.agent("ava").did
        assert key_from_peer(peer, "AVA")[0].keyid.startswith(did)
        assert key_from_peer(peer) == (key_from_peer(peer, "ava")[0], True) or key_from_peer(peer)[1]
        other, own = key_from_peer(peer, "elsewhere")
        assert not own
        assert not other.keyid.startswith(did)
    with muniment.open(tmp_path / "empty") as peer, pytest.raises(UnknownAgent):
        key_from_peer(peer)


# The command line


def test_a_controller_on_another_machine(cli: Cli, tmp_path: Path) -> None:
    """Its own home has no such agent: its owner key signs, and names the agent."""
    laptop, host = tmp_path / "laptop", tmp_path / "host"
    cli("--home", str(laptop), "init")
    owner = cli("--home", str(laptop), "agent", "show", "--json").json["controller"]
    cli("--home", str(host), "init")
    cli("--home", str(host), "agent", "new", "kim", "--controller", owner)
    with served(host) as url:
        far = ("--home", str(laptop), "--url", url)
        cli(*far, "--agent", "kim", "remember", "the fair is in Oslo")
        assert "the fair is in Oslo" in cli(*far, "--agent", "kim", "recall", "fair").out
        assert (
            cli(*far, "--agent", "ava", "recall", "fair", "--json", code=4).error["error"] == "NotPermitted"
        )


def test_a_seed_file_signs_for_the_command_line(cli: Cli, tmp_path: Path) -> None:
    """Where there is no home at all."""
    host, seed = tmp_path / "host", tmp_path / "seed"
    cli("--home", str(host), "agent", "new", "kim", "--controller", new_key_file(seed))
    with served(host) as url:
        far = ("--home", str(tmp_path / "none"), "--url", url, "--key-file", str(seed))
        cli(*far, "remember", "the fair is in Oslo")
        assert "Oslo" in cli(*far, "list").out
    assert not (tmp_path / "none").exists()


def test_what_is_not_done_from_afar_is_said_so(cli: Cli, home: Path) -> None:
    """Before anything is sent."""
    far = ("--home", str(home), "--url", "https://memory.example")
    for words in (
        ["doctor"],
        ["import", "x"],
        ["export"],
        ["serve"],
        ["token", "list"],
        ["key", "mine"],
        ["init"],
    ):
        assert "from afar" in cli(*far, *words, "--json", code=2).error["message"]
    assert (
        cli("--home", str(home), "--key-file", "x", "stats", "--json", code=2).error["error"]
        == "InvalidInput"
    )
    assert cli(*far, "recall", "x", "--limit", "0", "--json", code=2).error["error"] == "InvalidInput"
