"""The commands about whom an agent trusts."""

from __future__ import annotations

from typing import Any

from muniment.commands.context import Context
from muniment.commands.results import Configured
from muniment.commands.table import Command, Example, Param, Result, family

SETTINGS = ("sources", "authors", "blocked", "peer_weight", "tool_weight")


def _show(context: Context, /) -> Result:
    agent = context.agent()
    return Configured(agent.name, agent.trust().to_json())


def _set(context: Context, /, *, name: str, value: str) -> Result:
    agent = context.agent()
    changes: dict[str, Any] = {name: value}
    return Configured(agent.name, agent.configure_trust(**changes).to_json())


def _reset(context: Context, /) -> Result:
    agent = context.agent()
    return Configured(agent.name, agent.reset_trust().to_json())


COMMANDS = family(
    Command(
        "agent trust show",
        "Shows whose words may be recalled unasked, and what others' words weigh.",
        (Example("muniment agent trust show", "look"),),
        (),
        "read",
        False,
        _show,
    ),
    Command(
        "agent trust set",
        "`sources` is a list of self, controller, peer and tool; `authors` and `blocked` are lists of names or DIDs; "
        "`peer_weight` and `tool_weight` go from 0.05 to 1. The settings stand in the agent's own memory, signed.",
        (
            Example("muniment agent trust set sources self,controller", "nobody else's words come unasked"),
            Example("muniment agent trust set peer_weight 0.5", "others' words weigh half"),
        ),
        (
            Param("name", "text", "The setting", required=True, positional=True, choices=SETTINGS, metavar="NAME"),
            Param("value", "text", "Its value; a list is separated by commas", required=True, positional=True,
                  metavar="VALUE"),
        ),
        "write",
        True,
        _set,
    ),
    Command(
        "agent trust reset",
        "Takes all of these settings back to their defaults.",
        (Example("muniment agent trust reset", "trust as at first"),),
        (),
        "write",
        True,
        _reset,
    ),
)  # fmt: skip
