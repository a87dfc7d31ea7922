"""`muniment mcp` as clients meet it: the official client over standard input and output, in both of its eras."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.base.errors import MissingExtra

pytest.importorskip("mcp", reason="needs the extra mcp")

from jsonschema import Draft202012Validator

from mcp import MCPError, types

SOURCE = str(Path(muniment.__path__[0]).parent)


@asynccontextmanager
async def stdio(home: Path, *words: str, **options: Any) -> AsyncIterator[Any]:
    """A client whose server is a program of its own."""
    from mcp.client.stdio import stdio_client

    from mcp import Client, StdioServerParameters

    path = os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")])
    server = StdioServerParameters(
        command=sys.executable,
        args=["-W", "ignore", "-m", "muniment", "--home", str(home), "mcp", *words],
        env={**os.environ, "PYTHONPATH": path},
    )
    async with Client(stdio_client(server), **options) as client:
        yield client


def talk(home: Path, body: Callable[[Any], Awaitable[None]], *words: str, **options: Any) -> None:
    """Run a body with such a client."""

    async def main() -> None:
        async with stdio(home, *words, **options) as client:
            await body(client)

    asyncio.run(main())


async def said(client: Any, tool: str, **arguments: Any) -> Any:
    """A call's result; its words are `.content[0].text`."""
    return await client.call_tool(tool, arguments)


ERAS = ("auto", "legacy")
EXACT = {"recall": (True, False), "list_memory_banks": (True, False), "history": (True, False),
         "remember": (False, False), "save_skill": (False, False), "forget": (False, True)}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with an agent that knows how to deploy."""
    with muniment.open(tmp_path / "peer") as peer:
        ava = peer.agent("ava", create=True)
        ava.remember("The deploy window is Friday at ten", key="deploy")
        ava.save_skill("ship", ["Build", "Copy"], "Put a release on prod")
    return tmp_path / "peer"


@pytest.mark.parametrize("era", ERAS)
def test_a_client_of_either_era_uses_everything(home: Path, era: Any) -> None:
    """Tools, resources, prompt and instructions."""

    async def body(client: Any) -> None:
        assert "recall" in client.instructions
        assert "- ship: Put a release on prod" in client.instructions
        made = await said(client, "remember", text="Tea is green", key="tea")
        assert made.structured_content["created"] is True
        assert made.content[0].text == f"remembered, id {made.structured_content['id']}"
        found = await said(client, "recall", query="green tea")
        assert "Tea is green" in found.content[0].text
        page = await client.list_resources()
        row = next(one for one in page.resources if one.name == "tea")
        read = await client.read_resource(row.uri)
        assert read.contents[0].text.startswith("[tea] Tea is green")
        prompt = await client.get_prompt("recall_context", {"message": "when is the deploy window?"})
        block = "## Relevant Memories\n- [deploy]: The deploy window is Friday at ten"
        assert prompt.messages[0].content.text == block
        empty = await client.get_prompt("recall_context", {"message": "weather in Lisbon?"})
        assert "knows nothing" in empty.messages[0].content.text
        assert len((await client.list_prompts()).prompts) == 1
        assert len((await client.list_resource_templates()).resource_templates) == 1

    talk(home, body, mode=era)
    with muniment.open(home) as peer:
        assert peer.agent("ava").get("tea").source == "self"


def test_the_hints_are_true_and_answers_fit_their_schemas(home: Path) -> None:
    """What only reads says so, what hides says so; each answer is what its output schema promises."""
    calls = {
        "remember": {"text": "x"},
        "recall": {"query": "deploy"},
        "list_memory_banks": {},
        "save_skill": {"name": "a", "description": "b", "steps": ["c"]},
        "history": {"ref": "deploy"},
        "forget": {"ref": "deploy"},
    }

    async def body(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == set(EXACT)
        for tool in tools:
            hints = tool.annotations
            assert (hints.read_only_hint, hints.destructive_hint) == EXACT[tool.name]
            assert hints.idempotent_hint is True
            assert hints.open_world_hint is False
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema)
        for name, arguments in calls.items():
            done = await client.call_tool(name, arguments)
            assert not done.is_error, done.content[0].text
            schema = next(tool.output_schema for tool in tools if tool.name == name)
            Draft202012Validator(schema).validate(done.structured_content)

    talk(home, body)


@pytest.mark.parametrize("profile", ["chaz", "chatty", "tenzro"])
def test_the_ancestors_profiles_fit_their_schemas(home: Path, profile: str) -> None:
    """Each by its own tool names."""
    calls: dict[str, dict[str, dict[str, Any]]] = {
        "chaz": {"remember": {"key": "k", "value": "v"}, "recall": {"query": "k"}, "list_memory_banks": {}},
        "chatty": {
            "remember": {"content": "v", "title": "", "tags": ""},
            "search_memory": {"query": "v", "top_k": 5},
            "save_skill": {"name": "a", "description": "b", "steps": ["c"]},
            "read_skill": {"name": "ship"},
        },
        "tenzro": {"memory_grant": {"text": "v", "source": "tool"}, "memory_recall": {"query": "v"}},
    }

    async def body(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name, arguments in calls[profile].items():
            done = await client.call_tool(name, arguments)
            assert not done.is_error, done.content[0].text
            Draft202012Validator(tools[name].output_schema).validate(done.structured_content)

    talk(home, body, "--profile", profile)


def test_wrong_calls_are_answers_that_a_model_can_act_on(home: Path) -> None:
    """A result with `isError`, never a protocol error that ends the turn."""

    async def body(client: Any) -> None:
        for tool, arguments, words in (
            ("recall", {"query": 1}, "use a text"),
            ("recal", {}, "Did you mean `recall`?"),
            ("history", {"ref": "nothing"}, "No record"),
            ("muniment_stats", {}, "There is no tool"),
        ):
            done = await client.call_tool(tool, arguments)
            assert done.is_error
            assert words in done.content[0].text
        for uri in ("memory://x/y", "file:///etc/passwd", f"memory://did:key:z6Mk/{'0' * 36}"):
            with pytest.raises(MCPError, match="No record stands at that address"):
                await client.read_resource(uri)
        with pytest.raises(MCPError, match="needs `message`"):
            await client.get_prompt("recall_context", {})

    talk(home, body)


def test_other_agents_records_are_not_to_be_read(home: Path) -> None:
    """An address of another agent's memory looks like one that leads nowhere, until it is granted."""
    from muniment.testing.shared import SharedBank

    with muniment.open(home) as peer:
        ben = peer.agent("ben", create=True)
        made = ben.remember("the secret of ben")
        uri = f"memory://{ben.did}/{made.id}"

    async def shut(client: Any) -> None:
        with pytest.raises(MCPError, match="No record stands at that address"):
            await client.read_resource(uri)

    async def opened(client: Any) -> None:
        read = await client.read_resource(uri)
        assert "the secret of ben (from ben, peer)" in read.contents[0].text

    talk(home, shut, "--agent", "ava")
    with muniment.open(home) as peer:
        SharedBank.of(peer, peer.agent("ben")).grant(peer.agent("ava"), "read")
    talk(home, opened, "--agent", "ava")


