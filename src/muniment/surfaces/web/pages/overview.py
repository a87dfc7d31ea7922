"""The memory from afar: a map by meaning, how it grew, and what it is made of. Drawn beside the requests, and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import Response

from muniment.base.errors import EmbedderError, MissingExtra
from muniment.recall.analyzer import Analyzer
from muniment.recall.stopwords import stop_words
from muniment.sampling import moments, sample, vectors_of
from muniment.surfaces.web.charts import Growth, Share, growth, shares
from muniment.surfaces.web.visit import Visit
from muniment.views import Record

if TYPE_CHECKING:
    from muniment.memory import Memory
    from muniment.peer import Peer

POINTS = 2000
FEW = 12  # so few have no shape
WIDTH, HEIGHT = 960, 560
_EDGE = 28
_WAIT_S = 0.15
_TITLE = 90


@dataclass(frozen=True, slots=True)
class Point:
    """A memory on the map: where, its version, its first words, and how new it is from 0 to 1."""

    x: float
    y: float
    ref: str
    title: str
    age: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What is drawn. `of` is how many memories there are; `by` says what makes them lie near each other."""

    points: Sequence[Point]
    labels: Sequence[tuple[float, float, str]]
    by: str
    of: int
    growth: Growth | None
    types: Sequence[Share]
    sources: Sequence[Share]
    authors: Sequence[Share]


def show(visit: Visit) -> Response:
    """The page; what takes long comes by itself."""
    return visit.page("map.html", stats=visit.ask_here("stats"))


def drawn(visit: Visit) -> Response:
    """The map and the charts, or a word that they are being drawn."""
    stats = visit.ask_here("stats")  # asks whether it may be read, each time
    memory, peer = visit.memory, visit.house.peer
    name = (memory.did, memory.bank_id, stats.entries, stats.records)
    seen = visit.works.result(name, lambda: look(peer, memory), _WAIT_S)
    return visit.page("map_part.html", seen=seen, few=FEW, width=WIDTH, height=HEIGHT)


def look(peer: Peer, memory: Memory) -> Seen:
    """Everything that is drawn."""
    records = sample(memory, POINTS)
    when = moments(peer, memory)
    points, labels, by = _map(peer, memory, records)
    return Seen(
        points, labels, by, len(when), growth(when), _parts(record.type for record in records),
        _parts(record.source for record in records), _parts(r.author_name or r.author[-8:] for r in records),
    )  # fmt: skip


def _parts(values: object) -> list[Share]:
    return shares(Counter(values).most_common(8))  # type: ignore[call-overload]


def _map(
    peer: Peer, memory: Memory, records: Sequence[Record]
) -> tuple[list[Point], list[tuple[float, float, str]], str]:
    from muniment.surfaces.web import places  # brings numpy

    if len(records) < FEW:
        return [], [], ""
    settings = peer.host.settings
    analyzer = Analyzer(settings.language, settings.analyzer)
    chosen, by = list(records), "the words that they share"
    try:
        found = vectors_of(peer, memory, records)
    except (EmbedderError, MissingExtra):
        found = None
    if found is not None and len(found[0]) >= FEW:
        chosen, by = [records[place] for place in found[0]], "what they mean"
        rows = found[1]
    else:
        rows = places.by_words([analyzer.document([one.title or "", one.text]).counts for one in chosen])
    flat = places.flat(rows)
    stops = stop_words(analyzer.language)
    words = [frozenset(map(str.casefold, analyzer.tokens(_said(one)))) - stops for one in chosen]
    middles, nearest = places.regions(flat)
    names = places.names(words, nearest, len(middles))
    order = {ms: rank for rank, ms in enumerate(sorted({one.created_at_ms for one in chosen}))}
    points = [
        Point(*_on_paper(x, y), one.version, " ".join((one.title or one.text).split())[:_TITLE],
              4 * order[one.created_at_ms] // len(order))
        for one, (x, y) in zip(chosen, flat.tolist(), strict=True)
    ]  # fmt: skip
    labels = [(*_on_paper(x, y), name) for (x, y), name in zip(middles.tolist(), names, strict=True) if name]
    return points, labels, by


def _said(record: Record) -> str:
    return f"{record.title or ''} {record.text[:2000]}"


def _on_paper(x: float, y: float) -> tuple[float, float]:
    return round(_EDGE + x * (WIDTH - 2 * _EDGE), 1), round(_EDGE + y * (HEIGHT - 2 * _EDGE), 1)


SCREENS = (
    ("GET", "/a/{agent}/map", show),
    ("GET", "/a/{agent}/map/drawn", drawn),
)
