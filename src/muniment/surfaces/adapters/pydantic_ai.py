"""Memory for Pydantic AI (extra `pydantic-ai`): its tools as a toolset.

```python
from muniment.surfaces.adapters.pydantic_ai import MunimentToolset

agent = Agent("openai:gpt-5", toolsets=[MunimentToolset(ava)])
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muniment.base.errors import MissingExtra
from muniment.surfaces.adapters.threads import Beside
from muniment.surfaces.tools import tools

try:
    from pydantic_ai import RunContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_ai.toolsets.external import TOOL_SCHEMA_VALIDATOR
except ImportError as error:
    raise MissingExtra("pydantic-ai", "a toolset for Pydantic AI") from error

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.session import Session


class MunimentToolset(AbstractToolset[Any]):
    """The tools that an agent of ours is allowed, as of each step.

    Each call answers in words, also where something is wrong with it, so no call ends a run or costs a retry. It is
    done in a thread beside the event loop. What the system prompt has to say comes with the toolset.

    Args:
        agent: Who signs and asks; no argument of a call says otherwise.
        profile: Names and shapes of the tools.
        session: The conversation that new memories belong to.
        id: Tells it from other toolsets of one agent.

    Raises:
        InvalidInput: There is no such profile.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        profile: str = "muniment",
        session: Session | None = None,
        id: str | None = None,  # noqa: A002 - the framework's word
    ) -> None:
        self._kit, self._beside, self._id = tools(profile).bind(agent, session), Beside(), id

    @property
    def id(self) -> str | None:
        """Tells it from other toolsets of one agent."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002
        """What the agent is allowed now.

        Raises:
            MunimentError: The agent's bank can't be read.
        """
        return {one.name: self._tool(one) for one in await self._beside.run(self._definitions)}

    def _definitions(self) -> list[ToolDefinition]:
        meaning = self._kit.desk.meaning
        return [
            ToolDefinition(
                name=tool.name,
                description=tool.said(meaning=meaning),
                parameters_json_schema=tool.input(),
                strict=False,  # optional arguments may be left out
            )
            for tool in self._kit.tools
        ]

    def _tool(self, definition: ToolDefinition) -> ToolsetTool[Any]:
        # Arguments are checked where they are used, with an answer that the model can act on.
        return ToolsetTool(
            toolset=self, tool_def=definition, max_retries=1, args_validator=TOOL_SCHEMA_VALIDATOR
        )

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],  # noqa: ARG002
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> str:
        """The answer in words."""
        return await self._beside.run(lambda: self._kit.call(name, tool_args))

    async def get_instructions(self, ctx: RunContext[Any]) -> str | None:  # noqa: ARG002
        """How to use memory, and the names of the agent's skills.

        Raises:
            MunimentError: The agent's bank can't be read.
        """
        return await self._beside.run(self._kit.instructions) or None
