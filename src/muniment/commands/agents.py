"""The commands about agents."""

from __future__ import annotations

from muniment.base.errors import InvalidInput
from muniment.commands.context import Context
from muniment.commands.results import AllowedTools, Listed
from muniment.commands.table import Command, Example, Param, Result, family


def _new(context: Context, /, *, name: str, controller: str | None) -> Result:
    agent = context.peer.new_agent(name, controller=controller)
    return context.peer.agent_info(agent.name)


def _list(context: Context, /) -> Result:
    return Listed("agents", context.standing_peer.agents())


def _show(context: Context, /, *, name: str | None) -> Result:
    if name is None:
        name = context.agent().name
    return context.standing_peer.agent_info(name)


def _tools(context: Context, /, *, only: tuple[str, ...], none: bool, all: bool) -> Result:  # noqa: A002
    if sum((bool(only), none, all)) > 1:
        raise InvalidInput("--only, --none and --all exclude each other", "Say one of them.")
    _ = context.standing_peer
    agent = context.agent(for_write=True)
    if only or none or all:
        return AllowedTools(agent.name, agent.allow_tools(None if all else only))
    return AllowedTools(agent.name, agent.allowed_tools())


COMMANDS = family(
    Command(
        "agent new",
        "An agent is a key that signs what it remembers. It gets a bank of its own, founded by its controller: the "
        "owner key of this installation, or the key that is named.",
        (
            Example("muniment agent new ava", "make an agent"),
            Example("muniment --agent ava remember 'Hello'", "and let it act"),
        ),
        (
            Param("name", "text", "What to call it here", required=True, positional=True, metavar="NAME"),
            Param(
                "controller",
                "text",
                "The key that owns it, if not the owner of this installation",
                metavar="DID",
            ),
        ),
        "none",
        True,
        _new,
    ),
    Command(
        "agent list",
        "Lists each agent with its key and how many memories it has.",
        (Example("muniment agent list", "who is here"),),
        (),
        "none",
        False,
        _list,
    ),
    Command(
        "agent show",
        "Shows the agent's name, key, controller and bank. Without a name: the agent that would act.",
        (Example("muniment agent show ava", "its keys"),),
        (Param("name", "text", "The agent's name", positional=True, metavar="NAME"),),
        "none",
        False,
        _show,
    ),
    Command(
        "agent tools",
        "A model that acts for the agent has all memory tools, unless it is said which. What is said stands in the "
        "agent's own bank, signed. Without an option: shows what holds.",
        (
            Example("muniment agent tools", "what it has"),
            Example("muniment agent tools --only recall --only history", "it may look, not write"),
            Example("muniment agent tools --all", "take that back"),
        ),
        (
            Param("only", "text", "It has this tool; several: these, and no other", (), repeatable=True,
                  metavar="TOOL"),
            Param("none", "flag", "It has no memory tools", False),
            Param("all", "flag", "It has all of them again", False),
        ),
        "write",
        True,
        _tools,
    ),
)  # fmt: skip
