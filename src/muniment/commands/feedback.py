"""The command that says of a memory whether it was of use."""

from __future__ import annotations

from muniment.commands.context import Context
from muniment.commands.records import BANK
from muniment.commands.table import Command, Example, Param, Result, family

JUDGEMENTS = ("helpful", "harmful", "neutral")


def _feedback(
    context: Context,
    /,
    *,
    ref: str,
    judgement: str,
    id: str | None,  # noqa: A002
    bank: str | None,
) -> Result:
    _ = context.standing_peer
    return context.memory(bank, for_write=True).feedback(ref, judgement, id=id)


COMMANDS = family(
    Command(
        "feedback",
        "A judgement is signed and names the version that was of use. The counts stand in `get`, `recall` and `why`; "
        "other words start anew, and a bullet of a playbook keeps its counts. With --id a judgement that is sent "
        "twice counts once, another one under the same id takes its place, and `neutral` takes it back.",
        (
            Example("muniment feedback deploy helpful", "it helped"),
            Example("muniment feedback deploy harmful --id run-17", "once, however often run 17 is tried again"),
        ),
        (
            Param("ref", "text", "A key, a record id or a version id", required=True, positional=True, metavar="REF"),
            Param("judgement", "text", "What it was", required=True, positional=True, choices=JUDGEMENTS,
                  metavar="helpful|harmful|neutral"),
            Param("id", "text", "What the judgement is named by, such as the run that it comes from", metavar="ID"),
            BANK,
        ),
        "write",
        True,
        _feedback,
    ),
)  # fmt: skip
