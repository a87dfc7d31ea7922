"""The one door for entries that come from elsewhere: verify, rule, store, project (design sections 3 and 8).

Only what is wrong in an entry's own bytes is refused. Everything else is a verdict, which may change when
other entries arrive; then whatever depends on it is ruled and projected again.
"""

from __future__ import annotations

from collections.abc import Sequence

from muniment.bank import Bank
from muniment.base.errors import LimitExceeded, RefusedBody
from muniment.base.ids import EntryId
from muniment.base.limits import LIMITS
from muniment.ledger import control
from muniment.ledger import entry as entries
from muniment.ledger.acts import Act
from muniment.ledger.authority import Authority
from muniment.ledger.entry import Entry
from muniment.opening import NoKey
from muniment.project import Projector
from muniment.store.base import BankStore, EntryRow, Verdict


class Receiver:
    """Takes entries into one bank. `readers` are the keys of this peer whose epoch keys may open bodies."""

    def __init__(self, bank: Bank) -> None:
        self._bank, self._store = bank, bank.store

    def take(self, envelope: bytes, bodies: Sequence[bytes | None]) -> EntryId:
        """Store one entry in a transaction of its own; one that is here already only gains missing bodies.

        Raises:
            RefusedEntry | RefusedBody: The bytes are wrong in themselves; nothing is stored.
            LimitExceeded: Too many entries of this author wait for their past.
        """
        entry = entries.verify(envelope, self._bank.id)
        if len(bodies) != len(entry.header.acts):
            raise RefusedBody(f"{len(bodies)} bodies came for {len(entry.header.acts)} acts")
        for ref, sealed in zip(entry.header.acts, bodies, strict=True):
            if sealed is not None:
                entries.check_body(ref, sealed)
        with self._bank.write():
            seq = self._store.seq_of(entry.id)
            if seq is None:
                self._add(entry, bodies)
            else:
                self._fill(seq, bodies)
        return entry.id

    def _add(self, entry: Entry, bodies: Sequence[bytes | None]) -> None:
        ruling = self._bank.rulings.authority.rule(entry)
        verdict = Verdict[ruling.verdict.name]
        if verdict is Verdict.WAITING and not entry.is_control:
            waiting = sum(1 for _ in self._store.entries(verdict=Verdict.WAITING, author=entry.header.by))
            if waiting >= LIMITS.waiting_per_author:
                raise LimitExceeded("waiting entries of one author", LIMITS.waiting_per_author, waiting + 1)
        row = EntryRow(
            seq=0,
            id=entry.id,
            author=entry.header.by,
            at=entry.header.at,
            control=entry.is_control,
            verdict=verdict,
            local=False,
            readable=True,
            prev=entry.header.prev,
            envelope=entry.envelope,
            epoch=entry.header.epoch,
        )
        self._store.add_entry(row, bodies)
        if entry.is_control:
            self._bank.rulings.refresh()
        reconcile(self._bank, entry)

    def _fill(self, seq: int, bodies: Sequence[bytes | None]) -> None:
        held = self._store.bodies([(seq, act) for act in range(len(bodies))])
        came = [
            (act, sealed) for act, sealed in enumerate(bodies) if sealed is not None and held[act] is None
        ]
        for act, sealed in came:
            self._store.put_body(seq, act, sealed)
        if came:
            project(self._bank, self._store.entry_at(seq))


def reconcile(bank: Bank, cause: Entry) -> None:
    """After an entry was stored: rule again what may depend on it, and project what now counts.

    Control entries and closed gaps can change verdicts of others; a plain data entry changes its own alone,
    and those of entries that waited for it.
    """
    authority, store = bank.rulings.authority, bank.store
    if any(isinstance(act, control.Revoke) for act in cause.header.ctl):
        candidates = list(store.entries())
    else:
        candidates = [*store.entries(control=True), *store.entries(verdict=Verdict.WAITING)]
        own = store.entry(cause.id)
        candidates += [own] if own is not None else []
    changed = [row for row in {row.seq: row for row in candidates}.values() if _rule(store, authority, row)]
    fresh = store.entry(cause.id)
    if fresh is not None and all(row.seq != fresh.seq for row in changed):
        changed.append(fresh)
    for row in sorted(changed, key=lambda row: row.seq):
        project(bank, store.entry_at(row.seq))


def _rule(store: BankStore, authority: Authority, row: EntryRow) -> bool:
    """Rule an entry again; True if its verdict changed."""
    verdict = Verdict[authority.rule(entries.reload(row.envelope)).verdict.name]
    if verdict is row.verdict:
        return False
    store.rule(row.seq, verdict, row.readable)
    return True


def project(bank: Bank, row: EntryRow) -> None:
    """Bring the derived tables in line with one entry's verdict."""
    projector = Projector(bank.store, bank.rulings.authority)
    if row.control:
        _erase(bank, projector, row)
    elif projector.has(row):
        projector.withdraw(row)
    else:
        project_new(bank, projector, row)


def project_new(bank: Bank, projector: Projector, row: EntryRow) -> None:
    """Project a data entry for the first time, also one that is void: superseding leads through it."""
    acts = read_acts(bank, row)
    if acts is None:
        bank.store.rule(row.seq, row.verdict, readable=False)
    elif not isinstance(acts, NoKey):
        projector.entry(row, acts)


def read_acts(bank: Bank, row: EntryRow) -> list[Act] | NoKey | None:
    """The acts of a stored entry, with any key of this peer that may read; None where it is unreadable."""
    entry = entries.reload(row.envelope)
    bodies = bank.store.bodies([(row.seq, act) for act in range(len(entry.header.acts))])
    outcome: list[Act] | NoKey = NoKey(missing_body=False)
    for reader in bank.host.keyring.keys():
        try:
            outcome = bank.opener(reader).acts(entry, bodies)
        except RefusedBody:
            return None
        if not isinstance(outcome, NoKey):
            break
    return outcome


def _erase(bank: Bank, projector: Projector, row: EntryRow) -> None:
    """Hide what a standing erase names, and destroy it where its author may do so at once."""
    acts = entries.reload(row.envelope).header.ctl
    named = [version for act in acts if isinstance(act, control.Erase) for version in act.versions]
    if not named:
        return
    projector.settle(named)
    erasures = bank.rulings.authority.erasures
    places = [
        (seq, version.act)
        for version in named
        if any(erasure.immediate_ok for erasure in erasures.get(version, ()))
        and (seq := bank.store.seq_of(version.entry)) is not None
    ]
    bank.store.erase_bodies(places)
