"""`/mcp` of a real `muniment serve`: the official client, by token and by signature, and who is let in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

import muniment
from muniment.identity.http_signatures import Key, Request, sign_request
from muniment.surfaces.serve.doors import absent
from muniment.tokens import Tokens

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client.streamable_http import streamable_http_client

from mcp import Client

from .serving import key, nonce, owner_key, send, served
from .test_serve import environment, program

LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
KINDS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two agents, each with a memory of its own."""
    place = tmp_path / "home"
    with muniment.open(place) as peer:
        for name in ("ava", "ben"):
            peer.agent(name, create=True).remember(f"the colour of {name} is known", key="colour")
    return place


def token(home: Path, agent: str, rights: Any = "write", **options: Any) -> str:
    """A new bearer token."""
    with muniment.open(home) as peer:
        made = Tokens(peer).new(peer.agent(agent), rights, **options).secret
    assert made is not None
    return made


class Signed(httpx2.Auth):
    """Signs each request of the official client."""

    requires_request_body = True

    def __init__(self, by: Key) -> None:
        self._by = by

    def auth_flow(self, request: Any) -> Generator[Any, Any, None]:
        """Add the headers of the profile."""
        for name, value in signature(str(request.url), self._by, request.content, request.method).items():
            request.headers[name] = value
        yield request


def signature(url: str, by: Key, body: bytes, method: str = "POST") -> dict[str, str]:
    """The headers of a signed request to an address."""
    split = urlsplit(url)
    parts = Request(method, split.netloc, split.path, split.query, "application/json" if body else None, body)
    return sign_request(parts, by, int(time.time()), nonce())


@contextlib.asynccontextmanager
async def client(url: str, auth: Any, **options: Any) -> AsyncIterator[Any]:
    """The official client."""
    given = (
        {"auth": auth} if isinstance(auth, httpx2.Auth) else {"headers": {"Authorization": f"Bearer {auth}"}}
    )
    async with (
        httpx2.AsyncClient(timeout=30, **given) as http,
        Client(streamable_http_client(url, http_client=http), **options) as found,
    ):
        yield found


def run(body: Callable[[], Awaitable[None]]) -> None:
    """Run a coroutine to its end."""
    asyncio.run(asyncio.wait_for(body(), 120))


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_official_client_is_served_by_the_program(home: Path, tmp_path: Path, era: Any) -> None:
    """By token and by signature, in both eras, on a real process, which then ends well with no word in its log."""
    secret = token(home, "ava")

    async def body(url: str) -> None:
        for auth, name in ((secret, "ava"), (Signed(key(home, "ben")), "ben")):
            async with client(f"{url}/mcp", auth, mode=era) as one:
                found = await one.call_tool("recall", {"query": "colour"})
                assert f"the colour of {name}" in found.content[0].text
                assert not (await one.call_tool("remember", {"text": f"by {name}", "key": "by"})).is_error
                rows = (await one.list_resources()).resources
                assert len(rows) == 2
                prompt = await one.get_prompt("recall_context", {"message": "which colour is known?"})
                assert name in prompt.messages[0].content.text

    with program(home, tmp_path) as running:
        run(lambda: body(running.url))
        with muniment.open(home) as peer:  # the other program sees it at once
            assert peer.agent("ben").get("by").text == "by ben"
        assert running.end() == 0
        written = (tmp_path / "log").read_text()
        assert {"token", "key"} <= {name for line in running.log for name in line}
        assert secret not in written
        assert "colour" not in written
        assert "Traceback" not in written


def test_a_token_that_reads_is_offered_no_tool_that_writes(home: Path) -> None:
    """Rights of the token are those of the caller."""

    async def body(url: str) -> None:
        async with client(f"{url}/mcp", token(home, "ava", "read")) as one:
            names = {tool.name for tool in (await one.list_tools()).tools}
            assert "recall" in names
            assert not names & {"remember", "forget"}
            assert (await one.call_tool("remember", {"text": "x"})).is_error

    with served(home) as url:
        run(lambda: body(url))


def test_a_controller_names_the_agent_in_the_address(home: Path) -> None:
    """The owner of two agents says which; who is not theirs is out of reach."""
    owner = owner_key(home)

    async def body(url: str) -> None:
        for name in ("ava", "ben"):
            async with client(f"{url}/mcp?agent={name}", Signed(owner)) as one:
                found = await one.call_tool("recall", {"query": "colour"})
                assert f"the colour of {name}" in found.content[0].text

    with served(home) as url:
        run(lambda: body(url))
        for path, by, status in (
            ("/mcp", owner, 400),
            ("/mcp?agent=ben", key(home, "ava"), 403),
            ("/mcp?agent=nobody", owner, 403),
            ("/mcp?" + "a=1&" * 20, owner, 400),
        ):
            code, _, data = send(url, LIST, KINDS | signature(url + path, by, LIST), path=path)
            assert code == status, data
        bearer = {"authorization": f"Bearer {token(home, 'ava')}"}
        assert send(url, LIST, KINDS | bearer, path="/mcp?agent=ben")[0] == 403


