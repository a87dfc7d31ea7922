"""`muniment serve` as a program: where it listens, what it lets in, how it ends, and that several are one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import BaseRoute, Route

import muniment
from muniment.base.errors import InvalidInput, MunimentError, Overloaded
from muniment.base.limits import LIMITS
from muniment.client import Client
from muniment.surfaces.serve import metrics, run
from muniment.surfaces.serve.doors import DOORS, open_doors
from muniment.surfaces.serve.house import House
from muniment.surfaces.serve.options import Options, options
from muniment.surfaces.serve.rates import Rates

from .conftest import PROGRAM, Cli
from .serving import key, send, served, signed

STATS = b'{"jsonrpc":"2.0","id":1,"method":"memory.stats"}'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with an agent and a memory."""
    place = tmp_path / "home"
    with muniment.open(place) as peer:
        peer.agent("ava", create=True).remember("the deploy window is Friday", key="deploy")
    return place


class Program:
    """A running `muniment serve`."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process, self.url, self._log = process, url, log

    @property
    def log(self) -> list[dict[str, Any]]:
        """Its log so far."""
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Stop it; gives its exit code."""
        self.process.send_signal(number)
        return self.process.wait(30)


def environment() -> dict[str, str]:
    """That of a program which runs the package that is tested here."""
    source = str(Path(muniment.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ["PYTHONPATH"]])}


@contextmanager
def program(home: Path, tmp_path: Path, *words: str) -> Iterator[Program]:
    """The program on a free port, until the block is left."""
    log = tmp_path / "log"
    command = [*PROGRAM, "--home", str(home), "serve", "--listen", "127.0.0.1:0", *words]
    with log.open("w") as file:
        process = subprocess.Popen(
            command, stderr=file, stdout=subprocess.DEVNULL, text=True, env=environment()
        )
    try:
        until = time.monotonic() + 60
        while not (match := re.search(r"^serving .* at (\S+)$", log.read_text(), re.MULTILINE)):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until
            time.sleep(0.02)
        yield Program(process, match[1], log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)


