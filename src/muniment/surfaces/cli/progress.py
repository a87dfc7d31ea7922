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
            if task.completed:
                parts.append(size(int(task.completed)))
            if items:
                rate = f"  {number(round(items / elapsed))}/s" if elapsed > 0.2 else ""
                parts.append(f"{number(items)} memories{rate}")
        elif task.completed:
            parts.append(f"{number(int(task.completed))} {unit}")
            if speed:
                parts.append(f"{number(round(speed))}/s")
        return Text("  ".join(parts), style="dim")


class Bar:
    """A bar that goes away when the work is done; call it to move it."""

    def __init__(self, label: str, unit: str, stream: TextIO | None) -> None:
        console = Console(file=stream, highlight=False, emoji=False, markup=False)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            _Rate(),
            TimeRemainingColumn(compact=True),
        )
        self._progress = Progress(
            *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._task = self._progress.add_task(label, total=None, unit=unit, items=0)

    def __call__(self, done: int, total: int, items: int = 0, /) -> None:
        """So much is done, of so much in all, and so many things came of it."""
        self._progress.update(self._task, completed=done, total=total or None, items=items)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Out of the way, while a question is asked."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
