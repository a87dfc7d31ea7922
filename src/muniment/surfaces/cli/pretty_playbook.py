"""Feedback and playbooks as a person sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muniment.commands.results import Listed
from muniment.surfaces.cli import plain_playbook as plain
from muniment.surfaces.cli.words import count, local, one_line

if TYPE_CHECKING:
    from muniment.playbook_apply import Applied
    from muniment.playbook_view import Shown

NAME, QUIET, GOOD, BAD, WARN = "bold cyan", "dim", "green", "red", "yellow"


def _shown(result: Shown) -> RenderableType:
    if not result.bullets:
        return Text("No bullets.", QUIET)
    parts: list[RenderableType] = []
    table, section = Table.grid(), None
    for bullet in result.bullets:
        if bullet.section != section:
            section = bullet.section
            table = Table.grid(padding=(0, 2))
            table.add_column(justify="right", style=GOOD, no_wrap=True)
            table.add_column(justify="right", style=BAD, no_wrap=True)
            table.add_column(overflow="fold")
            parts += [Text(("\n" if parts else "") + one_line(section, 64), NAME), table]
        words = Text(one_line(bullet.text, 2000))
        if bullet.origin != "own":
            words.append(f" ({bullet.origin})", WARN)
        if bullet.conflict:
            words.append(" conflict", WARN)
        words.append(f"\n{bullet.id}", QUIET)
        if bullet.folded:
            words.append(f" · stands for {count(len(bullet.folded), 'near-duplicate')}", QUIET)
        table.add_row(f"+{bullet.helpful}", f"−{bullet.harmful}", words)
    if result.left_out:
        parts.append(Text(f"\n{count(result.left_out, 'bullet')} left out", QUIET))
    return Group(*parts)


def _applied(result: Applied) -> RenderableType:
    return Text.assemble(("● ", WARN if result.pending else GOOD), plain.applied_lines(result))


def _proposals(found: Listed) -> RenderableType:
    if not found:
        return Text("Nothing waits.", QUIET)
    parts = []
    for one in found:
        head = Text(one_line(one.id, 128), NAME).append(f"  {local(one.proposed_at_ms)}", QUIET)
        lines = plain.proposal_lines(one).splitlines()[1:]
        parts.append(Group(head, Text(f"  by {one_line(one.author)}", QUIET), *map(Text, lines)))
    return Group(*parts)


def _dot(write: Callable[[Any], str]) -> Callable[[Any], RenderableType]:
    return lambda result: Text.assemble(("● ", GOOD), write(result))


DRAW: Mapping[str, Callable[[Any], RenderableType]] = {
    **{name: _dot(write) for name, write in plain.WRITE.items()},
    "playbook show": _shown,
    "playbook apply": _applied,
    "playbook config": lambda result: Text(plain.config_lines(result)),
    "playbook review list": _proposals,
    "playbook review accept": _applied,
}
