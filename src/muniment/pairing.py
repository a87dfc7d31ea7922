"""Pairs of an answer that may contradict each other: both are shown, and each names the other (design section 7)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from muniment.base.ids import record_text
from muniment.ranking import Ranked
from muniment.sifting import Opened
from muniment.store.base import VersionRow

if TYPE_CHECKING:
    from muniment.recall.duplicates import Words

BESIDE = 4  # ranks behind an answer among which the other side of what it says is looked for


def paired(
    opened: Sequence[Opened],
    limit: int,
    rows: Sequence[VersionRow],
    found: Mapping[int, Ranked],
    open_rows: Callable[[Sequence[VersionRow]], list[Opened]],
    words: Words | None = None,
) -> tuple[list[Opened], dict[int, list[str]]]:
    """The first `limit` hits, the last of them making room for the other side of a better one; ids by row number.

    Lines of conversations are left alone: what was said at two times is no contradiction. The order stays that of the
    ranking; an answer of one hit only names its other side.

    Args:
        opened: Those that may be shown, the best first.
        limit: Hits at most.
        rows: The whole ranking.
        found: What speaks for each, by row number.
        open_rows: Opens rows for the caller.
        words: Where the words of texts are known from; None: nowhere.
    """
    from muniment.recall.contradictions import Contradictions

    shown = list(opened[:limit])
    told = Contradictions(words)
    against: dict[int, list[int]] = {}
    everything = [*shown, *_beside(opened, limit, rows, found, open_rows)]
    for number, (_, act) in enumerate(everything):
        others = told.add(act.text, _subjects(everything[number])) if act.session is None else told.add("")
        for other in others:
            if everything[other][0].record != everything[number][0].record:
                against.setdefault(other, []).append(number)
                against.setdefault(number, []).append(other)
    extra = [number for number in against if number >= len(shown) and min(against[number]) < len(shown)]
    kept = list(range(len(shown)))
    for number in sorted(extra):
        spare = [n for n in kept if n not in against]
        if not spare:
            break
        kept.remove(spare[-1])
        kept.append(number)
    ids = {
        everything[n][0].ord: [record_text(everything[other][0].record) for other in sorted(set(against[n]))]
        for n in kept
        if n in against
    }
    return [everything[n] for n in kept], ids


def _subjects(one: Opened) -> tuple[Hashable, ...]:
    _, act = one
    return tuple((kind, name) for kind, name in (("key", act.key), ("title", act.title)) if name)


def _beside(
    opened: Sequence[Opened],
    limit: int,
    rows: Sequence[VersionRow],
    found: Mapping[int, Ranked],
    open_rows: Callable[[Sequence[VersionRow]], list[Opened]],
) -> list[Opened]:
    """The next records of the ranking that hold the same words of the question as one that is shown."""
    if len(opened) > limit:
        return list(opened[limit : limit + BESIDE])
    if len(opened) < limit:
        return []
    last = next((at for at, row in enumerate(rows) if row.ord == opened[-1][0].ord), len(rows))
    alike = {_held(found.get(row.ord)) for row, act in opened if act.session is None}
    return open_rows(
        [row for row in rows[last + 1 : last + 1 + BESIDE] if _held(found.get(row.ord)) in alike]
    )


def _held(one: Ranked | None) -> frozenset[str] | None:
    """The words of the question that a record holds, but for those that turn what is said."""
    from muniment.recall.contradictions import tells

    if one is None or one.words is None:
        return None
    return frozenset(term.term for term in one.words.terms if term.tf and not tells(term.term))
