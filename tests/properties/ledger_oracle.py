"""The rules of resolution written down as literally as they are worded: slow, recursive, for small sets.

It knows no waiting: all control entries and all paths to tips have to be here.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from muniment.base.clock import ms_of
from muniment.base.ids import EntryId
from muniment.ledger.control import Found, Grant, Revoke
from muniment.ledger.entry import Entry
from muniment.ledger.levels import ADMIN, WRITE, Level
from muniment.testing.ledger import Held


class Lease(NamedTuple):
    """One grant to one key at one level."""

    key: bytes
    level: Level
    until: int | None
    delegable: bool
    entry: EntryId
    act: int
    by: bytes | None

    @property
    def grade(self) -> tuple[int, int, bool]:
        """A delegable lease is above a plain one of its level."""
        return (*self.level.strength, self.delegable)


class Cut(NamedTuple):
    """One revocation."""

    entry: EntryId
    act: int


class Oracle:
    """Answers by recursion over the rules."""

    def __init__(self, held: Held, bank: EntryId) -> None:
        self.held, self.bank = held.entries, bank
        self.leases: list[Lease] = []
        self.cuts: list[Cut] = []
        for entry in self.held.values():
            for place, act in enumerate(entry.header.ctl):
                if isinstance(act, Found):
                    self.leases += [
                        Lease(f.key, f.level, None, False, entry.id, place, None) for f in act.founders
                    ]
                elif isinstance(act, Grant):
                    delegable = act.delegable and act.level.code != ADMIN
                    by = entry.header.by
                    self.leases.append(Lease(act.key, act.level, act.until, delegable, entry.id, place, by))
                elif isinstance(act, Revoke):
                    self.cuts.append(Cut(entry.id, place))
        self.past = cache(self._past)
        self.stands = cache(self._stands)
        self.cut = cache(self._cut)
        self.strength = cache(self._strength)

    def revoke(self, cut: Cut) -> Revoke:
        """The act of a revocation."""
        act = self.held[cut.entry].header.ctl[cut.act]
        assert isinstance(act, Revoke)
        return act

    def _past(self, entry: EntryId) -> frozenset[EntryId]:
        found = {entry} if entry == self.bank else set()
        for parent in self.held[entry].header.auth:
            found |= {parent} | self.past(parent)
        return frozenset(found)

    def _grants(self, mine: Lease, lease: Lease) -> bool:
        if mine.level.code == ADMIN and lease.level.weaker_than(mine.level):
            return True
        within = mine.until is None or (lease.until is not None and lease.until <= mine.until)
        if mine.delegable and not lease.delegable and lease.level.code < ADMIN:
            return within and not mine.level.weaker_than(lease.level)
        acts = self.held[lease.entry].header.ctl[: lease.act]
        narrows = lease.key == lease.by and any(isinstance(a, Revoke) and a.key == lease.key for a in acts)
        return narrows and within and not lease.delegable and lease.level.weaker_than(mine.level)

    def _stands(self, lease: Lease) -> bool:
        return lease.by is None or any(
            self._grants(mine, lease) and self.usable(mine, lease.entry, True)
            for mine in self.leases
            if mine.key == lease.by
        )

    def usable(self, lease: Lease, entry: EntryId, with_own: bool) -> bool:
        """Whether a lease covers an entry."""
        header = self.held[entry].header
        in_time = lease.until is None or ms_of(header.at) <= lease.until
        known = lease.entry in self.past(entry)
        return known and in_time and self.stands(lease) and not self.cut(lease, entry, with_own)

    def _may_hit(self, mine: Lease, cut: Cut, lease: Lease) -> bool:
        if self.revoke(cut).key == mine.key:
            return lease.grade <= mine.grade
        if mine.level.code == ADMIN:
            return lease.level.weaker_than(mine.level)
        gave = mine.delegable and lease.by == mine.key and not lease.delegable and lease.level.code < ADMIN
        return gave and not mine.level.weaker_than(lease.level)

    def _strength(self, cut: Cut, lease: Lease) -> tuple[int, int] | None:
        """The strength under which a revocation hits a lease, if it does."""
        key, by = self.revoke(cut).key, self.held[cut.entry].header.by
        narrowing = cut.entry == lease.entry and lease.act > cut.act
        if key != lease.key or narrowing or cut.entry in self.past(lease.entry):
            return None
        strengths = [
            mine.level.strength
            for mine in self.leases
            if mine.key == by and self._may_hit(mine, cut, lease) and self.usable(mine, cut.entry, by != key)
        ]
        return max(strengths, default=None)

    def _cut(self, lease: Lease, entry: EntryId, with_own: bool) -> bool:
        hits = {
            cut: strength
            for cut in self.cuts
            if (with_own or self.held[cut.entry].header.by != lease.key)
            and (strength := self.strength(cut, lease)) is not None
        }
        left = {
            cut: strength
            for cut, strength in hits.items()
            if not any(
                cut.entry in self.revoke(other).over
                and self.held[other.entry].header.by != lease.key
                and cut.entry in self.past(other.entry)
                and hits[other] >= strength
                for other in hits
            )
        }
        top = max(left.values(), default=None)
        return any(strength == top and not self._accepts(cut, entry) for cut, strength in left.items())

    def _accepts(self, cut: Cut, entry: EntryId) -> bool:
        if cut.entry == entry and self.held[entry].header.by == self.revoke(cut).key:
            return True
        seen, stack = set(), list(self.revoke(cut).tips)
        while stack:
            here = stack.pop()
            seen.add(here)
            stack += [one for one in self.held[here].header.prev if one not in seen]
        return entry in seen

    def counts(self, entry: Entry) -> bool:
        """Whether a data entry counts."""
        return any(
            lease.key == entry.header.by and lease.level.code >= WRITE and self.usable(lease, entry.id, True)
            for lease in self.leases
        )

    def level(self, key: bytes, now_ms: int) -> Level | None:
        """The strongest level that a key holds now."""
        levels = [
            lease.level
            for lease in self.leases
            if lease.key == key
            and (lease.until is None or now_ms < lease.until)
            and self.stands(lease)
            and not any(self.strength(cut, lease) is not None for cut in self.cuts)
        ]
        return max(levels, key=lambda level: level.strength, default=None)
