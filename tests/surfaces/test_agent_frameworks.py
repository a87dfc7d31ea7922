"""Memory inside the OpenAI Agents SDK and Pydantic AI: their own scripted models call the tools of a real memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.agent import Agent
from muniment.base.errors import InvalidInput

from .scripted import scripted

TOOLS = {"remember", "recall", "list_memory_banks", "save_skill", "forget", "history"}
KEPT = {"text": "Kim's workshop is in Bergen", "key": "kim.workshop"}


@pytest.fixture
def ava(tmp_path: Path) -> Iterator[Agent]:
    """An agent with an empty memory."""
    with muniment.open(tmp_path / "home") as peer:
        yield peer.agent("ava", create=True)


# OpenAI Agents SDK


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The SDK, which reports to nobody."""
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    found = pytest.importorskip("agents", reason="needs the extra openai-agents")
    found.set_tracing_disabled(True)
    return found


def run(sdk: Any, *given: Any, **options: Any) -> Any:
    """Run an agent of the SDK to its end."""
    return asyncio.run(sdk.Runner.run(*given, **options))


def test_a_scripted_model_keeps_and_finds(ava: Agent, sdk: Any) -> None:
    """Calls of the SDK's runner are done by the memory; a wrong call is an answer and does not end the run."""
    from agents.testing import ScriptedModel, assistant_message, function_call

    from muniment.surfaces.adapters.openai_agents import instructions, memory_tools

    ava.save_skill("deploy", ["build", "copy"], "how we deploy")
    session = ava.session("chat")
    model = ScriptedModel(
        [
            [function_call("remember", KEPT, call_id="c1")],
            [function_call("recall", {"query": "workshop", "limit": "many"}, call_id="c2")],
            [function_call("recall", {"query": "workshop"}, call_id="c3")],
            [assistant_message("In Bergen.")],
        ]
    )
    agent = sdk.Agent(
        name="Ava", model=model, tools=memory_tools(ava, session=session), instructions=instructions(ava)
    )
    result = run(sdk, agent, "Kim's workshop is in Bergen.")
    model.assert_complete()
    assert result.final_output == "In Bergen."
    assert "deploy" in model.calls[0].system_instructions
    assert {tool.name for tool in model.calls[0].tools} == TOOLS
    said = {item["call_id"]: item["output"] for item in result.to_input_list() if "output" in item}
    assert "whole number" in said["c2"]
    assert "Bergen" in said["c3"]
    assert ava.get("kim.workshop").session == "chat"


def test_only_allowed_tools_are_given(ava: Agent, sdk: Any) -> None:
    """As the agent's settings say; a profile has its own names."""
    from muniment.surfaces.adapters.openai_agents import memory_tools

    names = {tool.name for tool in memory_tools(ava, profile="tenzro")}
    assert {"memory_grant", "memory_recall"} <= names
    ava.allow_tools(["recall"])
    assert [tool.name for tool in memory_tools(ava)] == ["recall"]
    with pytest.raises(InvalidInput):
        memory_tools(ava, profile="nobody's")


def test_each_turn_is_given_what_memory_knows(ava: Agent, sdk: Any) -> None:
    """The block stands behind the conversation of what is sent, and in nothing that is kept."""
    from agents.testing import ScriptedModel, assistant_message

    from muniment.surfaces.adapters.openai_agents import recalling

    ava.remember("The deploy window is Friday at noon", key="deploy window")
    model = ScriptedModel([[assistant_message("Friday.")], [assistant_message("Hello.")]])
    agent = sdk.Agent(name="Ava", model=model)
    config = sdk.RunConfig(call_model_input_filter=recalling(ava.session("chat"), budget_tokens=500))
    result = run(sdk, agent, "When is the deploy window?", run_config=config)
    last = model.calls[0].input[-1]
    assert last["role"] == "user"
    assert last["content"].startswith("## Relevant Memories")
    assert "Friday at noon" in last["content"]
    assert "Relevant Memories" not in json.dumps(result.to_input_list())
    run(
        sdk,
        agent,
        [{"role": "user", "content": [{"type": "input_text", "text": "zebra?"}]}],
        run_config=config,
    )
    assert len(model.calls[1].input) == 1
    assert ava.stats().records == 1


