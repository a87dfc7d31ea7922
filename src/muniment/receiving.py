"""The one door for entries that come from elsewhere: verify, rule, store, project (design sections 3 and 8).

Only what is wrong in an entry's own bytes is refused. Everything else is a verdict, which may change when
other entries arrive; then whatever depends on it is ruled and projected again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.bank import Bank
from muniment.base.errors import LimitExceeded, RefusedBody
from muniment.base.ids import EntryId, VersionId
from muniment.base.limits import LIMITS
from muniment.ledger import control
from muniment.ledger import entry as entries
from muniment.ledger.acts import Act, Archive, Remember
from muniment.ledger.authority import Authority
from muniment.ledger.entry import Entry
from muniment.ledger.stub import Stub, agrees
from muniment.opening import NoKey
from muniment.project import Projector, own_keys
from muniment.shelf import Stubs
from muniment.store.base import EntryRow, Progress, Verdict
from muniment.store.rows import row_of


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
        rulings = self._bank.rulings
        before = rulings.judged()
        verdict = Verdict[before.rule(entry).verdict.name]
        if verdict is Verdict.WAITING and not entry.is_control:
            waiting = sum(1 for _ in self._store.entries(verdict=Verdict.WAITING, author=entry.header.by))
            if waiting >= LIMITS.waiting_per_author:
                raise LimitExceeded("waiting entries of one author", LIMITS.waiting_per_author, waiting + 1)
        row = row_of(entry, verdict=verdict, local=False)
        seq = self._store.add_entry(row, bodies)
        rulings.refresh()
        reconcile(self._bank, self._store.entry_at(seq), before)

    def _fill(self, seq: int, bodies: Sequence[bytes | None]) -> int:
        """Add bodies that were missing; how many came."""
        row = self._store.entry_at(seq)
        held = self._store.bodies([(seq, act) for act in range(len(bodies))])
        erasures = self._bank.rulings.authority.erasures
        came = [
            (act, sealed)
            for act, sealed in enumerate(bodies)
            if sealed is not None and held[act] is None and VersionId(row.id, act) not in erasures
        ]
        for act, sealed in came:
            self._store.put_body(seq, act, sealed)
        if came:
            project(self._bank, row)
        return len(came)


def reconcile(bank: Bank, cause: EntryRow, before: Authority, *, opened: bool = True) -> None:
    """After an entry was stored: rule again what may depend on it, and project what now counts.

    Args:
        bank: The bank, in an open `write()`, its rulings refreshed.
        cause: The stored entry.
        before: What authority said without it, from `Rulings.judged`.
        opened: Whether a key that the entry brings may open bodies that stayed shut so far.
    """
    store, rulings = bank.store, bank.rulings
    authority = rulings.authority
    if authority is before:
        candidates = [cause, *store.entries(verdict=Verdict.WAITING)]
    elif rulings.revocations(authority) != rulings.revocations(before):
        candidates = list(store.entries())
    else:
        candidates = [cause, *store.entries(control=True), *store.entries(verdict=Verdict.WAITING)]
    if not cause.control:
        candidates += store.twins(cause.author, cause.at)
    rows = {row.seq: row for row in candidates}
    for row in list(rows.values()):  # whether a twin counts decides about the others
        if row.verdict is not Verdict.COUNTS and not row.control and row.seq != cause.seq:
            rows.update((twin.seq, twin) for twin in store.twins(row.author, row.at))
    changed = {seq for seq, row in rows.items() if _rule(bank, row)} | {cause.seq}
    if opened and any(_brings_key(store.entry_at(seq)) for seq in changed):
        projector = Projector(store, authority)
        changed.update(row.seq for row in store.entries(control=False) if not projector.has(row))
    changed |= _erase(bank, before, cause)
    for seq in sorted(changed):
        project(bank, store.entry_at(seq))
    if own_keys(authority) != own_keys(before):
        Projector(store, authority).settle_all()


def rerule_waiting(bank: Bank) -> None:
    """After many data entries were stored: rule again those that wait, which one of these may have been missing to."""
    waiting = list(bank.store.entries(verdict=Verdict.WAITING))
    for row in waiting:
        if _rule(bank, row):
            project(bank, bank.store.entry_at(row.seq))


def _brings_key(row: EntryRow) -> bool:
    if not row.control:
        return False
    acts = entries.reload(row.envelope).header.ctl
    return any(isinstance(act, control.Epoch | control.Share) for act in acts)


def _rule(bank: Bank, row: EntryRow) -> bool:
    """Rule an entry again; True if its verdict changed."""
    verdict = Verdict[bank.rulings.rule(row).verdict.name]
    if verdict is row.verdict:
        return False
    bank.store.rule(row.seq, verdict, row.readable)
    return True


def _erasures(authority: Authority) -> dict[VersionId, bool]:
    """What is erased, and whether its bytes go at once."""
    return {
        version: any(erasure.immediate_ok for erasure in erasures)
        for version, erasures in authority.erasures.items()
    }


def _erase(bank: Bank, before: Authority, cause: EntryRow) -> set[int]:
    """Destroy what may be destroyed at once; the entries of which something was erased or came back."""
    after = _erasures(bank.rulings.authority)
    named = {version for version in after if version.entry == cause.id}
    if bank.rulings.authority is not before:
        named |= {version for version, _ in after.items() ^ _erasures(before).items()}
    concerned = set()
    for version in named:
        row = bank.store.entry(version.entry)
        if row is None or version.act >= len(entries.reload(row.envelope).header.acts):
            continue
        concerned.add(row.seq)
        if after.get(version):
            bank.destroy(version, (row.seq, version.act))
    return concerned


def project(bank: Bank, row: EntryRow, *, settle: bool = True) -> None:
    """Bring the derived tables in line with what a stored entry now is worth; what is there already stays.

    A void entry is projected too: superseding leads through it.
    """
    if row.control:
        return
    projector = Projector(bank.store, bank.rulings.authority)
    acts, known = read_acts(bank, row), projector.has(row)
    shut = isinstance(acts, NoKey) and not (known and acts.missing_body)
    # What was destroyed by an erase that is void by now has no effect, here as where it never came.
    readable = row.readable if shut else isinstance(acts, list)
    if readable is not row.readable:
        row = replace(row, readable=readable)
        bank.store.rule(row.seq, row.verdict, readable)
    if isinstance(acts, list):
        if known and not _bears_out(bank, row, acts):
            project_all(bank)  # a stub said something else than the text that has come
            return
        projector.entry(row, acts, settle=settle and not known)  # `withdraw` settles what is known
    if known and settle:
        projector.withdraw(row)
    if isinstance(acts, list):
        bring_in(bank, row, acts, settle=settle)


def bring_in(bank: Bank, row: EntryRow, acts: Sequence[Act | Stub], *, settle: bool = True) -> None:
    """Project entries whose bodies are not here, and that the archive acts of this one have stubs of."""
    targets = {act.version.entry for act in acts if isinstance(act, Archive)} - {row.id}
    for target in sorted(targets):
        other = bank.store.entry(target)
        if other is not None and not Projector(bank.store, bank.rulings.authority).has(other):
            project(bank, other, settle=settle)


def _bears_out(bank: Bank, row: EntryRow, acts: Sequence[Act | Stub]) -> bool:
    """Whether the text that has come says what its stub said; it then takes the stub's place."""
    came = {index: act for index, act in enumerate(acts) if isinstance(act, Remember)}
    rows = [found for index in came if (found := bank.store.version_at(VersionId(row.id, index))) is not None]
    shelves = bank.store.shelves([found.ord for found in rows])
    rows = [found for found in rows if found.ord in shelves and shelves[found.ord].stub]
    if not rows:
        return True
    finder = Stubs(bank.store, bank.rulings.authority, bank.openers())
    for found, stub in zip(rows, finder.of_rows(rows), strict=True):
        if stub is None or not agrees(stub, came[found.act]):
            return False
        bank.store.shelve(found.ord, shelves[found.ord]._replace(stub=False))
    return True