def raw(url: str, data: bytes, *, wait: float = 20) -> bytes:
    """What comes back for some bytes, until the server closes."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=wait) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while piece := connection.recv(65536):
            found += piece
        return found


# The program


def test_it_serves_until_it_is_told_to_stop(home: Path, tmp_path: Path) -> None:
    """It says where it is, answers, and ends well on SIGTERM; its log holds no word of the memory and no signature."""
    with program(home, tmp_path) as running:
        with Client(running.url, key(home, "ava")) as ava:
            assert ava.recall("deploy window")[0].record.key == "deploy"
        assert send(running.url, method="GET", path="/healthz?secret=1")[2] == b'{"ok":true}'
        counts = send(running.url, method="GET", path="/metrics")[2].decode()
        assert 'muniment_rpc_calls_total{method="memory.recall",result="ok"} 1' in counts
        assert 'muniment_records{bank="ava"} 1' in counts
        assert running.end() == 0
        assert [line["path"] for line in running.log] == ["/rpc", "/healthz", "/metrics"]
        assert running.log[0]["key"].startswith("did:key:z6Mk")
        text = json.dumps(running.log)
        assert "deploy" not in text
        assert "secret" not in text
        assert "signature" not in text


def test_a_running_request_is_finished_before_it_ends(home: Path, tmp_path: Path) -> None:
    """A request whose body is still on its way when the stop comes is answered; a new one is not."""
    with program(home, tmp_path) as running:
        headers = signed(running.url, key(home, "ava"), STATS)
        place = urlsplit(running.url)
        with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            start = (
                f"POST /rpc HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-length: {len(STATS)}\r\n{head}\r\n"
            )
            connection.sendall(start.encode() + STATS[:10])
            time.sleep(0.3)
            running.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            connection.sendall(STATS[10:])
            answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        assert running.process.wait(30) == 0
        with pytest.raises(OSError):
            send(running.url, method="GET", path="/healthz")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_several_processes_are_one_server(home: Path, tmp_path: Path, number: int) -> None:
    """A write through one is read through another, a nonce used at one is used at all, and counts are added up."""
    ava = key(home, "ava")
    with program(home, tmp_path, "--workers", "2") as running:
        with Client(running.url, ava) as client:
            client.remember("tea", key="t")
        for _ in range(12):  # each on a connection of its own, to either process
            with Client(running.url, ava) as client:
                assert client.get("t").text == "tea"
        headers = signed(running.url, ava, STATS)
        assert [send(running.url, STATS, headers)[0] for _ in range(8)] == [200] + [401] * 7
        until = time.monotonic() + 30
        while (
            '{method="memory.get",result="ok"} 12'
            not in send(running.url, method="GET", path="/metrics")[2].decode()
        ):
            assert time.monotonic() < until
            time.sleep(0.1)
        assert running.end(number) == 0


def children(process: int) -> list[int]:
    """Its child processes."""
    found = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in found.read_text().split()] if found.exists() else []


def test_a_killed_worker_is_replaced(home: Path, tmp_path: Path) -> None:
    """Nothing that was acknowledged is lost, and the others go on."""
    if not Path("/proc/self/task").exists():
        pytest.skip("needs Linux")
    ava = key(home, "ava")
    with program(home, tmp_path, "--workers", "2") as running:
        with Client(running.url, ava) as client:
            client.remember("tea", key="t")
        first = children(running.process.pid)
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        until = time.monotonic() + 30
        while len(set(children(running.process.pid)) - {first[0]}) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        for _ in range(6):
            with Client(running.url, ava) as client:
                assert client.get("t").text == "tea"
        assert running.end() == 0


def test_over_tls(home: Path, tmp_path: Path) -> None:
    """With a certificate it speaks TLS alone; a client that trusts the certificate is answered."""
    pytest.importorskip("cryptography")
    certificate, private_key = self_signed(tmp_path)
    words = ("--tls-cert", str(certificate), "--tls-key", str(private_key))
    with program(home, tmp_path, *words) as running:
        assert running.url.startswith("https://127.0.0.1:")
        with Client(running.url, key(home, "ava"), ca_file=certificate) as client:
            assert client.get("deploy").key == "deploy"
        with (
            Client(running.url, key(home, "ava")) as client,
            pytest.raises(MunimentError, match="does not answer"),
        ):
            client.get("deploy")
        assert running.end() == 0


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "memory")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("memory.example")]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        secret.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@pytest.mark.parametrize(
    "words",
    [
        ["--listen", "nonsense"],
        ["--listen", "example.com:80"],
        ["--listen", "127.0.0.1:99999"],
        ["--listen", "0.0.0.0:0"],
        ["--listen", "192.0.2.1:0", "--insecure-listen"],
        ["--tls-cert", "here.pem"],
        ["--tls-cert", "no.pem", "--tls-key", "no.pem"],
        ["--tls-cert", "bad.pem", "--tls-key", "bad.pem", "--listen", "127.0.0.1:0"],
        ["--host", "a b"],
        ["--did-web", "https://example.com"],
        ["--workers", "0"],
        ["--rate", "0"],
    ],
    ids=" ".join,
)
def test_what_can_not_be_served_is_said_before_it_starts(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """An address, a file or a number without meaning is the caller's error; nothing listens."""
    monkeypatch.chdir(tmp_path)
    Path("bad.pem").write_text("no certificate")
    assert cli("serve", *words, "--json", code=2).error["error"] == "InvalidInput"


