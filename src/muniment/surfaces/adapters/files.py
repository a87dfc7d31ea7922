"""The memory tool of Claude over a bank: files below `/memories` are records by their path, each with its history.

Needs no package. A call comes as the API gives it, and its answer goes back as a tool result:

```python
files = MemoryFiles(agent)
reply = files.handle({"command": "view", "path": "/memories"})
{"type": "tool_result", "tool_use_id": ..., "content": reply.text, "is_error": not reply.ok}
```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from muniment.base.errors import MunimentError, UnknownRecord
from muniment.surfaces.tools.bound import sentence
from muniment.surfaces.tools.words import redact

if TYPE_CHECKING:
    from muniment.memory import Memory

ROOT = "/memories"
TAG = "memory-file"
DEFINITION = {"type": "memory_20250818", "name": "memory"}
_PAGE = 500
_LINES = 999_999
_DEPTH = 2  # levels that a listing shows
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")


class Reply(NamedTuple):
    """What the model reads, and whether it was done."""

    text: str
    ok: bool = True


class Refused(Exception):
    """A call that can't be done; the message is for the model."""


class MemoryFiles:
    """Text files of one agent's memory. Directories are there while a file is in them.

    Args:
        memory: An agent, or what it keeps in another bank: `agent.bank("team")`, whose readers share the files.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._commands: Mapping[str, tuple[Callable[..., str], tuple[str, ...]]] = {
            "view": (self.view, ("path",)),
            "create": (self.create, ("path", "file_text")),
            "str_replace": (self.str_replace, ("path", "old_str", "new_str")),
            "insert": (self.insert, ("path", "insert_line", "insert_text")),
            "delete": (self.delete, ("path",)),
            "rename": (self.rename, ("old_path", "new_path")),
        }

    def handle(self, call: Any) -> Reply:
        """Do one call; whatever is wrong is said, never raised.

        Args:
            call: The tool's input: an object with `command` and what that needs.
        """
        try:
            return Reply(redact(self._dispatch(call)))
        except Refused as refused:
            return Reply(redact(str(refused)), ok=False)
        except MunimentError as error:
            return Reply(redact(sentence(error)), ok=False)

    def _dispatch(self, call: Any) -> str:
        command = call.get("command") if isinstance(call, Mapping) else None
        if not isinstance(command, str) or command not in self._commands:
            raise Refused(f"Unknown command. There are: {', '.join(self._commands)}.")
        work, needed = self._commands[command]
        given: dict[str, Any] = {name: call.get(name) for name in needed}
        for name, value in given.items():
            if not isinstance(value, int if name == "insert_line" else str) or isinstance(value, bool):
                if name == "new_str" and value is None:  # left out: the text is taken away
                    given[name] = ""
                    continue
                raise Refused(f"The command `{command}` needs `{name}`.")
        if command == "view":
            given["view_range"] = call.get("view_range")
        return work(**given)

    # The commands

    def view(self, path: str, view_range: Any = None) -> str:
        """A file with line numbers, or a listing of a directory.

        Raises:
            Refused: There is neither.
            MunimentError: The bank can't be read.
        """
        place = _place(path)
        text = self._text(place)
        if text is None:
            return self._listing(path, place)
        lines = text.split("\n")
        if len(lines) > _LINES:
            raise Refused(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first, last = _range(view_range, len(lines))
        return f"Here's the content of {path} with line numbers:\n" + _numbered(lines, first, last)

    def create(self, path: str, file_text: str) -> str:
        """A new file.

        Raises:
            Refused: Something is there already.
            MunimentError: The bank does not take it.
        """
        place = _place(path)
        if place == ROOT or self._text(place) is not None or any(self._below(place)):
            raise Refused(f"File {path} already exists")
        self._make_way(place)
        self._put(place, file_text)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Put a text in the place of another one, which must stand there once.

        Raises:
            Refused: It does not, or there is no such file.
            MunimentError: The bank does not take it.
        """
        place = _place(path)
        text = self._file(path, place)
        count = text.count(old_str) if old_str else 0
        if count == 0:
            raise Refused(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}."
            )
        if count > 1:
            lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in _places(text, old_str))
            raise Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        changed = text.replace(old_str, new_str)
        self._put(place, changed)
        at, rows = text.count("\n", 0, text.index(old_str)), changed.split("\n")
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + _numbered(rows, max(0, at - 2), min(len(rows), at + 3))
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Put lines behind a line; behind line 0 is the beginning.

        Raises:
            Refused: There is no such line, or no such file.
            MunimentError: The bank does not take it.
        """
        place = _place(path)
        lines = self._file(path, place).split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= insert_line <= len(lines):
            raise Refused(
                f"Invalid `insert_line` parameter: {insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(insert_line, insert_text.rstrip("\n"))
        text = "\n".join(lines)
        self._put(place, text if text.endswith("\n") else text + "\n")
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Forget a file, or all in a directory; `muniment forget --undo` brings it back.

        Raises:
            Refused: There is nothing, or it is all of memory.
            MunimentError: The bank does not take it.
        """
        place = _place(path)
        if place == ROOT:
            raise Refused("Cannot delete the /memories directory itself")
        found = [place] if self._text(place) is not None else [one for one, _ in self._below(place)]
        if not found:
            raise Refused(f"The path {path} does not exist")
        for one in found:
            self._memory.forget(one)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a directory with all that is in it. Each is written anew before the old one is forgotten.

        Raises:
            Refused: There is nothing, or something where it is to go.
            MunimentError: The bank does not take it.
        """
        old, new = _place(old_path), _place(new_path)
        if old == ROOT:
            raise Refused("Cannot rename the /memories directory itself")
        if new == ROOT or self._text(new) is not None or any(self._below(new)):
            raise Refused(f"The destination {new_path} already exists")
        text = self._text(old)
        found = [(old, text)] if text is not None else list(self._below(old))
        if not found:
            raise Refused(f"The path {old_path} does not exist")
        if new.startswith(f"{old}/"):
            raise Refused(f"The path {old_path} can't be moved into itself")
        self._make_way(new)
        for one, words in found:
            self._put(new + one.removeprefix(old), words)
        for one, _ in found:
            self._memory.forget(one)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Forget all files; other memories stay.

        Raises:
            MunimentError: The bank does not take it.
        """
        for one in [place for place, _ in self._below(ROOT)]:
            self._memory.forget(one)
        return "All memory cleared"

    # Records

    def _text(self, place: str) -> str | None:
        if place == ROOT:
            return None
        try:
            record = self._memory.get(place)
        except UnknownRecord:
            return None
        return record.text if record.state == "live" else None

    def _file(self, path: str, place: str) -> str:
        text = self._text(place)
        if text is not None:
            return text
        if place == ROOT or any(self._below(place)):
            raise Refused(f"The path {path} is not a file.")
        raise Refused(f"The path {path} does not exist. Please provide a valid path.")

    def _put(self, place: str, text: str) -> None:
        self._memory.remember(text, key=place, tags=[TAG])

    def _make_way(self, place: str) -> None:
        """Refuse a place below a file."""
        above = place.rpartition("/")[0]
        while len(above) > len(ROOT):
            if self._text(above) is not None:
                raise Refused(f"The path {above} is not a directory.")
            above = above.rpartition("/")[0]

    def _below(self, place: str) -> Iterator[tuple[str, str]]:
        """The files in a directory and further down, with their texts."""
        seen: set[str] = set()
        start = 0
        while page := self._memory.list(tags=[TAG], limit=_PAGE, offset=start):
            start += len(page)
            for record in page:
                if record.key and record.key.startswith(f"{place}/") and record.key not in seen:
                    seen.add(record.key)  # two live versions of one file are one file
                    yield record.key, self._text(record.key) or ""

    def _listing(self, path: str, place: str) -> str:
        sizes: dict[str, int] = {}
        total = 0
        for one, text in self._below(place):
            parts, size = one.removeprefix(f"{place}/").split("/"), len(text.encode("utf-8", "surrogatepass"))
            total += size
            if any(part.startswith(".") or part == "node_modules" for part in parts):
                continue
            for depth in range(1, min(_DEPTH, len(parts)) + 1):
                name = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
                sizes[name] = sizes.get(name, 0) + size
        if not sizes and not total and place != ROOT and not any(self._below(place)):
            raise Refused(f"The path {path} does not exist. Please provide a valid path.")
        rows = [f"{_size(total)}\t{path}"]
        rows += [f"{_size(size)}\t{path}/{name}" for name, size in sorted(sizes.items(), key=_order)]
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items"
        return f"{head} and node_modules:\n" + "\n".join(rows)


