"""Authority kept in step with a store: control entries are read once, as they come (design section 4)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from muniment.base.errors import RefusedEntry, StoreCorrupt
from muniment.base.ids import BankId, EntryId, cid_text
from muniment.ledger.authority import Authority
from muniment.ledger.authority import Verdict as Worth
from muniment.ledger.control import Revoke
from muniment.ledger.entry import Entry, reload, verify
from muniment.ledger.past import DUPLICATE, Ruling
from muniment.store.base import BankStore, EntryRow


def proved(envelope: bytes, bank: BankId) -> Entry:
    """A stored entry, checked as if it came from a stranger.

    Raises:
        StoreCorrupt: It was changed, or put there by somebody else, since it was taken in.
    """
    try:
        return verify(envelope, bank)
    except RefusedEntry as error:
        raise StoreCorrupt(
            f"an entry of bank {cid_text(bank)} is not what was taken in: {error.reason}",
            "Run `muniment verify`; restore the file from a backup or fetch the bank from another peer.",
        ) from error


class StoreChain:
    """The `prev` graph and the authors of the entries that a store holds."""

    def __init__(self, store: BankStore) -> None:
        self._store = store
        self._prev: dict[EntryId, tuple[EntryId, ...]] = {}
        self._coming: dict[EntryId, Entry] = {}

    def prev(self, entry: EntryId) -> tuple[EntryId, ...] | None:
        """The entry's `prev`, or None where it is not here."""
        if (coming := self._coming.get(entry)) is not None:
            return coming.header.prev
        known = self._prev.get(entry)
        if known is None and (row := self._store.entry(entry)) is not None:
            known = self._prev[entry] = row.prev
        return known

    def author(self, entry: EntryId) -> bytes | None:
        """The key that signed the entry, or None where it is not here."""
        if (coming := self._coming.get(entry)) is not None:
            return coming.header.by
        row = self._store.entry(entry)
        return None if row is None else row.author

    def expect(self, entries: Sequence[Entry]) -> None:
        """Answer for entries that are about to be stored as if they were."""
        self._coming = {entry.id: entry for entry in entries}

    def forget(self) -> None:
        """Drop what was read in a transaction that was undone."""
        self._prev.clear()


class Rulings:
    """The authority of one bank as of the entries stored so far."""

    def __init__(self, store: BankStore) -> None:
        self._store = store
        self._chain = StoreChain(store)
        self._control: dict[EntryId, Entry] = {}
        self._seen = 0
        self._authority: Authority | None = None
        self._lock = threading.RLock()

    @property
    def authority(self) -> Authority:
        """As of the last `refresh`."""
        if self._authority is None:
            self.refresh()
        assert self._authority is not None  # noqa: S101 - refresh sets it
        return self._authority

    def refresh(self) -> bool:
        """Read control entries that came since, and look again for what was missing; True if anything came."""
        with self._lock:
            before = self._authority
            for row in list(self._store.entries(after=self._seen, control=True)):
                # Its signature too: whoever can write to the file could give himself a grant, or an epoch key.
                entry = proved(row.envelope, self._store.bank)
                self._control[entry.id] = entry
                self._seen = row.seq
                if self._authority is not None:
                    self._authority = self._authority.extend(entry)
            if self._authority is None:
                self._authority = Authority.resolve(self._store.bank, self._control, self._chain)
            elif self._authority is before and before.gaps:
                self._authority = before.extend()
            return self._authority is not before

    @contextmanager
    def expecting(self, entries: Sequence[Entry]) -> Iterator[Authority]:
        """The authority over what is stored and these data entries, which are about to be.

        Where a cut's path leads through them, one of them is judged by the others; whatever was said here
        is said anew if not all of them were stored.
        """
        with self._lock:
            before = self.authority
            if not any(
                isinstance(act, Revoke) for entry in self._control.values() for act in entry.header.ctl
            ):
                yield before  # nothing is cut, so no path is walked
                return
            self._chain.expect(entries)
            try:
                self._authority = Authority.resolve(self._store.bank, self._control, self._chain)
                yield self._authority
            finally:
                self._chain.expect(())
                if len(self._store.held([entry.id for entry in entries])) < len(entries):
                    self._authority = Authority.resolve(self._store.bank, self._control, self._chain)

    def judged(self) -> Authority:
        """The authority as it is, with all acts judged: it goes on saying so when more is stored."""
        authority = self.authority
        _ = authority.gaps  # judges whatever was not asked yet
        return authority

    def mark(self) -> tuple[int, Authority | None]:
        """A point to come back to, should the transaction be undone."""
        return self._seen, self._authority

    def rewind(self, mark: tuple[int, Authority | None]) -> None:
        """Forget what was read since `mark`."""
        with self._lock:
            if mark[1] is not self._authority or mark[0] != self._seen:
                self._control.clear()
                self._chain.forget()
                self._seen, self._authority = 0, None

    def control(self) -> list[Entry]:
        """The control entries read so far."""
        return list(self._control.values())

    def revocations(self, authority: Authority) -> frozenset[tuple[EntryId, int]]:
        """Those that stand: while they stay the same, no entry with its whole past here changes its verdict."""
        return frozenset(
            (entry.id, index)
            for entry in self._control.values()
            if any(isinstance(act, Revoke) for act in entry.header.ctl)
            for index, stands in enumerate(authority.acts_standing(entry))
            if stands and isinstance(entry.header.ctl[index], Revoke)
        )

    def rule(self, row: EntryRow) -> Ruling:
        """The verdict on a stored entry; of data entries with equal headers only the smallest id counts."""
        entry = reload(row.envelope)
        ruling = self.authority.rule(entry)
        if row.control or ruling.verdict is not Worth.COUNTS:
            return ruling
        for twin in self._store.twins(row.author, row.at):
            if twin.id < row.id and not twin.control:
                other = reload(twin.envelope)
                same = other.header_bytes == entry.header_bytes
                if same and self.authority.rule(other).verdict is Worth.COUNTS:
                    return DUPLICATE
        return ruling
