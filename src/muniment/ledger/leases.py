"""Leases and the revocations that cut them: who holds what, worked out from admin(0) downwards.

A *lease* is one grant to one key at one level. Whether it stands asks only after stronger leases: its
granter's, and those of the keys that revoked the granter. So leases are judged grade by grade, strongest
first, and no question is ever asked before its answer is known: no order over all entries, no fixpoint
and no recursion. Source: design section 4, "Resolution"; rules 1, 2, 3 and 13 of the protocol review.

Within a grade: its leases; then what their holders revoke of *themselves* (judged without their own
other revocations, since of two such each could else undo the other); then what they revoke of others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from muniment.base.clock import ms_of
from muniment.base.ids import BankId, EntryId
from muniment.ledger.control import Found, Grant, Revoke
from muniment.ledger.entry import Entry
from muniment.ledger.levels import ADMIN, WRITE, Level
from muniment.ledger.past import COUNTS, CUT, EXPIRED, NO_STRENGTH, PATH_MISSING, TOLD, Cuts, Past, Ruling

Grade = tuple[int, int, bool]


@dataclass(slots=True, eq=False)
class Lease:
    """One grant to one key at one level, and whether it stands.

    Attributes:
        until: Unix milliseconds after which the holder signs in vain, or None.
        delegable: Its holder may give plain leases up to its own level and expiry.
        entry, act: Where it was granted; in the founding entry all founders share one act.
        by: Who granted it.
        under: The lease that the granter acted under; None for a founder's.
        ruling: Whether it stands.
    """

    key: bytes
    level: Level
    until: int | None
    delegable: bool
    agent: bool
    entry: EntryId
    act: int
    by: bytes
    bit: int
    succeeds: bytes | None = None
    under: Lease | None = None
    ruling: Ruling = NO_STRENGTH

    @property
    def grade(self) -> Grade:
        """Its place in the order of judging: a delegable lease comes before what is given under it."""
        return (*self.level.strength, self.delegable)


@dataclass(slots=True, eq=False)
class Revocation:
    """One `revoke` act, and the strongest lease that its author acts under; None while it does not stand."""

    key: bytes
    tips: tuple[EntryId, ...]
    over: tuple[EntryId, ...]
    entry: Entry
    act: int
    bit: int
    under: Lease | None = None

    @property
    def by(self) -> bytes:
        """Who signed it."""
        return self.entry.header.by

    @property
    def own(self) -> bool:
        """Whether a key revokes itself."""
        return self.by == self.key


def may_grant(lease: Lease, level: Level, delegable: bool, until: int | None) -> bool:
    """Whether a lease is strong enough for such a grant: an admin's strictly weaker, or a delegable one's."""
    if level.weaker_than(lease.level) and lease.level.code == ADMIN:
        return True
    if not lease.delegable or delegable or level.code == ADMIN or lease.level.weaker_than(level):
        return False
    return _within(until, lease.until)


def may_narrow(lease: Lease, level: Level, delegable: bool, until: int | None) -> bool:
    """Whether a grant to oneself is less than the lease it replaces: allowed to everybody."""
    return level.weaker_than(lease.level) and not delegable and _within(until, lease.until)


def _within(until: int | None, limit: int | None) -> bool:
    return limit is None or (until is not None and until <= limit)


class Leases:
    """All leases and revocations of a set of control entries, judged.

    Attributes:
        by_key: Leases of each key that stand or wait, strongest first.
        granted: Every lease, standing or not, by the place of its act.
        revoked: Every revocation by the place of its act.
        deciders: The authors of control entries.
    """

    def __init__(self, bank: BankId, past: Past, cuts: Cuts) -> None:
        self.past, self.cuts = past, cuts
        self.by_key: dict[bytes, list[Lease]] = defaultdict(list)
        self.granted: dict[tuple[EntryId, int], list[Lease]] = defaultdict(list)
        self.revoked: dict[tuple[EntryId, int], Revocation] = {}
        self._of: dict[bytes, list[Revocation]] = defaultdict(list)
        self._by: dict[bytes, list[Revocation]] = defaultdict(list)
        self._open: dict[bytes, list[Lease]] = {}
        self._deciding: dict[tuple[Lease, bool], tuple[Revocation, ...]] = {}
        self.deciders = frozenset(entry.header.by for entry in past.order)
        self._collect(bank)
        self._judge()

    def _collect(self, bank: BankId) -> None:
        for entry in self.past.order:
            for place, act in enumerate(entry.header.ctl):
                if isinstance(act, Revoke):
                    bit = self.past.bit[entry.id]
                    revocation = Revocation(act.key, act.tips, act.over, entry, place, bit)
                    self.revoked[entry.id, place] = revocation
                    self._of[act.key].append(revocation)
                    self._by[entry.header.by].append(revocation)
                elif isinstance(act, Grant | Found) and (isinstance(act, Grant) or entry.id == EntryId(bank)):
                    self.granted[entry.id, place] = list(self._leases(entry, place, act))

    def _leases(self, entry: Entry, place: int, act: Grant | Found) -> list[Lease]:
        where = (entry.id, place, entry.header.by, self.past.bit[entry.id])
        if isinstance(act, Found):
            return [
                Lease(one.key, one.level, None, False, one.agent, *where, ruling=COUNTS)
                for one in act.founders
            ]
        # An admin grants by being admin; a delegable admin would say nothing more.
        delegable = act.delegable and act.level.code != ADMIN
        return [Lease(act.key, act.level, act.until, delegable, act.agent, *where, act.succeeds)]

    def _judge(self) -> None:
        grades: dict[Grade, list[Lease]] = defaultdict(list)
        for leases in self.granted.values():
            for lease in leases:
                grades[lease.grade].append(lease)
        for grade in sorted(grades, reverse=True):
            grades[grade].reverse()  # newest first: what a key holds now is found before what it once held
            for lease in grades[grade]:
                if lease.ruling is not COUNTS:
                    self._judge_grant(lease)
                if lease.ruling in (COUNTS, PATH_MISSING):
                    self.by_key[lease.key].append(lease)
            standing = [lease for lease in grades[grade] if lease.ruling is COUNTS]
            for own in (True, False):
                for lease in standing:
                    self._judge_revocations(lease, own)

    def _judge_grant(self, lease: Lease) -> None:
        entry = self.past.entries[lease.entry]
        terms = (lease.level, lease.delegable, lease.until)
        narrows = lease.key == lease.by and any(
            isinstance(act, Revoke) and act.key == lease.key for act in entry.header.ctl[: lease.act]
        )
        lease.under, lease.ruling = self.acting(
            entry,
            self.past.before[entry.id],
            lambda one: may_grant(one, *terms) or narrows and may_narrow(one, *terms),
        )

    def _judge_revocations(self, lease: Lease, own: bool) -> None:
        # Others are revoked by an admin, or by the holder of a delegable lease, who can reach what it gave.
        if not own and lease.level.code != ADMIN and not lease.delegable:
            return
        for revocation in self._by.get(lease.key, ()):
            if revocation.under is None and revocation.own is own:
                entry = revocation.entry
                if self._usable(lease, entry, self.past.before[entry.id], not own) is COUNTS:
                    revocation.under = lease

    def acting(
        self, entry: Entry, before: int, allows: Callable[[Lease], bool]
    ) -> tuple[Lease | None, Ruling]:
        """The strongest lease under which the author of `entry` may do something, or why there is none.

        Args:
            entry: A control or data entry.
            before: What lies before it (`Past`).
            allows: Whether a lease is strong enough for the act.
        """
        told = NO_STRENGTH
        for lease in self.by_key.get(entry.header.by, ()):
            if allows(lease):
                ruling = self._usable(lease, entry, before, True)
                if ruling is COUNTS:
                    return lease, COUNTS
                told = max(told, ruling, key=TOLD.index)
        return None, told

    def _usable(self, lease: Lease, entry: Entry, before: int, with_own: bool) -> Ruling:
        if not before >> lease.bit & 1:
            return NO_STRENGTH  # `auth` can restrict what a signer may do
        if lease.until is not None and ms_of(entry.header.at) > lease.until:
            return EXPIRED
        if lease.ruling is not COUNTS:
            return lease.ruling
        return self.cut(lease, entry, with_own)

    def cut(self, lease: Lease, entry: Entry, with_own: bool = True) -> Ruling:
        """Whether a standing lease is cut for an entry: COUNTS, CUT or PATH_MISSING."""
        ruling = COUNTS
        for revocation in self.deciding(lease, with_own):
            if revocation.own and revocation.entry.header_bytes == entry.header_bytes:
                continue  # who narrows itself speaks once more in that very entry
            held = self.cuts.holds(revocation.tips, entry.id)
            if held is False:
                return CUT
            if held is None:
                ruling = PATH_MISSING
        return ruling

    def deciding(self, lease: Lease, with_own: bool = True) -> tuple[Revocation, ...]:
        """The revocations whose cuts say what a lease still covers; empty if it is not revoked.

        Asked only once all revocations that could hit the lease are judged; then the answer is kept.
        """
        known = self._deciding.get((lease, with_own))
        if known is not None:
            return known
        hits = [one for one in self.hitting(lease) if with_own or not one.own]
        wider = [one for one in hits if one.over]
        if wider:
            hits = [one for one in hits if not any(self._replaces(other, one) for other in wider)]
        top = max((_strength(one) for one in hits), default=(0, 0))
        distinct = {(one.tips, one.own and one.entry.id): one for one in hits if _strength(one) == top}
        result = self._deciding[lease, with_own] = tuple(distinct.values())
        return result

    def hitting(self, lease: Lease) -> list[Revocation]:
        """All standing revocations that hit a lease, also those that others replace or outdo."""
        return [one for one in self._of.get(lease.key, ()) if self.hits(one, lease)]

    def is_revoked(self, key: bytes) -> bool:
        """Whether any standing revocation names a key, whatever it holds."""
        return any(one.under is not None for one in self._of.get(key, ()))

    def hits(self, revocation: Revocation, lease: Lease) -> bool:
        """Whether a revocation takes a lease away: it stands, is stronger, and was not known when it was given."""
        under = revocation.under
        if under is None or revocation.key != lease.key:
            return False
        if self.past.before[lease.entry] >> revocation.bit & 1:
            return False
        if revocation.bit == lease.bit and lease.act > revocation.act:
            return False  # narrowing: the smaller grant stands behind the revocation in one entry
        if revocation.own:
            return lease.grade <= under.grade
        if under.level.code == ADMIN:
            return lease.level.weaker_than(under.level)
        return (
            lease.by == revocation.by
            and lease.level.code != ADMIN
            and not lease.delegable
            and not under.level.weaker_than(lease.level)
        )

    def _replaces(self, new: Revocation, old: Revocation) -> bool:
        # Never by the key itself: whoever stole a key that revoked itself could widen that cut.
        return (
            not new.own
            and old.entry.id in new.over
            and self.past.before[new.entry.id] >> old.bit & 1 == 1
            and _strength(new) >= _strength(old)
        )

    def open(self, key: bytes) -> list[Lease]:
        """The leases of a key that stand and that nothing hits, strongest first."""
        known = self._open.get(key)
        if known is None:
            cuts = self._of.get(key, ())
            known = self._open[key] = [
                lease
                for lease in self.by_key.get(key, ())
                if lease.ruling is COUNTS and not any(self.hits(one, lease) for one in reversed(cuts))
            ]
        return known


def _strength(revocation: Revocation) -> tuple[int, int]:
    return revocation.under.level.strength if revocation.under else (0, 0)


def writes(lease: Lease) -> bool:
    """Whether a lease lets its key write."""
    return lease.level.code >= WRITE


def administers(lease: Lease) -> bool:
    """Whether a lease is an admin's."""
    return lease.level.code >= ADMIN
