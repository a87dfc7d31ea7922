"""Every door of a running server, and what strangers and liars send: no 5xx, no traceback, bounded memory, still there.

The server is a process of its own, as users run it. Whatever goes wrong can be had again by its seed.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import muniment
from muniment.base.ids import BankId, parse_cid
from muniment.client import key_from_peer
from muniment.identity.http_signatures import Key, Request, sign_request
from muniment.peer import Peer
from muniment.sync import messages
from muniment.tokens import Tokens

SYNC = "application/vnd.muniment.sync"
DOORS = ("/rpc", "/mcp", "/sync/1", "/", "/healthz", "/metrics")
FEW, MANY = 200, 10_000
GROWTH_KIB = 64 * 1024  # after the first of each door, which load what is loaded late
METHODS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH", "TRACE", "CONNECT", "get", "BREW", "")
SCREENS = (
    "", "first", "login", "logout", "static/x", "static/../../etc/passwd", "a/ava/", "a/ava/results", "a/ava/write",
    "a/ava/banks", "a/ava/bank", "a/ava/bank/grant", "a/ava/bank/revoke", "a/ava/bulk", "a/ava/record",
    "a/ava/record/why", "a/ava/record/edit", "a/ava/record/forget", "a/ava/health", "a/ava/map/drawn",
    "a/ava/settings/tools", "a/ava/unasked/answer", "a/nobody/", "a/%00/", "a/%ff%fe/record", "nothing",
)  # fmt: skip
CALLS = (
    "memory.remember", "memory.recall", "memory.get", "memory.list", "memory.why", "memory.nothing", "rpc.discover",
    "tenzro_memoryRecall", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/get", "ping",
    "initialize", "notifications/initialized", "logging/setLevel", "",
)  # fmt: skip
NAMES = ("name", "arguments", "query", "uri", "cursor", "_meta", "text", "limit", "ref", "tags", "metadata", "since",
         "agent_did", "record_id", "protocolVersion", "mode", "id", "offset")  # fmt: skip
WORDS = (
    "",
    "x" * 50,
    "\ud800",
    "\0",
    "recall",
    "remember",
    "memory://x",
    "2026-13-45",
    "../..",
    "' OR 1=1 --",
    "é" * 9,
)
HEADERS = (
    "content-type", "accept", "origin", "authorization", "signature", "signature-input", "content-digest", "cookie",
    "mcp-protocol-version", "mcp-session-id", "content-encoding", "transfer-encoding", "content-length", "host",
    "expect", "upgrade", "connection", "range", "hx-request", "x-form-token",
)  # fmt: skip


class Served:
    """A server process, what it says, and the keys of those who have business there."""

    def __init__(self, folder: Path) -> None:
        self.home, self._log = folder / "home", folder / "log"
        with muniment.open(self.home) as peer:
            ava = peer.agent("ava", create=True)
            ava.remember("the deploy window is Friday")
            bank = ava.banks.new("teas")
            ava.banks.share("teas")
            self.bank = BankId(parse_cid(bank.id))
            self.token = Tokens(peer).new(ava, "write").secret or ""
        self.peer: Peer = muniment.open(self.home)
        self.key: Key = key_from_peer(self.peer, "ava")[0]
        self._out = self._log.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "muniment", "--home", str(self.home), "serve", "--listen", "127.0.0.1:0",
             "--rate", "1000000"],
            stdout=self._out, stderr=self._out, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        self.port, self.cookie = 0, ""

    def wait(self) -> None:
        """Until it takes connections; then somebody logs in at the page."""
        end = time.monotonic() + 60
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", self.said())):
            assert self._process.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.05)
        self.port = int(found[1])
        while not (link := re.search(r"/login\?with=([\w.~-]+)", self.said())):
            assert time.monotonic() < end, self.said()
            time.sleep(0.05)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/login", "with=" + quote(link[1]))
        answer = connection.getresponse()
        assert answer.status == 303, answer.read()
        self.cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        connection.close()

    def said(self) -> str:
        """Its standard output and standard error so far."""
        return self._log.read_text("utf-8", "replace")

    def resident_kib(self) -> int:
        """Memory that it has in use."""
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self._process.pid}/status").read_text())
        assert found is not None
        return int(found[1])

    def signed(self, path: str, kind: str, body: bytes) -> list[tuple[str, str]]:
        """The headers of a request that its key signed, whatever it says."""
        parts = Request("POST", f"127.0.0.1:{self.port}", path, "", kind, body)
        nonce = urlsafe_b64encode(os.urandom(18)).decode()
        return [("content-type", kind), *sign_request(parts, self.key, int(time.time()), nonce).items()]

    def raw(self, data: bytes, whole: bool) -> bytes:
        """Send bytes; what comes until it closes.

        Where they may be less than a request, the answer is waited for a moment, and then no more is said: the server
        has to see that nothing comes.
        """
        found = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            try:
                connection.sendall(data)
                if not whole:
                    select.select([connection], [], [], 0.02)
                    connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    found += piece
            except OSError as error:  # it closed first
                if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                    raise
        return found

    def close(self) -> None:
        """End it, as whoever runs it would."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(40)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._out.close()
        self.peer.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of this file."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs Linux")
    made = Served(tmp_path_factory.mktemp("doors"))
    try:
        made.wait()
        yield made
    finally:
        made.close()


