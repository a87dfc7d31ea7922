"""The commands that take files in and write them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muniment.base.errors import InvalidInput
from muniment.commands.context import Context
from muniment.commands.records import BANK
from muniment.commands.results import Exported
from muniment.commands.table import Command, Example, Param, Result, family

STREAM = "-"
# Listed here too, so that asking for help brings no importer; a test holds it against the importers' own list.
FORMATS = (
    "jsonl", "chat", "markdown", "agent-files", "memvid", "mem0", "mcp-memory", "locomo", "longmemeval",
)  # fmt: skip
CAR = "bank"


def _import(context: Context, /, *, path: str | Path, format: str, on_error: str, bank: str | None) -> Result:  # noqa: A002
    if format in {"auto", CAR} and is_bank_file(path):
        with context.watch("Taking in", "bytes") as tick:
            return context.peer.import_bank(path, progress=tick)
    if format == CAR:
        raise InvalidInput(f"{path} is no exported bank", "`muniment bank export` writes such files.")
    agent = context.memory(bank, for_write=True)
    with context.watch("Importing", "bytes") as tick:
        return agent.import_from(path, format=format, on_error=on_error, progress=tick)


def is_bank_file(path: str | Path) -> bool:
    """Whether a path leads to a file that begins as an exported bank does."""
    from muniment.portable.car import looks_like_one

    try:
        with Path(path).open("rb") as file:
            return looks_like_one(file.read(64))
    except (OSError, ValueError):
        return False  # whoever reads it says what is wrong


def _export(
    context: Context,
    /,
    *,
    path: str | Path,
    format: str,  # noqa: A002
    bank: str | None,
) -> Result:
    agent = context.memory(bank)
    target: Any = context.stream() if str(path) == STREAM else Path(path)
    with context.watch("Exporting", "records") as tick:
        return Exported(str(path), agent.export_to(target, format=format, progress=tick))


COMMANDS = family(
    Command(
        "import",
        "Takes in memories and conversations from elsewhere; what a file is, is told from its content. Known are: our "
        "own JSON Lines; chats (message lists as OpenAI and Anthropic write them, the data exports of ChatGPT "
        "and Claude as they come, zip or unpacked, and plain `Name: text` transcripts); Markdown notes; what coding "
        "agents keep (CLAUDE.md, AGENTS.md, memory folders); memvid's .mv2 files; mem0's JSON and its history.db; the "
        "graph of the MCP memory server; the LoCoMo and LongMemEval data sets; and whole banks from `bank export`, "
        "whose entries are proved one by one and keep their authors.\n\n"
        "Importing twice changes nothing the second time. The report says what was read, kept, merged and left out.",
        (
            Example("muniment import chat.json", "a transcript; the format is recognised"),
            Example("muniment import chatgpt-export.zip", "a data export, as it was sent"),
            Example("muniment import notes/ --format markdown", "a folder of notes"),
            Example("muniment import export.jsonl --on-error fail", "stop at the first bad line"),
        ),
        (
            Param("path", "path", "A file or a folder", required=True, positional=True, metavar="FILE|DIR"),
            Param("format", "text", "What it is", "auto", metavar="FORMAT",
                  choices=("auto", *FORMATS, CAR)),
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
        "reads it. `--format markdown` writes a page for people instead, of what is live. Without a file, or with `-`, "
        "it goes to standard output.",
        (
            Example("muniment export memories.jsonl", "to a file"),
            Example("muniment export --format markdown memories.md", "a page to read or print"),
            Example("muniment export | gzip > memories.jsonl.gz", "to a pipe"),
        ),
        (
            Param("path", "path", "The file to write; `-` is standard output", STREAM, positional=True,
                  metavar="FILE"),
            Param("format", "text", "What to write", "jsonl", choices=("jsonl", "markdown"), metavar="FORMAT"),
            BANK,
        ),
        "read",
        False,
        _export,
    ),
)  # fmt: skip
