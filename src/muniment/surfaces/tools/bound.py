"""Tools in the hands of one agent: what it is allowed, and answers that are always words."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from muniment.auto_recall import cut, neutral
from muniment.base.errors import MunimentError, NotFound
from muniment.surfaces.tools.operations import Desk
from muniment.surfaces.tools.spec import Shape, Tool, WrongCall
from muniment.surfaces.tools.words import mark, redact

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.session import Session

_LOG = logging.getLogger("muniment")
_SKILLS = 20  # named in the instructions


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call.

    Attributes:
        text: What the model reads.
        ok: False where the call could not be made; the text says why and what to do.
        data: The same as JSON, by the tool's output schema; None where `ok` is False.
        error: The name of the error, if one of ours was the reason.
    """

    text: str
    ok: bool = True
    data: dict[str, Any] | None = None
    error: str | None = None


class Kit:
    """The tools of one agent. Made by `Toolset.bind`.

    Args:
        tools: Those of the profile.
        guide: Its text for the system prompt.
        agent: Who signs and asks.
        session: The conversation that new memories belong to.
    """

    def __init__(
        self, tools: tuple[Tool, ...], guide: str, agent: Agent, session: Session | None = None
    ) -> None:
        self._tools, self._guide = tools, guide
        self.desk = Desk(agent, session)

    @property
    def agent(self) -> Agent:
        """Who signs and asks."""
        return self.desk.agent

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Those that the agent is allowed, as of now: by their own name, or by the name of what they do.

        Raises:
            MunimentError: The agent's bank can't be read.
        """
        allowed = self.agent.allowed_tools()
        if allowed is None:
            return self._tools
        return tuple(tool for tool in self._tools if tool.name in allowed or tool.operation in allowed)

    def definitions(self, shape: Shape = "openai") -> list[dict[str, Any]]:
        """The allowed tools as the API of `openai` or `anthropic` takes them.

        Raises:
            InvalidInput: There is no such shape.
            MunimentError: The agent's bank can't be read.
        """
        from muniment.surfaces.tools.toolset import check_shape

        meaning, checked = self.desk.meaning, check_shape(shape)
        return [tool.definition(checked, meaning=meaning) for tool in self.tools]

    def instructions(self) -> str:
        """Text for the system prompt: how to use memory, and the names of the skills with what each is for.

        Raises:
            MunimentError: The agent's bank can't be read.
        """
        if not self.tools:
            return ""
        skills = self.agent.skills(limit=_SKILLS)
        lines = [
            f"- {cut(neutral(one.name), 60)}: {cut(neutral(one.description), 160)}{mark(one.record)}"
            for one in skills
        ]
        return "\n".join([self._guide, *(["Skills you have kept:", *lines] if lines else [])])

    def call(self, name: str, arguments: Any = None) -> str:
        """Answer a call in words; whatever is wrong is said, never raised.

        Args:
            name: The tool.
            arguments: An object, or its JSON text as some APIs give it.
        """
        return self.answer(name, arguments).text

    def answer(self, name: str, arguments: Any = None) -> Answer:
        """The same with its data, for hosts that hand on more than text."""
        try:
            tool = self._tool(name)
            given = tool.checked(arguments)
            self._own(given)
            done = self.desk.run(tool.operation, tool.prepare(dict(given)))
            return Answer(redact(tool.text(done, given)), data=redact(tool.data(done, given)))
        except WrongCall as wrong:
            return Answer(redact(str(wrong)), ok=False, error="InvalidInput")
        except MunimentError as error:
            return Answer(redact(_for_model(error)), ok=False, error=error.name)
        except Exception as error:  # noqa: BLE001 (a model's turn must not end in a traceback)
            kind = type(error).__name__  # what it says may hold a memory or a key
            _LOG.error("a memory tool broke: %s", kind)
            return Answer(f"Memory broke on something unexpected ({kind}). Go on without it.", ok=False)

    def _tool(self, name: str) -> Tool:
        known = {tool.name: tool for tool in self.tools}
        if name in known:
            return known[name]
        near = get_close_matches(str(name), known, n=1)
        hint = f"Did you mean `{near[0]}`?" if near else f"There are: {', '.join(known) or 'none'}."
        raise WrongCall(f"There is no tool `{str(name)[:60]}`. {hint}")

    def _own(self, given: dict[str, Any]) -> None:
        """Whoever calls is who opened the memory: a DID in the arguments can only say the same."""
        if "agent_did" not in given:
            return
        if given["agent_did"] not in {None, self.agent.did}:
            raise WrongCall(
                f"`agent_did` is {str(given['agent_did'])[:80]}, but this memory is that of {self.agent.did}. "
                "Use that, or leave it out."
            )
        given["agent_did"] = self.agent.did


def _for_model(error: MunimentError) -> str:
    """An error without steps that only a person at a command line can take."""
    text = sentence(error)
    if "`muniment " not in error.next_step and "--" not in error.next_step:
        return text
    hint = " A search gives ids and keys." if isinstance(error, NotFound) else ""
    return text[: len(text) - len(error.next_step) - 1].rstrip() + hint


def sentence(error: MunimentError) -> str:
    """An error as sentences for a model: what is wrong, and the next step."""
    first = error.message[:1].upper() + error.message[1:]
    return " ".join(
        part if part.endswith((".", "?", "!")) else f"{part}." for part in (first, error.next_step) if part
    )
