"""Records that a question favours: those of a speaker that it names, of users, of a time that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from muniment.recall.dates import open_ended
from muniment.recall.speakers import ASSISTANT, FIELD, USER, asks_assistant, role_key

if TYPE_CHECKING:
    from muniment.recall.analyzer import Query
    from muniment.recall.dates import Span
    from muniment.recall.segments import Array
    from muniment.recall.word_follow import WordFollower


@dataclass(frozen=True, slots=True)
class FavourWeights:
    """What a record's whole score is multiplied by (docs/benchmarks.md, "What a question favours").

    Attributes:
        speaker: Where the question names its speaker, and not all speakers of the bank.
        assistant: Where an assistant said it, in a bank where users spoke too, unless the question asks for that.
        dated: Where it was said at a time that the question names.
        side: Where it was said before or after a time or an event that the question names: that is wide, and says less.
    """

    speaker: float = 1.5
    assistant: float = 0.8
    dated: float = 1.5
    side: float = 1.25


@dataclass(frozen=True, slots=True)
class Favour:
    """One reason to multiply scores.

    Attributes:
        name: `speaker`, `assistant` or `dated`.
        weight: The factor, above 0.
        rows: Which rows it concerns, by row number (those beyond its end: none), or their
        edges: moments in ms where a time begins, ends, begins …; of the two the other is None.
    """

    name: str
    weight: float
    rows: Array | None = None
    edges: Array | None = None

    def concerns(self, rows: Array, place: Array) -> Array:
        """Which of these rows, at these places in time, it concerns."""
        if self.edges is not None:
            return (self.edges.searchsorted(place, "right") & 1).astype(np.bool_)
        assert self.rows is not None  # noqa: S101 - one of the two is there
        found: Array = self.rows.take(rows, mode="clip") & (rows < len(self.rows))
        return found


def inside(spans: Sequence[Span]) -> Array:
    """The edges of spans that are in order and apart."""
    return np.array([edge for span in spans for edge in span], np.int64)


def among_people(follower: WordFollower) -> bool:
    """Whether those who speak in a bank have names, and no assistant is among them. What is live decides."""
    named, assistants = ((key,) for key in (FIELD, role_key(ASSISTANT)))
    if not (follower.holds(FIELD) and follower.holders(named)[1]):
        return False
    return not (follower.holds(role_key(ASSISTANT)) and follower.holders(assistants)[1])


def favours_of(
    text: str, asked: Query, follower: WordFollower, weights: FavourWeights, spans: Sequence[Span]
) -> list[Favour]:
    """What a question favours in this bank.

    Args:
        text: The question.
        asked: Its terms.
        follower: The index.
        weights: By how much.
        spans: The times that it names, in order and apart.
    """
    found = []
    if weights.speaker != 1 and asked.names and follower.holds(FIELD):
        named = tuple(key for key in asked.names if follower.holds(key))
        if named:
            rows, live = follower.holders(named)
            if 0 < live < follower.holders((FIELD,))[1]:
                found.append(Favour("speaker", weights.speaker, rows))
    if weights.assistant != 1 and follower.holds(role_key(ASSISTANT)) and not asks_assistant(text):
        rows, live = follower.holders((role_key(ASSISTANT),))
        if live and follower.holders((role_key(USER),))[1]:
            found.append(Favour("assistant", weights.assistant, rows))
    weight = weights.side if open_ended(spans) else weights.dated
    if weight != 1 and spans:
        found.append(Favour("dated", weight, edges=inside(spans)))
    return found
