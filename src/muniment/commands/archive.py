"""The commands that move texts to the archive and back, and look after its packs."""

from __future__ import annotations

from typing import Any

from muniment.base.limits import LIMITS
from muniment.commands.context import Context
from muniment.commands.records import BANK, WHICH
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family

_REF = Param(
    "ref", "text", "A key, a record id or a version id", required=True, positional=True, metavar="REF"
)


def _archive(
    context: Context, /, *, metadata: dict[str, Any] | None, bank: str | None, **rest: Any
) -> Result:
    _ = context.standing_peer
    memory = context.memory(bank, for_write=True)
    with context.watch("Archiving", "memories") as tick:
        return memory.archive(metadata=metadata or None, progress=tick, **rest)


def _fetch(context: Context, /, *, ref: str, bank: str | None) -> Result:
    memory = context.memory(bank)
    with context.watch("Fetching", "chunks") as tick:
        return memory.fetch(ref, progress=tick)


def _restore(context: Context, /, *, ref: str, bank: str | None) -> Result:
    _ = context.standing_peer
    memory = context.memory(bank, for_write=True)
    with context.watch("Fetching", "chunks") as tick:
        return Listed("records", memory.restore(ref, progress=tick))


def _blobs_list(context: Context, /) -> Result:
    return Listed("packs", context.standing_peer.blobs.list())


def _blobs_gc(context: Context, /, *, dry_run: bool) -> Result:
    return context.standing_peer.blobs.collect(dry_run=dry_run)


COMMANDS = family(
    Command(
        "archive",
        "Moves texts out of the bank into packs, sealed each under a key of its own. An archived memory is still "
        "found, by its words and by what it means; its text comes back when it is asked for. Name one memory, or say "
        "by age, size, disuse or filters which ones are meant; with neither, the `archive:` block of the settings says "
        "it.\n\n"
        "Short texts stay where they are unless they are named, since what is kept to find them is hardly shorter.",
        (
            Example("muniment archive report-2024", "one memory"),
            Example("muniment archive --older-than 180d --dry-run", "what would go"),
            Example("muniment archive --older-than 180d --larger-than 4kB", "long texts of more than half a year ago"),
            Example('muniment archive --query "harbour report" --dry-run', "what a recall for these words finds"),
            Example("muniment archive --type message --unused-for 90d", "messages that nobody asked for in a season"),
        ),
        (
            Param("ref", "text", "A key, a record id or a version id", positional=True, metavar="REF"),
            Param("older_than", "text", "Only what was said longer ago, such as 180d, 12h or 1y", metavar="TIME"),
            Param("larger_than", "text", "Only texts of more bytes, such as 4096 or 4kB; 1024 if not said",
                  metavar="SIZE"),
            Param("unused_for", "text", "Only what was not recalled on this machine for so long", metavar="TIME"),
            *WHICH,
            Param("until", "time", "Only memories said before this time: ISO 8601, UTC unless it says otherwise",
                  metavar="TIME"),
            Param("query", "text", "Only memories that a recall for this text finds", metavar="TEXT"),
            Param("limit", "integer", "With --query: at most so many, the best first", 100, short="n", minimum=1,
                  maximum=LIMITS.recall_limit, metavar="N"),
            Param("dry_run", "flag", "Only tell what would be done", False),
            BANK,
        ),
        "write",
        True,
        _archive,
    ),
    Command(
        "fetch",
        "Shows an archived memory with its whole text, from a pack on this machine or from a peer that has it. "
        "Whatever comes is verified: it must be the very text that its author signed.",
        (Example("muniment fetch report-2024", "read an archived text"),),
        (_REF, BANK),
        "read",
        False,
        _fetch,
    ),
    Command(
        "restore",
        "Brings the text of an archived memory back into the bank, here and on every peer.",
        (Example("muniment restore report-2024", "take it out of the archive"),),
        (_REF, BANK),
        "write",
        True,
        _restore,
    ),
    Command(
        "blobs list",
        "Lists the packs in which archived texts lie: name, size, how many texts, and since when nothing needs them.",
        (Example("muniment blobs list", "what is there"),),
        (),
        "none",
        False,
        _blobs_list,
    ),
    Command(
        "blobs gc",
        "Takes away packs that no bank on this machine has needed for the time of grace (`archive.grace`, a week), and "
        "puts small ones together. The first run only notes what is not needed. A pack with a text that is nowhere "
        "else here is never taken away.",
        (
            Example("muniment blobs gc --dry-run", "what would go"),
            Example("muniment blobs gc", "collect"),
        ),
        (Param("dry_run", "flag", "Only tell what would be done", False),),
        "none",
        True,
        _blobs_gc,
    ),
)  # fmt: skip
