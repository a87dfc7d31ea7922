"""Telling what a bank holds: counts, signatures and verdicts (design section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from muniment.bank import Bank
from muniment.base.errors import MunimentError, RefusedBody, StoreCorrupt
from muniment.base.ids import BankId, VersionId, cid_text
from muniment.fetching import archived_body
from muniment.ledger import entry as entries
from muniment.ledger.entry import ActRef
from muniment.proving import FATAL, KINDS, Finding, Proof, Prover
from muniment.reading import Reader
from muniment.store.base import Figures, Filter, State
from muniment.views import Stats

_MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a bank's entries are worth, wherever they lie.

    Attributes:
        entries: How many there are; `control` of them say who may do what.
        counts, waiting, void: Their verdicts.
        refused: What is wrong in its own bytes: (id, reason), the first of them.
        unreadable: Entries with a body that does not open, by author DID.
        void_listed: Entries that do not count: (id, author DID, reason), the first of them.
        missing: Entries and bodies that should be here: (id, author DID, reason), the first of them.
        authors: Entries that count, by author DID.
        bodies: Sealed bodies that are here and match their hash; `erased` those erased by right.
        archived: Bodies that lie in an archive out of reach, their stub standing for them.
        opened: Entries whose bodies were opened; `shut` those for which no key was at hand.
        rolled_back: What the witness has seen and is not here: (id, author DID, reason).
        tally: How many there are of each kind of finding, also where not all are listed.
        file: Of a file: its name, exporter's DID, time (Unix ms) and counts.
    """

    bank: str
    entries: int
    control: int
    counts: int
    waiting: int
    void: int
    refused: tuple[tuple[str, str], ...]
    unreadable: Mapping[str, int]
    void_listed: tuple[tuple[str, str, str], ...]
    authors: Mapping[str, int]
    missing: tuple[tuple[str, str, str], ...] = ()
    bodies: int = 0
    erased: int = 0
    opened: int = 0
    shut: int = 0
    rolled_back: tuple[tuple[str, str, str], ...] = ()
    tally: Mapping[str, int] = field(default_factory=dict)
    file: Mapping[str, Any] | None = None
    archived: int = 0

    @property
    def ok(self) -> bool:
        """Every signature and hash holds, nothing is missing or unreadable, and nothing was rolled back."""
        return not any(self.tally.get(kind) for kind in FATAL)

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        listed = {
            "void_entries": self.void_listed,
            "missing": self.missing,
            "rolled_back": self.rolled_back,
        }
        return {
            "bank": self.bank,
            "ok": self.ok,
            **({} if self.file is None else {"file": dict(self.file)}),
            "entries": self.entries,
            "control": self.control,
            "counts": self.counts,
            "waiting": self.waiting,
            "void": self.void,
            "bodies": self.bodies,
            "erased": self.erased,
            "archived": self.archived,
            "opened": self.opened,
            "shut": self.shut,
            "refused": [{"id": name, "reason": reason} for name, reason in self.refused],
            "unreadable": dict(self.unreadable),
            **{
                name: [{"id": n, "author": a, "reason": r} for n, a, r in rows]
                for name, rows in listed.items()
            },
            "findings": dict(self.tally),
            "authors": dict(self.authors),
        }


class Findings:
    """Collects what a prover finds: the first of each kind, and the authors of what is unreadable."""

    def __init__(self, told: Callable[[Finding], None] | None = None) -> None:
        self._told = told
        self._kept: dict[str, list[Finding]] = {}
        self.unreadable: Counter[str] = Counter()

    def __call__(self, finding: Finding) -> None:
        """Take one finding."""
        if self._told is not None:
            self._told(finding)
        if finding.kind == "unreadable":
            self.unreadable[finding.author] += 1
        kept = self._kept.setdefault(finding.kind, [])
        if len(kept) < _MOST_LISTED:
            kept.append(finding)

    def rows(self, *kinds: str) -> tuple[tuple[str, str, str], ...]:
        """What was kept of some kinds: (id, author, reason)."""
        return tuple((f.id, f.author, f.reason) for kind in kinds for f in self._kept.get(kind, ()))

    def report(self, bank: BankId, proof: Proof, file: Mapping[str, Any] | None = None) -> VerifyReport:
        """What was worked out, as a report."""
        return VerifyReport(
            cid_text(bank),
            proof.entries,
            proof.control,
            proof.counts,
            proof.tally["waiting"],
            proof.tally["void"],
            tuple((name, reason) for name, _, reason in self.rows("refused")),
            dict(self.unreadable),
            self.rows("void", "waiting")[:_MOST_LISTED],
            dict(proof.authors),
            self.rows("missing entry", "missing body"),
            proof.bodies,
            proof.erased,
            proof.opened,
            proof.shut,
            self.rows("rolled back"),
            {kind: proof.tally[kind] for kind in KINDS if proof.tally[kind]},
            file,
            proof.archived,
        )