def test_it_works_with_a_model_behind_http(ava: Agent, sdk: Any) -> None:
    """A chat completions server on loopback: what it is sent, the call that it makes, the answer it gets."""
    openai = pytest.importorskip("openai", reason="needs the extra openai-agents")
    from muniment.surfaces.adapters.openai_agents import memory_tools

    def says(**message: Any) -> dict[str, Any]:
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": None, **message},
        }
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}  # fmt: skip

    call = {"id": "c1", "type": "function", "function": {"name": "remember", "arguments": json.dumps(KEPT)}}

    async def main(url: str) -> str:
        async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
            model = sdk.OpenAIChatCompletionsModel("m", client)
            agent = sdk.Agent(name="Ava", model=model, tools=memory_tools(ava))
            return str((await sdk.Runner.run(agent, "Kim's workshop is in Bergen.")).final_output)

    with scripted([says(tool_calls=[call]), says(content="Noted.")]) as server:
        assert asyncio.run(main(server.url)) == "Noted."
        assert {tool["function"]["name"] for tool in server.asked[0]["tools"]} == TOOLS
        assert server.asked[1]["messages"][-1]["role"] == "tool"
        assert ava.get("kim.workshop").id in server.asked[1]["messages"][-1]["content"]


# Pydantic AI


@pytest.fixture
def framework() -> Any:
    """The framework."""
    return pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")


def test_a_model_function_keeps_and_finds(ava: Agent, framework: Any) -> None:
    """Calls are done by the memory; a wrong call is an answer and costs no retry; instructions name the skills."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from muniment.surfaces.adapters.pydantic_ai import MunimentToolset

    ava.save_skill("deploy", ["build", "copy"], "how we deploy")
    calls = [("remember", KEPT), ("recall", {"limit": 3}), ("recall", {"query": "x", "limit": "x"}), ("nothing", {}),
             ("recall", {"query": "workshop"})]  # fmt: skip
    seen: list[Any] = []

    def speak(messages: Any, info: Any) -> Any:
        seen.append((messages, info))
        if len(seen) <= len(calls):
            return ModelResponse(parts=[ToolCallPart(*calls[len(seen) - 1])])
        return ModelResponse(parts=[TextPart("In Bergen.")])

    agent = framework.Agent(
        FunctionModel(speak), toolsets=[MunimentToolset(ava, session=ava.session("chat"), id="memory")]
    )
    result = asyncio.run(agent.run("Where is Kim's workshop?"))
    assert result.output == "In Bergen."
    assert {tool.name for tool in seen[0][1].function_tools} == TOOLS
    assert "deploy" in seen[0][1].instructions
    parts = [part for message in result.all_messages() for part in message.parts]
    said = [str(part.content) for part in parts if hasattr(part, "tool_call_id") and hasattr(part, "content")]
    assert "`query`" in said[1]
    assert "whole number" in said[2]
    assert "Bergen" in said[4]
    assert ava.get("kim.workshop").session == "chat"


def test_the_test_model_can_call_every_tool(ava: Agent, framework: Any) -> None:
    """Arguments made from the schemas alone are taken, or answered with what is wrong."""
    from pydantic_ai.models.test import TestModel

    from muniment.surfaces.adapters.pydantic_ai import MunimentToolset

    toolset = MunimentToolset(ava)
    assert toolset.id is None
    result = asyncio.run(framework.Agent(TestModel(), toolsets=[toolset]).run("Try everything."))
    assert set(json.loads(result.output)) == TOOLS
    assert ava.stats().records >= 1


def test_what_an_agent_is_allowed_holds_from_the_next_step_on(ava: Agent, framework: Any) -> None:
    """Tools are asked for again each time."""
    from pydantic_ai.models.test import TestModel

    from muniment.surfaces.adapters.pydantic_ai import MunimentToolset

    agent = framework.Agent(TestModel(), toolsets=[MunimentToolset(ava)])
    ava.allow_tools(["recall", "history"])
    assert set(json.loads(asyncio.run(agent.run("Try.")).output)) == {"recall", "history"}
    ava.allow_tools([])
    assert "{" not in asyncio.run(agent.run("Try.")).output
