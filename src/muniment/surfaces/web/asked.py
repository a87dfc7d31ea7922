"""What is asked of a memory: the words, the filters, and each filter as a chip that can be taken away. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muniment.commands.records import STATES, TYPES
from muniment.views import Hit, Record

PAGE = 20
MOST = 1000
SINGLE = ("type", "source", "kind", "author", "session", "since", "until", "as_of")
MANY = ("tags", "states")
USUAL = "live"
SOURCES = ("self", "controller", "peer", "tool")
MODES = ("hybrid", "text", "vector", "recent")
_LABELS = {"tags": "tag", "states": "state", "as_of": "as of", "since": "from", "until": "before"}


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that holds: what it is called, its value, and the query without it."""

    label: str
    value: str
    without: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to one memory, as an address says it.

    Attributes:
        q: The words.
        filters: What holds, by parameter of `recall`.
        limit: At most so many hits.
        mode: How to rank, or None for what is usual here.
    """

    q: str
    filters: Mapping[str, Any]
    limit: int
    mode: str | None

    @property
    def params(self) -> dict[str, Any]:
        """As `recall` takes it."""
        return {"query": self.q, "limit": self.limit, "mode": self.mode, **self.filters}

    @property
    def query(self) -> dict[str, Any]:
        """As an address says it."""
        limit = self.limit if self.limit != PAGE else None
        return {"q": self.q, **self.filters, "mode": self.mode, "limit": limit}

    @property
    def chips(self) -> list[Chip]:
        """The filters that hold."""
        found = []
        for name, value in self.filters.items():
            for one in value if name in MANY else [value]:
                rest = [other for other in value if other != one] if name in MANY else None
                found.append(Chip(_LABELS.get(name, name), str(one), {**self.query, name: rest or None}))
        return found

    def also(self, name: str, value: str) -> dict[str, Any]:
        """The query with one more filter."""
        if name in MANY:
            return {**self.query, name: [*self.filters.get(name, ()), value]}
        return {**self.query, name: value}

    @property
    def more(self) -> dict[str, Any]:
        """The query for more hits."""
        return {**self.query, "limit": min(MOST, self.limit + 2 * PAGE)}


def read(pairs: Iterable[tuple[str, str]]) -> Asked:
    """What an address asks; empty values are none, and a limit that is no number is the usual one."""
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if value.strip():
            given.setdefault(name, []).append(value)
    filters: dict[str, Any] = {name: given[name][0].strip() for name in SINGLE if name in given}
    filters |= {name: list(dict.fromkeys(v.strip() for v in given[name])) for name in MANY if name in given}
    if filters.get("states") == [USUAL]:
        del filters["states"]
    limit = given.get("limit", [str(PAGE)])[0]
    count = int(limit) if limit.isascii() and limit.isdigit() and len(limit) < 6 else PAGE
    return Asked(given.get("q", [""])[0], filters, min(max(count, 1), MOST), given.get("mode", [None])[0])


@dataclass(frozen=True, slots=True)
class Facet:
    """What the hits have in common: a filter and its most frequent values with their counts."""

    title: str
    name: str
    values: Sequence[tuple[str, str, int]]  # value, what it is called, how many


def facets(hits: Sequence[Hit], asked: Asked) -> list[Facet]:
    """Filters that would part these hits; what all or none of them have parts nothing."""
    records = [hit.record for hit in hits]
    tags = Counter(tag for record in records for tag in record.tags)
    for tag in asked.filters.get("tags", ()):
        del tags[tag]
    rows = [
        ("Tags", "tags", [(tag, tag, n) for tag, n in tags.most_common(8)]),
        ("Types", "type", _values(records, "type", asked)),
        ("Sources", "source", _values(records, "source", asked)),
        ("Conversations", "session", _values(records, "session", asked)),
    ]
    return [Facet(title, name, values) for title, name, values in rows if values]


def _values(records: Sequence[Record], name: str, asked: Asked) -> list[tuple[str, str, int]]:
    found = Counter(value for record in records if (value := getattr(record, name)) is not None)
    if name in asked.filters or len(found) < (1 if name == "session" else 2):
        return []
    return [(value, value, n) for value, n in found.most_common(6)]


@dataclass(frozen=True, slots=True)
class Part:
    """One line of an explanation: what it is, its raw value, and its length beside the longest, 0 to 1."""

    label: str
    value: float
    share: float
    note: str = ""


def parts(hit: Hit) -> list[Part]:
    """What a score is made of: each word of the query, the conversation around, and the meaning."""
    rows = [
        (f"“{term.term}”", term.score, f"{term.tf}× here, in {term.df} memories")
        for term in hit.terms
        if term.tf
    ]
    for name, label in (
        ("window", "with its neighbours"),
        ("session", "with its whole conversation"),
    ):
        if hit.signals.get(name, 0.0) > 0:
            rows.append((label, hit.signals[name], ""))
    best = max((value for _, value, _ in rows), default=0.0) or 1.0
    found = [Part(label, value, min(1.0, value / best), note) for label, value, note in rows]
    if (cosine := hit.signals.get("cosine")) is not None:
        found.append(Part("meaning", cosine, min(1.0, max(0.0, cosine)), "cosine with the question"))
    return found


def choices() -> dict[str, tuple[str, ...]]:
    """What the filters with fixed values may be."""
    return {"type": TYPES, "source": SOURCES, "states": STATES, "mode": MODES}