class _Stored:
    """The entries of a bank on this peer, read one by one, so that a damaged one hides no other."""

    def __init__(self, bank: Bank) -> None:
        self._bank, self._store = bank, bank.store
        self.total = bank.store.figures().entries

    def first(self) -> Iterator[tuple[int, str, bytes | MunimentError]]:
        for seq in range(1, self.total + 1):
            try:
                row = self._store.entry_at(seq)
            except MunimentError as error:
                yield seq, f"entry {seq}", error
                continue
            yield seq, cid_text(row.id), row.envelope

    def envelope(self, place: int) -> bytes:
        return self._store.entry_at(place).envelope

    def bodies(self, place: int, refs: Sequence[ActRef], *, read: bool) -> list[bytes | RefusedBody | None]:
        found: list[bytes | RefusedBody | None] = []
        for ref, sealed in zip(refs, self._sealed(place, len(refs)), strict=True):
            try:
                if sealed is not None:
                    entries.check_body(ref, sealed)
                found.append(sealed if read or sealed is None else b"")
            except RefusedBody as error:
                found.append(error)
        return found

    def _sealed(self, place: int, count: int) -> Sequence[bytes | None]:
        try:
            held = self._store.bodies([(place, act) for act in range(count)])
        except StoreCorrupt:
            return [None] * count
        return [
            archived_body(self._bank, place, act) if sealed is None and self.archived(place, act) else sealed
            for act, sealed in enumerate(held)
        ]

    def archived(self, place: int, act: int) -> bool:
        """Whether the archive holds the body at a place, here or elsewhere."""
        row = self._store.version_at(VersionId(self._store.entry_at(place).id, act))
        shelf = None if row is None else self._store.shelves([row.ord]).get(row.ord)
        return shelf is not None and (shelf.archived or shelf.stub)


def verify(
    bank: Bank,
    progress: Callable[[int, int], None] | None = None,
    told: Callable[[Finding], None] | None = None,
) -> VerifyReport:
    """Check every entry as if it came from a stranger, rule on it again, and open what a key here opens.

    Args:
        bank: The bank.
        progress: Called with steps done and in all.
        told: Called with each finding; the report lists the first of each kind.
    """
    findings = Findings(told)
    keys = [bank.epoch_keys(key) for key in sorted(bank.host.keyring.keys())]
    with bank.store.read():
        prover = Prover(bank.id, _Stored(bank), findings, keys)
        proof = prover.run(progress)
        for name, author, reason in bank.witness_gaps(prover.known):
            proof.tally["rolled back"] += 1
            findings(Finding("rolled back", name, author, reason))
    return findings.report(bank.id, proof)


def stats(bank: Bank, reader: Reader, agent: str | None) -> Stats:
    """Counts of a bank, for a caller who may read it."""
    reader.enter()
    store = bank.store
    with store.read():
        counts = store.counts()
        newest = store.newest(Filter(), 1)
        figures = store.figures()
    bank.index.refresh()
    return Stats(
        bank=cid_text(bank.id),
        agent=agent,
        records=counts.get(State.LIVE, 0),
        versions={state.name.lower(): counts.get(state, 0) for state in State},
        entries=figures.entries,
        sessions=figures.sessions,
        authors=figures.authors,
        first_ms=figures.first_ms,
        last_ms=newest[0].created if newest else None,
        file_bytes=figures.file_bytes,
        index=asdict(bank.index.stats()),
        archive=_archive(bank, figures),
    )


def _archive(bank: Bank, figures: Figures) -> dict[str, int]:
    """What is in the archive, and the packs of this peer; empty where nothing ever was."""
    room = bank.host.archive
    if room is None or not (figures.archived or room.begun):
        return {}
    packs, payloads, size = room.packs.index.figures() if room.begun else (0, 0, 0)
    return {
        "archived": figures.archived, "released": figures.released, "dead_bytes": figures.dead_bytes,
        "packs": packs, "payloads": payloads, "pack_bytes": size,
    }  # fmt: skip
