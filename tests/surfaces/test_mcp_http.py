"""MCP over HTTP: bearer tokens decide the agent and its rights, and nothing of one caller reaches another."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

import muniment
from muniment.peer import Peer
from muniment.surfaces.mcp import Grant, http_app

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client.streamable_http import streamable_http_client

from mcp import Client

TOKENS = {"tok-ava": Grant("ava"), "tok-look": Grant("ava", "read"), "tok-ben": Grant("ben"),
          "tok-gone": Grant("gone")}  # fmt: skip
Body = Callable[[str, Any], Awaitable[None]]


@contextlib.asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """The app on a loopback port, for as long as the block lasts."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on", ws="none"))
        task = asyncio.create_task(server.serve(sockets=[sock]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
            await task


@contextlib.asynccontextmanager
async def client(url: str, token: str, **options: Any) -> AsyncIterator[Any]:
    """The official client with a bearer token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), **options) as found,
    ):
        yield found


def run(home: Path, body: Callable[[str], Awaitable[None]], **options: Any) -> None:
    """Serve the agents of a new peer, and run a body against it."""

    async def main(peer: Peer) -> None:
        async with served(http_app(peer, TOKENS.get, **options)) as url:
            await body(url)

    with muniment.open(home) as peer:
        for name in ("ava", "ben"):
            peer.agent(name, create=True).remember(f"the colour of {name} is known", key="colour")
        asyncio.run(main(peer))


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_token_decides_whose_memory_it_is(tmp_path: Path, era: Any) -> None:
    """Two tokens, two agents, one server; no argument says otherwise."""

    async def body(url: str) -> None:
        for name in ("ava", "ben"):
            async with client(url, f"tok-{name}", mode=era) as one:
                found = await one.call_tool("recall", {"query": "colour"})
                assert f"the colour of {name}" in found.content[0].text
                made = await one.call_tool("remember", {"text": f"by {name}", "key": "by"})
                assert not made.is_error
                prompt = await one.get_prompt("recall_context", {"message": "which colour is known?"})
                assert name in prompt.messages[0].content.text

    run(tmp_path, body)
    with muniment.open(tmp_path) as peer:
        assert peer.agent("ben").get("by").text == "by ben"


def test_a_token_that_may_only_read_writes_nothing(tmp_path: Path) -> None:
    """Tools that write are neither listed nor done."""

    async def body(url: str) -> None:
        async with client(url, "tok-look") as one:
            names = {tool.name for tool in (await one.list_tools()).tools}
            assert {"recall", "history", "list_memory_banks"} <= names
            assert not names & {"remember", "forget", "save_skill", "muniment_remember", "muniment_clear"}
            for name, arguments in (("remember", {"text": "x"}), ("muniment_remember", {"text": "x"})):
                done = await one.call_tool(name, arguments)
                assert done.is_error

    run(tmp_path, body, commands=True)
    with muniment.open(tmp_path) as peer:
        assert peer.agent("ava").stats().records == 1


def test_files_keys_and_other_agents_are_not_for_callers_from_afar(tmp_path: Path) -> None:
    """Commands that touch them are not offered, even where commands are."""

    async def body(url: str) -> None:
        async with client(url, "tok-ava") as one:
            names = {tool.name for tool in (await one.list_tools()).tools}
            assert "muniment_stats" in names
            for shut in (
                "import",
                "export",
                "agent_new",
                "agent_tools",
                "credential_list",
                "key_mine",
                "mcp",
            ):
                assert f"muniment_{shut}" not in names
                assert (await one.call_tool(f"muniment_{shut}", {})).is_error

    run(tmp_path, body, commands=True)


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer nobody", "Basic dG9rLWF2YQ==", "tok-ava", "Bearer tok-ava x"],
)
def test_without_a_good_token_there_is_no_answer(tmp_path: Path, header: str | None) -> None:
    """401 with the scheme, and no word about what would be there."""

    async def body(url: str) -> None:
        headers = {} if header is None else {"Authorization": header}
        async with httpx2.AsyncClient() as http:
            for method in ("POST", "GET", "DELETE"):
                answer = await http.request(method, url, headers=headers, content=b"{}")
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"].startswith("Bearer")
                assert "ava" not in answer.text

    run(tmp_path, body)


def test_a_page_of_another_site_reaches_nothing(tmp_path: Path) -> None:
    """A foreign Host or Origin is refused, with a good token too."""

    async def body(url: str) -> None:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        kinds = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer tok-ava"}
        async with httpx2.AsyncClient(headers=kinds) as http:
            for more in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
                answer = await http.post(url, json=message, headers=more)
                assert answer.status_code in {403, 421}

    run(tmp_path, body)


def test_a_token_of_an_agent_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """It says so, and the server goes on."""

    async def body(url: str) -> None:
        with pytest.raises(Exception):  # noqa: B017 (a group of the client's task groups)
            async with client(url, "tok-gone") as one:
                await one.list_tools()
        async with client(url, "tok-ava") as one:
            assert (await one.list_tools()).tools

    run(tmp_path, body)


def test_many_callers_at_once_each_get_their_own(tmp_path: Path) -> None:
    """Eight clients of two agents, hundreds of calls: nothing is lost, nothing is mixed up."""

    async def body(url: str) -> None:
        async def one(number: int) -> None:
            name = ("ava", "ben")[number % 2]
            async with client(url, f"tok-{name}") as caller:
                for count in range(25):
                    text = f"{name} {number} {count}"
                    assert not (await caller.call_tool("remember", {"text": text})).is_error
                    found = await caller.call_tool("recall", {"query": text, "limit": 1})
                    assert found.content[0].text.startswith(f"1. {name} ")

        await asyncio.gather(*(one(number) for number in range(8)))

    run(tmp_path, body)
    with muniment.open(tmp_path) as peer:
        for name in ("ava", "ben"):
            assert peer.agent(name).stats().records == 101
            assert peer.agent(name).check() == []


def test_inside_another_app_its_lifespan_is_entered(tmp_path: Path) -> None:
    """As `muniment serve` mounts it."""
    from starlette.applications import Starlette
    from starlette.routing import Mount

    async def main(peer: Peer) -> None:
        mcp = http_app(peer, TOKENS.get)

        @contextlib.asynccontextmanager
        async def lifespan(_app: Any) -> AsyncIterator[None]:
            async with mcp.running():
                yield

        outer = Starlette(routes=[Mount("/mcp", mcp)], lifespan=lifespan)
        async with served(outer) as url, client(url + "/", "tok-ava") as one:
            assert (await one.list_tools()).tools

    with muniment.open(tmp_path) as peer:
        peer.agent("ava", create=True)
        asyncio.run(main(peer))


def test_serving_over_http_is_not_on_the_way_of_the_command_line() -> None:
    """The module that is imported for the seam brings no SDK."""
    import subprocess

    code = "import sys, muniment.surfaces.mcp; sys.exit('mcp' in sys.modules)"
    env = {"PYTHONPATH": str(Path(muniment.__path__[0]).parent)}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