def test_a_taken_address_is_said_so(cli: Cli, home: Path) -> None:
    """Another program may be there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert (
            "listened on" in cli("serve", "--listen", f"127.0.0.1:{port}", "--json", code=2).error["message"]
        )


def test_answers_are_sent_without_waiting_for_an_acknowledgement() -> None:
    """A connection that is accepted has TCP_NODELAY: no answer lies still until the one before it was acknowledged."""

    async def accepted() -> int:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[int] = loop.create_future()

        class Look(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                found.set_result(
                    transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                )
                transport.close()

        listener = run.listen(options(listen="127.0.0.1:0"))
        server = await loop.create_server(Look, sock=listener)
        _, writer = await asyncio.open_connection(*listener.getsockname())
        writer.close()
        async with server:
            return await asyncio.wait_for(found, 10)

    assert asyncio.run(accepted())


def test_it_looks_before_it_serves(cli: Cli, home: Path) -> None:
    """`--check` names the doors, and leaves."""
    found = cli("--home", str(home), "serve", "--check", "--listen", "127.0.0.1:0", "--json").json
    assert found["checked"]
    assert found["doors"][-3:] == sorted(found["doors"][-3:], key=len, reverse=True)
    assert {"/rpc", "/healthz", "/metrics"} <= set(found["doors"])


# What stands before the doors


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST", 200),
        ("memory.example", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
    ],
)
def test_only_its_own_names_are_answered(home: Path, host: str, status: int) -> None:
    """A page that leads a browser here under another name gets nothing (DNS rebinding)."""
    with served(home, hosts=("memory.example",)) as url:
        named = host.format(port=urlsplit(url).port)
        assert send(url, method="GET", path="/healthz", headers={"Host": named})[0] == status


def test_what_is_too_large_is_refused_unread(home: Path) -> None:
    """By its announced length at once, and without one as soon as it is over."""
    with served(home) as url:
        place = urlsplit(url)
        head = f"POST /rpc HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-type: application/json\r\n"
        said = raw(url, f"{head}content-length: {LIMITS.request_bytes + 1}\r\n\r\n".encode())
        assert said.startswith(b"HTTP/1.1 413")
        assert raw(url, f"{head}content-length: 9{'9' * 30}\r\n\r\n".encode())[9:12] in {b"413", b"400"}
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        many = chunk * (LIMITS.request_bytes // 65536 + 2)
        try:
            said = raw(url, f"{head}transfer-encoding: chunked\r\n\r\n".encode() + many + b"0\r\n\r\n")
        except ConnectionError:
            said = b"HTTP/1.1 413"  # it closed while we were still sending
        assert said.startswith(b"HTTP/1.1 413")
        assert (
            send(url, method="GET", path="/healthz", headers={"content-length": "5"}, body=b"12345")[0] == 413
        )


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-encoding": "gzip"}, 415),
        ({}, 401),
    ],
)
def test_what_it_does_not_speak(home: Path, change: dict[str, str], status: int) -> None:
    """Another type or coding is refused before any signature is looked at."""
    with served(home) as url:
        assert send(url, STATS, {"content-type": "application/json"} | change)[0] == status
        assert send(url, method="GET")[0] == 405
        assert send(url, method="GET", path="/nothing")[0] == 404
        assert send(url, method="GET", path="/healthz?" + "a" * 9000)[0] == 414


def test_a_slow_client_holds_up_nobody(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that does not come is 408, a header that does not come is closed; others are answered meanwhile."""
    monkeypatch.setattr(run._Patient, "HEADER_S", 0.5)
    with served(home, body_s=0.5) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=20) as mute:
            with socket.create_connection((place.hostname, place.port), timeout=20) as slow:
                head = f"POST /rpc HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-type: application/json\r\n"
                slow.sendall(f"{head}content-length: 10\r\n\r\n1".encode())
                assert send(url, method="GET", path="/healthz")[0] == 200
                assert slow.recv(65536).startswith(b"HTTP/1.1 408")
            assert mute.recv(65536) == b""
        with socket.create_connection((place.hostname, place.port), timeout=20) as second:
            second.sendall(f"GET /healthz HTTP/1.1\r\nhost: {place.netloc}\r\n\r\n".encode())
            found = b""
            while b'{"ok":true}' not in found:
                found += second.recv(65536)
            second.sendall(b"GET /healthz HTTP/1.1\r\nx: ")
            assert second.recv(65536) == b""  # the second header is not waited for either


