"""The command that destroys."""

from __future__ import annotations

from muniment.commands.context import Context
from muniment.commands.records import BANK, YES, agree
from muniment.commands.table import Command, Example, Param, Result, family


def _erase(
    context: Context,
    /,
    *,
    ref: str | None,
    key: str | None,
    version: bool,
    dry_run: bool,
    yes: bool,
    bank: str | None,
) -> Result:
    _ = context.standing_peer
    if not dry_run:
        agree(yes)
    memory = context.memory(bank, for_write=True)
    return memory.erase(ref, key=key, version=version, dry_run=dry_run)


COMMANDS = family(
    Command(
        "erase",
        "Destroys the bytes of a memory: text, title, tags, words in every index, vectors and the key of its archived "
        "text, here at once and on every peer with its next sync. All versions go, since without the newest the one "
        "before it would be shown; --version destroys only the one that is named. With --key, versions that come late "
        "from the same authors go too. The signed skeleton stays, so that the bank still proves itself.\n\n"
        "An agent erases what it wrote; an admin also what weaker keys wrote. Where neither the author nor the bank's "
        "founder erases, the memory is hidden at once and its bytes go after a week.",
        (
            Example("muniment erase draft-7 --dry-run", "what would go"),
            Example("muniment erase draft-7 --yes", "destroy a memory"),
            Example("muniment erase --key password --yes", "and late versions of it"),
        ),
        (
            Param("ref", "text", "A key, a record id or a version id", positional=True, metavar="REF"),
            Param("key", "text", "In place of REF: a key, of which late versions go too", metavar="KEY"),
            Param("version", "flag", "Only the version that REF names", False),
            Param("dry_run", "flag", "Only tell what would go", False),
            YES,
            BANK,
        ),
        "write",
        True,
        _erase,
    ),
)  # fmt: skip
