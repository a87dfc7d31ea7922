"""Recall: filter, rank by words, collapse versions, cut, and explain (design section 7, "Order of work")."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.base.errors import LimitExceeded
from muniment.base.ids import record_text
from muniment.base.limits import LIMITS
from muniment.corpus import speakers_of
from muniment.favour import favoured
from muniment.ledger.acts import Remember
from muniment.ledger.authority import Authority
from muniment.moments import READ, placed, reads_texts, told
from muniment.pairing import paired
from muniment.query import Where, choice
from muniment.ranking import MODES, RECENT, Asked, Ranked, ask, rank, weighed
from muniment.reading import Reader, check_limit, is_ahead
from muniment.reranking import reranked
from muniment.sifting import LOOKED, standing
from muniment.skills import TYPE, about
from muniment.store.base import LIVE_ONLY, Filter, State, VersionRow
from muniment.views import Hit, Hits, Record, Term, Why

if TYPE_CHECKING:
    import numpy as np

    from muniment.recall.duplicates import Words
    from muniment.recall.lexical import Scored
    from muniment.recall.snippet import Snippets
    from muniment.trust import Weights

SNIPPET_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Look:
    """How an answer is made: hits at most, and what counts."""

    limit: int
    past: bool
    context: bool
    rerank: bool
    floor: bool
    weights: Weights | None


class Recaller:
    """Answers queries over one bank for one key."""

    def __init__(self, bank: Bank, reader: Reader) -> None:
        self._bank, self._reader = bank, reader

    def recall(
        self,
        query: str,
        where: Where,
        limit: int,
        mode: str | None,
        *,
        context: bool,
        rerank: bool | None = None,
        floor: bool = False,
        weigh: Callable[[], Weights | None] | None = None,
        dates: str | None = None,
    ) -> Hits:
        """Ranked records; a query without words lists the newest. `weigh` says what each version's score is worth.

        Raises:
            LimitExceeded | InvalidInput: A limit or a filter has no meaning.
            NotPermitted: The key may not read.
        """
        check_limit(limit)
        if len(query) > LIMITS.query_chars:
            raise LimitExceeded("query characters", LIMITS.query_chars, len(query), "Ask with fewer words.")
        if mode is not None:
            choice(mode, MODES, "mode")
        authority = self._reader.enter()
        rule = self._reader.filter(where, authority)
        asked = ask(self._bank, query, mode, dates)
        if asked.mode == RECENT:
            return self._recent(rule, where.past, limit, authority)
        asked = placed(self._bank, asked, self._reader.open)
        weights = None if weigh is None else weigh()
        look = _Look(limit, where.past, context, self._reranks(rerank), floor, weights)
        return self._ranked(asked, rule, look, authority)

    def _reranks(self, wanted: bool | None) -> bool:
        reranking = self._bank.host.reranking
        return wanted if wanted is not None else reranking is not None and reranking.options.always

    def _recent(self, rule: Filter, past: bool, limit: int, authority: Authority) -> Hits:
        asked = limit * 2 + 8
        with self._bank.store.read():
            while True:
                rows = self._bank.store.newest(rule, asked)
                due = self._due(rows)
                opened = self._first(due if past else self._collapse(due, authority), limit)
                if len(opened) >= limit or len(rows) < asked:
                    break
                asked *= 4
            self._used([row for row, _ in opened])
            hits = [
                Hit(
                    record=record,
                    score=1.0,
                    signals={"rank": float(rank)},
                    snippet=_start(_shown_text(act)),
                    conflict=record.conflict,
                    archived=record.archived,
                )
                for rank, ((_, act), record) in enumerate(
                    zip(opened, self._reader.seen(opened, authority), strict=True), 1
                )
            ]
        return Hits(hits, "recent")

    def _ranked(self, asked: Asked, rule: Filter, look: _Look, authority: Authority) -> Hits:
        from muniment.recall.duplicates import Words

        allow = None if rule == LIVE_ONLY else self._mask(rule)
        reranking = self._bank.host.reranking
        top = reranking.options.top if look.rerank and reranking is not None else 0
        moved = bool(self._bank.host.settings.feedback_weight)
        words = Words()
        dated = reads_texts(self._bank, asked)
        wanted = max(look.limit, top, LOOKED if look.floor or moved else 0, READ if dated else 0)
        depth = wanted + 4
        while True:
            found = rank(self._bank, asked, depth, allow, past=look.past, context=look.context)[:depth]
            least = found[-1].score if look.weights is not None and len(found) >= depth else 0.0
            found = weighed(found, look.weights)
            shown = self._shown(found, authority, past=look.past)
            opened, behind = self._distinct(shown, wanted, asked.text, words)
            scores = {one.ord: one.score for one in found}
            # A weight is 1 at most: what was not ranked yet can't pass what scores more than the last one did.
            if len(found) < depth or (len(opened) >= wanted and scores[opened[-1][0].ord] >= least):
                break
            depth *= 4
        if dated:
            found, opened = told(self._bank, asked, found, opened)
        if look.floor:
            opened = standing(self._bank, asked, {one.ord: one for one in found}, opened)
        if moved:
            found, opened = favoured(self._bank, self._reader, found, opened)
        why = None
        if look.rerank:
            found, opened, why = reranked(reranking, asked.text, found, opened)
        degraded = "; ".join(part for part in (asked.degraded, why) if part)
        by_ord = {one.ord: one for one in found}
        others = [] if look.floor or look.rerank else shown
        opened, against = paired(opened, look.limit, others, by_ord, self._reader.open, words)
        return Hits(
            self._hits(opened, found, asked.text, authority, behind, against),
            asked.mode,
            degraded or None,
        )

    def _shown(self, found: Sequence[Ranked], authority: Authority, *, past: bool) -> list[VersionRow]:
        """The rows of a ranking that may be shown, in its order."""
        rows = {row.ord: row for row in self._bank.store.versions([one.ord for one in found])}
        due = self._due([rows[one.ord] for one in found if one.ord in rows])
        return due if past else self._collapse(due, authority)

    def _hits(
        self,
        opened: Sequence[tuple[VersionRow, Remember]],
        found: Sequence[Ranked],
        query: str,
        authority: Authority,
        behind: Mapping[int, Sequence[str]] | None = None,
        against: Mapping[int, Sequence[str]] | None = None,
    ) -> list[Hit]:
        by_ord = {one.ord: (number, one) for number, one in enumerate(found, 1)}
        self._used([row for row, _ in opened])
        cutter = self._cutter(query, [one.words for one in found[:1] if one.words is not None])
        hits = [
            _hit(record, act, *by_ord[row.ord], cutter)
            for (row, act), record in zip(opened, self._reader.seen(opened, authority), strict=True)
        ]
        if behind or against:
            behind, against = behind or {}, against or {}
            hits = [
                replace(
                    hit,
                    duplicates=tuple(behind.get(row.ord, ())),
                    contradicts=tuple(against.get(row.ord, ())),
                )
                for hit, (row, _) in zip(hits, opened, strict=True)
            ]
        return hits

    def hits_of(
        self,
        found: Sequence[Ranked],
        limit: int,
        query: str,
        authority: Authority,
        keep: Callable[[Remember], bool],
    ) -> list[Hit]:
        """The first `limit` live records of a ranking that open to the caller and are to be kept.

        Args:
            found: Candidates, the best first.
            limit: Hits at most.
            query: Around whose words the snippets are cut.
            authority: From `Reader.enter`.
            keep: Asked of each record in its turn, whether it is a hit.
        """
        rows = {row.ord: row for row in self._bank.store.versions([one.ord for one in found])}
        order = [rows[one.ord] for one in found if one.ord in rows and rows[one.ord].state is State.LIVE]
        kept: list[tuple[VersionRow, Remember]] = []
        due = self._collapse(self._due(order), authority)
        for at in range(0, len(due), limit):
            kept += [(row, act) for row, act in self._reader.open(due[at : at + limit]) if keep(act)]
            if len(kept) >= limit:
                break
        return self._hits(kept[:limit], found, query, authority)

    def _cutter(self, query: str, scored: Sequence[Scored]) -> Snippets:
        """Cuts the snippets of one answer; rare words weigh more."""
        from muniment.recall.snippet import Snippets

        weights = {term.term: term.idf for one in scored for term in one.terms}
        return Snippets(query, self._bank.index.analyzer, width=SNIPPET_CHARS, weights=weights)

    def _mask(self, rule: Filter) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which ords pass, as a mask from 0 to the last ord."""
        import numpy as np

        with self._bank.store.read():  # one snapshot: another process may write in between
            mask = np.zeros(self._bank.store.watermark().last_ord + 1, np.bool_)
            mask[np.asarray(self._bank.store.select(rule), np.int64)] = True
        return mask

    def _due(self, rows: Sequence[VersionRow]) -> list[VersionRow]:
        """Without versions whose clock runs ahead: they are shown when their time comes."""
        now = self._bank.host.clock.now_ms()
        return [row for row in rows if not is_ahead(row.at, now)]

    def _collapse(self, rows: Sequence[VersionRow], authority: Authority) -> list[VersionRow]:
        """Of the live versions of one key that weigh the same, only the newest one that was found."""
        best: dict[tuple[bytes, object], VersionRow] = {}
        trust = self._reader.trust(authority)
        for row in rows:
            if row.group is not None:
                place = (row.group, trust(row))
                if place not in best or (row.at, row.ord) > (best[place].at, best[place].ord):
                    best[place] = row
        out: list[VersionRow] = []
        seen: set[tuple[bytes, object]] = set()
        for row in rows:
            if row.group is None:
                out.append(row)
            elif (place := (row.group, trust(row))) not in seen:
                seen.add(place)
                out.append(best[place])
        return out

    def _first(self, rows: Sequence[VersionRow], limit: int) -> list[tuple[VersionRow, Remember]]:
        """The first `limit` of these that open to the caller."""
        opened: list[tuple[VersionRow, Remember]] = []
        at = 0
        while at < len(rows) and (missing := limit - len(opened)):
            opened += self._reader.open(rows[at : at + missing])
            at += missing
        return opened

    def _distinct(
        self, rows: Sequence[VersionRow], limit: int, query: str, words: Words
    ) -> tuple[list[tuple[VersionRow, Remember]], dict[int, list[str]]]:
        """The first `limit` that open to the caller and say something of their own; record ids behind each ord.

        A record only stands for one by the same author, of the same key, title, tags and speaker: nobody's words hide
        another's, and versions of a key that contradict each other are all shown.
        """
        if self._bank.host.settings.duplicates:
            return self._first(rows, limit), {}
        from muniment.recall.duplicates import Collapsing

        analyzer = self._bank.index.analyzer
        terms = {term.key for term in analyzer.query(query).terms}
        collapsing = Collapsing(lambda word: not terms.isdisjoint(analyzer.keys(word).counted), words)
        kept: list[tuple[VersionRow, Remember]] = []
        behind: dict[int, list[str]] = {}
        at = 0
        while at < len(rows) and (missing := limit - len(kept)):
            for row, act in self._reader.open(rows[at : at + missing]):
                alike = (act.key, act.title, act.tags, row.author, row.tool, row.type, speakers_of(act))
                before = collapsing.place(act.text, alike)
                if before is None:
                    kept.append((row, act))
                else:
                    behind.setdefault(kept[before][0].ord, []).append(record_text(act.id))
            at += missing
        return kept, behind

    def _used(self, rows: Sequence[VersionRow]) -> None:
        """Tell the archive what was recalled, where it wants to know."""
        room = self._bank.host.archive
        if room is not None and room.options.unused_for is not None:
            room.used(map(self._bank.store.version_id, rows))

    def why(self, query: str, ref: str, where: Where) -> Why:
        """Why a record answers a query, or does not.

        Raises:
            UnknownRecord | Ambiguous: As for `get`.
        """
        authority = self._reader.enter()
        index = self._bank.index
        index.refresh()
        group, exact = self._reader.find(ref, authority)
        row = exact or self._reader.shown(group, authority)
        rule = self._reader.filter(where, authority)
        opened = self._reader.open([row])
        asked = placed(self._bank, ask(self._bank, query, None), self._reader.open)
        found = rank(self._bank, asked, LIMITS.recall_limit, self._mask(rule), past=where.past, context=True)
        if reads_texts(self._bank, asked):
            best = self._first(self._shown(found, authority, past=where.past), READ)
            found = told(self._bank, asked, found, best)[0]
        if self._reranks(None) and (reranking := self._bank.host.reranking) is not None:
            best = self._first(self._shown(found, authority, past=where.past), reranking.options.top)
            found = reranked(reranking, query, found, best)[0]
            opened = self._reader.open([row])  # a record knows the entries that were opened last
        terms = index.search(query, 1).query_terms
        number = next((n for n, one in enumerate(found, 1) if one.ord == row.ord), None)
        one = self._explain(asked, row) if number is None else found[number - 1]
        if one is None or not opened:
            return Why(query, None, None, tuple(terms), tuple(terms), _no_hit(row, terms))
        cutter = self._cutter(query, [] if one.words is None else [one.words])
        record = self._reader.view(row, opened[0][1], authority)
        hit = _hit(record, opened[0][1], number or 0, one, cutter)
        matched = {term.term for term in hit.terms if term.tf}
        missed = tuple(term for term in terms if term not in matched)
        return Why(query, hit, number, tuple(terms), missed, _reason(number, hit, row))

    def _explain(self, asked: Asked, row: VersionRow) -> Ranked | None:
        """What speaks for a record that is not among the ranked ones; None if nothing does."""
        scored = self._bank.index.explain(asked.text, row.ord, spans=asked.spans)
        if scored is None or scored.word + scored.window + scored.session <= 0:
            return None
        return Ranked(row.ord, scored.share, scored)