def test_more_at_once_than_it_can_hold_is_refused_for_now(home: Path) -> None:
    """503 with Retry-After, and afterwards it answers again."""
    with served(home, concurrency=1, body_s=20) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=20) as slow:
            head = f"POST /rpc HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-type: application/json\r\n"
            slow.sendall(f"{head}content-length: 10\r\n\r\n1".encode())
            time.sleep(0.3)
            status, more, _ = send(url, method="GET", path="/healthz")
            assert (status, more["retry-after"]) == (503, "1")
        time.sleep(0.3)
        assert send(url, method="GET", path="/healthz")[0] == 200


def test_a_key_that_asks_too_often_has_to_wait(home: Path) -> None:
    """429 with Retry-After, as an error that the client raises; nothing of the request was done."""
    with served(home, rate=0.1, burst=3) as url:
        headers = [signed(url, key(home, "ava"), STATS) for _ in range(5)]
        answers = [send(url, STATS, one) for one in headers]
        assert [status for status, _, _ in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1][1]["retry-after"]) >= 1
        with Client(url, key(home, "ava")) as client, pytest.raises(Overloaded) as caught:
            client.stats()
        assert caught.value.retry_after > 0


def test_a_bug_spills_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An error that nobody expected is a JSON-RPC error without its words, in answer and log."""
    from muniment.agent import Agent

    def broken(_self: Agent) -> None:
        raise RuntimeError("the secret word is swordfish")

    monkeypatch.setattr(Agent, "stats", broken)
    with served(home, log=True) as url:
        status, _, data = send(url, STATS, signed(url, key(home, "ava"), STATS))
        error = json.loads(data)["error"]
        assert (status, error["code"], error["data"]["kind"]) == (200, -32603, "RuntimeError")
    assert b"swordfish" not in data
    assert "swordfish" not in capfd.readouterr().err


def test_every_answer_is_safe_in_a_browser(home: Path) -> None:
    """No sniffing, no referrer; no other origin may read it."""
    with served(home) as url:
        for path in ("/healthz", "/nothing"):
            headers = send(url, method="GET", path=path)[1]
            assert headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in headers


# The pieces


def test_a_bucket_fills_again() -> None:
    """A burst passes, then the rate; keys don't share."""
    rates = Rates(rate=2, burst=3)
    for _ in range(3):
        rates.take(b"a", 10.0)
    with pytest.raises(Overloaded) as caught:
        rates.take(b"a", 10.0)
    assert caught.value.retry_after == 0.5
    rates.take(b"b", 10.0)
    rates.take(b"a", 10.5)
    with pytest.raises(Overloaded):
        rates.take(b"a", 10.6)


def test_counts_are_written_as_prometheus_reads_them() -> None:
    """Escapes, cumulative buckets, a sum, and counts of other processes added."""
    first, second = metrics.Metrics(), metrics.Metrics()
    for one in (first, second):
        one.count("muniment_x_total", "X.", door='a"\n\\')
        one.time("muniment_t_seconds", "T.", 0.02, door="rpc")
    first.gauge("muniment_g", "G.", lambda: [((), 3)])
    text = first.text([json.loads(json.dumps(second.snapshot()))])
    assert '# TYPE muniment_x_total counter\nmuniment_x_total{door="a\\"\\n\\\\"} 2\n' in text
    assert 'muniment_t_seconds_bucket{door="rpc",le="0.01"} 0' in text
    assert 'muniment_t_seconds_bucket{door="rpc",le="0.025"} 2' in text
    assert 'muniment_t_seconds_bucket{door="rpc",le="+Inf"} 2' in text
    assert 'muniment_t_seconds_count{door="rpc"} 2' in text
    assert "# TYPE muniment_g gauge\nmuniment_g 3\n" in text


def test_a_counter_has_a_bounded_number_of_rows() -> None:
    """Labels that a stranger chooses can't fill the memory."""
    made = metrics.Metrics()
    for n in range(3000):
        made.count("muniment_x_total", "X.", who=str(n))
    assert made.text().count("\n") < 1100
    assert 'muniment_x_total{who="other"} 2000' in made.text()


