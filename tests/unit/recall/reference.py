"""The formula again, plainly: what the index must agree with. No index, no pruning, no numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from muniment.recall.analyzer import SEPARATOR, Analyzer
from muniment.recall.corpus import ListCorpus, Row
from muniment.recall.favours import FavourWeights
from muniment.recall.lexical import ContextWeights


def rank(
    corpus: ListCorpus,
    analyzer: Analyzer,
    query: str,
    *,
    k1: float = 1.5,
    b: float = 0.75,
    exact: float = 0.2,
    context: ContextWeights | None = None,
    favours: FavourWeights | None = None,
    spans: Sequence[tuple[int, int]] = (),
    past: bool = False,
    allow: Callable[[int], bool] = lambda _: True,
) -> list[tuple[int, float]]:
    """(ord, score) of every record with a score, in order of rank."""
    rows = [row for row in corpus.rows(0, corpus.watermark().last_ord) if not row.gone]
    docs = {row.ord: analyzer.document(row.parts) for row in rows}
    live = {row.ord: row for row in rows if row.live}
    average = max(1.0, sum(docs[o].length for o in live) / max(1, len(live)))
    asked = analyzer.query(query)
    chains = chain_of(live)
    if not any(row.session for row in live.values()):
        context = None
    if context and favours is not None and among_people(list(live.values())):
        context = replace(
            context, window=context.window * context.people, session=context.session * context.people
        )

    def norm(o: int) -> float:
        return k1 * (1 - b + b * docs[o].length / average)

    def idf(holders: int, of: int) -> float:
        return math.log((of - holders + 0.5) / (holders + 0.5) + 1)

    weights = [
        idf(sum(t.key in docs[o].counts for o in live), len(live)) * (k1 + 1) * t.weight for t in asked.terms
    ]
    sessions = session_scores(live, docs, asked, context) if context else ({}, 0.0)
    ratio = sessions[1] / sum(weights) if context and sum(weights) else 0.0
    best = sum(weights) * (1 + exact + (context.window if context else 0)) + sessions[1]
    favoured = favour_of(list(live.values()), query, favours, spans)
    best *= favoured(None)
    scored = []
    for row in rows:
        if not (past or row.live) or not allow(row.ord):
            continue
        counts = docs[row.ord].counts
        word = window = same = 0.0
        for term, w in zip(asked.terms, weights, strict=True):
            tf, form = counts.get(term.key, 0), exact_tf(counts, term.key, term.surfaces)
            word += w * tf / (tf + norm(row.ord))
            same += exact * w * form / (form + norm(row.ord))
            if context:
                near = sum(docs[o].counts.get(term.key, 0) / norm(o) for o in chains.get(row.ord, ()))
                u = tf / norm(row.ord) + context.neighbours * near
                window += share_of(row, docs[row.ord].length, context) * context.window * w * u / (1 + u)
        if word + window <= 0:
            continue
        session = sessions[0].get(row.session, 0.0) if row.session and row.live else ratio * word
        session *= share_of(row, docs[row.ord].length, context) if context else 0.0
        tier = 0
        if asked.single and word > 0:
            forms = [t for t in asked.terms if t.key in asked.needed]
            tier = 1 + all(exact_tf(counts, t.key, t.surfaces) > 0 for t in forms)
        score = favoured(row) * (word + same + window + session) + tier * best
        scored.append((row.ord, score, row.place))
    scored.sort(key=lambda s: (-s[1], -s[2], -s[0]))
    return [(o, score) for o, score, _ in scored]


def share_of(row: Row, length: int, context: ContextWeights) -> float:
    """How much of its context counts for a row."""
    return context.full / max(length, context.full) if row.session else 1.0


def words_of(text: str) -> set[str]:
    """Lower-case words of a name or a question, as the tests write them."""
    return {word for word in text.casefold().split() if len(word) > 1}


def names_in(row: Row) -> set[str]:
    """Who said a row, by name."""
    return {speaker.casefold() for speaker in row.speakers} - {"user", "assistant"}


def among_people(live: list[Row]) -> bool:
    """Whether speakers have names and none is an assistant."""
    return any(map(names_in, live)) and not any("assistant" in row.speakers for row in live)


def favour_of(
    live: list[Row], query: str, weights: FavourWeights | None, spans: Sequence[tuple[int, int]]
) -> Callable[[Row | None], float]:
    """The weight of a row; of None: the greatest that any could have. Names are single words here."""
    if weights is None:
        return lambda _: 1.0
    named = words_of(query)
    hit = sum(bool(names_in(row) & named) for row in live)
    speaker = weights.speaker if 0 < hit < sum(bool(names_in(row)) for row in live) else 1.0
    roles = [any(role in row.speakers for row in live) for role in ("user", "assistant")]
    assistant = weights.assistant if all(roles) and "you said" not in query else 1.0
    dated = weights.dated if spans else 1.0

    def weight(row: Row | None) -> float:
        if row is None:
            return max(1.0, speaker) * max(1.0, assistant) * max(1.0, dated)
        found = speaker if names_in(row) & named else 1.0
        found *= assistant if "assistant" in row.speakers else 1.0
        return found * (dated if any(a <= row.place < b for a, b in spans) else 1.0)

    return weight


def exact_tf(counts: dict[bytes, int], stem: bytes, surfaces: tuple[bytes, ...]) -> int:
    """Occurrences of a stem in one of these forms."""
    others = {key: n for key, n in counts.items() if key.startswith(stem + SEPARATOR)}
    total = sum(n for key, n in others.items() if key[len(stem) + 1 :] in surfaces)
    return total + (counts.get(stem, 0) - sum(others.values()) if stem in surfaces else 0)


def chain_of(live: dict[int, Row]) -> dict[int, list[int]]:
    """The live neighbours of each record in its conversation."""
    members = sorted((r.session, r.place, r.ord) for r in live.values() if r.session)
    found: dict[int, list[int]] = {}
    for (session, _, first), (other, _, second) in zip(members, members[1:], strict=False):
        if session == other:
            found.setdefault(first, []).append(second)
            found.setdefault(second, []).append(first)
    return found


def session_scores(live, docs, asked, context):  # type: ignore[no-untyped-def]
    """(weighted score by conversation, the greatest possible)."""
    words: dict[int, int] = {}
    for row in live.values():
        if row.session:
            words[row.session] = words.get(row.session, 0) + docs[row.ord].length
    words = {s: n for s, n in words.items() if n}
    average = max(1.0, sum(words.values()) / max(1, len(words)))
    scores: dict[int, float] = {}
    top = 0.0
    for term in asked.terms:
        held: dict[int, int] = {}
        for row in live.values():
            if row.session and term.key in docs[row.ord].counts:
                held[row.session] = held.get(row.session, 0) + docs[row.ord].counts[term.key]
        idf = math.log((len(words) - len(held) + 0.5) / (len(held) + 0.5) + 1)
        weight = context.session * (context.k1 + 1) * idf * term.weight
        top += weight
        for s, n in held.items():
            norm = context.k1 * (1 - context.b + context.b * words[s] / average)
            scores[s] = scores.get(s, 0.0) + weight * n / (n + norm)
    return scores, top
