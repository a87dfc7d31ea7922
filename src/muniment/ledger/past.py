"""What lies before an entry: control entries through `auth`, and a key's own entries through `prev`.

Two graphs, both bound by hashes and so without circles. `Past` answers "is that control entry known to
this one"; `Cuts` answers "is this entry among those that a revocation accepts". Nothing here judges.
Source: design section 4, "Resolution"; everything is iterative, since a chain can be thousands long.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol

from muniment.base.ids import BankId, EntryId
from muniment.ledger.control import Epoch, Found, Grant, Policy, Revoke
from muniment.ledger.entry import Entry


class Chain(Protocol):
    """What authority asks of the place that holds the entries."""

    def prev(self, entry: EntryId, /) -> tuple[EntryId, ...] | None:
        """`prev` of an entry held here, control or data; None if it is not here."""
        ...

    def author(self, entry: EntryId, /) -> bytes | None:
        """The key that signed an entry held here; None if it is not here."""
        ...


class Verdict(Enum):
    """What an entry is worth, as a function of the whole set."""

    COUNTS = "counts"
    VOID = "void"
    WAITING = "waiting"


class Ruling(NamedTuple):
    """A verdict and, unless it counts, why."""

    verdict: Verdict
    reason: str = ""


COUNTS = Ruling(Verdict.COUNTS)
NO_STRENGTH = Ruling(Verdict.VOID, "no strength")
EXPIRED = Ruling(Verdict.VOID, "expired")
CUT = Ruling(Verdict.VOID, "cut")
DUPLICATE = Ruling(Verdict.VOID, "duplicate header")
NOT_CONTROL = Ruling(Verdict.VOID, "auth names an entry that is no control entry")
PATH_MISSING = Ruling(Verdict.WAITING, "path to a cut's tip is missing")
PAST_MISSING = Ruling(Verdict.WAITING, "control past is missing")
# Of several reasons the last in this list is told: what could still change comes before what can't.
TOLD = (NO_STRENGTH, EXPIRED, CUT, PATH_MISSING, PAST_MISSING)

# Only these are ever looked for in a past; erasures and shares may be many and need no place in it.
_WEIGHTY = (Found, Grant, Revoke, Epoch, Policy)


class Past:
    """The control entries whose past is wholly here, each with the set of what lies before it.

    A set is an integer with one bit for each *header*: of two entries with equal header bytes (one header,
    two signatures) each says the same, so neither can be before or after something that the other isn't.
    """

    def __init__(self, bank: BankId, control: Mapping[EntryId, Entry]) -> None:
        self.order: list[Entry] = []  # complete entries, causes first; a function of the set alone
        self.entries: dict[EntryId, Entry] = {}  # the same by id
        self.before: dict[EntryId, int] = {}
        self.bit: dict[EntryId, int] = {}  # only entries that can be looked for
        self._own: dict[EntryId, int] = {}
        self.missing: dict[EntryId, set[EntryId]] = {}  # id that is not here -> who names it
        self._bits: dict[bytes, int] = {}  # header bytes -> bit
        self._sort(bank, control)
        self._headers = {entry.header_bytes: entry.id for entry in reversed(self.order)}

    def _sort(self, bank: BankId, control: Mapping[EntryId, Entry]) -> None:
        needs: dict[EntryId, int] = {}
        named_by: dict[EntryId, list[EntryId]] = {}
        for entry_id, entry in control.items():
            needs[entry_id] = len(entry.header.auth)
            for parent in entry.header.auth:
                named_by.setdefault(parent, []).append(entry_id)
                if parent not in control:
                    self.missing.setdefault(parent, set()).add(entry_id)
        ready = [entry_id for entry_id, count in needs.items() if not count]
        heapq.heapify(ready)
        shared: dict[tuple[EntryId, ...], int] = {}  # entries of one `auth` have one past: keep it once
        while ready:
            entry_id = heapq.heappop(ready)
            entry = control[entry_id]
            self.order.append(entry)
            self.entries[entry_id] = entry
            own = 0
            if any(isinstance(act, _WEIGHTY) for act in entry.header.ctl):
                self.bit[entry_id] = self._bits.setdefault(entry.header_bytes, len(self._bits))
                own = 1 << self.bit[entry_id]
            self._own[entry_id] = own
            auth = entry.header.auth
            if auth not in shared:
                shared[auth] = self._union(auth)
            # The founding entry's further acts stand on what it founds.
            self.before[entry_id] = own if entry_id == EntryId(bank) else shared[auth]
            for child in named_by.get(entry_id, ()):
                needs[child] -= 1
                if not needs[child]:
                    heapq.heappush(ready, child)

    def grown(self, entry: Entry) -> tuple[Past, int] | None:
        """The past with one more entry, and its place in `order`; None where it can't be had without sorting anew.

        Its past has to be here, nothing that is here may have waited for it, and its header must be new.
        """
        auth = entry.header.auth
        before = self.reach(auth)
        twin = self._headers.setdefault(entry.header_bytes, entry.id) != entry.id
        if before is None or not auth or entry.id in self.missing or twin:
            return None
        new = Past.__new__(Past)
        new.missing, new._bits = self.missing, self._bits
        new._headers = self._headers  # shared by all that grew from one: it may hold more than is here
        new.entries = {**self.entries, entry.id: entry}
        new.before = {**self.before, entry.id: before}
        new.bit, own = self.bit, 0
        if any(isinstance(act, _WEIGHTY) for act in entry.header.ctl):
            bit = len(self._bits)
            own = 1 << bit
            new.bit, new._bits = {**self.bit, entry.id: bit}, {**self._bits, entry.header_bytes: bit}
        new._own = {**self._own, entry.id: own}
        place = self._place(entry)
        new.order = [*self.order[:place], entry, *self.order[place:]]
        return new, place

    def _place(self, entry: Entry) -> int:
        """Where sorting anew would put an entry that no other waits for: after its causes, before a larger id."""
        parents = set(entry.header.auth)
        first = len(self.order)
        while self.order[first - 1].id not in parents:
            first -= 1
        while first < len(self.order) and self.order[first].id < entry.id:
            first += 1
        return first

    def _union(self, auth: Iterable[EntryId]) -> int:
        past = 0
        for parent in auth:
            past |= self.before[parent] | self._own[parent]
        return past

    def reach(self, auth: Iterable[EntryId]) -> int | None:
        """What lies before an entry with this `auth`; None if part of it is not here."""
        auth = tuple(auth)
        return self._union(auth) if all(parent in self.before for parent in auth) else None


class _Walk:
    __slots__ = ("missing", "seen")

    def __init__(self, tips: tuple[EntryId, ...]) -> None:
        self.seen = set(tips)
        self.missing = set(tips)


class Cuts:
    """Which entries a revocation accepts: those reachable through `prev` from the tips that it names."""

    def __init__(
        self, chain: Chain, control: Mapping[EntryId, Entry], extra: Mapping[EntryId, Entry]
    ) -> None:
        self._chain = chain
        self._control = control
        self._extra = extra  # data entries that were handed over because a walk had missed them
        self._walks: dict[tuple[EntryId, ...], _Walk] = {}
        self._authors: dict[EntryId, bytes] = {}

    def adopt(self, other: Cuts) -> None:
        """Take over finished walks from a `Cuts` over fewer entries: what they found stays true."""
        self._walks.update((tips, walk) for tips, walk in other._walks.items() if not walk.missing)
        self._authors = other._authors  # an id has one author for ever

    def prev(self, entry: EntryId) -> tuple[EntryId, ...] | None:
        """`prev` of an entry, wherever it is held."""
        held = self._control.get(entry) or self._extra.get(entry)
        return held.header.prev if held else self._chain.prev(entry)

    def author(self, entry: EntryId) -> bytes | None:
        """Who signed an entry, wherever it is held."""
        by = self._authors.get(entry)
        if by is None:
            held = self._control.get(entry) or self._extra.get(entry)
            by = held.header.by if held else self._chain.author(entry)
            if by is not None:
                self._authors[entry] = by
        return by

    def holds(self, tips: tuple[EntryId, ...], entry: EntryId) -> bool | None:
        """Whether `entry` is in the cut of `tips`; None if a path that could lead to it is not wholly here."""
        walk = self._walk(tips)
        if entry in walk.seen:
            return True
        return None if walk.missing else False

    def reach(self, tips: tuple[EntryId, ...]) -> int | None:
        """How many entries a cut accepts; None if it is not wholly here."""
        walk = self._walk(tips)
        return None if walk.missing else len(walk.seen)

    def _walk(self, tips: tuple[EntryId, ...]) -> _Walk:
        walk = self._walks.get(tips)
        if walk is None:
            walk = self._walks[tips] = _Walk(tips)
        if walk.missing:
            stack = list(walk.missing)
            walk.missing.clear()
            while stack:
                entry = stack.pop()
                parents = self.prev(entry)
                if parents is None:
                    walk.missing.add(entry)
                    continue
                fresh = [parent for parent in parents if parent not in walk.seen]
                walk.seen.update(fresh)
                stack += fresh
        return walk

    @property
    def gaps(self) -> set[EntryId]:
        """Ids that some walk needed and did not find."""
        return {entry for walk in self._walks.values() for entry in walk.missing}
