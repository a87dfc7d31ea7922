"""What strangers send: no traceback, no 5xx, and it still answers afterwards."""

from __future__ import annotations

import json
import os
import random
import re
import socket
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muniment
from muniment.client import Client
from muniment.identity.http_signatures import Key

from .serving import key, send, served, signed

GOOD = b'{"jsonrpc":"2.0","id":1,"method":"memory.recall","params":{"query":"deploy"}}'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory):
    """A server for all tests of this file, and the key of its agent."""
    home = tmp_path_factory.mktemp("abuse")
    with muniment.open(home) as peer:
        peer.agent("ava", create=True).remember("the deploy window is Friday")
    with served(home, rate=1e6, burst=1_000_000, body_s=2.0, log=True) as url:
        yield url, key(home, "ava")


def raw(url: str, data: bytes) -> bytes:
    """Send bytes, and read until the server closes."""
    where = urlsplit(url)
    found = b""
    with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                found += piece
        except ConnectionError:
            pass  # it closed first
    return found


def check_alive(url: str, ava: Key, err: str) -> None:
    """It still answers, and said nothing of a bug."""
    with Client(url, ava) as client:
        assert client.recall("deploy window")
    assert "Traceback" not in err
    assert '"bug"' not in err


def mangled(rng: random.Random, whole: bytes) -> bytes:
    """A request with some bytes changed, cut, doubled or mixed up."""
    data = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(data) or 1)
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del data[at : at + rng.randrange(1, 40)]
            case 2:
                data[at:at] = data[at : at + rng.randrange(1, 60)]
            case 3:
                data[at:at] = rng.choice(
                    (b"\r\n", b"\0", b"\r\n\r\n", b": ", b'"', b"\xff\xfe", b"%00", b"9" * 30)
                )
            case 4:
                del data[at:]
            case _:
                data[at:at] = rng.randbytes(rng.randrange(1, 30))
    return bytes(data)


def flood(url: str, ava: Key, count: int, seed: int) -> list[bytes]:
    """Mangled requests on raw sockets; the status lines of the answers."""
    rng = random.Random(seed)
    host = urlsplit(url).netloc
    statuses = []
    for _ in range(count):
        headers = signed(url, ava, GOOD)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        line = rng.choice(("POST /rpc", "POST /rpc", "POST /rpc", "GET /metrics", "PUT /rpc", "POST /../rpc"))
        whole = (
            f"{line} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(GOOD)}\r\n{head}\r\n".encode() + GOOD
        )
        statuses.append(raw(url, mangled(rng, whole)).partition(b"\r\n")[0])
    return statuses


def judge(statuses: list[bytes]) -> None:
    """Each is nothing (the connection was closed), or a status of a client's fault, or what was asked."""
    for status in statuses:
        assert status == b"" or re.match(rb"HTTP/1\.[01] [234]\d\d", status), status


def test_mangled_requests_break_nothing(place: tuple[str, Key], capfd: pytest.CaptureFixture[str]) -> None:
    """Some hundred altered copies of a good request, at another place each run."""
    url, ava = place
    seed = int.from_bytes(os.urandom(4))
    statuses = flood(url, ava, 300, 7 if os.environ.get("CI") else seed)
    judge(statuses)
    assert any(b" 4" in status for status in statuses)
    check_alive(url, ava, capfd.readouterr().err)


@pytest.mark.soak
def test_ten_thousand_mangled_requests_break_nothing(
    place: tuple[str, Key], capfd: pytest.CaptureFixture[str]
) -> None:
    """The same, for longer."""
    url, ava = place
    judge(flood(url, ava, 10_000, int.from_bytes(os.urandom(4))))
    check_alive(url, ava, capfd.readouterr().err)


@given(st.binary(max_size=400))
@settings(max_examples=100)
def test_any_bytes_are_no_reason_to_break(place: tuple[str, Key], data: bytes) -> None:
    """Bytes that are no HTTP at all."""
    judge([raw(place[0], data).partition(b"\r\n")[0]])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from([
    "memory.remember", "memory.recall", "memory.get", "memory.list", "memory.history", "memory.why", "memory.forget",
    "tenzro_memoryGrant", "tenzro_memoryRecall", "tenzro_listMemoryRecords", "rpc.discover", "memory.nothing",
])  # fmt: skip
PARAMS = st.sampled_from([
    "text", "query", "ref", "limit", "offset", "mode", "tags", "metadata", "since", "as_of", "states", "agent_did", "k",
    "key", "type", "author", "record_id",
])  # fmt: skip


@given(NAMES, st.dictionaries(PARAMS, JSON, max_size=5) | st.lists(JSON, max_size=5))
@settings(max_examples=150)
def test_any_parameters_are_an_answer_or_an_error(
    place: tuple[str, Key], method: str, params: object
) -> None:
    """A good signature over nonsense: each call has a result or an error that is not a bug."""
    url, ava = place
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    status, _, data = send(url, body, signed(url, ava, body))
    assert status == 200
    answer = json.loads(data)
    assert answer.get("error", {}).get("code") != -32603, answer
    assert ("result" in answer) != ("error" in answer)


HEADER = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=200)


@given(
    st.dictionaries(
        st.sampled_from(["signature", "signature-input", "content-digest", "content-type", "host"]), HEADER
    )
)
@settings(max_examples=100)
def test_any_headers_are_refused_by_name(place: tuple[str, Key], headers: dict[str, str]) -> None:
    """Nonsense in what signs is never more than a client's fault."""
    url, ava = place
    good = signed(url, ava, GOOD)
    status, _, _ = send(url, GOOD, {**good, **headers})
    assert 400 <= status < 500 or headers.items() <= good.items()
