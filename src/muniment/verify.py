"""Telling what a bank holds: counts, signatures and verdicts (design section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from muniment.bank import Bank
from muniment.base.errors import RefusedEntry
from muniment.base.ids import cid_text
from muniment.identity.did import to_did
from muniment.ledger import entry as entries
from muniment.reading import Reader
from muniment.store.base import Figures, Filter, State, Verdict
from muniment.views import Stats

_MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a bank's entries are worth.

    Attributes:
        entries: How many there are; `control` of them say who may do what.
        counts, waiting, void: Their verdicts.
        refused: Entries whose bytes or signature are wrong: (id, reason).
        unreadable: Entries with a body that does not open, by author DID.
        void_listed: Entries that do not count: (id, author DID, reason), the first of them.
        authors: Entries that count, by author DID.
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

    @property
    def ok(self) -> bool:
        """Every signature holds and nothing is unreadable."""
        return not self.refused and not self.unreadable

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "bank": self.bank,
            "ok": self.ok,
            "entries": self.entries,
            "control": self.control,
            "counts": self.counts,
            "waiting": self.waiting,
            "void": self.void,
            "refused": [{"id": name, "reason": reason} for name, reason in self.refused],
            "unreadable": dict(self.unreadable),
            "void_entries": [{"id": n, "author": a, "reason": r} for n, a, r in self.void_listed],
            "authors": dict(self.authors),
        }


def verify(bank: Bank, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
    """Check the bytes and signature of every entry as if it came from a stranger, and rule on it again."""
    bank.rulings.refresh()
    verdicts: Counter[Verdict] = Counter()
    authors: Counter[str] = Counter()
    unreadable: Counter[str] = Counter()
    refused: list[tuple[str, str]] = []
    void: list[tuple[str, str, str]] = []
    control = number = 0
    total = sum(1 for _ in bank.store.entries()) if progress else 0
    for number, row in enumerate(bank.store.entries(), 1):
        if progress and number % 64 == 0:
            progress(number, total)
        try:
            entry = entries.verify(row.envelope, bank.id)
        except RefusedEntry as error:
            refused.append((cid_text(row.id), error.reason))
            continue
        ruling = bank.rulings.rule(row)
        verdict = Verdict[ruling.verdict.name]
        verdicts[verdict] += 1
        control += entry.is_control
        author = to_did(row.author)
        if not row.readable:
            unreadable[author] += 1
        if verdict is Verdict.COUNTS:
            authors[author] += 1
        elif len(void) < _MOST_LISTED:
            void.append((cid_text(row.id), author, ruling.reason))
    if progress:
        progress(total, total)
    return VerifyReport(
        cid_text(bank.id),
        number,
        control,
        verdicts[Verdict.COUNTS],
        verdicts[Verdict.WAITING],
        verdicts[Verdict.VOID],
        tuple(refused),
        dict(unreadable),
        tuple(void),
        dict(authors),
    )


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
