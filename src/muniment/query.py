"""Filters in the caller's words, and what they mean in a store's (design section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from muniment.base.clock import at_of
from muniment.base.errors import InvalidInput
from muniment.identity.did import parse_did
from muniment.ledger.acts import MAX_TIME, TYPES, words
from muniment.ledger.admission import check_metadata
from muniment.project import metadata_facet
from muniment.store.base import Filter, State, facet

SOURCES = ("self", "controller", "peer", "tool")
KINDS = ("self_noted", "granted", "recalled")
STATES = ("live", "archived", "superseded", "forgotten")

Time = int | datetime | str
_MOST_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Asker:
    """Relative to whom `source` and `kind` are derived: the keys of the agent and of its controller."""

    agents: frozenset[bytes]
    controllers: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Where:
    """Filters as a caller gives them; all that are set must hold, and none is ever dropped.

    Attributes:
        tags: All of them.
        metadata: Dotted path to value, equality.
        kind, source, author, type, session: One value each; `author` is a DID.
        since, until: When it was said: Unix ms, a `datetime` or ISO 8601 text; inclusive and exclusive.
        states: Any of `live`, `superseded`, `forgotten`; or `archived`: live ones whose text is in the archive.
        as_of: A past moment: what was live then.
    """

    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] | None = None
    kind: str | None = None
    source: str | None = None
    author: str | None = None
    type: str | None = None
    session: str | None = None
    since: Time | None = None
    until: Time | None = None
    states: Sequence[str] = ("live",)
    as_of: Time | None = None

    @property
    def past(self) -> bool:
        """Whether versions that are no longer live can pass."""
        return self.as_of is not None or not set(self.states) <= {"live", "archived"}


def to_ms(value: Time, what: str) -> int:
    """A moment in Unix milliseconds; text and datetimes without a zone are UTC.

    Raises:
        InvalidInput: It is no time.
    """
    if isinstance(value, bool) or not isinstance(value, int | str | datetime):
        raise InvalidInput(f"{what} is not a time: {value!r}", "Use ISO 8601, such as 2026-05-01T12:00:00Z.")
    if isinstance(value, int):
        return _bounded(value, what)
    if isinstance(value, str):
        if value.isascii() and value.isdigit():
            return _bounded(int(value) if len(value) < _MOST_DIGITS else MAX_TIME, what)
        moment = _parse(value, what)
    else:
        moment = value
    if not moment.tzinfo:
        moment = moment.replace(tzinfo=UTC)
    try:
        return _bounded(int(moment.timestamp() * 1000), what)
    except OverflowError:
        return _bounded(MAX_TIME, what)


def _bounded(ms: int, what: str) -> int:
    if not 0 <= ms < MAX_TIME:
        raise InvalidInput(
            f"{what} is out of range", "Times go from 1970 on, in Unix milliseconds or ISO 8601."
        )
    return ms


def _parse(text: str, what: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{what} is not a time: {text[:40]!r}", "Use ISO 8601, such as 2026-05-01T12:00:00Z."
        ) from None


def choice(value: str, choices: Sequence[str], what: str) -> str:
    """`value`, if it is one of `choices`.

    Raises:
        InvalidInput: It is not.
    """
    if value not in choices:
        raise InvalidInput(f"unknown {what}: {value[:40]!r}", f"One of {', '.join(choices)}.")
    return value


def compile_filter(where: Where, salt: bytes, asker: Asker) -> Filter:
    """What a store needs to know of the filters.

    Raises:
        InvalidInput | LimitExceeded | RefusedKey: A filter has no meaning; it is never passed over.
    """
    if where.metadata:
        check_metadata(where.metadata)
    facets = [facet(salt, "tag", "", words(tag)) for tag in where.tags]
    facets += [metadata_facet(salt, path, value) for path, value in (where.metadata or {}).items()]
    authors = _Authors()
    if where.author is not None:
        authors.only(frozenset({parse_did(where.author)}))
    tool = recalled = None
    if where.source is not None:
        tool = choice(where.source, SOURCES, "source") == "tool"
        if where.source == "self":
            authors.only(asker.agents)
        elif where.source == "controller":
            authors.only(asker.controllers - asker.agents)
        elif where.source == "peer":
            authors.but(asker.agents | asker.controllers)
    if where.kind is not None:
        recalled = choice(where.kind, KINDS, "kind") == "recalled"
        if where.kind == "self_noted":
            authors.only(asker.agents)
        elif where.kind == "granted":
            authors.but(asker.agents)
    return Filter(
        facets=tuple(sorted(set(facets))),
        authors=authors.allowed,
        not_authors=authors.refused,
        types=frozenset() if where.type is None else frozenset({choice(where.type, TYPES, "type")}),
        tool=tool,
        recalled=recalled,
        session=where.session,
        since=None if where.since is None else to_ms(where.since, "since"),
        until=None if where.until is None else to_ms(where.until, "until"),
        states=_states(where.states),
        archived=True if where.states and set(where.states) == {"archived"} else None,
        as_of=None if where.as_of is None else at_of(to_ms(where.as_of, "as_of") + 1) - 1,
    )


def _states(given: Sequence[str]) -> frozenset[State]:
    """The states meant: what is archived is live, and is asked for alone."""
    named = {choice(state, STATES, "state") for state in given}
    if "archived" in named and not named <= {"archived", "live"}:
        raise InvalidInput(
            "archived records are asked for alone", "Ask for the other states in a call of its own."
        )
    return frozenset(State["LIVE" if state == "archived" else state.upper()] for state in named)


class _Authors:
    """The authors that pass all filters seen so far."""

    def __init__(self) -> None:
        self.allowed: frozenset[bytes] | None = None
        self.refused: frozenset[bytes] = frozenset()

    def only(self, keys: frozenset[bytes]) -> None:
        self.allowed = keys if self.allowed is None else self.allowed & keys

    def but(self, keys: frozenset[bytes]) -> None:
        self.refused |= keys


def source_of(author: bytes, *, tool: bool, asker: Asker) -> str:
    """Who wrote it, derived from the signature: `tool` only lowers trust."""
    if tool:
        return "tool"
    if author in asker.agents:
        return "self"
    return "controller" if author in asker.controllers else "peer"


def kind_of(author: bytes, *, recalled: bool, asker: Asker) -> str:
    """How it came: kept again from a hit, noted by the agent itself, or granted by another."""
    if recalled:
        return "recalled"
    return "self_noted" if author in asker.agents else "granted"
