"""Learning from what an agent did: who judges, who proposes, and what becomes of it.

A host brings a model, or a person, or rules: a *reflector* says what helped and what was learned, a *curator* says
which operations that comes to. What they say is applied by `Playbook.apply`, which asks no model; so a curator can't
rewrite a playbook, only propose changes of single bullets, and under the policy `review` not even that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from muniment.playbook_ops import Operation, Update, batch

if TYPE_CHECKING:
    from muniment.playbook import Playbook
    from muniment.playbook_apply import Applied
    from muniment.playbook_view import Shown


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an agent was asked, what came of it, and which bullets it says it used.

    Attributes:
        task: What it was to do.
        outcome: What happened: the answer, errors, what a test or a person said.
        used: Ids of bullets.
    """

    task: str
    outcome: str
    used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reflection:
    """What was seen in an attempt.

    Attributes:
        judgements: `helpful`, `harmful` or `neutral` by the id of a bullet that was used.
        insights: What was learned, each in a sentence or two.
    """

    judgements: Mapping[str, str] = field(default_factory=dict)
    insights: tuple[str, ...] = ()


class Reflector(Protocol):
    """Looks back at an attempt."""

    def reflect(self, attempt: Attempt, playbook: Shown) -> Reflection:
        """What helped, what did harm, and what was learned.

        Raises:
            ModelError: Nothing usable came of it.
        """
        ...


class Curator(Protocol):
    """Turns insights into changes of single bullets."""

    def curate(self, reflection: Reflection, playbook: Shown) -> Sequence[Operation]:
        """Operations; none if there is nothing new.

        Raises:
            ModelError: Nothing usable came of it.
        """
        ...


def learn(
    playbook: Playbook,
    attempt: Attempt,
    reflector: Reflector,
    curator: Curator | None = None,
    *,
    id: str | None = None,  # noqa: A002
) -> Applied:
    """Look back at an attempt and apply what comes of it, as one batch.

    Judgements count only for bullets that were used and are there.

    Args:
        playbook: Whose.
        attempt: What was done.
        reflector: Who looks back.
        curator: Who proposes changes; None: bullets are judged, and nothing else changes.
        id: The run: the same attempt looked at again under it judges no bullet twice.

    Raises:
        ModelError: The reflector or the curator gave nothing usable; nothing was changed.
        InvalidInput | LimitExceeded | NotPermitted | StorageError: As for `Playbook.apply`.
    """
    shown = playbook.show()
    here = {bullet.id for bullet in shown.bullets} & set(attempt.used)
    reflection = reflector.reflect(attempt, shown)
    judged = [Update(name, said) for name, said in reflection.judgements.items() if name in here]
    changes = curator.curate(reflection, shown) if curator is not None and reflection.insights else ()
    return playbook.apply(batch([*judged, *changes], id))
