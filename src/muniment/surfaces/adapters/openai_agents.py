"""Memory for the OpenAI Agents SDK (extra `openai-agents`): its tools, and what each turn recalls by itself.

```python
from muniment.surfaces.adapters.openai_agents import memory_tools, recalling

agent = Agent(name="Ava", tools=memory_tools(ava))
await Runner.run(agent, "…", run_config=RunConfig(call_model_input_filter=recalling(ava.session("chat"))))
```
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from muniment.base.errors import MissingExtra, MunimentError
from muniment.surfaces.adapters.threads import Beside
from muniment.surfaces.tools import Kit, tools

try:
    from agents import FunctionTool
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise MissingExtra("openai-agents", "tools for the OpenAI Agents SDK") from error

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.session import Session


def memory_tools(
    agent: Agent, *, profile: str = "muniment", session: Session | None = None
) -> list[FunctionTool]:
    """The tools that the agent is allowed now, as the SDK's function tools.

    Each call answers in words, also where something is wrong with it, so no call ends a run. It is done in a thread
    beside the event loop.

    Args:
        agent: Who signs and asks; no argument of a call says otherwise.
        profile: Names and shapes of the tools.
        session: The conversation that new memories belong to.

    Raises:
        InvalidInput: There is no such profile.
        MunimentError: The agent's bank can't be read.
    """
    kit, beside = tools(profile).bind(agent, session), Beside()
    return [
        FunctionTool(
            name=tool.name,
            description=tool.said(meaning=kit.desk.meaning),
            params_json_schema=tool.input(),
            on_invoke_tool=_invoke(kit, tool.name, beside),
            strict_json_schema=False,  # optional arguments may be left out
        )
        for tool in kit.tools
    ]


def instructions(agent: Agent, *, profile: str = "muniment") -> str:
    """What the system prompt says about these tools, with the agent's skills.

    Raises:
        InvalidInput | MunimentError: As for `memory_tools`.
    """
    return tools(profile).bind(agent).instructions()


def recalling(
    session: Session, *, budget_tokens: int | None = None
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """A `call_model_input_filter` that puts what memory knows of the turn behind the conversation.

    It changes only what is sent to the model: nothing of it is kept, in the SDK's session or in memory. Where memory
    knows nothing that bears on the turn, or can't be read, nothing is added.

    Args:
        session: The conversation, with the banks that are attached to it.
        budget_tokens: Tokens of the block at most.
    """
    beside = Beside()
    more = {} if budget_tokens is None else {"budget_tokens": budget_tokens}

    async def recalled(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        said = [_plain(item) for item in given.input if isinstance(item, Mapping) and _speaks(item)]
        try:
            block = await beside.run(lambda: session.context(said, **more))
        except MunimentError:
            return given
        if not block:
            return given
        return ModelInputData(
            input=[*given.input, {"role": "user", "content": block}], instructions=given.instructions
        )

    return recalled


def _invoke(kit: Kit, name: str, beside: Beside) -> Callable[[Any, str], Awaitable[str]]:
    async def invoke(_context: Any, arguments: str) -> str:
        return await beside.run(lambda: kit.call(name, arguments))

    return invoke


def _speaks(item: Mapping[str, Any]) -> bool:
    return item.get("role") in {"user", "assistant"}


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """A message of the Responses API as chat APIs have it."""
    content = item.get("content")
    if isinstance(content, list):
        texts = [
            part["text"]
            for part in content
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        ]
        content = "\n".join(texts)
    return {"role": item["role"], "content": content if isinstance(content, str) else ""}
