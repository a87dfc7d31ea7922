"""Authority kept in step with a store: control entries are read once, as they come (design section 4)."""

from __future__ import annotations

from muniment.base.ids import EntryId
from muniment.ledger.authority import Authority
from muniment.ledger.entry import Entry, reload
from muniment.store.base import BankStore


class StoreChain:
    """The `prev` graph and the authors of the entries that a store holds."""

    def __init__(self, store: BankStore) -> None:
        self._store = store
        self._prev: dict[EntryId, tuple[EntryId, ...]] = {}

    def prev(self, entry: EntryId) -> tuple[EntryId, ...] | None:
        """The entry's `prev`, or None where it is not here."""
        known = self._prev.get(entry)
        if known is None and (row := self._store.entry(entry)) is not None:
            known = self._prev[entry] = row.prev
        return known

    def author(self, entry: EntryId) -> bytes | None:
        """The key that signed the entry, or None where it is not here."""
        row = self._store.entry(entry)
        return None if row is None else row.author


class Rulings:
    """The authority of one bank as of the control entries stored so far."""

    def __init__(self, store: BankStore) -> None:
        self._store = store
        self._chain = StoreChain(store)
        self._control: dict[EntryId, Entry] = {}
        self._seen = 0
        self._authority: Authority | None = None

    @property
    def authority(self) -> Authority:
        """As of the last `refresh`."""
        if self._authority is None:
            self.refresh()
        assert self._authority is not None  # noqa: S101 - refresh sets it
        return self._authority

    def refresh(self) -> bool:
        """Read control entries that came since; True if there were any."""
        fresh = list(self._store.entries(after=self._seen, control=True))
        if not fresh and self._authority is not None:
            return False
        for row in fresh:
            entry = reload(row.envelope)
            self._control[entry.id] = entry
            self._seen = row.seq
            if self._authority is not None:
                self._authority = self._authority.extend(entry)
        if self._authority is None:
            self._authority = Authority.resolve(self._store.bank, self._control, self._chain)
        return True

    def mark(self) -> tuple[int, Authority | None]:
        """A point to come back to, should the transaction be undone."""
        return self._seen, self._authority

    def rewind(self, mark: tuple[int, Authority | None]) -> None:
        """Forget the control entries read since `mark`."""
        if mark[0] != self._seen:
            self._control.clear()
            self._seen, self._authority = 0, None