def test_an_agent_has_the_tools_that_it_is_allowed(home: Path) -> None:
    """Others are neither listed nor answered; commands neither."""
    with muniment.open(home) as peer:
        peer.agent("ava").allow_tools(["recall"])

    async def body(client: Any) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["recall"]
        assert (await said(client, "remember", text="x")).is_error
        assert (await said(client, "muniment_remember", text="x")).is_error

    talk(home, body, "--commands")


def test_resources_come_in_pages(home: Path) -> None:
    """Newest first, each record once."""
    with muniment.open(home) as peer:
        for number in range(60):
            peer.agent("ava").remember(f"note {number}")

    async def body(client: Any) -> None:
        seen, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            seen += [one.uri for one in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(seen) == len(set(seen)) == 62

    talk(home, body)


# Commands as tools


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("answer", "gone"), [("accept", True), ("wrong", False), ("decline", False)])
def test_a_person_is_asked_before_everything_is_hidden(home: Path, era: Any, answer: str, gone: bool) -> None:
    """Only the typed word agrees."""
    asked: list[str] = []

    async def person(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        if answer == "decline":
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"word": "clear" if answer == "accept" else "yes"})

    async def body(client: Any) -> None:
        done = await said(client, "muniment_clear")
        assert done.is_error is not gone
        assert len(asked) == 1
        assert "`clear`" in asked[0]
        undone = await said(client, "muniment_clear", undo=True)
        assert undone.is_error is not gone
        assert len(asked) == 1

    talk(home, body, "--commands", mode=era, elicitation_callback=person)


def test_a_client_that_cannot_ask_a_person_hides_nothing(home: Path) -> None:
    """It is told where it can be done."""

    async def body(client: Any) -> None:
        done = await said(client, "muniment_clear")
        assert done.is_error
        assert "command line" in done.content[0].text

    talk(home, body, "--commands")
    with muniment.open(home) as peer:
        assert peer.agent("ava").stats().records == 2


