"""What one bank knows of a turn: ranked as recall ranks, cut at the floor (design sections 7 and 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from muniment.auto_recall import Recalled, Turn, has_words, is_quoted, mass, same_words, scale
from muniment.bank import Bank
from muniment.identity.did import parse_did
from muniment.ledger.acts import Remember
from muniment.query import Asker
from muniment.ranking import HYBRID, TEXT, Asked, Ranked, background_of, named_times, rank, weighed
from muniment.reading import Names, Reader
from muniment.recall.fusion import Evidence, Floor, stands
from muniment.recalling import Recaller
from muniment.trust import TrustConfig, weigh

if TYPE_CHECKING:
    from muniment.embed.base import Vectors
    from muniment.recall.lexical import Scored
    from muniment.trust import Weights

DEPTH = 40  # records that a ranking brings in
BEHIND = 0.5  # what the ranking by the whole conversation counts beside that by the question
NAMED = ("speaker", "dated")  # favours that are evidence too: few banks hold what was said by these, or then
FAVOURED = 1.25  # what evidence by words is multiplied by for each of them
COMPANY = 0.25  # so much of the floor a record needs itself, where another one of its bank clears it


@dataclass(slots=True)
class Shown:
    """What the conversation and the banks searched so far have said already."""

    said: Sequence[str]
    words: set[str] = field(default_factory=set)

    def keep(self, act: Remember) -> bool:
        """Whether a record says something new; asked once for each record that would be shown."""
        words = same_words(act.text)
        if not words or words in self.words:
            return False
        if is_quoted(act.title or act.key, act.text, self.said):
            return False
        self.words.add(words)
        return True


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked of each bank.

    Attributes:
        turn: What the conversation asks.
        vector: Its meaning, where an embedder gave one in time.
        key: The agent's own key, of which each bank's authority is asked.
        names: What this peer calls keys.
        own: The keys of the agent and its controller.
        floor: What evidence a record needs.
        limit: Records of one bank at most.
        shown: What was said already; what a bank says is added.
        trust: Whose words may be shown, and what they weigh.
        asker: Relative to whom `trust` tells sources: the agent that asks, whoever's bank it is.
    """

    turn: Turn
    vector: Vectors | None
    key: bytes
    names: Names
    own: frozenset[bytes]
    floor: Floor
    limit: int
    shown: Shown
    trust: TrustConfig
    asker: Asker


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A record that may be shown: how it ranks, what speaks for it, and whether that is enough without company."""

    ranked: Ranked
    score: float
    mass: float
    sigmas: float | None
    clears: bool


def search(bank: Bank, asking: Asking) -> list[Recalled]:
    """The records of a bank that clear the floor, the best first; nothing is written.

    Raises:
        NotPermitted: The key may not read, or not any more.
    """
    turn, key = asking.turn, asking.key
    reader = Reader(bank, key, asking.names, Asker(frozenset({key}), frozenset()))
    authority = reader.enter()
    with bank.store.read():
        weights = weigh(bank, asking.trust, asking.asker, unasked=True)
    candidates = _standing(bank, turn, asking.vector, asking.floor, weights)
    by_ord = {one.ranked.ord: one for one in candidates}
    before = set(asking.shown.words)
    clear = [one for one in candidates if one.clears]
    best_first = [*clear[:1], *(one for one in candidates if one is not clear[0])] if clear else []
    # One that clears has to be among those that are shown; it may rank low, or be left out for another reason.
    for chosen in (candidates, best_first, clear):
        ranked = [one.ranked for one in chosen]
        hits = Recaller(bank, reader).hits_of(ranked, asking.limit, turn.query, authority, asking.shown.keep)
        found = []
        for hit in hits:
            one = by_ord[ranked[int(hit.signals["rank"]) - 1].ord]
            mine = not hit.record.tool and parse_did(hit.record.author) in asking.own
            found.append((one.clears, Recalled(hit, one.mass, one.sigmas, mine)))
        if any(clears for clears, _ in found):
            return [recalled for _, recalled in found]
        asking.shown.words.intersection_update(before)  # what is not shown has not been said
    return []


def _standing(
    bank: Bank, turn: Turn, vector: Vectors | None, floor: Floor, weights: Weights | None
) -> list[_Candidate]:
    """The candidates of a bank of which one clears the floor, and that clear `COMPANY` of it themselves.

    They rank by the question first, and by what was said before it second.
    """
    readings = turn.readings
    if not readings:
        return []
    lists = _ranked(bank, turn, vector, weights)
    first = readings[0]
    analyzer = bank.index.analyzer
    terms = [frozenset(term.text for term in analyzer.query(text).terms) for text in readings]
    of_words = scale(bank.index.stats().records)
    background = background_of(bank, vector)
    scores: dict[int, float] = {}
    ranked: dict[int, Ranked] = {}
    for weight, found in zip((1.0, BEHIND), lists, strict=False):
        best = max((one.score for one in found), default=0.0) or 1.0
        for one in found:
            ranked.setdefault(one.ord, one)
            scores[one.ord] = scores.get(one.ord, 0.0) + weight * one.score / best
    single = len(readings) == 1 and turn.query == first
    part = Floor(floor.mass * COMPANY, floor.sigmas * COMPANY, floor.rare)
    out = []
    for ord, one in ranked.items():
        words = _evidence(bank, turn.query, one, known=single)
        held = 0.0 if words is None else max(mass(words.terms, reading, of_words) for reading in terms)
        evidence = Evidence(held * _favour(one.words), None, one.cosine)
        if stands(evidence, background, part):
            sigmas = None if one.cosine is None else background.sigmas(one.cosine)
            clears = stands(evidence, background, floor)
            out.append(_Candidate(one, scores[ord], held, sigmas, clears))
    if not any(one.clears for one in out):
        return []
    return sorted(out, key=lambda one: (-one.score, -one.ranked.ord))


def _ranked(bank: Bank, turn: Turn, vector: Vectors | None, weights: Weights | None) -> list[list[Ranked]]:
    """By the question, and by the question with what was said before it, where that is more."""
    allow = None if weights is None else weights > 0
    lists: list[list[Ranked]] = []
    when = named_times(turn.question, bank.host.clock.now_ms())
    mode = TEXT if vector is None else HYBRID
    if has_words(turn.question):
        asked = Asked(turn.question, mode, vector, spans=when)
        lists.append(rank(bank, asked, DEPTH, allow, past=False, context=True, depth=DEPTH))
    if turn.earlier and (len(turn.readings) > 1 or not lists):
        asked = Asked(turn.query, TEXT if lists else mode, None if lists else vector, spans=when)
        lists.append(rank(bank, asked, DEPTH, allow, past=False, context=True, depth=DEPTH))
    return [weighed(found, weights) for found in lists]


def _favour(words: Scored | None) -> float:
    """What evidence by words counts for a record that the question favours."""
    return FAVOURED ** sum(name in NAMED for name, _ in words.favours) if words is not None else 1.0


def _evidence(bank: Bank, query: str, one: Ranked, *, known: bool) -> Scored | None:
    """What of the whole query a record holds; `known` where its ranking has looked at all of it."""
    if known:
        return one.words
    return bank.index.explain(query, one.ord)
