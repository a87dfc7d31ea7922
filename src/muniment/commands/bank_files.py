"""The command that carries a whole bank out; `import` takes such a file in."""

from __future__ import annotations

from pathlib import Path

from muniment.commands.context import Context
from muniment.commands.table import Command, Example, Param, Result, family


def _export(context: Context, /, *, bank: str, path: str | Path) -> Result:
    memory = context.memory(bank)
    with context.watch("Exporting", "entries") as tick:
        return memory.export_bank(path, progress=tick)


COMMANDS = family(
    Command(
        "bank export",
        "One file (CARv1) with every signed entry and every sealed body, under a manifest that the agent's key signs. "
        "Anybody can prove it with `muniment verify FILE`, offline and without a key; only the bank's readers can read "
        "it. `muniment import FILE` takes it in.",
        (
            Example("muniment bank export ava ava.car", "the memory of the agent ava"),
            Example("muniment verify ava.car", "what its receiver does first"),
        ),
        (
            Param("bank", "text", "The bank, by id or name; an agent's own bank has its name", required=True,
                  positional=True, metavar="BANK"),
            Param("path", "path", "The file to write", required=True, positional=True, metavar="FILE"),
        ),
        "read",
        False,
        _export,
    ),
)  # fmt: skip
