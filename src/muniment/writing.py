"""Writing into a bank: from drafts to one signed entry, durable when it returns (design sections 3, 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.bank import Bank
from muniment.base import codec
from muniment.base.clock import horizon, ms_of, tick
from muniment.base.errors import InvalidInput, KeyUsedElsewhere, WaitingForKey
from muniment.base.ids import EntryId
from muniment.base.limits import MAX_AT_MS, MIN_AT_MS
from muniment.epoch_keys import start
from muniment.identity.did import to_did
from muniment.keyring.journal import JournalSlot
from muniment.ledger import entry as entries
from muniment.ledger.acts import Act, Set, to_bytes
from muniment.ledger.authority import Authority
from muniment.ledger.control import Control, EpochId
from muniment.ledger.entry import Entry, Header
from muniment.ledger.levels import ADMIN
from muniment.project import Projector
from muniment.receiving import reconcile
from muniment.store.base import Verdict
from muniment.store.rows import row_of


def next_at(last: int, now: int) -> int:
    """The clock value of an entry to be signed.

    Raises:
        InvalidInput: The machine's clock is out of the times that an entry may have.
    """
    at = tick(last, now)
    if not MIN_AT_MS <= ms_of(at) < MAX_AT_MS:
        raise InvalidInput(
            f"the clock of this machine shows {now} ms since 1970, which is before 2020 or after 2099",
            "Set the clock, then do it again; nothing was written.",
        )
    return at


class Writer:
    """Writes into one bank with one key of this peer.

    `old_epoch`: where no epoch stands for exactly the readers of now, seal under the newest one that is open to the
    key, which others may hold too.
    """

    def __init__(self, bank: Bank, key: bytes, *, old_epoch: bool = False) -> None:
        self._bank, self._key, self._old_epoch = bank, key, old_epoch

    # Entries

    def commit_acts(
        self, authority: Authority, acts: Sequence[Act], now: int, prev: tuple[EntryId, ...] | None = None
    ) -> tuple[Entry, int]:
        """Seal, sign and store acts as one entry; needs an open `bank.write()`."""
        epoch, key = self._sealing_epoch(authority, now)
        authority = self._bank.rulings.authority  # starting an epoch added a control entry
        prev, at = self._prev() if prev is None else prev, self._at(now)
        nonces = self._bank.host.entropy.bytes(24 * len(acts))
        bodies, refs = [], []
        for index, act in enumerate(acts):
            bound_to = entries.associated(self._bank.id, epoch, self._key, act.code, index)
            sealed = entries.seal_body(key, nonces[24 * index : 24 * index + 24], to_bytes(act), bound_to)
            bodies.append(sealed)
            refs.append(entries.act_ref(act.code, sealed))
        header = Header(self._bank.id, self._key, prev, authority.heads, at, epoch, tuple(refs), ())
        return self._append(header, bodies)

    def commit_control(
        self,
        authority: Authority,
        acts: Sequence[Control],
        now: int,
        prev: tuple[EntryId, ...] | None = None,
    ) -> tuple[Entry, int]:
        """Sign and store control acts as one entry; needs an open `bank.write()`."""
        prev = self._prev() if prev is None else prev
        header = Header(self._bank.id, self._key, prev, authority.heads, self._at(now), None, (), tuple(acts))
        before = self._bank.rulings.judged()
        entry, seq = self._append(header, [])
        self._bank.rulings.refresh()
        reconcile(self._bank, self._bank.store.entry_at(seq), before, opened=False)
        return entry, seq

    def _append(self, header: Header, bodies: list[bytes]) -> tuple[Entry, int]:
        host = self._bank.host
        signed = entries.header_bytes(header)
        entry = entries.assemble(signed, host.keyring.sign(self._key, codec.ENTRY, signed), header)
        previous = self._bank.kept_tip(self._key, header.prev[-1] if header.prev else None)
        host.journal.record(self._bank.id, self._key, previous, entry.id)
        row = row_of(entry, verdict=Verdict.COUNTS, local=True)
        return entry, self._bank.store.add_entry(row, bodies)

    def _at(self, now: int) -> int:
        """Later than all that is here, save what is dated further ahead than anybody follows."""
        return next_at(self._bank.store.last_at(horizon(now)), now)

    def _prev(self) -> tuple[EntryId, ...]:
        """The key's tips here, after the journal has been asked whether all of them were signed here."""
        self._bank.compare()
        store, journal = self._bank.store, self._bank.host.journal
        tips = store.tips(self._key)
        slot = journal.read(self._bank.id, self._key)
        if slot is None:
            signed_here = all((row := store.entry(tip)) is not None and row.local for tip in tips)
        else:
            signed_here = tips in {(slot.latest,), (slot.previous,)} or self._leads_back(tips, slot)
        if signed_here:
            return tips
        raise KeyUsedElsewhere(
            f"the key {to_did(self._key)} has signed entries that this installation does not know of, "
            "or the bank's file is older than the keyring's journal",
            "If you restored a backup or copied the folder: `muniment key mine`. If not: `muniment key not-mine`.",
        )

    def _leads_back(self, tips: tuple[EntryId, ...], slot: JournalSlot) -> bool:
        """Whether one chain of entries signed here leads from the only tip back to an id of the journal.

        So it is where a power cut took the journal's last lines and the bank kept its own, and where SQLite's
        recovery brings back a commit whose writer was killed in it, after another one had journalled and died.
        """
        store = self._bank.store
        known = {slot.latest, slot.previous}
        if slot.previous is not None and all(name is None or store.seq_of(name) is None for name in known):
            return False  # the bank's file is older than the journal
        here = tips
        while len(here) == 1:
            if here[0] in known:
                return True
            row = store.entry(here[0])
            if row is None or not row.local:
                return False
            here = row.prev
        return not here and slot.previous is None

    def claim(self) -> EntryId:
        """Say that all entries by this key are its own: an entry joins its tips, and the journal goes on from it.

        Raises:
            NotPermitted: The key may not write in this bank.
        """
        host = self._bank.host
        now = host.clock.now_ms()
        with self._bank.write() as authority:
            authority.check_write(self._key, now)
            tips = self._bank.store.tips(self._key)
            act = Set("muniment", "claimed", {"tips": len(tips), "at": now})
            entry, seq = self.commit_acts(authority, [act], now, prev=tips)
            Projector(self._bank.store, authority).entry(self._bank.store.entry_at(seq), [act])
        self._bank.accept()
        return entry.id

    # Epochs

    def _sealing_epoch(self, authority: Authority, now: int) -> tuple[EpochId, bytes]:
        epoch = authority.current_epoch(now)
        if epoch is None:
            level = authority.level(self._key, now)
            if level is None or level.code < ADMIN:
                if self._old_epoch and (older := self._newest_epoch(authority)) is not None:
                    return older
                raise WaitingForKey(
                    "the readers of this bank have changed and no key is sealed to exactly them yet",
                    "An admin's peer starts a new epoch at its next write; write again after syncing with it, or say "
                    "--old-epoch: then those who were readers until now can read it too.",
                )
            epoch = self.start_epoch(authority, now)
            authority = self._bank.rulings.authority
        key = self._bank.epoch_keys(self._key).get(authority, epoch)
        if key is None:
            raise WaitingForKey(
                "the bank's current epoch key is not open to this key",
                "Sync with a member who holds it; any of them may share it.",
            )
        return epoch, key

    def _newest_epoch(self, authority: Authority) -> tuple[EpochId, bytes] | None:
        """The newest standing epoch that is open to the key."""
        mine = self._bank.epoch_keys(self._key)
        heads = sorted(
            authority.epoch_heads, key=lambda head: (authority.epochs[head].at, head), reverse=True
        )
        for epoch in heads:
            if (key := mine.get(authority, epoch)) is not None:
                return epoch, key
        return None

    def start_epoch(self, authority: Authority, now: int) -> EpochId:
        """Start an epoch for all readers of now; needs an open `bank.write()` and an admin's key."""
        entropy, mine = self._bank.host.entropy, self._bank.epoch_keys(self._key)
        older = {
            epoch: key for epoch in authority.epoch_heads if (key := mine.get(authority, epoch)) is not None
        }
        readers = sorted(authority.readers(now))  # in one order, so that equal entropy gives equal bytes
        act = start(
            self._bank.id,
            entropy.bytes(32),
            entropy.bytes(16),
            readers,
            older,
            ephemeral={reader: entropy.bytes(32) for reader in readers},
            nonces={epoch: entropy.bytes(24) for epoch in sorted(older)},
        )
        entry, _ = self.commit_control(authority, [act], now)
        return EpochId(entry.id, 0)