def test_only_loopback_is_open_without_tls() -> None:
    """Other addresses need a certificate, or the word that says so."""
    assert options("127.0.0.1:1").loopback
    assert options("[::1]:1").loopback
    assert not options("0.0.0.0:1", insecure_listen=True).loopback
    with pytest.raises(InvalidInput, match="encrypted"):
        options("0.0.0.0:1")
    assert options("0.0.0.0:1", insecure_listen=True).allowed_hosts(1) == frozenset()
    assert "memory.example:1" in options(
        "0.0.0.0:1", insecure_listen=True, hosts=("Memory.Example",)
    ).allowed_hosts(1)


def test_a_door_of_another_room_mounts_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is started before the first request, stopped after the last, and has its own limit; a stream is a stream."""
    said: list[str] = []

    class Hall:
        name, path, body_limit = "hall", "/hall", 3

        def __init__(self, house: House) -> None:
            self.house = house

        def routes(self) -> list[BaseRoute]:
            return [Route("/hall", self.answer, methods=["POST"])]

        async def start(self) -> None:
            said.append("start")

        async def stop(self) -> None:
            said.append("stop" if self.house.stopping.is_set() else "too early")

        async def answer(self, request: Request) -> StreamingResponse:
            body = await request.body()

            async def parts() -> AsyncIterator[bytes]:
                for letter in body:
                    yield bytes([letter])

            return StreamingResponse(parts())

    module = types.ModuleType("hall")
    module.opened, module.absent = Hall, lambda _: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hall", module)
    monkeypatch.setattr(run, "DOORS", (*DOORS, "hall:opened", "hall:absent"))
    with served(home) as url:
        assert said == ["start"]
        assert send(url, b"abc", path="/hall")[2] == b"abc"
        assert send(url, b"abcd", path="/hall")[0] == 413
        assert send(url, method="GET", path="/healthz")[0] == 200
    assert said == ["start", "stop"]


def test_workers_that_can_not_start_are_said_so(tmp_path: Path) -> None:
    """The command ends with an error, and does not try for ever."""
    home = tmp_path / "foreign"
    home.mkdir()
    (home / "peer.db").write_text("somebody's notes " * 100)
    words = [*PROGRAM, "--home", str(home), "serve", "--listen", "127.0.0.1:0", "--workers", "2", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=120, check=False)
    assert done.returncode == 6, done.stderr
    assert json.loads(done.stderr.splitlines()[-1])["error"] == "ForeignFile"


def test_workers_end_with_the_one_that_started_them(home: Path, tmp_path: Path) -> None:
    """Nobody is left behind when it is killed."""
    if not Path("/proc/self/task").exists():
        pytest.skip("needs Linux")
    with program(home, tmp_path, "--workers", "2") as running:
        left = children(running.process.pid)
        running.process.kill()
        running.process.wait(30)
        until = time.monotonic() + 30
        while any(
            Path(f"/proc/{one}/cmdline").exists() and Path(f"/proc/{one}/cmdline").read_bytes()
            for one in left
        ):
            assert time.monotonic() < until
            time.sleep(0.05)


def test_doors_open_longest_paths_first(home: Path) -> None:
    """So the one at `/` takes only what no other takes."""

    async def opened() -> list[str]:
        with muniment.open(home) as peer:
            house = House(peer, Options(), 1)
            try:
                return [door.path for door in open_doors(house, DOORS)]
            finally:
                house.close()

    paths = asyncio.run(opened())
    assert paths == sorted(paths, key=len, reverse=True)


def test_many_clients_at_once(home: Path) -> None:
    """Threads that write and recall through one server each see their own writes."""
    failures: list[BaseException] = []

    def work(url: str, number: int) -> None:
        try:
            with Client(url, key(home, "ava")) as client:
                for n in range(5):
                    client.remember(f"thread{number} note{n}", key=f"{number}-{n}")
                    assert client.get(f"{number}-{n}").text == f"thread{number} note{n}"
                    assert client.recall(f"thread{number}", limit=5)
        except BaseException as error:
            failures.append(error)

    with served(home) as url:
        threads = [threading.Thread(target=work, args=(url, number)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    with muniment.open(home) as peer:
        assert peer.agent("ava").stats().records == 31
        assert peer.agent("ava").check() == []
