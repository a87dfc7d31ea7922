"""What callers get to see: records, hits and their JSON forms (design sections 5 and 7). Plain values, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.erasing import Erased


@dataclass(frozen=True, slots=True)
class Record:
    """One version of a memory, open.

    Attributes:
        id: UUIDv7, as text; with `author` it names the record.
        bank: Id of its bank, as text.
        version: `<entry id>/<act index>`: the version that acts can name.
        type: `note`, `skill`, `bullet` or `message`.
        kind: `granted` (by another), `recalled` (a hit kept again) or `self_noted`.
        source: Who wrote it, derived: `self`, `controller`, `peer` or `tool`.
        author: DID of the key that signed it; `author_name` what this peer calls that key, if anything.
        authors: DIDs of all keys that wrote the same words under the same key.
        created_at_ms: When it was said; `written_at_ms` when it was signed. Unix milliseconds.
        state: `live`, `archived` (live, its text in a blob), `superseded`, `forgotten`, `erased` or `void`.
        supersedes: The versions that it took the place of.
        conflict: Another live version of the same key says something else.
        clock_ahead: Signed by a clock that runs ahead; recall hides it until its time.
        helpful: How often these words were judged to help; `harmful` to do harm.
        archived: A standing archive act names it; `pointer` names its sealed payload.
        whole: `text` is all of it; else it is the beginning that the stub has, until the text is fetched.
    """

    id: str
    bank: str
    version: str
    key: str | None
    title: str | None
    text: str
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    type: str
    kind: str
    source: str
    author: str
    author_name: str | None
    authors: tuple[str, ...]
    session: str | None
    created_at_ms: int
    written_at_ms: int
    valid_from: int | None
    valid_until: int | None
    source_ref: str | None
    state: str
    supersedes: tuple[str, ...] = ()
    conflict: bool = False
    clock_ahead: bool = False
    tool: bool = False
    recalled: bool = False
    helpful: int = 0
    harmful: int = 0
    archived: bool = False
    pointer: str | None = None
    whole: bool = True

    def to_json(self) -> dict[str, Any]:
        """The record as `--json` prints it."""
        found = {name: getattr(self, name) for name in _RECORD_FIELDS}
        lists = {name: list(value) for name, value in found.items() if type(value) is tuple}
        return found | lists | {"metadata": dict(self.metadata)}


_RECORD_FIELDS = (
    "id", "bank", "version", "key", "title", "text", "tags", "metadata", "type", "kind", "source", "author",
    "author_name", "authors", "session", "created_at_ms", "written_at_ms", "valid_from", "valid_until",
    "source_ref", "state", "supersedes", "conflict", "clock_ahead", "helpful", "harmful", "archived", "pointer",
    "whole",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Remembered:
    """What `remember` did: the record's id and version, and whether anything new was written."""

    id: str
    version: str
    created: bool
    bank: str
    superseded: tuple[str, ...] = ()
    degraded: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The result as `--json` prints it."""
        return {
            "id": self.id, "version": self.version, "created": self.created, "bank": self.bank,
            "superseded": list(self.superseded),
            "degraded": self.degraded,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """One query term in one record: where the score comes from.

    Attributes:
        term: The term after analysis, as text.
        tf: How often the record holds it; `df` how many live records do; `idf` their BM25 weight.
        score: What it adds to the record's own BM25.
    """

    term: str
    tf: int
    df: int
    idf: float
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One row of an answer.

    Attributes:
        record: The memory.
        score: 0..1. By words, the share of the best score that any record could reach for this query; by meaning,
            the cosine; by both, what each adds by the best of its side; 1.0 for `recent`.
        signals: Raw scores by name: `text`, the sum of `word`, `window` and `session`, multiplied by what of `speaker`,
            `assistant` and `dated` concerns the record; `told` or `valid`, what the score is multiplied by where the
            text speaks of the time asked for, or it held then; `cosine`; and `rank`.
        snippet: Part of the text around the words that matched.
        highlights: (start, end) character offsets into `snippet`.
        terms: Where the score comes from, term by term.
        conflict: Another live version of the same key says something else.
        archived: The text lies in a blob; `record.whole` says whether it is here all the same.
        duplicates: Ids of records left out because they say nearly the same as this one, the best first.
        contradicts: Ids of records that say the same but for a number, a negation or a day; one that is nearly as good
            is shown too, in place of the last hit.
    """

    record: Record
    score: float
    signals: Mapping[str, float]
    snippet: str
    highlights: tuple[tuple[int, int], ...] = ()
    terms: tuple[Term, ...] = ()
    conflict: bool = False
    archived: bool = False
    duplicates: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The hit as `--json` prints it."""
        return {
            "record": self.record.to_json(),
            "score": round(self.score, 6),
            "signals": {name: round(value, 6) for name, value in self.signals.items()},
            "snippet": self.snippet,
            "highlights": [list(span) for span in self.highlights],
            "conflict": self.conflict,
            "archived": self.archived,
            "duplicates": list(self.duplicates),
            "contradicts": list(self.contradicts),
        }


@dataclass(frozen=True, slots=True)
class Why:
    """Why a record is, or is not, an answer to a query.

    `rank` counts from 1 among all records that pass the filters, None where it matches nothing; `missed` are
    the query's terms that it does not hold; `reason` says in words what follows.
    """

    query: str
    hit: Hit | None
    rank: int | None
    query_terms: tuple[str, ...]
    missed: tuple[str, ...]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """The explanation as `--json` prints it."""
        terms = [] if self.hit is None else [
            {"term": t.term, "tf": t.tf, "df": t.df, "idf": round(t.idf, 6), "score": round(t.score, 6)}
            for t in self.hit.terms
        ]  # fmt: skip
        return {
            "query": self.query, "rank": self.rank, "hit": None if self.hit is None else self.hit.to_json(),
            "query_terms": list(self.query_terms), "missed": list(self.missed), "terms": terms, "reason": self.reason,
        }  # fmt: skip


class Hits(list[Hit]):
    """A list of hits that also says how they were found.

    Attributes:
        mode: `hybrid`, `text`, `vector` or `recent`: what was done, which is not always what was asked.
        degraded: Why less was done than asked for, or None.
    """

    def __init__(self, hits: list[Hit], mode: str, degraded: str | None = None) -> None:
        super().__init__(hits)
        self.mode = mode
        self.degraded = degraded

    def to_json(self) -> dict[str, Any]:
        """The answer as `--json` prints it."""
        return {"hits": [hit.to_json() for hit in self], "mode": self.mode, "degraded": self.degraded}


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a bank, and where it lies.

    `archive` has the versions that are `archived`, those whose text is `released` here, the `dead_bytes` that the file
    could give back, and the `packs`, `payloads` and `pack_bytes` of this peer, whosever they are.
    """

    bank: str
    agent: str | None
    records: int
    versions: Mapping[str, int]
    entries: int
    sessions: int
    authors: int
    first_ms: int | None
    last_ms: int | None
    file_bytes: int
    index: Mapping[str, int] = field(default_factory=dict)
    archive: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The counts as `--json` prints them."""
        return {
            "bank": self.bank, "agent": self.agent, "records": self.records, "versions": dict(self.versions),
            "entries": self.entries, "sessions": self.sessions, "authors": self.authors, "first_ms": self.first_ms,
            "last_ms": self.last_ms, "file_bytes": self.file_bytes, "index": dict(self.index),
            "archive": dict(self.archive),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did with each piece that it read.

    `read` is the sum of the others: `created` memories, those `unchanged` since an import before, pieces `merged`
    into a memory with others, `left_out` on purpose by reason, and `bad_count` that could not be taken, the first of
    them in `bad` as (place, reason).
    """

    read: int
    created: int
    unchanged: int
    bad: tuple[tuple[str, str], ...] = ()
    bad_count: int = 0
    merged: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "read": self.read, "created": self.created, "unchanged": self.unchanged, "merged": self.merged,
            "left_out": dict(self.left_out), "skipped": self.bad_count,
            "bad": [{"place": place, "reason": reason} for place, reason in self.bad],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cleared:
    """How many records of an agent's memory were forgotten at once, brought back (`undone`), or `erased`."""

    agent: str
    records: int
    undone: bool = False
    erased: Erased | None = None

    def to_json(self) -> dict[str, Any]:
        """The result as `--json` prints it."""
        erased = None if self.erased is None else self.erased.to_json()
        return {"agent": self.agent, "records": self.records, "undone": self.undone, "erased": erased}


@dataclass(frozen=True, slots=True)
class CredentialInfo:
    """That an API key is kept: its provider, and 8 hex digits that tell it from others; None if it does not open."""

    provider: str
    fingerprint: str | None

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints; nothing of the key."""
        return {"provider": self.provider, "fingerprint": self.fingerprint}


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """An agent of this peer: its name, keys and bank."""

    name: str
    did: str
    controller: str
    bank: str
    created_at_ms: int
    records: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The agent as `--json` prints it."""
        return {
            "name": self.name, "did": self.did, "controller": self.controller, "bank": self.bank,
            "created_at_ms": self.created_at_ms, "records": self.records,
        }  # fmt: skip
