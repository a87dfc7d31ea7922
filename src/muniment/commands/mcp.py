"""The command that serves memory over the Model Context Protocol."""

from __future__ import annotations

from muniment.commands.context import Context
from muniment.commands.mcp_config import CLIENTS, configuration
from muniment.commands.results import Printed, Served
from muniment.commands.table import Command, Example, Param, Result, family

PROFILES = ("muniment", "chaz", "chatty", "tenzro")


def _mcp(
    context: Context, /, *, profile: str, commands: bool, print_config: str | None, session: str | None
) -> Result:
    if print_config is not None:
        return Printed(*configuration(print_config, context.home, context.agent_name, profile))
    context.attend("mcp", profile=profile, commands=commands, session=session)
    return Served("mcp")


COMMANDS = family(
    Command(
        "mcp",
        "Speaks MCP on standard input and output: for programs such as Claude Code, Claude Desktop, Cursor and VS "
        "Code, which start it themselves. The agent is chosen by --agent, never by the model. Needs the extra `mcp`.",
        (
            Example("muniment mcp --agent ava", "what a client starts"),
            Example("muniment mcp --print-config claude-code", "how to tell the client"),
        ),
        (
            Param("profile", "text", "Names and shapes of the tools", "muniment", choices=PROFILES, metavar="PROFILE"),
            Param("commands", "flag", "Offer every command as a tool too, those that hide or destroy only after a "
                  "person agreed", False),
            Param("session", "text", "The conversation whose attached banks `recall_context` searches", metavar="NAME"),
            Param("print_config", "text", "Print the configuration of this client instead of serving",
                  choices=CLIENTS, metavar="CLIENT"),
        ),
        "read",
        True,
        _mcp,
        local=True,
    ),
)  # fmt: skip