def project_all(bank: Bank, progress: Progress | None = None) -> None:
    """Empty the derived tables and make them again, from all entries; needs an open `bank.write()`."""
    bank.store.reset_derived()
    total = bank.store.figures().entries
    for number, seq in enumerate([row.seq for row in bank.store.entries()], 1):
        row = bank.store.entry_at(seq)
        bank.store.rule(seq, Verdict[bank.rulings.rule(row).verdict.name], readable=True)
        project(bank, bank.store.entry_at(seq), settle=False)
        if progress:
            progress(number, total)
    Projector(bank.store, bank.rulings.authority).settle_all()


def read_acts(bank: Bank, row: EntryRow) -> list[Act | Stub] | NoKey | None:
    """The acts of a stored entry, with any key of this peer that may read; None where it is unreadable."""
    entry = entries.reload(row.envelope)
    erasures = bank.rulings.authority.erasures
    places = range(len(entry.header.acts))
    erased = {act for act in places if VersionId(row.id, act) in erasures}
    bodies = bank.store.bodies([(row.seq, act) for act in places])
    outcome: list[Act | Stub] | NoKey = NoKey(missing_body=False)
    openers = bank.openers()
    stubs = _stubs(bank, row, [act for act, body in enumerate(bodies) if body is None and act not in erased])
    for opener in openers:
        try:
            outcome = opener.acts(entry, bodies, erased, stubs)
        except RefusedBody:
            return None
        if not isinstance(outcome, NoKey) or outcome.missing_body:
            break
    return outcome


def _stubs(bank: Bank, row: EntryRow, missing: Sequence[int]) -> dict[int, Stub]:
    """What stands in for bodies that are not here."""
    if not missing:
        return {}
    finder = Stubs(bank.store, bank.rulings.authority, bank.openers())
    found = {act: finder.of(VersionId(row.id, act), row.author) for act in missing}
    return {act: stub for act, stub in found.items() if stub is not None}
