"""The memory tool of Claude for Anthropic's SDK (extra `anthropic`): files of a bank, run by its tool runner.

```python
from muniment.surfaces.adapters.anthropic import MunimentMemoryTool

runner = client.beta.messages.tool_runner(..., tools=[MunimentMemoryTool(peer.agent("ava"))])
```
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from muniment.base.errors import MissingExtra, MunimentError
from muniment.surfaces.adapters.files import MemoryFiles, Refused
from muniment.surfaces.tools.bound import sentence
from muniment.surfaces.tools.words import redact

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as error:
    raise MissingExtra("anthropic", "the memory tool for Anthropic's SDK") from error

if TYPE_CHECKING:
    from muniment.memory import Memory


class MunimentMemoryTool(BetaAbstractMemoryTool):
    """`MemoryFiles` for the SDK: what can't be done is a `ToolError`, which the model reads.

    Args:
        memory: An agent, or what it keeps in another bank.
        cache_control: As for the SDK.
    """

    def __init__(
        self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = MemoryFiles(memory)

    def call(self, input: object) -> str:  # noqa: A002 - the SDK's word
        """Do a call as the model gave it.

        Raises:
            ToolError: It can't be done.
        """
        reply = self._files.handle(input)
        if not reply.ok:
            raise ToolError(reply.text)
        return reply.text

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with line numbers, or a listing."""
        return _done(lambda: self._files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return _done(lambda: self._files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """A text in the place of another one."""
        return _done(lambda: self._files.str_replace(command.path, command.old_str, command.new_str))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Lines behind a line."""
        return _done(lambda: self._files.insert(command.path, command.insert_line, command.insert_text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """A file or a directory less."""
        return _done(lambda: self._files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Another path."""
        return _done(lambda: self._files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Forget all files; other memories stay."""
        return _done(self._files.clear)


def _done(work: Callable[[], Any]) -> str:
    try:
        return redact(str(work()))
    except Refused as refused:
        raise ToolError(redact(str(refused))) from None
    except MunimentError as error:
        raise ToolError(redact(sentence(error))) from error
