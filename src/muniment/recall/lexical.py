"""The word index of a bank: exact BM25 that follows the bank row by row.

Segments on disk are immutable; the newest rows are in memory (`Tail`). Any number of processes may search, follow and
maintain one folder at once: maintenance runs under a lock and ends in one atomic replacement of the manifest; readers
keep the files they have mapped until they see the new one. All of it can be made again from the corpus, and is, if a
file is missing, damaged, foreign or made under other settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.recall.analyzer import Analyzer, Query
from muniment.recall.corpus import Corpus, Row
from muniment.recall.dates import Span
from muniment.recall.favours import FavourWeights, among_people, favours_of, inside
from muniment.recall.index import FollowingIndex
from muniment.recall.scoring import ContextWeights, Formula, Scorer
from muniment.recall.search import TIERS, Found, Search, Workspace, holds_exactly
from muniment.recall.segments import Array
from muniment.recall.word_follow import WordFollower


class TermScore(NamedTuple):
    """What one query term adds to a record.

    Attributes:
        term: The term as text.
        tf: Occurrences in the record.
        df: Live records that hold it.
        idf: Its weight by rarity.
        contribution: Its part of the record's `word` score.
    """

    term: str
    tf: int
    df: int
    idf: float
    contribution: float


class Scored(NamedTuple):
    """A ranked record.

    Attributes:
        ord: Its row number.
        score: weight * (word + window + session); of a one-token query, `tier` times the query's best is added, so
            that the score alone gives the order.
        share: Score by the greatest that any record could reach for this query, 0..1.
        word: From the record's own words.
        window: From the record together with its neighbours in the conversation.
        session: From the conversation as a whole.
        weight: Of all favours together, 1 where none concerns the record.
        favours: (name, weight) of each favour that concerns it: `speaker`, `assistant`, `dated`.
        tier: Of a one-token query: 2 holds it exactly, 1 shares its stem, 0 stands near; else 0.
        terms: What each query term adds, in the order of the query.
    """

    ord: int
    score: float
    share: float
    word: float
    window: float
    session: float
    weight: float
    favours: list[tuple[str, float]]
    tier: int
    terms: list[TermScore]


class Around(NamedTuple):
    """The neighbours of rows in their conversations.

    Attributes:
        before: The live row before each, 0 for none.
        after: The live row after each, 0 for none.
        share: How much of its context counts for each, 0..1.
    """

    before: list[int]
    after: list[int]
    share: list[float]


@dataclass(frozen=True, slots=True)
class Ranking:
    """A search's result: the terms looked for and the hits, the best first."""

    query_terms: list[str]
    hits: list[Scored]


@dataclass(frozen=True, slots=True)
class Stats:
    """Size of an index: live records, terms over all segments, segments, bytes on disk, rows in memory."""

    records: int
    terms: int
    segments: int
    bytes: int
    tail: int


