"""Skills: procedures kept step by step, as records of type `skill` (design section 11).

Names and descriptions are cheap to show; the steps are read when the skill is wanted. The steps stand in the record's
text, where recall finds them, and in its metadata, where they keep their borders.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput
from muniment.views import Record, Remembered

if TYPE_CHECKING:
    from muniment.memory import Memory

TYPE = "skill"
FIELD = "skill"  # of the metadata
PREFIX = "skill:"  # of the key: a skill that is saved again is a new version of it
_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+")


@dataclass(frozen=True, slots=True)
class Skill:
    """A procedure: its name, what it is for, its steps in order, and the record that holds it."""

    name: str
    description: str
    steps: tuple[str, ...]
    record: Record

    def to_json(self) -> dict[str, Any]:
        """The skill as `--json` prints it."""
        record = self.record
        return {
            "name": self.name, "description": self.description, "steps": list(self.steps), "id": record.id,
            "version": record.version, "source": record.source, "author": record.author,
            "author_name": record.author_name, "created_at_ms": record.created_at_ms,
        }  # fmt: skip


def key_of(name: str) -> str:
    """The record key of a skill: its name in small letters, single spaces."""
    return PREFIX + " ".join(name.casefold().split())


def text_of(description: str, steps: Sequence[str]) -> str:
    """The words that recall searches and people read."""
    lines = [f"{number}. {step}" for number, step in enumerate(steps, 1)]
    return "\n".join([*([description, ""] if description else []), *lines])


def save(memory: Memory, name: str, steps: Sequence[str], description: str = "") -> Remembered:
    """Keep a skill; the same name again makes a new version.

    Raises:
        InvalidInput | LimitExceeded: It has no name or no steps, or is too long.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As for `Memory.remember`.
    """
    name, description = " ".join(name.split()), description.strip()
    if not name:
        raise InvalidInput("a skill needs a name", "Give it a short one, such as `deploy`.")
    if isinstance(steps, str) or not all(isinstance(step, str) for step in steps):
        raise InvalidInput(f"the steps of {name[:40]!r} are no list of texts", "Give one text for each step.")
    kept = [step.strip() for step in steps]
    if not kept or not all(kept):
        raise InvalidInput(
            f"the skill {name[:40]!r} has no steps, or an empty one", "Give each step in words."
        )
    values = {"name": name, "description": description, "steps": kept}
    return memory.remember(
        text_of(description, kept), key=key_of(name), title=name, type=TYPE, metadata={FIELD: values}
    )


def of_record(record: Record) -> Skill:
    """The skill that a record holds, also one that was written by another program: its steps are its lines."""
    values = record.metadata.get(FIELD)
    values = values if isinstance(values, dict) else {}
    steps = values.get("steps")
    name, about = values.get("name"), values.get("description")
    lines = [line.strip() for line in record.text.splitlines() if line.strip()]
    if not (isinstance(steps, list) and steps and all(isinstance(step, str) for step in steps)):
        steps = [_STEP.sub("", line) for line in lines if _STEP.match(line)]
    if not isinstance(about, str):
        about = next((line for line in lines if not _STEP.match(line)), "").removeprefix("Description: ")
    if not isinstance(name, str) or not name:
        name = record.title or (record.key or record.id).removeprefix(PREFIX)
    return Skill(name, about, tuple(steps), record)


def find(memory: Memory, name: str) -> Skill:
    """The skill of that name, whatever the case; a record's id or key names it too.

    Raises:
        UnknownRecord: There is none.
        InvalidInput: The record is no skill.
        Ambiguous | NotPermitted: As their names say.
    """
    wanted = key_of(name.removeprefix(PREFIX))
    known = next((one for one in listed(memory, 1000) if key_of(one.name) == wanted), None)
    if known is not None:
        return known
    record = memory.get(name)
    if record.type != TYPE:
        raise InvalidInput(f"{name[:80]!r} is no skill but a {record.type}", "See `muniment skills list`.")
    return of_record(record)


def listed(memory: Memory, limit: int = 100) -> list[Skill]:
    """The skills of a memory, by name.

    Raises:
        InvalidInput | LimitExceeded | NotPermitted: As for `Memory.list`.
    """
    return sorted(
        map(of_record, memory.list(type=TYPE, limit=limit)), key=lambda skill: skill.name.casefold()
    )
