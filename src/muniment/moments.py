"""Times that only the records know: of events that a question names, and those that the texts found speak of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.ranking import VECTOR, Asked, Ranked
from muniment.sifting import evidence_of

if TYPE_CHECKING:
    from muniment.ledger.acts import Remember
    from muniment.recall.dates import Span
    from muniment.store.base import VersionRow

    Opened = tuple[VersionRow, Remember]
    Open = Callable[[Sequence[VersionRow]], list[Opened]]

READ = 20  # of the best records, whose texts are read for times


def placed(bank: Bank, asked: Asked, open_rows: Open) -> Asked:
    """The question with the time before or after its event, where the bank tells when that was.

    Args:
        bank: Where to look.
        asked: The question; one without an event is given back as it is.
        open_rows: Opens rows to the caller.
    """
    if asked.event is None or bank.index.favours is None:
        return asked
    from muniment.recall.events import HELD, MOST_TOLD, Telling, side_of

    bank.index.refresh()
    hits = bank.index.search(asked.event.what, MOST_TOLD, context=False).hits
    holders = [one.ord for one in hits if evidence_of(Ranked(one.ord, one.share, one)).mass >= HELD]
    if not 0 < len(holders) < MOST_TOLD:
        return asked
    tellings = [Telling(row.created, act.text) for row, act in open_rows(bank.store.versions(holders))]
    return replace(asked, spans=side_of(asked.event, tellings))


def reads_texts(bank: Bank, asked: Asked) -> bool:
    """Whether times in the texts of what is found count for a question."""
    return bool(asked.named) and asked.mode != VECTOR and bank.index.favours is not None


def told(
    bank: Bank, asked: Asked, found: Sequence[Ranked], opened: Sequence[Opened]
) -> tuple[list[Ranked], list[Opened]]:
    """A ranking and its best records after the times that these speak of; no score passes 1.

    A record that was not said at the time asked for weighs as if it had been where its text speaks of that time, or
    where it was valid then.

    Args:
        bank: Where they are.
        asked: The question.
        found: The ranking.
        opened: The best records of it, the best first: the first `READ` are read.
    """
    favours = bank.index.favours
    if favours is None or any(one.words is not None and one.words.tier for one in found):
        return list(found), list(opened)  # of one word only: who holds it exactly comes first
    reasons = {row.ord: why for row, act in opened[:READ] if (why := _reason(row, act, asked)) is not None}
    scores = {
        one.ord: one.score * (favours.dated if one.ord in reasons else 1.0) for one in found
    }  # equal scores keep their order, and are only then cut to 1
    turn = sorted(found, key=lambda one: -scores[one.ord])
    scored = [
        replace(one, score=min(1.0, scores[one.ord]), told=(reasons[one.ord], favours.dated))
        if one.ord in reasons
        else one
        for one in turn
    ]
    return scored, sorted(opened, key=lambda one: -scores[one[0].ord])


def _reason(row: VersionRow, act: Remember, asked: Asked) -> str | None:
    from muniment.recall.events import speaks_of, valid_in

    if _within(row.created, asked.spans):
        return None  # it has its weight already
    if valid_in(act.valid_from, act.valid_until, asked.named):
        return "valid"
    return "told" if speaks_of(act.text, row.created, asked.named) else None


def _within(moment: int, spans: Sequence[Span]) -> bool:
    return any(span.start <= moment < span.end for span in spans)
