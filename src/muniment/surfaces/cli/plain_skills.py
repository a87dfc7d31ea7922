"""What the commands about skills and tools say, as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muniment.commands.results import AllowedTools, Listed, Printed, Served
from muniment.skills import Skill
from muniment.surfaces.cli.plain_archive import erased_lines
from muniment.surfaces.cli.words import count, one_line, shown, utc
from muniment.views import Cleared

LINE = 160


def cleared_line(result: Cleared) -> str:
    """What `clear` did."""
    many = count(result.records, "memory", "memories")
    if result.erased is not None:
        return "\n".join(erased_lines(result.erased))
    if result.undone:
        return f"{one_line(result.agent)}: {many} brought back"
    hint = "; `muniment clear --undo` brings them back" if result.records else ""
    return f"{one_line(result.agent)}: {many} forgotten{hint}"


def allowed_line(result: AllowedTools) -> str:
    """Which tools an agent has."""
    names = "all memory tools" if result.tools is None else ", ".join(result.tools) or "no memory tools"
    return f"{one_line(result.agent)}: {names}"


def skill_from(skill: Skill) -> str:
    """Who wrote a skill, where it was not the agent itself."""
    record = skill.record
    if record.source == "self":
        return ""
    return f" (from {one_line(record.author_name or record.author, 60)}, {record.source})"


def _skills(found: Listed) -> str:
    return "\n".join(map(_head, found)) or "no skills"


def _head(skill: Skill) -> str:
    about = f": {one_line(skill.description, LINE)}" if skill.description else ""
    return f"{one_line(skill.name, 60)}{about}{skill_from(skill)}"


def _skill(skill: Skill) -> str:
    steps = [f"{number}. {shown(step)}" for number, step in enumerate(skill.steps, 1)]
    return "\n".join([_head(skill), *steps, f"  {skill.record.id}  {utc(skill.record.created_at_ms)}"])


def _printed(result: Printed) -> str:
    return result.text


def _served(result: Served) -> str:
    return f"{result.what}: the client has left"


WRITE: Mapping[str, Callable[[Any], str]] = {
    "clear": cleared_line,
    "skills list": _skills,
    "skills show": _skill,
    "agent tools": allowed_line,
    "mcp": lambda result: _printed(result) if isinstance(result, Printed) else _served(result),
}
