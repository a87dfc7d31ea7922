"""The profiles: one set of tools at a time, each with the names and schemas that its users know."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput
from muniment.commands import nearest
from muniment.surfaces.tools.bound import Kit
from muniment.surfaces.tools.spec import Shape, Tool

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.session import Session

# Profile -> the module that holds it: only the one that is used is loaded.
_MODULES = {"muniment": "own", "chaz": "chaz", "chatty": "chatty", "tenzro": "tenzro"}
PROFILES = tuple(_MODULES)


class Toolset:
    """The tools of one profile. Made by `tools`.

    Attributes:
        profile: Its name.
        tools: All of its tools that can be offered here.
        instructions: Text for the system prompt.
    """

    def __init__(self, profile: str, tools: tuple[Tool, ...], instructions: str) -> None:
        self.profile, self.tools, self.instructions = profile, tools, instructions

    def __repr__(self) -> str:
        return f"Toolset({self.profile!r})"

    def definitions(self, shape: Shape = "openai") -> list[dict[str, Any]]:
        """All tools as the API of `openai` or `anthropic` takes them.

        Raises:
            InvalidInput: There is no such shape.
        """
        return [tool.definition(check_shape(shape)) for tool in self.tools]

    def bind(self, agent: Agent, session: Session | None = None) -> Kit:
        """The tools of an agent: those that it is allowed, answering from its memory.

        Args:
            agent: Who signs and asks; no argument of a call says otherwise.
            session: The conversation that new memories belong to.
        """
        return Kit(self.tools, self.instructions, agent, session)


def tools(profile: str = "muniment") -> Toolset:
    """The memory tools, as a profile names them.

    Args:
        profile: `muniment`, or that of an ancestor with its exact names, schemas and defaults: `chaz`, `chatty`,
            `tenzro`. Use one at a time.

    Raises:
        InvalidInput: There is no such profile.
    """
    module = _module(profile)
    return Toolset(profile, module.TOOLS, module.INSTRUCTIONS)


def instructions(profile: str = "muniment") -> str:
    """What a system prompt has to say about a profile's tools.

    Raises:
        InvalidInput: There is no such profile.
    """
    text: str = _module(profile).INSTRUCTIONS
    return text


def check_shape(shape: str) -> Shape:
    """One of the shapes that APIs take.

    Raises:
        InvalidInput: It is none.
    """
    if shape == "openai":
        return "openai"
    if shape == "anthropic":
        return "anthropic"
    raise InvalidInput(f"there is no shape {shape[:40]!r}", "There are openai and anthropic.")


def _module(profile: str) -> Any:
    if profile not in _MODULES:
        near = nearest(str(profile), list(_MODULES))
        hint = f"Did you mean `{near}`?" if near else f"There are {', '.join(_MODULES)}."
        raise InvalidInput(f"there is no profile {str(profile)[:40]!r}", hint)
    return importlib.import_module(f"muniment.surfaces.tools.{_MODULES[profile]}")