class WordIndex(FollowingIndex[WordFollower]):
    """The word index in a folder. Thread-safe.

    Args:
        folder: Where its files are; made when something is written.
        corpus: What it follows.
        analyzer: How text becomes terms.
        k1: Saturation of occurrences, above 0.
        b: Length normalisation, 0..1.
        exact: Extra weight of a word found in the very form asked for, 0 or more.
        context: Weights of the conversation; None ranks records alone.
        favours: Weights of what a question favours; None for no favours.

    Raises:
        InvalidInput: A constant out of its range.
    """

    SHORT_ROWS = 1 << 16

    def __init__(
        self,
        folder: Path,
        corpus: Corpus[Row],
        analyzer: Analyzer,
        *,
        k1: float = 1.5,
        b: float = 0.75,
        exact: float = 0.2,
        context: ContextWeights | None = None,
        favours: FavourWeights | None = None,
    ) -> None:
        if not (k1 > 0 and 0 <= b <= 1 and exact >= 0):
            raise InvalidInput(
                f"k1={k1}, b={b}, exact={exact} out of range", "Use k1 > 0, 0 <= b <= 1, exact >= 0."
            )
        if context is not None and not (
            0 <= context.neighbours <= 1
            and context.window >= 0 <= context.session
            and context.full >= 1
            and context.people > 0
        ):
            raise InvalidInput(
                f"weights out of range: {context}",
                "Use neighbours in 0..1, full of 1 or more, people above 0, the others 0 or more.",
            )
        if favours is not None and min(astuple(favours)) <= 0:
            raise InvalidInput(f"weights out of range: {favours}", "Use weights above 0; 1 favours nothing.")
        self.analyzer = analyzer
        self.formula = Formula(k1, b, exact if analyzer.surfaces else 0.0, context)
        self.favours = favours if analyzer.surfaces else None  # the plain ranking knows words alone
        super().__init__(WordFollower(Path(folder), corpus, analyzer))
        self._space = Workspace()

    def search(
        self,
        query: str,
        limit: int,
        allow: Array | None = None,
        *,
        past: bool = False,
        context: bool = True,
        spans: Sequence[Span] = (),
    ) -> Ranking:
        """The best records for a query; call `refresh` first to see what is new.

        Args:
            query: Any text; one without a word gives no hits.
            limit: Hits at most.
            allow: Boolean by row number: only these may be hits. Rows beyond its end are not allowed. Statistics
                are always of the whole live bank.
            past: Rank versions that are no longer live too.
            context: False leaves conversations out of this search.
            spans: The times that the query names (see `dates`): records of them are favoured.
        """
        with self._lock:
            asked, scorer = self._prepare(query, past=past, context=context, spans=spans)
            if limit <= 0:
                return Ranking([term.query.text for term in scorer.terms], [])
            allowed = self._allowed(allow, past)
            found = Search(asked, scorer, allowed, min(limit, len(allowed)), self._space, past=past).run()
            return Ranking([term.query.text for term in scorer.terms], self._hits(asked, scorer, found))

    def explain(
        self,
        query: str,
        number: int,
        *,
        past: bool = False,
        context: bool = True,
        spans: Sequence[Span] = (),
    ) -> Scored | None:
        """The score of one record for a query, whatever its rank; None if a search could never return it."""
        with self._lock:
            columns = self._follower.columns
            if not 0 < number <= columns.last or not columns.searchable(past)[number]:
                return None
            asked, scorer = self._prepare(query, past=past, context=context, spans=spans)
            rows = np.array([number], np.int32)
            parts = scorer.parts(rows)
            held = bool(parts.held.any())
            tier = 0
            if asked.single and held:
                tier = 2 if holds_exactly(asked, scorer, rows)[0] else 1
            if parts.word[0] + parts.window[0] <= 0:
                parts.session[0] = 0.0
            return self._hits(asked, scorer, Found(parts, np.array([tier])))[0]

    def holding(self, ords: Sequence[int]) -> int:
        """How many of these rows have words in the index's files."""
        with self._lock:
            rows = np.array(sorted(ords), np.int64)
            found = np.zeros(len(rows), np.bool_)
            for segment in self._follower.segments:
                found |= np.isin(rows, segment.ords)
            return int(np.count_nonzero(found))

    def said_within(self, spans: Sequence[Span]) -> Array:
        """Which rows were said in one of these times (in order and apart), by row number; call `refresh` first."""
        with self._lock:
            columns = self._follower.columns
            place = columns.place[: columns.last + 1]
            found: Array = (inside(spans).searchsorted(place, "right") & 1).astype(np.bool_)
            return found

    def weights_of(
        self, ords: Sequence[int], query: str, *, past: bool = False, spans: Sequence[Span] = ()
    ) -> list[float]:
        """What a query's favours multiply the scores of these rows by, whether they hold a word of it or not."""
        with self._lock:
            _, scorer = self._prepare(query, past=past, context=False, spans=spans)
            weights = scorer.weight(self._known(ords))
            return [1.0] * len(ords) if weights is None else weights.tolist()

    def around(self, ords: Sequence[int], *, context: bool = True) -> Around | None:
        """What stands around these rows in their conversations; None where context doesn't count."""
        weights = self.formula.context if context else None
        with self._lock:
            columns = self._follower.columns
            if weights is None or not columns.members:
                return None
            rows = self._known(ords)
            share = weights.full / np.maximum(columns.length[rows], weights.full)
            return Around(columns.before[rows].tolist(), columns.after[rows].tolist(), share.tolist())

    def _known(self, ords: Sequence[int]) -> Array:
        """Row numbers, 0 in place of those that this index has not met yet."""
        rows = np.asarray(ords, np.int64)
        return np.where(rows <= self._follower.columns.last, rows, 0)

    def stats(self) -> Stats:
        """How large it is."""
        with self._lock:
            follower = self._follower
            return Stats(
                records=follower.columns.live,
                terms=sum(place.source.terms for place in follower.places),
                segments=len(follower.segments),
                bytes=sum(follower.manifest.sizes.values()),
                tail=len(follower.tail),
            )

    def _prepare(
        self, text: str, *, past: bool, context: bool, spans: Sequence[Span]
    ) -> tuple[Query, Scorer]:
        follower = self._follower
        asked = self.analyzer.query(text)
        terms = [follower.term(term, past) for term in asked.terms]
        if len(terms) > LIMITS.query_terms:
            terms = sorted(terms, key=lambda term: -term.idf)[: LIMITS.query_terms]
        weights = self.formula.context if context else None
        if weights is not None and self.favours is not None and among_people(follower):
            weights = weights.among_people()
        formula = replace(self.formula, context=weights)
        favours = [] if self.favours is None else favours_of(text, asked, follower, self.favours, spans)
        return asked, Scorer(terms, formula, follower.columns, favours)

    def _hits(self, asked: Query, scorer: Scorer, found: Found) -> list[Scored]:
        best = scorer.best * (TIERS if asked.single else 1) or 1.0
        names = [(term.query.text, term.df, term.idf) for term in scorer.terms]
        parts = found.parts
        scores = (parts.total + found.tiers * scorer.best).tolist()
        place = self._follower.columns.place[parts.rows]
        favours: list[list[tuple[str, float]]] = [[] for _ in scores]
        for favour in scorer.favours:
            for at in np.flatnonzero(favour.concerns(parts.rows, place)).tolist():
                favours[at].append((favour.name, favour.weight))
        rows = zip(
            parts.rows.tolist(), scores, parts.word.tolist(), parts.window.tolist(), parts.session.tolist(),
            parts.weight.tolist(), favours, found.tiers.tolist(), parts.own.T.tolist(), parts.held.T.tolist(),
            strict=True,
        )  # fmt: skip
        return [
            Scored(
                number, score, min(1.0, score / best), word, window, session, weight, favour, tier,
                [TermScore(n[0], tf, n[1], n[2], part) for n, tf, part in zip(names, held, own, strict=True)],
            )
            for number, score, word, window, session, weight, favour, tier, own, held in rows
        ]  # fmt: skip