def _order(row: tuple[str, int]) -> list[str]:
    return row[0].rstrip("/").split("/")


def _place(path: str) -> str:
    """The key of a path: below `/memories`, without a way out of it.

    Raises:
        Refused: It is none.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise Refused(f"Path must start with /memories, got: {path[:200]}")
    parts = [part for part in path.removeprefix(ROOT).split("/") if part]
    if any(_UNSAFE.search(part) or unquote(part) in {".", ".."} or "/" in unquote(part) for part in parts):
        raise Refused(f"Path {path[:200]} would escape /memories directory")
    return "/".join([ROOT, *parts])


def _range(view_range: Any, count: int) -> tuple[int, int]:
    """The first line, from 0, and the one behind the last."""
    if not (isinstance(view_range, list | tuple) and len(view_range) == 2):
        return 0, count
    first, last = view_range
    if not (isinstance(first, int) and isinstance(last, int)):
        raise Refused("`view_range` is two line numbers, such as [1, 20]; -1 is the end.")
    return max(1, first) - 1, count if last == -1 else min(count, max(0, last))


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number + 1:>6}\t{lines[number]}" for number in range(first, last))


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at != -1:
        yield at
        at = text.find(part, at + 1)


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("K", "M", "G"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.1f}".removesuffix(".0") + unit