def test_long_work_reports_how_far_it_is(home: Path) -> None:
    """A check tells its steps, the last one too."""
    seen: list[tuple[float, float | None]] = []

    async def heard(done: float, total: float | None, _message: str | None) -> None:
        seen.append((done, total))

    async def body(client: Any) -> None:
        done = await client.call_tool("muniment_check", {}, progress_callback=heard)
        assert done.structured_content["ok"] is True

    talk(home, body, "--commands")
    assert seen
    assert seen[-1][0] == seen[-1][1]


# Many servers


def test_several_servers_on_one_folder_lose_nothing(home: Path) -> None:
    """Four at once with hundreds of calls each: every acknowledged memory is there, and the bank is whole."""
    servers, calls = 4, 150

    async def one(name: int) -> list[str]:
        kept = []
        async with stdio(home) as client:
            for number in range(calls):
                done = await said(client, "remember", text=f"server{name}note{number}")
                assert not done.is_error, done.content[0].text
                kept.append(done.structured_content["id"])
                if number % 50 == 0:
                    found = await said(client, "recall", query=f"server{name}note{number}", limit=1)
                    assert f"server{name}note{number}" in found.content[0].text
        return kept

    async def main() -> list[list[str]]:
        return await asyncio.gather(*(one(name) for name in range(servers)))

    kept = {found for row in asyncio.run(main()) for found in row}
    assert len(kept) == servers * calls
    with muniment.open(home) as peer:
        ava = peer.agent("ava")
        assert ava.stats().records == servers * calls + 2
        assert all(ava.get(found).state == "live" for found in list(kept)[::37])
        assert ava.check() == []


def test_a_server_that_is_killed_loses_nothing_that_it_answered(home: Path) -> None:
    """What the client was told is kept is there."""
    path = os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "muniment", "--home", str(home), "mcp"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def ask(number: int, method: str, params: dict[str, Any]) -> Any:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        about = {"name": "test", "version": "1"}
        ask(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        done = ask(1, "tools/call", {"name": "remember", "arguments": {"text": "said", "key": "said"}})
        assert done["result"]["structuredContent"]["created"] is True
        server.kill()
    with muniment.open(home) as peer:
        assert peer.agent("ava").get("said").text == "said"
        assert peer.agent("ava").check() == []


def test_standard_output_carries_the_protocol_and_nothing_else(home: Path) -> None:
    """Each line is JSON, also when the client leaves; the exit code is 0."""
    path = os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")])
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "muniment", "--home", str(home), "mcp"],
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"


def test_without_the_extra_it_says_which_is_missing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the extra, and how to install it."""
    from muniment.surfaces import mcp

    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "muniment.surfaces.mcp.server", raising=False)
    with pytest.raises(MissingExtra, match=r"muniment\[mcp\]"):
        mcp.http_app(None, lambda _: None)  # type: ignore[arg-type]


# Clients


@pytest.mark.parametrize("client", ["claude-code", "claude-desktop", "cursor", "vscode"])
def test_the_printed_configuration_starts_this_agents_server(home: Path, client: str) -> None:
    """Its JSON holds the command, an absolute home and the agent; `--json` gives it alone."""
    from muniment.commands import Context, invoke

    with Context(os.path.relpath(home), "ava") as context:
        result: Any = invoke("mcp", context, {"print_config": client, "profile": "chaz"})
    value = result.to_json()
    server = value["servers" if client == "vscode" else "mcpServers"]["muniment"]
    assert server["command"] == "muniment"
    assert server["args"] == ["mcp", "--home", str(home), "--agent", "ava", "--profile", "chaz"]
    assert (
        json.loads("\n".join(line for line in result.text.splitlines() if not line.startswith("#"))) == value
    )


def test_the_inspector_sees_the_tools(home: Path, tmp_path: Path) -> None:
    """The protocol's own inspector, from its command line."""
    installed = Path(sys.prefix, "inspector", "node_modules", ".bin")  # by `make test`, where there is npm
    inspector = shutil.which("mcp-inspector", path=os.pathsep.join([str(installed), os.environ["PATH"]]))
    if inspector is None:
        pytest.skip("needs the MCP inspector")
    path = os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")])
    server = [sys.executable, "-W", "ignore", "-m", "muniment", "--home", str(home), "mcp"]
    done = subprocess.run(
        [inspector, "--cli", *server, "--method", "tools/list"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {tool["name"] for tool in json.loads(done.stdout)["tools"]} == set(EXACT)
