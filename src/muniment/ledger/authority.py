"""Authority: the one function that decides what counts in a bank, and who may do what in it.

It is a function of the set of control entries (and, where a cut needs them, of `prev` and the author of
data entries): any order, duplication or split of the same set gives the same answers. It does no I/O;
`now` is a parameter, and time closes doors only: it never changes what an entry is worth.
Source: design section 4; the rules of the protocol review. The work is done in `past`, `leases` and
`epochs`; the checks before writing are in `permits`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from muniment.base.ids import BankId, EntryId, VersionId
from muniment.base.limits import LIMITS
from muniment.ledger.control import Epoch, EpochId, Grant, Revoke
from muniment.ledger.entry import Entry
from muniment.ledger.epochs import EpochInfo, Erasure, Facts, InviteInfo
from muniment.ledger.growing import grown
from muniment.ledger.leases import Lease, Leases, administers, writes
from muniment.ledger.levels import READ, Level
from muniment.ledger.past import COUNTS, NOT_CONTROL, PAST_MISSING, Chain, Cuts, Past, Ruling, Verdict
from muniment.ledger.permits import Permits

__all__ = [
    "Authority", "Chain", "EpochInfo", "Erasure", "InviteInfo", "Lease", "LeaseView", "Member", "Ruling", "Verdict",
]  # fmt: skip
_MAX_CACHED = 1 << 16


class Member(NamedTuple):
    """One key of a bank. `state` is "standing", "expired, cut pending" or "cut"; the rest is its strongest lease."""

    key: bytes
    level: Level
    until: int | None
    delegable: bool
    agent: bool
    granted_by: bytes
    state: str


class LeaseView(NamedTuple):
    """Why a key holds what it holds: one grant to it, its worth, and the revocations that decide what it covers."""

    level: Level
    until: int | None
    delegable: bool
    entry: EntryId
    act: int
    granted_by: bytes
    ruling: Ruling
    cut_by: tuple[tuple[EntryId, bytes], ...]


class Authority(Permits):
    """The verdicts over one set of control entries; never changes, `extend` gives the one over more.

    It is worked out at the first question asked, so extending step by step costs nothing by itself.
    """

    def __init__(
        self,
        bank: BankId,
        control: dict[EntryId, Entry],
        chain: Chain,
        extra: dict[EntryId, Entry],
        older: Authority | None = None,
    ) -> None:
        self.bank = bank
        self._control = control
        self._chain = chain
        self._extra = extra
        self._cuts = Cuts(chain, control, extra)
        if older is not None:
            self._cuts.adopt(older._cuts)
        self._rulings: dict[tuple[bytes, tuple[EntryId, ...]], Ruling | int] = {}
        self._gaps: frozenset[EntryId] = frozenset()

    @classmethod
    def resolve(cls, bank: BankId, control: Mapping[EntryId, Entry], chain: Chain) -> Authority:
        """Judge a set of control entries.

        Args:
            bank: Its id, which is that of its founding entry.
            control: All control entries held, each verified.
            chain: Where `prev` and the author of any entry held can be asked for, data entries included.
        """
        return cls(bank, dict(control), chain, {})

    def extend(self, *entries: Entry) -> Authority:
        """The authority over the set with these entries too: what `resolve` gives for it.

        Call it for every entry stored, control or data: a data entry costs a look-up, unless a cut's
        path had missed it. Without entries it looks whether the chain has such entries by now.
        """
        control = {e.id: e for e in entries if e.is_control and e.id not in self._control}
        data = [e for e in entries if not e.is_control]
        extra: dict[EntryId, Entry] = {}
        if data:
            gaps = self.gaps
            extra = {e.id: e for e in data if e.id in gaps}
        filled = not entries and any(self._cuts.prev(gap) is not None for gap in self.gaps)
        if not control and not extra and not filled:
            return self
        new = Authority(self.bank, self._control | control, self._chain, self._extra | extra, self)
        if len(control) == 1 and not extra and not filled and "_facts" in self.__dict__:
            new._grow(self, next(iter(control.values())))
        return new

    def _grow(self, older: Authority, entry: Entry) -> None:
        """Take over what was judged, if one more entry leaves that as it is."""
        if entry.id in older._cuts.gaps:
            return
        made = grown(older._leases, older._facts, self._cuts, entry)
        if made is not None:
            self.__dict__["_leases"], self.__dict__["_facts"] = made
            self.__dict__["_past"] = made[0].past
            self._gaps = older._gaps | self._cuts.gaps
            rulings, auth = made[1].rulings, entry.header.auth
            if rulings[entry.id] is not COUNTS:
                self.__dict__["_whole_heads"] = older._whole_heads
            elif all(rulings[parent] is COUNTS for parent in auth):  # behind a void one others may hide
                kept = [one for one in older._whole_heads if one not in auth]
                self.__dict__["_whole_heads"] = [*kept, entry.id]

    @cached_property
    def _leases(self) -> Leases:
        return Leases(self.bank, self._past, self._cuts)

    @cached_property
    def _past(self) -> Past:
        return Past(self.bank, self._control)

    @cached_property
    def _facts(self) -> Facts:
        facts = Facts(self._leases)
        # As it was when the acts were judged: later walks may find more, and the acts not know of it.
        self._gaps = frozenset(self._cuts.gaps)
        return facts

    @property
    def gaps(self) -> frozenset[EntryId]:
        """Ids on the way to a cut's tips that were not here when the control acts were judged."""
        return self._gaps if self._facts else frozenset()

    # -- verdicts -------------------------------------------------------------------------------------

    def rule(self, entry: Entry) -> Ruling:
        """The verdict on an entry, held or not; a data entry counts under a lease of write or more.

        Of data entries with equal header bytes only the smallest id that counts is to be taken: that
        needs the others, and is seen where they are kept.
        """
        if entry.header.ctl:
            return self._rule_control(entry)
        place = (entry.header.by, entry.header.auth)
        known = self._rulings.get(place)
        if known is None:
            known = self._prepare(entry)
            if len(self._rulings) >= _MAX_CACHED:
                self._rulings.clear()
            self._rulings[place] = known
        if isinstance(known, Ruling):
            return known
        return self._leases.acting(entry, known, writes)[1]

    def _prepare(self, entry: Entry) -> Ruling | int:
        """What can be said of all entries of one author and one `auth`, or else what lies before them."""
        leases = self._leases
        before = self._past.reach(entry.header.auth)
        if before is None:
            return self._unreached(entry)
        free = any(
            lease.until is None and before >> lease.bit & 1 and writes(lease)
            for lease in leases.open(entry.header.by)
        )
        return COUNTS if free else before

    def by_admin(self, entry: Entry) -> bool:
        """Whether the author of a data entry acts under an admin's lease there."""
        before = self._past.reach(entry.header.auth)
        return before is not None and self._leases.acting(entry, before, administers)[1] is COUNTS

    def _unreached(self, entry: Entry) -> Ruling:
        for parent in entry.header.auth:
            if parent not in self._control and self._cuts.prev(parent) is not None:
                return NOT_CONTROL
        return PAST_MISSING

    def _rule_control(self, entry: Entry) -> Ruling:
        known = self._facts.rulings.get(entry.id)
        if known is not None:
            return known
        if entry.id in self._control:
            return self._unreached(entry)
        return self.extend(entry).rule(entry)

    def acts_standing(self, entry: Entry) -> tuple[bool, ...]:
        """For each control act of an entry held here, whether it stands by itself."""
        rulings = self._facts.acts.get(entry.id)
        return tuple(one is COUNTS for one in rulings) if rulings else (False,) * len(entry.header.ctl)

    @cached_property
    def heads(self) -> tuple[EntryId, ...]:
        """Control heads that are complete and stand: what a writer puts in `auth`, sorted.

        At most `Limits.parents`; beyond, those under the strongest leases, so that nobody can crowd
        out an admin's.
        """
        strength = self._facts.strength
        heads = sorted(self._whole_heads, key=lambda one: (*(-part for part in strength[one]), one))
        return tuple(sorted(heads[: LIMITS.parents]))

    @cached_property
    def _whole_heads(self) -> list[EntryId]:
        facts, order = self._facts, self._past.order
        inner: set[EntryId] = set()
        heads = []
        for entry in reversed(order):  # effects first
            counts = facts.rulings[entry.id] is COUNTS
            if counts and entry.id not in inner:
                heads.append(entry.id)
            if counts or entry.id in inner:
                inner.update(entry.header.auth)
        return heads

    @cached_property
    def shared(self) -> Mapping[EntryId, int]:
        """The control entries that a sync is about, with their clock values: those that count, and their past."""
        stack = [entry.id for entry in self._past.order if self._facts.rulings[entry.id] is COUNTS]
        found: dict[EntryId, int] = {}
        while stack:
            entry = self._control.get(one := stack.pop())
            if entry is not None and one not in found:
                found[one] = entry.header.at
                stack += entry.header.auth
        return found

    def lacking(self) -> frozenset[EntryId]:
        """Ids that entries of members wait for: what `missing` has, save what strangers and cut keys named."""
        named = self._past.missing
        return frozenset(
            one
            for one in self.missing
            if one == EntryId(self.bank)
            or any(self._leases.open(self._control[by].header.by) for by in named.get(one, ()))
        )

    @property
    def missing(self) -> frozenset[EntryId]:
        """Ids that control entries name in `auth` and that are not here: to be asked of every peer."""
        unknown = {one for one in self._past.missing if self._cuts.prev(one) is None}
        return frozenset(unknown | ({EntryId(self.bank)} - self._control.keys()))

    @property
    def incomplete(self) -> bool:
        """Whether a member's control entry waits for its past; strangers and cut keys can't bring it about."""
        if EntryId(self.bank) not in self._control:
            return True
        by = {
            self._control[one].header.by
            for named in self.missing
            for one in self._past.missing.get(named, ())
        }
        return any(self._leases.open(key) for key in by)

    @property
    def unknown_acts(self) -> bool:
        """Whether a member has signed a control act that this version does not know."""
        return self._facts.unknown_acts

    # -- keys -----------------------------------------------------------------------------------------

    def leases_now(self, key: bytes, now_ms: int) -> list[Lease]:
        """The leases of a key under which it can act now, strongest first."""
        return [lease for lease in self._leases.open(key) if lease.until is None or now_ms < lease.until]

    def leases_open(self, key: bytes) -> list[Lease]:
        """The leases of a key that no revocation hits, expired ones included, strongest first."""
        return list(self._leases.open(key))

    @cached_property
    def keys(self) -> frozenset[bytes]:
        """Every key that holds or held a standing lease."""
        return frozenset(
            key for key, leases in self._leases.by_key.items() if any(one.ruling is COUNTS for one in leases)
        )

    def members(self, now_ms: int) -> list[Member]:
        """All keys that hold or held something, strongest first."""
        rows = []
        for key in self.keys:
            now, open_ = self.leases_now(key, now_ms), self._leases.open(key)
            lease = (now or open_ or [one for one in self._leases.by_key[key] if one.ruling is COUNTS])[0]
            state = "standing" if now else "expired, cut pending" if open_ else "cut"
            agent = key in self.agents
            rows.append(Member(key, lease.level, lease.until, lease.delegable, agent, lease.by, state))
        rows.sort(key=lambda row: (row.state == "cut", -row.level.code, row.level.rank, row.key))
        return rows

    def readers(self, now_ms: int) -> frozenset[bytes]:
        """Keys that may read now: who has to get the epoch key."""
        lasting, expiring = self._readers
        now = {lease.key for lease in expiring if lease.until is not None and now_ms < lease.until}
        return lasting | now if now else lasting

    @cached_property
    def _readers(self) -> tuple[frozenset[bytes], list[Lease]]:
        open_ = [lease for key in self.keys for lease in self._leases.open(key) if lease.level.allows(READ)]
        return frozenset(lease.key for lease in open_ if lease.until is None), [
            e for e in open_ if e.until is not None
        ]

    def expired(self, now_ms: int) -> frozenset[bytes]:
        """Keys with an expired lease that no revocation hits yet: an admin's peer cuts them."""
        return frozenset(
            lease.key for lease in self._expiring if lease.until is not None and lease.until <= now_ms
        )

    @cached_property
    def _expiring(self) -> list[Lease]:
        open_ = (lease for key in self.keys for lease in self._leases.open(key))
        return [lease for lease in open_ if lease.until is not None]

    def revoked(self, key: bytes) -> bool:
        """Whether a standing revocation names a key, be it a member's or an invite's."""
        return self._leases.is_revoked(key)

    def why(self, key: bytes) -> list[LeaseView]:
        """Every grant to a key, also void ones, with what became of it."""
        rows = []
        granted = self._leases.granted
        places = ((entry.id, place) for entry in self._past.order for place in range(len(entry.header.ctl)))
        for place in places:
            for one in granted.get(place, ()):
                if one.key == key:
                    cuts = self._leases.deciding(one) if one.ruling is COUNTS else ()
                    cut_by = tuple(sorted((cut.entry.id, cut.by) for cut in cuts))
                    where = (one.entry, one.act, one.by)
                    rows.append(LeaseView(one.level, one.until, one.delegable, *where, one.ruling, cut_by))
        return rows

    def granted_by(self, key: bytes, deep: bool = False) -> frozenset[bytes]:
        """Other keys that a key let in and that hold something still; `deep`: and those whom these let in."""
        found: set[bytes] = set()
        stack = [key]
        while stack:
            granter = stack.pop()
            fresh = {
                lease.key
                for leases in self._leases.granted.values()
                for lease in leases
                if lease.under is not None and lease.by == granter and self._leases.open(lease.key)
            } - found - {key}  # fmt: skip
            found |= fresh
            stack += fresh if deep else ()
        return frozenset(found)

    def cut_tips(self, entries: Iterable[Entry]) -> tuple[EntryId, ...]:
        """The tips to name when revoking a key: the newest of its entries that count and whose chain is whole here.

        Beyond `Limits.tips_per_cut` branches those that accept the most are kept, so that nobody can
        make itself too branched to be cut.
        """
        counting = {e.id: e for e in entries if self.rule(e).verdict is Verdict.COUNTS}
        inner = {parent for entry in counting.values() for parent in entry.header.prev}
        sizes = {one: self._cuts.reach((one,)) for one in counting.keys() - inner}
        whole = sorted((-size, one) for one, size in sizes.items() if size is not None)
        return tuple(sorted(one for _, one in whole[: LIMITS.tips_per_cut]))

    def adoption(self, key: bytes, tips: tuple[EntryId, ...], now_ms: int) -> tuple[Revoke | Grant, ...]:
        """The acts that widen a key's cut to `tips`: a revocation in place of those that decide now, and its leases.

        `tips` must reach the key's entries under its open leases too, since these are granted anew.
        """
        over = {cut.entry.id for lease in self._leases.by_key.get(key, ()) if lease.ruling is COUNTS
                for cut in self._leases.deciding(lease)}  # fmt: skip
        again = [
            Grant(key, one.level, one.until, one.delegable, key in self.agents)
            for one in self.leases_now(key, now_ms)
        ]
        return (Revoke(key, tuple(sorted(tips)), tuple(sorted(over))[: LIMITS.tips_per_cut]), *again)

    @property
    def agents(self) -> frozenset[bytes]:
        """Keys that are or were the bank's agent."""
        return self._facts.agents

    @property
    def controllers(self) -> frozenset[bytes]:
        """The founders at admin(0) that are not the agent, and the keys that succeeded them."""
        return self._facts.controllers

    # -- standing acts --------------------------------------------------------------------------------

    @property
    def epochs(self) -> Mapping[EpochId, EpochInfo]:
        """Standing epochs, causes first."""
        return self._facts.epochs

    @property
    def epoch_heads(self) -> tuple[EpochId, ...]:
        """Epochs that no other standing epoch opens: those whose keys a new one has to carry."""
        return self._facts.epoch_heads

    def current_epoch(self, now_ms: int) -> EpochId | None:
        """The epoch to seal under: held by all readers of now and by nobody else; None if one must be started."""
        return self._facts.current_epoch(self.readers(now_ms))

    def boxes_for(self, key: bytes, epoch: EpochId | None = None) -> list[tuple[EpochId, bytes]]:
        """The sealed boxes of epoch keys made for a key: of standing epochs and shares, newest epoch first.

        With `epoch` also the box of that one though it does not stand: what was sealed under an epoch
        before its author was cut has to stay readable.
        """
        boxes = self._facts.boxes_for(key)
        if epoch is not None and epoch not in self.epochs and (act := self.epoch_act(epoch)) is not None:
            boxes += [(epoch, box) for to, box in act.boxes if to == key]
        return boxes

    def epoch_act(self, epoch: EpochId) -> Epoch | None:
        """The act that started an epoch, standing or not: its commitment is what a key has to match to open bodies.

        Whether to *seal* under an epoch is another question, answered by `current_epoch`.
        """
        entry = self._control.get(epoch.entry)
        act = entry.header.ctl[epoch.act] if entry and epoch.act < len(entry.header.ctl) else None
        return act if isinstance(act, Epoch) else None

    def policy(self, name: int) -> int | None:
        """The value of a policy, or None if none was set."""
        return self._facts.policy(name)

    @property
    def invites(self) -> Mapping[EpochId, InviteInfo]:
        """Standing invites; whoever answers one checks its uses and expiry by its own clock."""
        return self._facts.invites

    @property
    def erasures(self) -> Mapping[VersionId, list[Erasure]]:
        """Standing erasures by version."""
        return self._facts.erasures(self._cuts.author)
