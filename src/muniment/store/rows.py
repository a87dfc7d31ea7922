"""The row that an entry becomes."""

from __future__ import annotations

from muniment.ledger.entry import Entry
from muniment.store.base import EntryRow, Verdict


def row_of(entry: Entry, *, verdict: Verdict, local: bool, readable: bool = True, seq: int = 0) -> EntryRow:
    """The row of an entry: what is asked of it often stands beside its envelope."""
    header = entry.header
    return EntryRow(
        seq=seq,
        id=entry.id,
        author=header.by,
        at=header.at,
        control=entry.is_control,
        verdict=verdict,
        local=local,
        readable=readable,
        prev=header.prev,
        envelope=entry.envelope,
        epoch=header.epoch,
    )
