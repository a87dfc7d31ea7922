"""What coding agents keep in Markdown: `CLAUDE.md`, `AGENTS.md` and the like, and folders of single memories.

In a memory folder (`~/.claude/projects/<project>/memory/`, as Claude Code 2.x lays it out) each file is one fact with
front matter: `name`, `description`, and a `type` under `metadata` or beside them. `MEMORY.md` beside such files is
their index and is left out. Instruction files are taken section by section where they are long, like other notes,
with the tag `instructions`; what they include (`@path`) is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.portable import markdown
from muniment.portable.base import BadLine, Incoming, Item, LeftOut, Progress, label, ref, source_id, tags_of

FORMAT = "agent-files"
INDEX = "MEMORY.md"
INSTRUCTIONS = frozenset(
    ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", ".cursorrules",
     "copilot-instructions.md")
)  # fmt: skip
_HIDDEN = frozenset((".claude", ".codex", ".gemini", ".github", ".agents"))


def is_one(path: Path) -> bool:
    """Whether a file is named like one, or a folder holds one at its top."""
    if not path.is_dir():
        return path.name in INSTRUCTIONS or path.name == INDEX
    return any((path / name).is_file() for name in (*INSTRUCTIONS, INDEX))


def read(path: Path, progress: Progress | None = None) -> Iterator[Item]:
    """The memories of a file or a folder, in the order of their paths.

    Raises:
        InvalidInput | StorageError: The path is not there, or can't be read.
    """
    progress = progress or Progress()
    files = markdown.walk(path, _HIDDEN, INSTRUCTIONS) if path.is_dir() else [(path, path.name)]
    progress.total = sum(markdown.size_of(file) for file, _ in files)
    facts = {name for _, name in files if name.rsplit("/", 1)[-1] not in {*INSTRUCTIONS, INDEX}}
    for file, name in files:
        before, size = progress.done, markdown.size_of(file)
        try:
            yield from memories(name, markdown.text_of_file(file), indexed=_beside(name, facts))
        except InvalidInput as error:
            if len(files) == 1 and not path.exists():
                raise
            yield BadLine(name, error.message)
        progress.done = before + size


def _beside(name: str, facts: set[str]) -> bool:
    folder = name.rpartition("/")[0]
    return any(fact.rpartition("/")[0] == folder or fact.startswith(f"{folder}/memory/") for fact in facts)


def memories(name: str, text: str, *, indexed: bool) -> Iterator[Item]:
    """What one file says.

    Args:
        name: Its path in the folder.
        text: What is in it.
        indexed: Whether single memories lie beside it.

    Raises:
        InvalidInput: Its front matter can't be read.
    """
    base = name.rsplit("/", 1)[-1]
    if base == INDEX and indexed:
        yield LeftOut(name, "the index of the files beside it")
    elif base in INSTRUCTIONS or base == INDEX:
        tag = "instructions" if base in INSTRUCTIONS else "memory"
        for item in markdown.note(name, text):
            if isinstance(item, Incoming):
                yield replace(item, tags=tags_of([tag, *item.tags]))
            else:
                yield item
    else:
        yield _fact(name, text)


def _fact(name: str, text: str) -> Item:
    note = markdown.opened(name, text)
    if not note.body.strip():
        return LeftOut(name, "no text")
    fields = dict(note.metadata)
    inner = fields.get("metadata")
    kind = fields.pop("type", None) or (inner.get("type") if isinstance(inner, dict) else None)
    key = label(fields.pop("name", None), "") or name.rsplit("/", 1)[-1].removesuffix(".md")
    title = label(fields.pop("description", None), "") or note.title
    return Incoming(
        text=note.body.strip("\n"),
        place=name,
        key=key if len(key) <= LIMITS.key_chars else None,
        title=title[: LIMITS.title_chars],
        tags=tags_of([label(kind, ""), *markdown.tags_in(note.tags, note.body)]),
        metadata={**fields, "path": name},
        created_ms=note.created,
        source_ref=ref(FORMAT, source_id(FORMAT, name), 1),
    )