def test_a_signature_is_taken_once_and_for_its_address(home: Path) -> None:
    """A replay, another body, another address and a stranger's key are refused before the SDK sees them."""
    by = key(home, "ava")
    with served(home) as url:
        good = KINDS | signature(f"{url}/mcp", by, LIST)
        assert send(url, LIST, good, path="/mcp")[0] == 200
        status, headers, data = send(url, LIST, good, path="/mcp")
        assert status == 401
        assert "accept-signature" in headers
        assert json.loads(data)["error"]["data"]["rule"] == "replayed"
        for body, path in ((LIST + b" ", "/mcp"), (LIST, "/mcp?agent=ava")):
            made = KINDS | signature(f"{url}/mcp", by, LIST)
            assert send(url, body, made, path=path)[0] == 401
        from muniment.identity.http_signatures import key_of

        made = KINDS | signature(f"{url}/mcp", key_of(b"\7" * 32), LIST)
        assert send(url, LIST, made, path="/mcp")[0] == 403


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer nobody", "Basic dG9rLWF2YQ==", "Bearer mun_0_0"])
def test_without_a_good_token_there_is_no_answer(home: Path, header: str | None) -> None:
    """401 with the scheme, and no word about what would be there."""
    with served(home) as url:
        more = {} if header is None else {"authorization": header}
        status, headers, data = send(url, LIST, KINDS | more, path="/mcp")
        assert status == 401
        assert headers["www-authenticate"].startswith("Bearer")
        assert b"ava" not in data


def test_a_token_ends_at_once_when_it_is_taken_back(home: Path) -> None:
    """The next request is refused."""
    secret = token(home, "ava")
    bearer = KINDS | {"authorization": f"Bearer {secret}"}
    with served(home) as url:
        assert send(url, LIST, bearer, path="/mcp")[0] == 200
        with muniment.open(home) as peer:
            Tokens(peer).revoke(secret.split("_")[1])
        assert send(url, LIST, bearer, path="/mcp")[0] == 401


def test_tokens_are_not_taken_where_others_could_read_them(home: Path) -> None:
    """Beyond loopback without TLS a good token is refused, and a signed request is answered."""
    secret = token(home, "ava")
    with served(home, host="0.0.0.0") as url:
        here = url.replace("0.0.0.0", "127.0.0.1")
        assert send(here, LIST, KINDS | {"authorization": f"Bearer {secret}"}, path="/mcp")[0] == 401
        assert (
            send(here, LIST, KINDS | signature(f"{here}/mcp", key(home, "ava"), LIST), path="/mcp")[0] == 200
        )


def test_a_page_of_another_site_reaches_nothing(home: Path) -> None:
    """A foreign Host or Origin is refused with a good token too; the server's own pages may ask."""
    bearer = KINDS | {"authorization": f"Bearer {token(home, 'ava')}"}
    with served(home) as url:
        assert send(url, LIST, bearer | {"origin": "https://evil.example"}, path="/mcp")[0] == 403
        assert send(url, LIST, bearer | {"origin": "null"}, path="/mcp")[0] == 403
        assert send(url, LIST, bearer | {"host": "evil.example"}, path="/mcp")[0] == 421
        assert send(url, LIST, bearer | {"origin": url}, path="/mcp")[0] == 200
        for method in ("GET", "DELETE"):
            assert send(url, b"", bearer, method, path="/mcp")[0] == 405


def test_many_clients_at_once_are_kept_apart(home: Path) -> None:
    """Eight clients of two agents, while the first request is still opening the door: nothing is mixed up."""
    auths = [token(home, "ava"), Signed(key(home, "ben"))]

    async def body(url: str) -> None:
        async def one(number: int) -> None:
            name = ("ava", "ben")[number % 2]
            async with client(f"{url}/mcp", auths[number % 2]) as caller:
                for count in range(8):
                    assert not (
                        await caller.call_tool("remember", {"text": f"{name} {number} {count}"})
                    ).is_error

        await asyncio.gather(*(one(number) for number in range(8)))

    with served(home, rate=10_000, burst=10_000) as url:
        run(lambda: body(url))
    with muniment.open(home) as peer:
        for name in ("ava", "ben"):
            assert peer.agent(name).stats().records == 33
            assert peer.agent(name).check() == []


def _check(home: Path, before: str) -> Iterator[str]:
    code = f"""
import sys
{before}
from muniment.surfaces.cli import main
print(main(["--home", {str(home)!r}, "serve", "--check", "--listen", "127.0.0.1:0"]))
print("loaded" if sys.modules.get("mcp") else "not loaded")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    yield from done.stdout.splitlines()


def test_without_the_extra_the_door_is_absent_and_it_says_so(home: Path) -> None:
    """The others are served, and a line says what brings this one."""
    served_line, lacking, *rest = _check(home, "sys.modules['mcp'] = None")
    assert re.match(r"would serve /custody/1, /healthz, /metrics, /sync/1, /rpc, / at ", served_line)
    assert lacking == "/mcp needs the extra `mcp`: pip install 'muniment[mcp]'"
    assert rest == ["0", "not loaded"]
    assert absent(["/mcp"]) == ()


def test_the_sdk_comes_with_the_first_request(home: Path) -> None:
    """Opening the doors imports nothing of it."""
    served_line, *rest = _check(home, "")
    assert "/mcp" in served_line
    assert rest == ["0", "not loaded"]


def test_hostile_bodies_break_nothing(home: Path, tmp_path: Path) -> None:
    """What is no call of the protocol is refused, the next call is answered, and the log has nothing but requests."""
    bearer = KINDS | {"authorization": f"Bearer {token(home, 'ava')}"}
    bodies = [
        b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"query":"\\ud800"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"memory://../../etc"}}',
        b'{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":1e999,"method":"tools/list"}',
        LIST + b" " * 1_000_000,
    ]  # fmt: skip
    with program(home, tmp_path) as running:
        url = running.url
        for body in bodies:
            status, _, data = send(url, body, bearer, path="/mcp")
            assert status < 500, (body[:60], data)
            assert b"Traceback" not in data
        assert send(url, LIST, bearer, path="/mcp")[0] == 200
        assert send(url, b"{}", bearer | {"content-length": "9000000"}, path="/mcp")[0] == 413
        said = (tmp_path / "log").read_text().splitlines()
        assert [line for line in said if not line.startswith(("{", "serving ", "look at it"))] == []
