"""What judgements do to a ranking, where the settings say so: little, and bounded (`feedback_weight`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.bank import Bank
from muniment.judging import Tally
from muniment.ledger.acts import Remember
from muniment.ranking import Ranked
from muniment.reading import Reader
from muniment.store.base import VersionRow

_DOUBT = 4  # judgements that nobody gave: so few say little

Opened = tuple[VersionRow, Remember]


def factor(counts: Tally, weight: float) -> float:
    """What a score is multiplied by, from 1 - weight to 1 + weight: 1 where nothing was judged."""
    total = counts.helpful + counts.harmful
    return 1 + weight * (counts.helpful - counts.harmful) / (total + _DOUBT)


def favoured(
    bank: Bank, reader: Reader, found: Sequence[Ranked], opened: Sequence[Opened]
) -> tuple[list[Ranked], list[Opened]]:
    """A ranking and its best records, in the order of their scores after judgement; no score passes 1.

    Args:
        bank: Where they are; its settings say how much it counts.
        reader: Who asks.
        found: The ranking.
        opened: The best records of it, which alone are looked at.
    """
    weight, authority = bank.host.settings.feedback_weight, bank.authority
    worth = {row.ord: factor(reader.judged([row], authority), weight) for row, _ in opened}
    scored = [replace(one, score=min(1.0, one.score * worth.get(one.ord, 1.0))) for one in found]
    scores = {one.ord: one.score for one in scored}
    kept = sorted(opened, key=lambda one: -scores.get(one[0].ord, 0.0))
    return sorted(scored, key=lambda one: -one.score), kept
