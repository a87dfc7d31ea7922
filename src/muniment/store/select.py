"""From a `Filter` to conditions of SQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from muniment.store.base import Filter, State
from muniment.store.link import Link, Row

FEW = 16  # numbers that are bound one by one
_MANY = 256  # values looked for by one statement
_RARE = 10_000  # holders of a facet up to which they are listed, not looked up while walking


def listed(numbers: Sequence[int]) -> tuple[str, list[Any]]:
    """`IN (…)` for some numbers and its values: few are bound one by one, many as one JSON list."""
    if len(numbers) <= FEW:
        return f"IN ({', '.join('?' * len(numbers))})", list(numbers)
    return "IN (SELECT value FROM json_each(?))", [json.dumps(list(numbers))]


def among(link: Link, select: str, keys: Sequence[bytes] | Sequence[int]) -> list[Row]:
    """The rows of `select` (up to its last `WHERE column`) for many values, in few statements."""
    rows: list[Row] = []
    for start in range(0, len(keys), _MANY):
        part = keys[start : start + _MANY]
        # One text for whole chunks, so that it is prepared once.
        marks = ", ".join("?" * (_MANY if len(part) > FEW else FEW))
        filler = [None] * ((_MANY if len(part) > FEW else FEW) - len(part))
        rows += link.run(f"{select} IN ({marks})", [*part, *filler])
    return rows


def conditions(link: Link, wanted: Filter, *, walk: bool) -> tuple[str, list[Any]] | None:
    """A WHERE clause over `versions` and its values; None where nothing can pass.

    Args:
        link: Where numbers of authors and sessions are looked up.
        wanted: The filter.
        walk: The rows are walked from the newest on, so a facet that many hold is tested row by row.
    """
    where: list[str] = []
    values: list[Any] = []

    def put(clause: str, *more: Any) -> None:
        where.append(clause)
        values.extend(more)

    if not _states(wanted, put):
        return None
    if wanted.authors is not None:
        put("author IN (SELECT value FROM json_each(?))", _numbers(link, wanted.authors))
    if wanted.not_authors:
        put("author NOT IN (SELECT value FROM json_each(?))", _numbers(link, wanted.not_authors))
    if wanted.types:
        kinds = [kind.encode("utf-8", "surrogatepass") for kind in sorted(wanted.types)]
        put(f"type IN ({', '.join('?' * len(kinds))})", *kinds)
    if wanted.tool is not None:
        put(f"tool = {wanted.tool:d}")
    if wanted.recalled is not None:
        put(f"recalled = {wanted.recalled:d}")
    if wanted.session is not None:
        name = wanted.session.encode("utf-8", "surrogatepass")
        put("session <> 0 AND session = (SELECT id FROM sessions WHERE name = ?)", name)
    if wanted.since is not None:
        put("created >= ?", wanted.since)
    if wanted.until is not None:
        put("created < ?", wanted.until)
    for hash_ in sorted(set(wanted.facets)):
        if walk and _is_common(link, hash_):
            put("EXISTS (SELECT 1 FROM facets WHERE hash = ? AND facets.ord = versions.ord)", hash_)
        else:
            put("ord IN (SELECT ord FROM facets WHERE hash = ?)", hash_)
    return " AND ".join(where), values


def _states(wanted: Filter, put: Any) -> bool:
    if wanted.archived is not None:
        among = "IN" if wanted.archived else "NOT IN"
        put(f"ord {among} (SELECT ord FROM shelves WHERE archived = 1)")
    if wanted.as_of is not None:
        # What is void never was live, and of what is erased nothing is left to show.
        put(f"state NOT IN ({State.VOID:d}, {State.ERASED:d})")
        put("at <= ? AND (ended IS NULL OR ended > ?)", wanted.as_of, wanted.as_of)
        return True
    if not wanted.states:
        return False
    put(f"state IN ({', '.join(str(int(state)) for state in sorted(wanted.states))})")
    if State.LIVE not in wanted.states:
        put("state <> 0")  # what the partial index asks for
    return True


def _numbers(link: Link, authors: Iterable[bytes]) -> str:
    return json.dumps([number for key in authors if (number := link.number("authors", key))])


def _is_common(link: Link, hash_: int) -> bool:
    sql = f"SELECT count(*) FROM (SELECT 1 FROM facets WHERE hash = ? LIMIT {_RARE + 1})"
    return bool(link.run(sql, (hash_,))[0][0] > _RARE)
