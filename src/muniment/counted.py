"""What counts in a bank, as the indexes that a sync compares; kept in step with the store (design section 8)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from muniment.ledger.authority import Authority
from muniment.store.base import Verdict
from muniment.sync import messages
from muniment.sync.reconcile import Index, key_of

if TYPE_CHECKING:
    from muniment.bank import Bank


class Counted:
    """The two indexes of one bank. They live in memory: made at the first sync of a process, then followed."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank
        self._lock = threading.Lock()
        self._data: Index | None = None
        self._upto = self._rerulings = 0
        self._control: tuple[Authority, Index] | None = None

    def index(self, which: int) -> Index:
        """The control entries that count with their control past, or the data entries that count."""
        with self._lock:
            return self._control_index() if which == messages.CONTROL else self._data_index()

    def _control_index(self) -> Index:
        authority = self._bank.authority
        if self._control is None or self._control[0] is not authority:
            keys = [key_of(at, entry) for entry, at in authority.shared.items()]
            self._control = authority, Index(keys)
        return self._control[1]

    def _data_index(self) -> Index:
        store = self._bank.store
        with store.read():
            rerulings = store.rerulings()
            if self._data is None or rerulings != self._rerulings:
                self._data, self._upto, self._rerulings = Index(), 0, rerulings
            fresh = list(store.ids(control=False, verdict=Verdict.COUNTS, after=self._upto))
        if fresh:
            keys = [key_of(at, entry) for _, at, entry in fresh]
            if len(self._data):
                self._data.add(keys)
            else:
                self._data = Index(keys)
            self._upto = fresh[-1][0]
        return self._data
