"""The command line: `muniment`.

It translates words into the parameters of a command, calls it, and shows what came back: tables and colours to a
person, plain lines to a program, JSON to whoever says `--json`. Exit codes: those of `muniment.base.errors`; 1
where a check found something, 70 for a bug, 130 when interrupted, 141 when the reader of the output is gone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from muniment.base.errors import InvalidInput, MunimentError
from muniment.surfaces.cli.output import Output, OutputClosed, silence

__all__ = ["main"]

BUG, INTERRUPTED, READER_GONE = 70, 130, 141


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code and raises nothing.

    Args:
        args: The words after the program's name; those of this process if left out.
    """
    words = list(sys.argv[1:] if args is None else args)
    # numpy starts a thread for each core when it is imported, a third of a cold start; one command needs none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    output = Output()
    try:
        return _run(words, output)
    except OutputClosed:
        silence()
        return READER_GONE
    except MunimentError as error:
        return _failed(error, words, output)
    except (KeyboardInterrupt, EOFError):
        _say(output, "")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 (the last door: whatever it is, nothing of it may spill)
        return _bug(error, output)


def _run(words: list[str], output: Output) -> int:
    import click

    from muniment.surfaces.cli.app import root
    from muniment.surfaces.cli.build import usage_words

    try:
        code = root().main(words, prog_name="muniment", standalone_mode=False)
        output.flush()
    except click.UsageError as error:
        raise InvalidInput(*usage_words(error)) from error
    except click.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as error:
        # How click ends after completing words for a shell, and where its own help had no reader.
        if error.code:
            raise OutputClosed from None
        return 0
    return code if isinstance(code, int) else 0


def _failed(error: MunimentError, words: list[str], output: Output) -> int:
    from muniment.surfaces.cli.words import one_line

    if os.environ.get("MUNIMENT_DEBUG"):
        _traceback(output)
    options = words[: words.index("--")] if "--" in words else words
    if "--json" in options:
        value = {
            "error": error.name,
            "message": error.message,
            "next_step": error.next_step,
            "exit_code": error.exit_code,
        }
        _say(output, value)
        return error.exit_code
    label = "error:"
    if output.person_at_stderr and not os.environ.get("NO_COLOR"):
        label = f"\x1b[1;31m{label}\x1b[0m"
    lines = [f"{label} {one_line(error.message)}"]
    lines += [f"       {one_line(line)}" for line in error.next_step.splitlines()]
    _say(output, "\n".join(lines))
    return error.exit_code


def _bug(error: Exception, output: Output) -> int:
    # What the exception says may hold a memory or a key, so only its kind is told.
    if os.environ.get("MUNIMENT_DEBUG"):
        _traceback(output)
    _say(
        output,
        f"error: muniment broke on something that it did not expect ({type(error).__name__}); this is a bug\n"
        "       Set MUNIMENT_DEBUG=1 to see where, and please report it.",
    )
    return BUG


def _traceback(output: Output) -> None:
    import traceback

    from muniment.surfaces.cli.words import shown

    _say(output, shown(traceback.format_exc()))


def _say(output: Output, what: object) -> None:
    """Tell on standard error; where that is closed too, there is nobody to tell."""
    try:
        if isinstance(what, str):
            output.error(what)
        else:
            output.json(what, to_stderr=True)
    except (MunimentError, OutputClosed):
        silence()
