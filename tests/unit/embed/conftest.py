"""A server of embeddings in a thread, that does what it is told; and means that don't wait."""

import base64
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from muniment.embed.calls import Means

Act = Callable[["Handler", dict[str, Any]], None]


def vector(text: str) -> list[float]:
    """What an honest server gives for a text: three numbers that tell texts apart."""
    return [1.0 + len(text), float(sum(text.encode()) % 97), 2.0]


class Handler(BaseHTTPRequestHandler):
    """Answers each POST by the next act of the script; the last one stays."""

    protocol_version = "HTTP/1.1"
    server: "Server"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Note the request, then act."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), asked))
            script = self.server.script
            act = script.pop(0) if len(script) > 1 else script[0]
        act(self, asked)

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        """A whole answer; an underscore in a header's name is a dash."""
        self.send_response(status)
        for name, value in {"Content_Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Listens on a free port of this machine."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Act] = [ok]
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def base(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [asked["input"] for _, _, asked in self.requests]

    def handle_error(self, *_: Any) -> None:
        """A client that hung up is no news."""


def ok(handler: Handler, asked: dict[str, Any]) -> None:
    """Answer as OpenAI or Ollama would."""
    rows = [vector(text) for text in asked["input"]]
    if handler.path.endswith("/api/embed"):
        return handler.reply(200, json.dumps({"model": asked["model"], "embeddings": rows}).encode())
    shown: list[Any] = rows
    if asked.get("encoding_format") == "base64":
        shown = [base64.b64encode(struct.pack("<3f", *row)).decode() for row in rows]
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(shown)]
    return handler.reply(200, json.dumps({"object": "list", "data": data}).encode())


def says(status: int, body: Any = b"", **headers: str) -> Act:
    """Answer with a status, and a body as bytes or as a value for JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda handler, _: handler.reply(status, data, **headers)


def gives(*rows: Any, **more: Any) -> Act:
    """Answer with these embeddings, whatever was asked."""
    data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
    return says(200, {"data": data, **more})


def hangs_up(handler: Handler, _: dict[str, Any]) -> None:
    """Close the connection without a word."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def drips(seconds: float, *, headers_too: bool = False) -> Act:
    """Send a byte now and then, each well within any time-out of a read."""

    def act(handler: Handler, _: dict[str, Any]) -> None:
        end = time.monotonic() + seconds
        if not headers_too:
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
        else:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while time.monotonic() < end and not handler.server.closing.wait(0.02):
            handler.wfile.write(b" " if not headers_too else b"x")
            handler.wfile.flush()
        handler.close_connection = True

    return act


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that is honest until a test gives it another script."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


class Time:
    """A clock that only sleeping moves, and a note of each sleep."""

    def __init__(self) -> None:
        self.now, self.sleeps = 1000.0, list[float]()
        self.means = Means(now=lambda: self.now, wall=lambda: 1e9, sleep=self.sleep, chance=lambda: 0.5)

    def sleep(self, seconds: float) -> None:
        """Note it, and be there."""
        self.sleeps.append(seconds)
        self.now += seconds


@pytest.fixture
def moment() -> Time:
    """Means for calls that wait without waiting."""
    return Time()
