"""The part of a text that best shows why it was found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from muniment.recall.analyzer import Analyzer

WIDTH = 200  # characters
CUT = "…"
REACH = 24  # characters that a cut may move to fall between words
REPEAT = 0.05  # what a further occurrence of a word adds, as a share of its first

_JOINERS = re.compile("[\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\u1160-\u11ff\U000e0020-\U000e007f]")
_UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")

Match = tuple[int, int, bytes, float]
# Languages in which a stem begins with the letter that the word begins with: others need not be stemmed to be told
# apart from what is asked for.
HEADED = frozenset({"english", "none"})
DENSE = (b"", 0.0)  # stands for a run whose pairs are to be looked at


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text.

    Attributes:
        text: At most the asked width; starts or ends with "…" where the text goes on. Control characters and line
            ends are blanks.
        highlights: (start, end) of the matches in it, in order, not overlapping.
    """

    text: str
    highlights: list[tuple[int, int]]


def snippet(
    text: str,
    query: str,
    analyzer: Analyzer,
    *,
    width: int = WIDTH,
    weights: Mapping[str, float] | None = None,
) -> Snippet:
    """The stretch of a text that holds the most of a query; see `Snippets`."""
    return Snippets(query, analyzer, width=width, weights=weights).of(text)


class Snippets:
    """Cuts snippets from many texts for one query: what a word is to the query is looked up once.

    Args:
        query: What was asked; matches are words with the same stem, accents and case apart.
        analyzer: The analyser of the index.
        width: Characters at most.
        weights: How much each query term counts (`TermScore.term` to `TermScore.idf`); all alike by default.
    """

    def __init__(
        self,
        query: str,
        analyzer: Analyzer,
        *,
        width: int = WIDTH,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self._analyzer, self._width = analyzer, max(width, 8)
        self._wanted = {
            term.key: 1.0 if weights is None else weights.get(term.text, 1.0)
            for term in analyzer.query(query).terms
        }
        self._known: dict[str, tuple[bytes, float]] = {}
        self._seen: set[str] = set()
        headed = analyzer.kind == "standard" and analyzer.language in HEADED
        self._heads = {key[:1].decode("latin-1") for key in self._wanted} if headed else None

    def of(self, text: str) -> Snippet:
        """The stretch of any text that holds the most of the query."""
        width, matches = self._width, self._matches(text) if self._wanted else []
        start, end = _window(text, matches, width) if matches else (0, min(len(text), width))
        start, end = _tidy(text, start, end, width, matches)
        head, tail = CUT if start > 0 else "", CUT if end < len(text) else ""
        shift = len(head) - start
        marks = [(a + shift, b + shift) for a, b in _joined(matches, start, end)]
        body = _UNPRINTABLE.sub(lambda m: "\ufffd" if m[0] >= "\ud800" else " ", text[start:end])
        return Snippet(head + body + tail, marks)

    def _matches(self, text: str) -> list[Match]:
        """(start, end, key, weight) of each word that a query term asks for."""
        pattern, known, found = self._analyzer.pattern(text), self._known, list[Match]()
        words = pattern.findall(text)
        if self._heads is not None:  # identifiers have parts that begin otherwise
            heads = self._heads
            words = [w for w in words if w[0] in heads or not (w.islower() and w.isalpha() and w.isascii())]
        fresh = set(words).difference(self._seen)
        self._seen |= fresh
        self._look_at(fresh)
        if known.keys().isdisjoint(words):
            return found
        for match in pattern.finditer(text):
            hit = known.get(match[0])
            if hit is None:
                continue
            if hit is DENSE:
                found += _dense_matches(match[0], match.start(), self._wanted)
            else:
                found.append((match.start(), match.end(), *hit))
        return found

    def _look_at(self, words: set[str]) -> None:
        """Finds which of these words the query asks for, and by which of its terms, the weightiest."""
        analyzer, wanted = self._analyzer, self._wanted
        whole, keys, others = analyzer.kind == "standard", analyzer.keys, wanted.keys().isdisjoint
        for word in words:
            if not (whole and word.isascii()):
                if analyzer.is_dense(word):
                    self._known[word] = DENSE
                    continue
                terms = [key for part in analyzer.tokens(word) for key in keys(part).counted if key in wanted]
            elif others(counted := keys(word).counted):  # a word of ASCII alone is its only token
                continue
            else:
                terms = [key for key in counted if key in wanted]
            if terms:
                best = max(terms, key=wanted.__getitem__)
                self._known[word] = best, wanted[best]


def _dense_matches(run: str, at: int, wanted: Mapping[bytes, float]) -> list[Match]:
    """Matches inside a run of a script written without spaces: pairs of characters, or single ones."""
    found: list[Match] = []
    for size in (2, 1):
        for i in range(len(run) - size + 1):
            key = unicodedata.normalize("NFKC", run[i : i + size]).encode("utf-8", "surrogatepass")
            if key in wanted:
                found.append((at + i, at + i + size, key, wanted[key]))
    return sorted(found)


def _window(text: str, matches: list[Match], width: int) -> tuple[int, int]:
    """The stretch of `width` characters with the greatest weight of different terms, its matches in the middle."""
    counts: dict[bytes, int] = {}
    first, score, best, best_span = 0, 0.0, -1.0, (0, 0)
    for last, (_, end, key, weight) in enumerate(matches):
        counts[key] = counts.get(key, 0) + 1
        score += weight if counts[key] == 1 else weight * REPEAT
        while end - matches[first][0] > width - 2 and first < last:
            _, _, old, old_weight = matches[first]
            counts[old] -= 1
            score -= old_weight if counts[old] == 0 else old_weight * REPEAT
            first += 1
        if score > best + 1e-9:
            best, best_span = score, (matches[first][0], end)
    low, high = best_span
    spare = max(0, width - 2 - (high - low))
    start = max(0, low - spare // 2)
    end = min(len(text), start + width - (2 if start else 1))
    return max(0, min(start, end - (width - 2))) if end == len(text) else start, end


def _tidy(text: str, start: int, end: int, width: int, matches: list[Match]) -> tuple[int, int]:
    """Moves the cuts to word borders, never into a match, and never between the parts of one character."""
    low = min((a for a, b, _, _ in matches if a >= start and b <= end), default=end)
    high = max((b for a, b, _, _ in matches if a >= start and b <= end), default=start)
    if start > 0:
        start = _border(text, start, min(low, start + REACH), 1)
    room = width - (1 if start > 0 else 0)
    end = min(end, start + room)
    if end < len(text):
        end = min(end, start + room - 1)
        end = _border(text, end, max(high, end - REACH, start + width // 2), -1)
    return start, end


def _border(text: str, at: int, limit: int, step: int) -> int:
    """The first place from `at` towards `limit` between words, else the first between characters."""
    for inside in (_inside_word, _inside_character):
        place = at
        while place != limit and inside(text, place):
            place += step
        if not inside(text, place):
            return place
    return at


def _inside_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    return not text[at - 1].isspace() and not text[at].isspace()


def _inside_character(text: str, at: int) -> bool:
    """Whether a cut here would part marks, joined pictographs or the halves of a flag."""
    if not 0 < at < len(text):
        return False
    here, before = text[at], text[at - 1]
    if here.isascii() and before.isascii():
        return False
    if unicodedata.category(here)[0] == "M" or _JOINERS.match(here) or before == "\u200d":
        return True
    flags = 0
    while at - flags > 0 and "\U0001f1e6" <= text[at - flags - 1] <= "\U0001f1ff":
        flags += 1
    return "\U0001f1e6" <= here <= "\U0001f1ff" and flags % 2 == 1


def _joined(matches: list[Match], start: int, end: int) -> list[tuple[int, int]]:
    """Spans of the matches in a stretch, overlapping and touching pairs made one."""
    spans: list[tuple[int, int]] = []
    for a, b, _, _ in matches:
        if a < start or b > end:
            continue
        if spans and a < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(b, spans[-1][1]))
        else:
            spans.append((a, b))
    return spans
