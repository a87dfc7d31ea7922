"""A second look at the best records, by a model that reads question and record together (design section 7).

It can only help: what fails or comes late leaves the order as it was, and the answer says so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.base.errors import EmbedderError, MissingExtra
from muniment.config import Settings
from muniment.ledger.acts import Remember
from muniment.ranking import Ranked
from muniment.sifting import Opened
from muniment.waiting import Waiting

if TYPE_CHECKING:
    from muniment.embed.rerank import Reranker
    from muniment.embed.rerank_options import RerankOptions

NO_RERANKER = "not reranked: no reranker is configured"
_HARMLESS = (EmbedderError, MissingExtra)
_LOG = logging.getLogger("muniment")


class Reranking:
    """A reranker that is opened on first use.

    Args:
        open_reranker: Makes it; called once.
        options: How much it may look at, and for how long.
    """

    def __init__(self, open_reranker: Callable[[], Reranker], options: RerankOptions) -> None:
        self._open, self.options = open_reranker, options
        self._reranker: Reranker | None = None
        self._lock = threading.Lock()
        self._waiting = Waiting("reranker", "muniment-rerank")

    def scores(self, query: str, texts: Sequence[str]) -> list[float] | str:
        """A number for each text, more is better; or why there are none."""

        def call() -> list[float] | str:
            try:
                return [float(score) for score in self._made().scores(query, texts)]
            except _HARMLESS as error:
                return error.message

        found = self._waiting.within(call, self.options.timeout)
        if isinstance(found, str):
            _LOG.warning("an answer was not reranked: %s", found)
        return found

    def _made(self) -> Reranker:
        with self._lock:
            if self._reranker is None:
                self._reranker = self._open()
            return self._reranker

    def close(self) -> None:
        """Let go of the model."""
        with self._lock:
            if self._reranker is not None:
                self._reranker.close()
                self._reranker = None


def read_of(act: Remember) -> str:
    """What a reranker reads of a memory: its title, else its key, and its text."""
    name = act.title or act.key
    return act.text if name is None else f"{name}: {act.text}"


def reranked(
    reranking: Reranking | None, query: str, found: Sequence[Ranked], opened: Sequence[Opened]
) -> tuple[list[Ranked], list[Opened], str | None]:
    """A ranking and its opened records in a new order, or as they were and why.

    Args:
        reranking: The reranker; None where none is configured.
        query: The question.
        found: The ranking.
        opened: Its best records, the best first: the first `top` of them are looked at again.
    """
    from muniment.recall.rerank import rerank

    if reranking is None:
        return list(found), list(opened), NO_RERANKER
    top = list(opened[: reranking.options.top])
    if len(top) < 2:
        return list(found), list(opened), None
    second = reranking.scores(query, [read_of(act) for _, act in top])
    if isinstance(second, str):
        return list(found), list(opened), f"not reranked: {second}"
    by_ord = {one.ord: one for one in found}
    scores = rerank([by_ord[row.ord].score for row, _ in top], second)
    for (row, _), score, other in zip(top, scores, second, strict=True):
        by_ord[row.ord] = replace(by_ord[row.ord], score=score, reread=other)
    places = sorted(range(len(top)), key=lambda at: -scores[at])  # of equal ones the order stays
    first = [top[at] for at in places]
    again = {row.ord for row, _ in first}
    order = [by_ord[row.ord] for row, _ in first] + [one for one in found if one.ord not in again]
    return order, [*first, *opened[len(top) :]], None


def configured(settings: Settings, reranker: Reranker | None) -> Reranking | None:
    """The reranker that is given, or that the settings describe; it is opened when it is needed."""
    block = settings.rerank
    if reranker is None and not block:
        return None
    from muniment.embed.rerank_options import RerankOptions, rerank_options

    options = rerank_options(block) if block else RerankOptions()

    def opened() -> Reranker:
        from muniment.embed.rerank import LocalReranker

        return reranker or LocalReranker(options)

    return Reranking(opened, options)
