"""The commands that take files in and write them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muniment.commands.context import Context
from muniment.commands.records import BANK
from muniment.commands.results import Exported
from muniment.commands.table import Command, Example, Param, Result, family

STREAM = "-"


def _import(context: Context, /, *, path: str | Path, format: str, on_error: str, bank: str | None) -> Result:  # noqa: A002
    agent = context.memory(bank, for_write=True)
    with context.watch("Importing", "bytes") as tick:
        return agent.import_from(path, format=format, on_error=on_error, progress=tick)


def _export(
    context: Context,
    /,
    *,
    path: str | Path,
    format: str,  # noqa: A002, ARG001 (there is one)
    bank: str | None,
) -> Result:
    agent = context.memory(bank)
    target: Any = context.stream() if str(path) == STREAM else Path(path)
    with context.watch("Exporting", "records") as tick:
        return Exported(str(path), agent.export_to(target, progress=tick))


COMMANDS = family(
    Command(
        "import",
        "Takes in our own JSON Lines with ids, times and versions; chat transcripts (message lists as OpenAI and "
        "Anthropic write them, or plain `Name: text` lines); a folder of Markdown notes, whose front matter becomes "
        "tags and metadata; and the LoCoMo and LongMemEval data sets. A message becomes a memory of type `message` "
        "with its speaker, conversation and time. Importing twice changes nothing the second time.",
        (
            Example("muniment import chat.json", "a transcript; the format is recognised"),
            Example("muniment import notes/ --format markdown", "a folder of notes"),
            Example("muniment import export.jsonl --on-error fail", "stop at the first bad line"),
        ),
        (
            Param("path", "path", "A file or a folder", required=True, positional=True, metavar="FILE|DIR"),
            Param("format", "text", "What it is", "auto", metavar="FORMAT",
                  choices=("auto", "jsonl", "chat", "markdown", "locomo", "longmemeval")),
            Param("on_error", "text", "What to do with a line that can't be taken: report it and go on, or stop",
                  "skip", choices=("skip", "fail"), metavar="CHOICE"),
            BANK,
        ),
        "write",
        True,
        _import,
    ),
    Command(
        "export",
        "Writes one JSON object a line: every version with its id, times, tags, metadata and provenance, as `import` "
        "reads it. Without a file, or with `-`, it goes to standard output.",
        (
            Example("muniment export memories.jsonl", "to a file"),
            Example("muniment export | gzip > memories.jsonl.gz", "to a pipe"),
        ),
        (
            Param("path", "path", "The file to write; `-` is standard output", STREAM, positional=True,
                  metavar="FILE"),
            Param("format", "text", "What to write", "jsonl", choices=("jsonl",), metavar="FORMAT"),
            BANK,
        ),
        "read",
        False,
        _export,
    ),
)  # fmt: skip
