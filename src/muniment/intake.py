"""The door for many entries at once: a frame of a sync is verified, ruled, stored and projected as a whole.

It is the one door of `receiving`, with the same outcome for every entry; what costs the most for one is done
once for all. Signatures are a phase of their own, before the bank is locked, in two threads: libsodium works
without the interpreter's lock. Source: design section 8.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby

from muniment.bank import Bank
from muniment.base.errors import LimitExceeded, Refused, RefusedBody
from muniment.base.ids import BankId, EntryId
from muniment.base.limits import LIMITS
from muniment.ledger import entry as entries
from muniment.ledger.acts import Act
from muniment.ledger.authority import Authority
from muniment.ledger.authority import Verdict as Worth
from muniment.ledger.entry import Entry
from muniment.ledger.stub import Stub
from muniment.opening import NoKey, Opener
from muniment.project import Projector
from muniment.receiving import Receiver, bring_in, project, rerule_waiting
from muniment.store.base import Verdict
from muniment.store.rows import row_of
from muniment.sync.packing import Parcel

_WORTH_A_THREAD = 16  # signatures


@dataclass(slots=True)
class Taken:
    """What became of a frame.

    Attributes:
        stored: Ids that are new here.
        filled: How many missing bodies came.
        refused: Why parcels were refused: their bytes were wrong, or one author has too many entries waiting.
        void: Ids that do not count and that nobody asked for: they were not kept.
    """

    stored: list[EntryId] = field(default_factory=list)
    filled: int = 0
    refused: list[str] = field(default_factory=list)
    void: list[EntryId] = field(default_factory=list)


def verify_all(parcels: Sequence[Parcel], bank: BankId) -> list[Entry | Refused]:
    """Check bytes, signatures and body hashes of parcels; what is wrong in itself comes back as its error."""
    if len(parcels) < _WORTH_A_THREAD:
        return [_verified(parcel, bank) for parcel in parcels]
    half = len(parcels) // 2
    with ThreadPoolExecutor(1, "verify") as pool:
        later = pool.submit(lambda: [_verified(parcel, bank) for parcel in parcels[half:]])
        return [_verified(parcel, bank) for parcel in parcels[:half]] + later.result()


def _verified(parcel: Parcel, bank: BankId) -> Entry | Refused:
    envelope, bodies = parcel
    try:
        entry = entries.verify(envelope, bank)
        if len(bodies) != len(entry.header.acts):
            return RefusedBody(f"{len(bodies)} bodies came for {len(entry.header.acts)} acts")
        for ref, sealed in zip(entry.header.acts, bodies, strict=True):
            if sealed is not None:
                entries.check_body(ref, sealed)
    except Refused as error:
        return error
    return entry


class Intake(Receiver):
    """Takes frames of entries into one bank; each frame is one transaction."""

    def __init__(self, bank: Bank) -> None:
        super().__init__(bank)
        self._waiting = (
            0  # what came so far and has to wait: one sender can't bring more than a round's worth
        )
        self._openers: tuple[Authority, list[Opener]] | None = None

    def take_many(self, parcels: Sequence[Parcel], asked: Collection[EntryId] = ()) -> Taken:
        """Take entries in one transaction. Void ones are kept only if they were `asked` for by id.

        Raises:
            StorageError: Nothing of the frame was kept.
        """
        taken = Taken()
        again: list[tuple[EntryId, Sequence[bytes | None]]] = []  # it may bring what the first one did not
        good: dict[EntryId, tuple[Entry, Sequence[bytes | None]]] = {}
        for parcel, found in zip(parcels, verify_all(parcels, self._bank.id), strict=True):
            if isinstance(found, Refused):
                taken.refused.append(found.message)
            elif found.id in good:
                again.append((found.id, parcel[1]))
            else:
                good[found.id] = (found, parcel[1])
        if good:
            with self._bank.write():
                held = self._store.held(list(good))
                for entry_id, seq in held.items():
                    taken.filled += self._fill(seq, good.pop(entry_id)[1])
                for control, run in groupby(good.values(), key=lambda pair: pair[0].is_control):
                    if control:
                        for entry, bodies in run:
                            self._one(entry, bodies, asked, taken)
                    else:
                        self._run(list(run), asked, taken)
                for entry_id, bodies in again:
                    for seq in self._store.held([entry_id]).values():
                        taken.filled += self._fill(seq, bodies)
        return taken

    def fill(self, entry: EntryId, act: int, sealed: bytes) -> int:
        """Store one missing body of an entry that is here; how many came (0: it is here, erased, or unknown).

        Raises:
            RefusedBody: It does not match the hash in the signed header.
        """
        row = self._store.entry(entry)
        if row is None:
            return 0
        acts = entries.reload(row.envelope).header.acts
        if act >= len(acts):
            raise RefusedBody(f"the entry has no act {act}")
        entries.check_body(acts[act], sealed)
        return self._fill(row.seq, [sealed if place == act else None for place in range(len(acts))])

    def _one(
        self, entry: Entry, bodies: Sequence[bytes | None], asked: Collection[EntryId], taken: Taken
    ) -> None:
        """The way of `Receiver.take`, for what touches others."""
        ruling = self._bank.rulings.authority.rule(entry)
        if ruling.verdict is Worth.VOID and entry.id not in asked:
            taken.void.append(entry.id)
            return
        if ruling.verdict is Worth.WAITING:
            self._waiting += 1
            if self._waiting > LIMITS.sync_waiting or (entry.id not in asked and self._crowded(entry)):
                taken.refused.append("too many entries of one sender wait for their past")
                return
        try:
            self._add(entry, bodies)
        except LimitExceeded as error:
            taken.refused.append(error.message)
        else:
            taken.stored.append(entry.id)

    def _crowded(self, entry: Entry) -> bool:
        """Whether so many control entries wait, whoever signed them, that no more are kept unasked."""
        waiting = self._store.ids(control=True, verdict=Verdict.WAITING) if entry.is_control else iter(())
        return sum(1 for _ in waiting) >= LIMITS.waiting_per_author

    def _run(
        self, run: list[tuple[Entry, Sequence[bytes | None]]], asked: Collection[EntryId], taken: Taken
    ) -> None:
        """Data entries: those that simply count are stored together, each other one by itself."""
        rulings = self._bank.rulings
        with rulings.expecting([entry for entry, _ in run]) as authority:
            erased = {version.entry for version in authority.erasures}
            places = [(entry.header.by, entry.header.at) for entry, _ in run]
            twins = self._store.twinned(places)
            if len(set(places)) < len(places):
                twins |= {place for place in places if places.count(place) > 1}
            plain: list[tuple[Entry, Sequence[bytes | None]]] = []
            other: list[tuple[Entry, Sequence[bytes | None]]] = []
            for entry, bodies in run:
                counts = authority.rule(entry).verdict is Worth.COUNTS
                alone = (entry.header.by, entry.header.at) not in twins
                (plain if counts and alone and entry.id not in erased else other).append((entry, bodies))
            self._add_plain(authority, plain)
        taken.stored += [entry.id for entry, _ in plain]
        rulings.refresh()
        early: list[tuple[Entry, Sequence[bytes | None]]] = []
        for entry, bodies in other:
            alone = (entry.header.by, entry.header.at) not in twins and entry.id not in erased
            if alone and rulings.authority.rule(entry).verdict is Worth.WAITING:
                early.append((entry, bodies))
            else:
                self._one(entry, bodies, asked, taken)
        if early:
            self._add_early(early, taken)
        if plain or early:
            rerule_waiting(self._bank)

    def _add_early(self, early: Sequence[tuple[Entry, Sequence[bytes | None]]], taken: Taken) -> None:
        """Store what waits for its past, as far as the caps go; it is ruled again when all of the frame is here."""
        held: dict[bytes, int] = {}
        kept = []
        for entry, bodies in early:
            self._waiting += 1
            by = entry.header.by
            if by not in held:
                held[by] = sum(1 for _ in self._store.entries(verdict=Verdict.WAITING, author=by))
            if self._waiting > LIMITS.sync_waiting or held[by] >= LIMITS.waiting_per_author:
                taken.refused.append("too many entries of one sender or author wait for their past")
                continue
            held[by] += 1
            kept.append((entry, bodies))
        rows = [row_of(entry, verdict=Verdict.WAITING, local=False) for entry, _ in kept]
        for seq in self._store.add_entries(rows, [bodies for _, bodies in kept]):
            project(self._bank, self._store.entry_at(seq))
        taken.stored += [entry.id for entry, _ in kept]
        self._bank.rulings.refresh()

    def _add_plain(self, authority: Authority, plain: Sequence[tuple[Entry, Sequence[bytes | None]]]) -> None:
        opened = [self._acts(authority, entry, bodies) for entry, bodies in plain]
        rows = [
            row_of(entry, verdict=Verdict.COUNTS, local=False, readable=acts is not None)
            for (entry, _), acts in zip(plain, opened, strict=True)
        ]
        seqs = self._store.add_entries(rows, [bodies for _, bodies in plain])
        pairs = [
            (row_of(entry, verdict=Verdict.COUNTS, local=False, seq=seq), acts)
            for (entry, _), seq, acts in zip(plain, seqs, opened, strict=True)
            if isinstance(acts, list)
        ]
        if pairs:
            Projector(self._store, authority).fresh(pairs)
        for row, said in pairs:
            bring_in(self._bank, row, said)
        for (entry, _), seq, acts in zip(plain, seqs, opened, strict=True):
            # The stub of an archived one may be here already.
            if isinstance(acts, NoKey) and acts.missing_body:
                project(
                    self._bank,
                    row_of(entry, verdict=Verdict.COUNTS, local=False, seq=seq),
                )

    def _acts(
        self, authority: Authority, entry: Entry, bodies: Sequence[bytes | None]
    ) -> list[Act | Stub] | NoKey | None:
        """The acts of an entry that is not stored yet, by any key of this peer; None if it is unreadable."""
        if self._openers is None or self._openers[0] is not authority:
            self._openers = authority, self._bank.openers()
        outcome: list[Act | Stub] | NoKey = NoKey(missing_body=False)
        for opener in self._openers[1]:
            try:
                outcome = opener.acts(entry, bodies)
            except RefusedBody:
                return None
            if not isinstance(outcome, NoKey) or outcome.missing_body:
                break
        return outcome