class Liar:
    """Makes requests that nobody should send, to one door."""

    def __init__(self, server: Served, door: str, seed: int) -> None:
        self._server, self._door, self._rng = server, door, random.Random(seed)
        self._kinds = (
            self._noise,
            self._broken,
            self._headers,
            self._mangled,
            self._nonsense,
            self._nonsense,
        )

    def next(self) -> tuple[bytes, bool]:
        """The next one as it goes over the wire, and whether it is a whole request that asks to close."""
        kind = self._rng.choice(self._kinds)
        return kind(), kind == self._nonsense

    def _path(self) -> str:
        rng = self._rng
        if self._door == "/":
            path = "/" + rng.choice(SCREENS)
        else:
            path = self._door + rng.choice(("",) * 6 + ("/", "/x", "/../rpc", "%00", "//"))
        if rng.random() < 0.3:
            given = [
                f"{rng.choice(NAMES)}={quote(rng.choice(WORDS).encode('utf-8', 'replace'))}" for _ in range(3)
            ]
            path += "?" + rng.choice(
                ("&".join(given), "agent=%00", "a&" * 40, "=" * 9000, "%ff", "agent=ava")
            )
        return path

    def _whole(self, method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> bytes:
        named = {name for name, _ in headers}
        lines = [f"{method} {path} HTTP/1.1", "connection: close"]
        if "host" not in named:
            lines.append(f"host: 127.0.0.1:{self._server.port}")
        if not named & {"content-length", "transfer-encoding"}:
            lines.append(f"content-length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace") + body

    def _noise(self) -> bytes:
        """Bytes that are no HTTP."""
        return self._rng.randbytes(self._rng.choice((0, 1, 7, 60, 400, 5000)))

    def _broken(self) -> bytes:
        """What is nearly HTTP."""
        rng, path = self._rng, self._path()
        host = f"host: 127.0.0.1:{self._server.port}\r\n"
        return rng.choice((
            f"POST {path}\r\n\r\n", f"POST {path} HTTP/9.9\r\n{host}\r\n", f"POST  {path} HTTP/1.1\n{host}\n",
            f"POST {path} HTTP/1.1\r\n\r\n", f"POST {path} HTTP/1.1\r\n{host}{host}\r\n",
            f"POST {path} HTTP/1.1\r\nhost: elsewhere.example\r\n\r\n",
            f"POST {path} HTTP/1.1\r\n{host}content-length: -1\r\n\r\n",
            f"POST {path} HTTP/1.1\r\n{host}content-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
            f"POST {path} HTTP/1.1\r\n{host}content-length: {'9' * rng.choice((3, 25, 5000))}\r\n\r\nx",
            f"POST {path} HTTP/1.1\r\n{host}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            f"POST {path} HTTP/1.1\r\n{host}transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
            f"POST {path} HTTP/1.1\r\n{host}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n",
            f"POST {path} HTTP/1.1\r\n{host}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            f"GET {path} HTTP/1.1\r\n{host}x: a\0b\r\n\r\n", f"GET {path} HTTP/1.1\r\n{host}x : y\r\n z\r\n\r\n",
            f"GET {path} HTTP/1.1\r\n{host}" + "".join(f"x-{n}: {n}\r\n" for n in range(900)) + "\r\n",
            f"GET {path} HTTP/1.1\r\n{host}x: {'y' * rng.choice((8_000, 33_000, 200_000))}\r\n\r\n",
            f"GET /{'a' * rng.choice((7_000, 9_000, 60_000))} HTTP/1.1\r\n{host}\r\n",
            f"GET http://127.0.0.1:{self._server.port}{path} HTTP/1.1\r\n{host}\r\n",
            f"GET {path} HTTP/1.1\r\n{host}upgrade: websocket\r\nconnection: upgrade\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", f"OPTIONS * HTTP/1.1\r\n{host}\r\n",
            f"CONNECT 127.0.0.1:22 HTTP/1.1\r\n{host}\r\n",
            f"POST {path} HTTP/1.0\r\n\r\n" + "x" * 10, f"GET {path} HTTP/1.1\r\n{host}\r\n" * 30,
        )).encode()  # fmt: skip

    def _headers(self) -> bytes:
        """A good line and any headers."""
        rng = self._rng
        values = (
            "", "x", "\x7f", "é" * 30, "a" * 3000, "application/json", SYNC, "Bearer ", "Bearer x", "Basic eDp4",
            f"Bearer {self._server.token}", 'muniment=();keyid="did:key:zzz"', "muniment=:" + "A" * 88 + ":",
            'muniment=("@method" "@path");created=1;keyid="did:key:z6Mk"', "gzip", "chunked", "0", "1e9", "*/*",
            "http://elsewhere.example", "100-continue", self._server.cookie, "muniment=x", "bytes=0-1,2-,-1",
        )  # fmt: skip
        given = [(rng.choice(HEADERS), rng.choice(values)) for _ in range(rng.randint(1, 6))]
        return self._whole(
            rng.choice(METHODS), self._path(), given, rng.choice((b"", b"{}", rng.randbytes(30)))
        )

    def _mangled(self) -> bytes:
        """A request in order, with some bytes changed, cut, doubled or put in."""
        data, rng = bytearray(self._nonsense()), self._rng
        for _ in range(rng.choice((1, 1, 2, 5, 20))):
            at = rng.randrange(len(data) or 1)
            match rng.randrange(5):
                case 0:
                    data[at : at + 1] = rng.randbytes(1)
                case 1:
                    del data[at : at + rng.randrange(1, 40)]
                case 2:
                    data[at:at] = data[at : at + rng.randrange(1, 60)]
                case 3:
                    data[at:at] = rng.choice(
                        (b"\r\n", b"\0", b"\r\n\r\n", b": ", b'"', b"\xff\xfe", b"9" * 30)
                    )
                case _:
                    del data[at:]
        return bytes(data)

    def _nonsense(self) -> bytes:
        """Somebody who has business here, by a good signature, a token or a session, says what means nothing."""
        rng = self._rng
        if self._door == "/sync/1":
            body = self._message()
            return self._whole("POST", "/sync/1", self._server.signed("/sync/1", SYNC, body), body)
        if self._door in ("/rpc", "/mcp"):
            body = self._call()
            if self._door == "/mcp" and rng.random() < 0.5:
                head = [
                    ("content-type", "application/json"),
                    ("authorization", f"Bearer {self._server.token}"),
                ]
            else:
                head = self._server.signed(self._door, "application/json", body)
            return self._whole(
                "POST", self._door, [*head, ("accept", "application/json, text/event-stream")], body
            )
        if self._door == "/":
            body = "&".join(
                f"{rng.choice(NAMES)}={quote(rng.choice(WORDS).encode('utf-8', 'replace'))}" for _ in range(4)
            ).encode()
            head = [("cookie", self._server.cookie), ("content-type", "application/x-www-form-urlencoded")]
            if rng.random() < 0.5:
                head += [
                    ("sec-fetch-site", rng.choice(("same-origin", "cross-site"))),
                    ("hx-request", "true"),
                ]
            return self._whole(
                rng.choice(("GET", "GET", "POST")), self._path(), head, rng.choice((b"", body))
            )
        return self._whole(rng.choice(METHODS), self._path(), [], rng.choice((b"", b"x" * 70_000)))

    def _message(self) -> bytes:
        rng = self._rng
        size = messages.ROUND_BYTES
        said: list[messages.Message] = [
            messages.Greet(rng.randbytes(messages.NONCE_BYTES), rng.choice((0, 1, 2, 255))),
            messages.Hello(rng.randbytes(size), self._server.bank, rng.randbytes(32), rng.randbytes(64)),
            messages.Hello(
                rng.randbytes(size),
                self._server.bank,
                rng.randbytes(32),
                rng.randbytes(64),
                rng.randbytes(99),
            ),
        ]
        whole = bytearray(messages.encode(rng.choice(said)))
        for _ in range(rng.choice((0, 1, 3))):
            whole[rng.randrange(len(whole))] = rng.randrange(256)
        return rng.choice((bytes(whole), bytes(whole), rng.randbytes(200), b"\x81" * 3000, b"\x9f" * 9, b""))

    def _call(self) -> bytes:
        rng = self._rng
        deep = rng.choice((10, 900, 20_000))
        call: dict[str, object] = {
            "jsonrpc": rng.choice(("2.0", "2.0", "2.0", "1.0", 2)), "id": rng.choice((1, "a", None, {}, 1.5, [])),
            "method": rng.choice((*CALLS, *CALLS, 7, None, [])), "params": self._any(0),
        }  # fmt: skip
        for name in list(call):
            if rng.random() < 0.1:
                del call[name]
        data = json.dumps(call if rng.random() < 0.9 else [call] * rng.choice((1, 300))).encode()
        return rng.choice((
            data, data, data, data, data, data[: rng.randrange(len(data))], rng.randbytes(60), b"[" * deep,
            b'{"a":' * deep, b"[" * deep + b"]" * deep, b'{"jsonrpc":"2.0","id":1' + b"0" * 6000 + b"}",
            b"\xef\xbb\xbf{}", data.decode().encode("utf-16"),
            b'{"jsonrpc":"2.0","id":1,"method":"memory.recall","params":' + b"[" * deep + b"]" * deep + b"}", b"NaN",
            b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', b'{"id":1,"id":2}', b"", b"null",
        ))  # fmt: skip

    def _any(self, depth: int) -> object:
        rng, draw = self._rng, self._rng.random()
        if draw < 0.25 or depth > 3:
            return rng.choice((None, True, 0, -1, 1e308, 10**30, *WORDS))
        if draw < 0.7:
            return {rng.choice(NAMES): self._any(depth + 1) for _ in range(rng.randint(0, 4))}
        return [self._any(depth + 1) for _ in range(rng.randint(0, 3))]


def storm(server: Served, door: str, count: int, seed: int) -> Counter[str]:
    """Send so many to a door; how often which status came ("" where it only closed the connection)."""
    liar, found = Liar(server, door, seed), Counter[str]()
    for number in range(count):
        data, whole = liar.next()
        answer = server.raw(data, whole)
        statuses = re.findall(rb"(?:\A|\r\n|\n|\})HTTP/1\.[01] (\d{3}) ", answer)
        found.update([status.decode() for status in statuses] or [""])
        told = f"{door}, seed {seed}, request {number}: {data[:2000]!r}: {answer[:400]!r}"
        assert not answer or statuses, told
        assert not any(status >= b"5" for status in statuses), told
        assert b"Traceback" not in answer, told
    return found


def withstand(server: Served, count: int) -> str:
    """A storm at every door, and a look at the server afterwards; gives the figures."""
    fixed = 7 if os.environ.get("CI") else int.from_bytes(os.urandom(4))
    for door in DOORS:
        storm(server, door, 60, fixed)
    before, lines = server.resident_kib(), []
    for door in DOORS:
        found = storm(server, door, count, fixed + 1)
        after = server.resident_kib()
        lines.append(f"{door}: {count} requests, {after} KiB, {dict(sorted(found.items()))}")
        assert found[""] < count / 2, lines  # most got as far as to be answered
    said = server.said()
    assert "Traceback" not in said
    assert '"bug"' not in said
    assert server.resident_kib() - before < GROWTH_KIB, (before, lines)
    body = b'{"jsonrpc":"2.0","id":1,"method":"memory.recall","params":{"query":"deploy window"}}'
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("POST", "/rpc", body, dict(server.signed("/rpc", "application/json", body)))
    assert b"Friday" in connection.getresponse().read()
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b'{"ok":true}'
    connection.close()
    return "\n".join([f"before: {before} KiB", *lines])


def test_every_door_withstands_abuse(server: Served) -> None:
    """Some hundred at each door, others at each run."""
    withstand(server, FEW)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_every_door_withstands_much_abuse(server: Served, capfd: pytest.CaptureFixture[str]) -> None:
    """The same, ten thousand at each door."""
    figures = withstand(server, MANY)
    with capfd.disabled():
        sys.stdout.write("\n" + figures + "\n")
