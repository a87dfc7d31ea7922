"""What follows from standing control acts: epochs, policy, erasures, invites, and whose memory a bank is.

Everything here is read off judged leases; nothing here decides who may do what except the strength that
each kind of act needs. Source: design sections 4 ("Epochs", "Invites") and 9 ("Erase"); review rules 5, 6, 8.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from muniment.base.ids import EntryId, VersionId
from muniment.ledger.control import (
    Control,
    Epoch,
    EpochId,
    Erase,
    Found,
    Grant,
    Invite,
    Policy,
    Revoke,
    Share,
    Unknown,
)
from muniment.ledger.entry import Entry
from muniment.ledger.leases import Lease, Leases, may_grant
from muniment.ledger.levels import ADMIN, READ, Level
from muniment.ledger.past import COUNTS, DUPLICATE, NO_STRENGTH, TOLD, Ruling


@dataclass(frozen=True, slots=True)
class EpochInfo:
    """A standing epoch. `recipients` got its key in a box, of the epoch or of a later share; `at` is a clock value.

    `holders` are all who must be taken to know the key: recipients, who started it, and who shared it.
    """

    id: EpochId
    act: Epoch
    by: bytes
    at: int
    level: Level
    recipients: frozenset[bytes]
    holders: frozenset[bytes]


class Erasure(NamedTuple):
    """A standing order to destroy one version; `immediate_ok`: the eraser made it, or is admin(0)."""

    entry: EntryId
    by: bytes
    at: int
    immediate_ok: bool


class InviteInfo(NamedTuple):
    """A standing invite: who may be answered with a grant, until when, and by whose leave."""

    id: EpochId
    act: Invite
    by: bytes
    at: int


_T = TypeVar("_T")


class _Order(NamedTuple):
    """An erase act that waits for the authors of what it names."""

    entry: Entry
    versions: tuple[VersionId, ...]
    under: Lease


class Facts:
    """The standing acts of a judged set of control entries, by kind."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._past = leases.past
        self.rulings: dict[EntryId, Ruling] = {}
        self.acts: dict[EntryId, tuple[Ruling, ...]] = {}
        self.strength: dict[EntryId, tuple[int, int]] = {}  # that an entry's strongest act stands under
        self.unknown_acts = False
        self.invites: dict[EpochId, InviteInfo] = {}
        self._epochs: list[tuple[EpochId, Epoch, Entry, Lease]] = []
        self._shares: list[tuple[Share, Entry]] = []
        self._policies: dict[int, list[tuple[Policy, Entry, Lease]]] = defaultdict(list)
        self._orders: list[_Order] = []
        self._erasures: dict[VersionId, list[Erasure]] = defaultdict(list)
        self._ancestors: dict[EntryId, set[EntryId]] = {}
        for entry in self._past.order:
            self._judge(entry)
        self._drop_twins()
        self._all_orders = list(self._orders)
        self.epochs = self._gather_epochs()
        self.epoch_heads = self._gather_heads()
        self._heirs = any(lease.succeeds for rows in leases.granted.values() for lease in rows)
        self.agents, self.controllers = self._identities()

    def grown(self, leases: Leases, entry: Entry, later: set[EntryId]) -> Facts:
        """The facts with one more entry, which nobody waited for; `later` are those behind it in the order."""
        new = Facts.__new__(Facts)
        new._leases, new._past = leases, leases.past
        new.rulings, new.acts, new.strength = dict(self.rulings), dict(self.acts), dict(self.strength)
        new.unknown_acts, new.invites = self.unknown_acts, dict(self.invites)
        new._epochs, new._shares = [], list(self._shares)
        new._policies = defaultdict(list, {name: list(rows) for name, rows in self._policies.items()})
        # Who may erase whose words depends on grants too: that is asked again, when it is asked.
        new._orders, new._erasures = list(self._all_orders), defaultdict(list)
        new._ancestors = {}
        new._judge(entry)
        new._all_orders = list(new._orders)
        kinds = {type(act) for act in entry.header.ctl}
        if new._epochs:
            place = sum(row[0].entry not in later for row in self._epochs)
            new._epochs = [*self._epochs[:place], *new._epochs, *self._epochs[place:]]
        else:
            new._epochs = self._epochs
        if kinds & {Epoch, Share}:
            new.epochs = new._gather_epochs()
            new.epoch_heads = new._gather_heads()
        else:
            new.epochs, new.epoch_heads = self.epochs, self.epoch_heads
        new.agents, new.controllers = self.agents, self.controllers
        marked = any(isinstance(act, Grant) and (act.agent or act.succeeds) for act in entry.header.ctl)
        new._heirs = self._heirs or marked
        if new._heirs and Grant in kinds:
            new.agents, new.controllers = new._identities()
        return new

    # -- each act -------------------------------------------------------------------------------------

    def _judge(self, entry: Entry) -> None:
        rulings, strengths = [], [(0, 0)]
        for place, act in enumerate(entry.header.ctl):
            lease, ruling = self._act(entry, place, act)
            rulings.append(ruling)
            if lease is not None and ruling is COUNTS:
                strengths.append(lease.level.strength)
        self.acts[entry.id] = tuple(rulings)
        self.strength[entry.id] = max(strengths)
        self.rulings[entry.id] = COUNTS if COUNTS in rulings else max(rulings, key=TOLD.index)

    def _act(self, entry: Entry, place: int, act: Control) -> tuple[Lease | None, Ruling]:
        if isinstance(act, Found | Grant):
            leases = self._leases.granted.get((entry.id, place))
            if not leases:
                return None, NO_STRENGTH
            return leases[0].under or leases[0], leases[0].ruling
        if isinstance(act, Revoke):
            revocation = self._leases.revoked[entry.id, place]
            if revocation.under is not None:
                return revocation.under, COUNTS
        lease, ruling = self._leases.acting(entry, self._past.before[entry.id], _needed(act, entry.header.by))
        if lease is not None and not isinstance(act, Revoke):
            self._keep(entry, EpochId(entry.id, place), act, lease)
        return lease, ruling

    def _keep(self, entry: Entry, place: EpochId, act: Control, lease: Lease) -> None:
        header = entry.header
        if isinstance(act, Epoch):
            self._epochs.append((place, act, entry, lease))
        elif isinstance(act, Share):
            self._shares.append((act, entry))
        elif isinstance(act, Policy):
            self._policies[act.name].append((act, entry, lease))
        elif isinstance(act, Erase):
            self._orders.append(_Order(entry, act.versions, lease))
        elif isinstance(act, Invite):
            self.invites[place] = InviteInfo(place, act, header.by, header.at)
        elif isinstance(act, Unknown):
            self.unknown_acts = True

    def _drop_twins(self) -> None:
        # Of equal headers the smallest id *that counts*: else a cut key could sign an old header again until
        # the new id is smaller, and so void what its cut accepts. What a twin says stays said: it is the same.
        seen: dict[bytes, EntryId] = {}
        for entry in self._past.order:
            if self.rulings[entry.id] is not COUNTS:
                continue
            first = seen.setdefault(entry.header_bytes, entry.id)
            if first != entry.id:
                small, large = sorted((first, entry.id))
                seen[entry.header_bytes] = small
                self.rulings[large] = DUPLICATE

    # -- epochs ---------------------------------------------------------------------------------------

    def _gather_epochs(self) -> dict[EpochId, EpochInfo]:
        got: dict[EpochId, set[bytes]] = defaultdict(set)
        gave: dict[EpochId, set[bytes]] = defaultdict(set)
        for share, entry in self._shares:
            got[share.epoch].add(share.key)
            gave[share.epoch].add(entry.header.by)
        infos = {}
        for epoch, act, entry, lease in self._epochs:
            recipients = frozenset(key for key, _ in act.boxes) | got[epoch]
            holders = recipients | gave[epoch] | {entry.header.by}
            header = entry.header
            infos[epoch] = EpochInfo(epoch, act, header.by, header.at, lease.level, recipients, holders)
        return infos

    def _gather_heads(self) -> tuple[EpochId, ...]:
        opened = {old for info in self.epochs.values() for old, _ in info.act.older}
        return tuple(sorted(epoch for epoch in self.epochs if epoch not in opened))

    def current_epoch(self, readers: frozenset[bytes]) -> EpochId | None:
        """The epoch to seal under: its key is with all readers of now and with nobody else.

        Only heads come in question: whoever got a newer key opens the older ones with it.
        """
        fitting = [self.epochs[epoch] for epoch in self.epoch_heads]
        fitting = [info for info in fitting if readers <= info.recipients and info.holders <= readers]
        newest = self._newest([(info.id, info.level, info) for info in fitting])
        return newest.id if newest else None

    def boxes_for(self, key: bytes) -> list[tuple[EpochId, bytes]]:
        """The boxes made for a key, newest epoch first."""
        found = [
            (epoch, box) for epoch, info in self.epochs.items() for to, box in info.act.boxes if to == key
        ]
        found += [(share.epoch, share.box) for share, _ in self._shares if share.key == key]
        rank = {epoch: number for number, epoch in enumerate(self.epochs)}  # causes come first
        return sorted(((e, b) for e, b in found if e in rank), key=lambda pair: (-rank[pair[0]], pair[1]))

    def policy(self, name: int) -> int | None:
        """The value of a policy: causally later wins; concurrent, the stronger lease, then the smaller id."""
        acts = self._policies.get(name, [])
        last = {
            entry.id: (entry.id, lease.level, act.value) for act, entry, lease in acts
        }  # last in its entry
        return self._newest([((entry, 0), level, value) for entry, level, value in last.values()])

    def _newest(self, rows: list[tuple[tuple[EntryId, int], Level, _T]]) -> _T | None:
        before = 0
        for (entry, _), _, _ in rows:
            before |= self._past.before[entry] & ~(1 << self._past.bit[entry])
        heads = [row for row in rows if not before >> self._past.bit[row[0][0]] & 1]
        heads.sort(key=lambda row: row[0])
        return max(heads, key=lambda row: row[1].strength)[2] if heads else None

    # -- whose memory it is ---------------------------------------------------------------------------

    def _identities(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        agents: set[bytes] = set()
        controllers: set[bytes] = set()
        heirs: list[tuple[bytes, bytes]] = []
        for leases in self._leases.granted.values():
            for lease in leases:
                if lease.ruling is not COUNTS:
                    continue
                under = lease.under
                if lease.agent and (under is None or under.level.code == ADMIN):
                    agents.add(lease.key)
                elif under is None and lease.level == Level(ADMIN, 0):
                    controllers.add(lease.key)
                if under is not None and lease.succeeds and self._may_succeed(lease, under, lease.succeeds):
                    heirs.append((lease.key, lease.succeeds))
        return _with_heirs(agents, heirs), _with_heirs(controllers, heirs)

    def _may_succeed(self, lease: Lease, under: Lease, old: bytes) -> bool:
        # Else any admin could make a key pass for the agent, or the agent make one pass for its controller.
        if lease.by == old:
            return True
        held = self._strongest(old, lease.entry, even_hit=True)
        return under.level.code == ADMIN and held is not None and held.weaker_than(under.level)

    def _strongest(self, key: bytes, entry: EntryId, even_hit: bool) -> Level | None:
        """The strongest level of a key as `entry` could know it: what is granted later does not count.

        Concurrent grants do: the author of `entry` chooses its `auth`, and so could leave a grant out of it.
        """
        before = self._past.before[entry]
        for lease in self._leases.by_key.get(key, ()):
            if lease.ruling is not COUNTS or (
                not before >> lease.bit & 1 and entry in self._before(lease.entry)
            ):
                continue
            if even_hit or not any(before >> one.bit & 1 for one in self._leases.hitting(lease)):
                return lease.level
        return None

    def _before(self, entry: EntryId) -> set[EntryId]:
        known = self._ancestors.get(entry)
        if known is None:
            known = self._ancestors[entry] = set()
            stack = [entry]
            while stack:
                fresh = [one for one in self._past.entries[stack.pop()].header.auth if one not in known]
                known.update(fresh)
                stack += fresh
        return known

    # -- erasures -------------------------------------------------------------------------------------

    def erasures(self, author: Callable[[EntryId], bytes | None]) -> dict[VersionId, list[Erasure]]:
        """Standing orders by version; what names an entry whose author is unknown here is left out, and asked again."""
        pending = []
        for order in self._orders:
            unknown = [version for version in order.versions if not self._order(order, version, author)]
            if unknown:
                pending.append(order._replace(versions=tuple(unknown)))
        self._orders = pending
        return self._erasures

    def _order(self, order: _Order, version: VersionId, author: Callable[[EntryId], bytes | None]) -> bool:
        made_by = author(version.entry)
        if made_by is None:
            return False
        header, level = order.entry.header, order.under.level
        made_it = made_by == header.by
        if not made_it and level.code == ADMIN:
            held = self._strongest(made_by, order.entry.id, even_hit=False)
            if held is not None and not held.weaker_than(level):
                return True
        elif not made_it:
            return True
        at_once = made_it or level == Level(ADMIN, 0)
        orders = self._erasures[version]
        if all(known.entry != order.entry.id for known in orders):
            bisect.insort(orders, Erasure(order.entry.id, header.by, header.at, at_once))
        return True

    @property
    def pending(self) -> Iterable[VersionId]:
        """Versions that standing erase acts name and whose entries have not been seen here."""
        return [version for order in self._orders for version in order.versions]


def _with_heirs(keys: set[bytes], heirs: list[tuple[bytes, bytes]]) -> frozenset[bytes]:
    more = keys
    while more:
        more = {heir for heir, old in heirs if old in keys} - keys
        keys = keys | more
    return frozenset(keys)


def _needed(act: Control, by: bytes) -> Callable[[Lease], bool]:
    if isinstance(act, Invite):
        return lambda lease: may_grant(lease, act.level, False, lease.until)
    if isinstance(act, Revoke):
        return lambda lease: act.key == by or lease.level.code == ADMIN or lease.delegable
    if isinstance(act, Epoch | Policy):
        return lambda lease: lease.level.code == ADMIN
    if isinstance(act, Share):
        return lambda lease: lease.level.code >= READ
    return lambda _: True  # an erasure is judged version by version; what an unknown act needs is unknown
