"""Which archived payloads a peer gives to whom: those of shared banks, to their members (design section 9).

What is given is sealed: its key stands in the archive act, which only readers open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.base.errors import MunimentError
from muniment.base.ids import BankId, BlobName
from muniment.ledger.levels import RELAY
from muniment.opening import SetPlace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muniment.peer import Peer


def banks_for(peer: Peer, key: bytes) -> Iterator[Bank]:
    """The shared banks that a key may have now; looking makes nothing."""
    store, now = peer.standing_store(), peer.host.clock.now_ms()
    if store is None:
        return
    for row in store.banks():
        if not row.listed or not store.others.shared(row.bank):
            continue
        try:
            bank = peer.bank(row.bank)
            level = bank.authority.level(key, now)
        except MunimentError:
            continue  # a bank that is broken here is as one that is not here
        if level is not None and level.allows(RELAY):
            yield bank


def is_let_in(peer: Peer, key: bytes) -> bool:
    """Whether a key may have any shared bank of a peer."""
    return next(banks_for(peer, key), None) is not None


class Payloads:
    """Tells whose payload a blob is; what the archive acts of a bank name is kept until the bank grows."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._named: dict[BankId, tuple[int, frozenset[bytes]]] = {}

    def may_have(self, key: bytes, blob: BlobName) -> bool:
        """Whether a shared bank that the key may have now has an archive act that names a payload."""
        return any(blob in self._of(bank) for bank in banks_for(self._peer, key))

    def _of(self, bank: Bank) -> frozenset[bytes]:
        entries = bank.store.figures().entries
        known = self._named.get(bank.id)
        if known is None or known[0] != entries:
            known = self._named[bank.id] = (entries, frozenset(_named(bank)))
        return known[1]


def _named(bank: Bank) -> Iterator[bytes]:
    openers = bank.openers()
    for naming in bank.store.archive_acts():
        place = SetPlace(naming.seq, naming.act, bank.store.entry_at(naming.seq).author)
        for (
            opener
        ) in openers:  # an erased act opens to nothing: its key is gone, and with it whatever it led to
            yield from (act.pointer for act in opener.archives([place]) if act is not None)
