"""Progress of long work, on standard error, for a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from muniment.commands.context import Tick
from muniment.surfaces.cli.words import number, size


class _Rate(ProgressColumn):
    """How fast it goes, and what came of it."""

    def render(self, task: Task) -> Text:
        """`12.3 MB/s  4,812 memories`, as far as known."""
        unit = task.fields["unit"]
        speed = task.finished_speed or task.speed or 0
        items = task.fields["items"]
        parts = []
        if unit == "bytes":
            elapsed = task.elapsed or 0
            parts.append(f"{size(int(task.completed))}")
            if items:
                rate = f"  {number(round(items / elapsed))}/s" if elapsed > 0.2 else ""
                parts.append(f"{number(items)} memories{rate}")
        else:
            parts.append(f"{number(int(task.completed))} {unit}")
            if speed:
                parts.append(f"{number(round(speed))}/s")
        return Text("  ".join(parts), style="dim")


@contextmanager
def bar(label: str, unit: str, stream: TextIO | None) -> Iterator[Tick]:
    """Show a bar that goes away when the work is done; gives the function that moves it."""
    console = Console(file=stream, highlight=False, emoji=False, markup=False)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        _Rate(),
        TimeRemainingColumn(compact=True),
    )
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        task = progress.add_task(label, total=None, unit=unit, items=0)

        def tick(done: int, total: int, items: int = 0) -> None:
            progress.update(task, completed=done, total=total or None, items=items)

        yield tick
