"""Ranking for one answer: by words, by meaning, or by both (design section 7, "Fusion")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.base.errors import InvalidInput
from muniment.query import choice

if TYPE_CHECKING:
    import numpy as np

    from muniment.embed.base import Vectors
    from muniment.recall.dates import Span
    from muniment.recall.events import Event
    from muniment.recall.fusion import Background
    from muniment.recall.lexical import Scored
    from muniment.trust import Weights

    Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

DEPTH = 100  # records that each side brings in at least
_RANKS = 10_000  # ranks that are added up at most

HYBRID, TEXT, VECTOR, RECENT = "hybrid", "text", "vector", "recent"
MODES = (HYBRID, TEXT, VECTOR, RECENT)
DATES = ("boost", "filter", "off")
_NO_EMBEDDER = "no embedder is configured"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate: its row number, its score in 0..1, what speaks for it by words, by meaning and to a reranker.

    `told` is why it is favoured for what it says (`told`, `valid`), and by how much.
    """

    ord: int
    score: float
    words: Scored | None
    cosine: float | None = None
    reread: float | None = None
    told: tuple[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is put to the indexes.

    Attributes:
        text: The words.
        vector: Its meaning, where an embedder gave one.
        mode: What is done, which is not always what was asked for.
        degraded: Why less is done than was asked for, or None.
        spans: The times that it names, as far as they are to count.
        only: Whether nothing else is an answer than what was said then.
        named: The times as it names them, for which texts are read; empty where they don't count.
        event: What it names in place of a time; None where it names none, or where that doesn't count.
    """

    text: str
    mode: str
    vector: Vectors | None = None
    degraded: str | None = None
    spans: tuple[Span, ...] = ()
    only: bool = False
    named: tuple[Span, ...] = ()
    event: Event | None = None


def ask(bank: Bank, text: str, mode: str | None, dates: str | None = None) -> Asked:
    """Decide how a question is answered; at most one embedding is made.

    Without a mode both sides are asked where there is an embedder. What needs one and can't have it is answered
    by words, and says so.

    Args:
        bank: Whose records.
        text: The question.
        mode: One of `MODES`; None for the best that can be had.
        dates: One of `DATES`; None for the setting.

    Raises:
        InvalidInput: `vector` is asked for and no embedder is configured, or `dates` has no meaning.
    """
    if dates is not None:
        choice(dates, DATES, "dates")
    if not text.strip():
        return Asked(text, RECENT)
    from muniment.recall.dates import later, spans
    from muniment.recall.events import event_in

    dates = dates or bank.host.settings.dates
    asked = _ask(bank, text, mode)
    if dates == "off":
        return asked
    named = spans(text, bank.host.clock.now_ms())
    if dates == "filter":
        return replace(asked, spans=named, only=bool(named))
    if named:
        return replace(asked, spans=later(named), named=named)
    return replace(asked, event=event_in(text))


def named_times(text: str, now_ms: int) -> tuple[Span, ...]:
    """The times that a question names, with the days after, in which they are still told of."""
    from muniment.recall.dates import later, spans

    return later(spans(text, now_ms))


def _ask(bank: Bank, text: str, mode: str | None) -> Asked:
    meaning = bank.host.meaning
    wanted = mode or (TEXT if meaning is None else HYBRID)
    if wanted in {TEXT, RECENT}:
        return Asked(text, wanted)
    if meaning is None:
        if wanted == VECTOR:
            raise InvalidInput(_NO_EMBEDDER, "Name one under `embedding:` in config.yaml, or ask by words.")
        return Asked(text, TEXT, degraded=_NO_EMBEDDER)
    vector, why = meaning.query(text)
    return Asked(text, TEXT, degraded=why) if vector is None else Asked(text, wanted, vector)


def rank(
    bank: Bank,
    asked: Asked,
    limit: int,
    allow: Mask | None,
    *,
    past: bool,
    context: bool,
    depth: int = DEPTH,
) -> list[Ranked]:
    """At least the best `limit` candidates, the best first; fewer only where there are no more.

    `depth` is what words and meaning each bring in at least, where both are asked.
    """
    bank.freshen(bank.index)
    if asked.only:
        then = bank.index.said_within(asked.spans)
        allow = then if allow is None else then[: len(allow)] & allow[: len(then)]
    if asked.vector is None or bank.host.meaning is None:
        hits = bank.index.search(asked.text, limit, allow, past=past, context=context, spans=asked.spans).hits
        return [Ranked(scored.ord, scored.share, scored) for scored in hits]
    vectors = bank.vectors(bank.host.meaning.model, len(asked.vector))
    bank.freshen(vectors)
    if asked.mode == VECTOR:
        near = vectors.search(asked.vector, limit, allow, past)
        return [Ranked(one.ord, one.cosine, None, one.cosine) for one in near]
    return _both(bank, asked, max(limit, depth), allow, past=past, context=context)


def weighed(found: list[Ranked], weights: Weights | None) -> list[Ranked]:
    """A ranking in which each score is multiplied by the weight of its version; nothing that weighs 0 is left."""
    if weights is None:
        return found
    worth = [(one, float(weights[one.ord]) if one.ord < len(weights) else 1.0) for one in found]
    kept = [replace(one, score=one.score * weight) for one, weight in worth if weight > 0]
    return sorted(kept, key=lambda one: -one.score)  # stable: equal scores keep their order


def _both(
    bank: Bank, asked: Asked, depth: int, allow: Mask | None, *, past: bool, context: bool
) -> list[Ranked]:
    from muniment.recall.fusion import RRF_K, rrf
    from muniment.recall.sides import both_sides

    assert asked.vector is not None  # noqa: S101 - `rank` has looked
    assert bank.host.meaning is not None  # noqa: S101
    vectors = bank.vectors(bank.host.meaning.model, len(asked.vector))
    by_rank = bank.host.settings.fusion == "rrf"
    if by_rank:  # each list whole, as far as a rank still counts
        depth = max(depth, min(_RANKS, bank.store.watermark().last_ord))
    sides = both_sides(
        bank.index,
        vectors,
        asked.text,
        asked.vector,
        depth,
        allow,
        past=past,
        context=context,
        spans=asked.spans,
    )
    words = {one.ord: one for one in sides.words}
    if by_rank:
        ranks = rrf([list(words), sides.near])
        best = 2 / (RRF_K + 1)  # first in both lists
        return [Ranked(ord, score / best, words.get(ord), sides.cosines.get(ord)) for ord, score in ranks]
    return [
        Ranked(one.ord, one.score, words.get(one.ord), sides.cosines.get(one.ord)) for one in sides.fused()
    ]


def background_of(bank: Bank, vector: Vectors | None) -> Background:
    """The cosines of records that have nothing to do with the question, as the floor takes them."""
    from muniment.recall.fusion import Background
    from muniment.recall.sides import FEW

    meaning = bank.host.meaning
    if vector is None or meaning is None:
        return Background(0.0, 0.0, 0)
    found = bank.vectors(meaning.model, len(vector)).background(vector)
    return found if found.rows >= FEW else found._replace(spread=0.0)
