"""Skills and tools as a person sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muniment.commands.results import Listed
from muniment.skills import Skill
from muniment.surfaces.cli import plain_skills as plain
from muniment.surfaces.cli.words import local, one_line, shown

NAME, QUIET, GOOD, WARN = "bold cyan", "dim", "green", "yellow"


def _skills(found: Listed) -> RenderableType:
    if not found:
        return Text("No skills.", QUIET)
    table = Table.grid(padding=(0, 2))
    table.add_column(style=NAME, no_wrap=True)
    table.add_column(overflow="fold")
    for skill in found:
        words = Text(one_line(skill.description, 240)).append(plain.skill_from(skill), WARN)
        table.add_row(Text(one_line(skill.name, 60)), words)
    return table


def _skill(skill: Skill) -> RenderableType:
    head = Text(one_line(skill.name, 60), NAME).append(plain.skill_from(skill), WARN)
    steps = Table.grid(padding=(0, 2))
    steps.add_column(justify="right", style=QUIET)
    steps.add_column(overflow="fold")
    for number, step in enumerate(skill.steps, 1):
        steps.add_row(f"{number}.", Text(shown(step)))
    foot = Text(f"{local(skill.record.created_at_ms)} · {skill.record.id}", QUIET)
    about = [Text(one_line(skill.description, 400))] if skill.description else []
    return Group(head, *about, steps, foot)


def _dot(text: str) -> Text:
    return Text.assemble(("● ", GOOD), text)


DRAW: Mapping[str, Callable[[Any], RenderableType]] = {
    "clear": lambda result: _dot(plain.cleared_line(result)),
    "skills list": _skills,
    "skills show": _skill,
    "agent tools": lambda result: _dot(plain.allowed_line(result)),
    "mcp": lambda result: Text(plain.WRITE["mcp"](result)),
}
