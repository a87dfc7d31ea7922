"""What is shown of a ranking: the floor on evidence, where it is asked for (design section 7, "Order of work").

A record that the question names (by title, key or alias, whole, as a phrase) stands; and where it names none, those
stand that hold enough of what is asked: `muniment.recall.fusion.stands`, without the right of rare words, which in a
small bank is a right of all words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.corpus import names_of
from muniment.ledger.acts import Remember
from muniment.ranking import Asked, Ranked, background_of
from muniment.store.base import VersionRow

if TYPE_CHECKING:
    from muniment.recall.fusion import Evidence

Opened = tuple[VersionRow, Remember]
LOOKED = 100  # of the best records that the floor looks at, at least


def standing(bank: Bank, asked: Asked, found: Mapping[int, Ranked], opened: Sequence[Opened]) -> list[Opened]:
    """The records that stand, in their order.

    Args:
        bank: Where they are.
        asked: The question.
        found: By row number, what speaks for each.
        opened: The best records, the best first.
    """
    from muniment.recall.fusion import Floor, stands
    from muniment.recall.names import Named

    named = Named(asked.text, bank.index.analyzer)
    by_name = [one for one in opened if named.by(names_of(one[1]))]
    if by_name:
        return by_name
    background, floor = background_of(bank, asked.vector), Floor(rare=0)
    return [one for one in opened if stands(evidence_of(found[one[0].ord]), background, floor)]


def evidence_of(one: Ranked) -> Evidence:
    """What speaks for a record, as the floor reads it: the share of the question's idf mass, and its cosine."""
    from muniment.recall.fusion import Evidence

    terms = () if one.words is None else one.words.terms
    whole = sum(term.idf for term in terms)
    held = [term for term in terms if term.tf]
    share = sum(term.idf for term in held) / whole if whole > 0 else 0.0
    return Evidence(share, min((term.df for term in held), default=None), one.cosine)
