"""Results of the archive's commands as a person sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from muniment.commands.results import Listed
from muniment.surfaces.cli import plain_archive as plain
from muniment.surfaces.cli.plain_custody import LINES
from muniment.surfaces.cli.words import short_cid

NAME, QUIET, GOOD, WARN = "bold cyan", "dim", "green", "yellow"


def _report(lines: list[str], *, well: bool) -> RenderableType:
    text = Text.assemble(("● ", GOOD if well else WARN), lines[0])
    for line in lines[1:]:
        text.append(f"\n{line}", QUIET)
    return text


def _restored(records: Listed) -> RenderableType:
    return _report(plain.restored_lines(records), well=bool(records))


def _packs(packs: Listed) -> RenderableType:
    if not packs:
        return Text("No packs.", QUIET)
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style=QUIET)
    table.add_column("pack", style=NAME)
    table.add_column("size", justify="right")
    table.add_column("texts", justify="right")
    table.add_column("", style=WARN)
    for name, size, payloads, idle in plain.pack_rows(packs):
        table.add_row(short_cid(name), size, payloads, idle)
    return table


def _custody(name: str) -> Callable[[Any], RenderableType]:
    def draw(result: Any) -> RenderableType:
        lines = LINES[name](result)
        return _report(lines, well=not any("ALARM" in line for line in lines))

    return draw


DRAW_ARCHIVE: Mapping[str, Callable[[Any], RenderableType]] = {
    "erase": lambda result: _report(plain.erased_lines(result), well=bool(result.versions)),
    "archive": lambda result: _report(plain.archived_lines(result), well=bool(result.records)),
    "restore": _restored,
    "blobs list": _packs,
    **{name: _custody(name) for name in LINES},
    "blobs gc": lambda result: _report(plain.collected_lines(result), well=result.reason is None),
}