def _no_hit(row: VersionRow, terms: Sequence[str]) -> str:
    if not terms:
        return "The query has no words to rank by."
    state = row.state.name.lower()
    return f"It holds none of the query's words, nor do its neighbours; it is {state}."


def _reason(rank: int | None, hit: Hit, row: VersionRow) -> str:
    if rank is not None:
        words = [term.term for term in sorted(hit.terms, key=lambda t: -t.score) if term.tf]
        own = (
            f"It holds {', '.join(words[:5])}." if words else "Only its conversation holds the query's words."
        )
        then = {"told": " It speaks of the time asked for.", "valid": " It was valid at the time asked for."}
        return f"Rank {rank}. {own}{''.join(said for name, said in then.items() if name in hit.signals)}"
    if row.state.name != "LIVE":
        return f"It matches, but it is {row.state.name.lower()}: only live records are recalled."
    return f"It matches, but ranks below the first {LIMITS.recall_limit} or does not pass the filters."


def _hit(record: Record, act: Remember, number: int, found: Ranked, cutter: Snippets) -> Hit:
    cut = cutter.of(_shown_text(act))
    return Hit(
        record=record,
        score=found.score,
        signals=_signals(found, number),
        snippet=cut.text,
        highlights=tuple(cut.highlights),
        terms=() if found.words is None else _terms(found.words),
        conflict=record.conflict,
        archived=record.archived,
    )


def _signals(found: Ranked, number: int) -> dict[str, float]:
    signals = {} if found.cosine is None else {"cosine": found.cosine}
    if (words := found.words) is not None:
        parts = {"word": words.word, "window": words.window, "session": words.session}
        signals |= {"text": words.weight * sum(parts.values()), **parts, **dict(words.favours)}
    if found.told is not None:
        signals |= [found.told]
    if found.reread is not None:
        signals["rerank"] = found.reread
    return {**signals, "rank": float(number)}


def _terms(scored: Scored) -> tuple[Term, ...]:
    return tuple(Term(t.term, t.tf, t.df, t.idf, t.contribution) for t in scored.terms)


def _shown_text(act: Remember) -> str:
    """Where a snippet comes from: of a skill what it is for; its steps come when they are asked for."""
    return about(act.text, act.metadata or {}) if act.type == TYPE else act.text


def _start(text: str) -> str:
    flat = " ".join(text[: SNIPPET_CHARS * 4].split())
    return flat if len(flat) <= SNIPPET_CHARS else flat[: SNIPPET_CHARS - 1].rstrip() + "…"
