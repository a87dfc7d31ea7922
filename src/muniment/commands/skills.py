"""The commands about skills: procedures that are kept step by step."""

from __future__ import annotations

from muniment.base.limits import LIMITS
from muniment.commands.context import Context
from muniment.commands.records import BANK
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family

_NAME = Param("name", "text", "The skill's name", required=True, positional=True, metavar="NAME")


def _save(
    context: Context, /, *, name: str, steps: tuple[str, ...], description: str, bank: str | None
) -> Result:
    return context.memory(bank, for_write=True).save_skill(name, steps, description)


def _list(context: Context, /, *, limit: int, bank: str | None) -> Result:
    return Listed("skills", context.memory(bank).skills(limit=limit))


def _show(context: Context, /, *, name: str, bank: str | None) -> Result:
    return context.memory(bank).skill(name)


COMMANDS = family(
    Command(
        "save-skill",
        "A skill is a memory of type `skill`: a name, what it is for, and steps in order. Saved again under the same "
        "name, it is a new version; the old one stays in the history. Recall finds it like any memory.",
        (
            Example(
                "muniment save-skill deploy --description 'Put a release on prod' --step 'Build with nix' "
                "--step 'Copy to prod'",
                "two steps",
            ),
        ),
        (
            _NAME,
            Param("steps", "text", "A step; given several times, in order", (), repeatable=True, option="step",
                  metavar="TEXT"),
            Param("description", "text", "What it is for, in a sentence", "", metavar="TEXT"),
            BANK,
        ),
        "write",
        True,
        _save,
    ),
    Command(
        "skills list",
        "Names and what each is for; the steps come with `muniment skills show`.",
        (Example("muniment skills list", "what the agent knows how to do"),),
        (Param("limit", "integer", "At most so many skills", 100, short="n", minimum=1, maximum=LIMITS.recall_limit,
               metavar="N"), BANK),
        "read",
        False,
        _list,
    ),
    Command(
        "skills show",
        "Shows the steps in order, and who wrote them.",
        (Example("muniment skills show deploy", "how to deploy"),),
        (_NAME, BANK),
        "read",
        False,
        _show,
    ),
)  # fmt: skip
