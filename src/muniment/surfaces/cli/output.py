"""Where all output goes: bytes that never fail to encode, JSON, and who is looking.

Nothing else in the command line writes to a stream.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from muniment.base.errors import StorageError
from muniment.surfaces.cli.words import safe_json

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class OutputClosed(Exception):
    """Whoever read the output has closed it."""


class Output:
    """Standard output and standard error of one run."""

    def __init__(self) -> None:
        self.out: TextIO | None = sys.stdout
        self.err: TextIO | None = sys.stderr

    # Who is looking

    @property
    def person(self) -> bool:
        """Whether a person looks at standard output, and can be shown more than lines."""
        return _is_terminal(self.out)

    @property
    def person_at_stderr(self) -> bool:
        """Whether a person looks at standard error."""
        return _is_terminal(self.err)

    # Writing

    def text(self, text: str) -> None:
        """Write text that is safe already to standard output, with a newline."""
        _write(self.out, text + "\n")

    def error(self, text: str) -> None:
        """Write text that is safe already to standard error, with a newline."""
        _write(self.err, text + "\n")

    def json(self, value: Any, *, to_stderr: bool = False) -> None:
        """Write a value as JSON: indented for a person, on one line for a program."""
        stream = self.err if to_stderr else self.out
        _write(stream, as_json(value, indent=_is_terminal(stream)) + "\n")

    def rich(self, shown: RenderableType) -> None:
        """Write what `rich` draws, to standard output."""
        console = self.console()
        with console.capture() as capture:
            console.print(shown)
        _write(self.out, "\n".join(line.rstrip(" ") for line in capture.get().split("\n")))

    def console(self) -> Console:
        """A console of `rich` on standard output."""
        from rich.console import Console

        return Console(file=self.out, highlight=False, emoji=False, markup=False)

    def stream(self) -> BinaryIO | None:
        """Standard output as bytes."""
        return getattr(self.out, "buffer", None)

    def flush(self) -> None:
        """Hand everything over.

        Raises:
            OutputClosed: The reader is gone.
            StorageError: It can't be written.
        """
        _write(self.out, "")


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # closed by whoever started the program
        return
    encoding = stream.encoding or "utf-8"
    data = text.encode(encoding, "backslashreplace")
    try:
        stream.flush()
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            stream.write(data.decode(encoding))
        else:
            buffer.write(data)
            buffer.flush()
        stream.flush()
    except BrokenPipeError:
        raise OutputClosed from None
    except OSError as error:
        abandon(stream)
        raise StorageError(
            f"the output can't be written: {error.strerror}", "Look at where it is sent to."
        ) from error


def _is_terminal(stream: TextIO | None) -> bool:
    if stream is None or stream.closed or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return False
    return (stream.encoding or "").lower().replace("-", "") in {"utf8", "utf8sig", "cp65001"}


def as_json(value: Any, *, indent: bool = False) -> str:
    """A value as JSON text that is safe on a terminal; lone surrogates and great numbers are no trouble."""
    import orjson

    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else 0).decode()
    except TypeError:
        import json

        # orjson takes neither lone surrogates nor integers over 64 bits.
        text = json.dumps(
            value, ensure_ascii=True, indent=2 if indent else None, separators=None if indent else (",", ":")
        )
    return safe_json(text)


def abandon(*streams: TextIO | None) -> None:
    """Point streams to nowhere, so that Python does not try again at exit with what they still hold."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        try:
            os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):  # not a file, or closed
            continue
    os.close(nowhere)


def silence() -> None:
    """Nobody reads any more: say nothing from here on."""
    abandon(sys.stdout, sys.stderr)
