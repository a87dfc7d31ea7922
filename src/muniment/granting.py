"""Granting: one control entry that gives keys a lease, with the epoch keys that they need (design section 4).

A grant replaces what the key held: where that was more, the entry narrows it with a cut first. The entry carries
the epoch keys too, so nobody is a reader who can't open anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.bank import Bank
from muniment.base.errors import LimitExceeded
from muniment.base.ids import EntryId
from muniment.base.limits import LIMITS
from muniment.identity.keys import box
from muniment.ledger.authority import Authority, Lease
from muniment.ledger.control import Control, EpochId, Grant, Revoke, Share
from muniment.ledger.entry import Entry, reload
from muniment.ledger.levels import ADMIN, READ, Level
from muniment.writing import Writer


@dataclass(frozen=True, slots=True)
class Terms:
    """What a lease gives: a level, until when (Unix ms, None: for good), and whether its holder may pass it on.

    `agent`: the key is the bank's agent, on another installation. `invite`: the invite that is answered.
    """

    level: Level
    until: int | None = None
    delegable: bool = False
    agent: bool = False
    invite: EpochId | None = None

    def act(self, key: bytes) -> Grant:
        """The act that gives it."""
        return Grant(key, self.level, self.until, self.delegable, self.agent, self.invite)

    def same(self, lease: Lease) -> bool:
        """Whether a lease gives just this."""
        return (lease.level, lease.until, lease.delegable) == (self.level, self.until, self.delegable)

    def less_than(self, lease: Lease) -> bool:
        """Whether a lease gives more than this, in level, in time or in being delegable."""
        if lease.level != self.level:
            return self.level.weaker_than(lease.level)
        longer = self.until is not None and (lease.until is None or lease.until > self.until)
        return longer or (lease.delegable and not self.delegable)


@dataclass(frozen=True, slots=True)
class Changed:
    """What a decision did.

    Attributes:
        entry: The control entry; None where nothing had to be written.
        keys: The keys whose leases it changed.
        sealed: Whether an epoch stands now for exactly the readers of now. If not, writers wait for an admin.
    """

    entry: EntryId | None
    keys: tuple[bytes, ...]
    sealed: bool


def terms_of(lease: Lease, authority: Authority) -> Terms:
    """The terms of a standing lease, to give it again."""
    return Terms(lease.level, lease.until, lease.delegable, lease.key in authority.agents)


def tips_of(bank: Bank, authority: Authority, key: bytes) -> tuple[EntryId, ...]:
    """The tips to name when a key is cut: all of its making that counts here and is whole stays."""
    rows = [row for tip in bank.store.tips(key) if (row := bank.store.entry(tip)) is not None]
    tips = authority.cut_tips([reload(row.envelope) for row in rows])
    if len(tips) == len(rows):
        return tips
    return authority.cut_tips(reload(row.envelope) for row in bank.store.entries(author=key))


def shares(bank: Bank, by: bytes, authority: Authority, reader: bytes) -> list[Share]:
    """The keys of all epoch heads that `by` holds, boxed for a reader who got none; the newest open all older ones."""
    keys, found = bank.epoch_keys(by), []
    for epoch in authority.epoch_heads:
        secret = keys.get(authority, epoch)
        if secret is not None and reader not in authority.epochs[epoch].recipients:
            found.append(Share(epoch, reader, box(reader, secret, bank.host.entropy.bytes(32))))
    return found


def settle_epoch(bank: Bank, by: bytes, now: int) -> bool:
    """Start an epoch if none is with exactly the readers of now and `by` may; whether one stands then."""
    authority = bank.rulings.authority
    if authority.current_epoch(now) is not None:
        return True
    level = authority.level(by, now)
    if level is None or level.code < ADMIN:
        return False
    Writer(bank, by).start_epoch(authority, now)
    return True


def decide(
    bank: Bank, by: bytes, acts: Sequence[Control], now: int, prev: tuple[EntryId, ...] | None = None
) -> tuple[Entry, bool]:
    """Sign control acts, and see to an epoch for those who read then; needs an open `bank.write()`.

    Raises:
        LimitExceeded: More acts than an entry holds.
    """
    if len(acts) > LIMITS.control_acts_per_entry:
        raise LimitExceeded("acts of one decision", LIMITS.control_acts_per_entry, len(acts))
    entry, _ = Writer(bank, by).commit_control(bank.rulings.authority, acts, now, prev)
    return entry, settle_epoch(bank, by, now)


def grant(bank: Bank, by: bytes, keys: Sequence[bytes], terms: Terms, *, force: bool = False) -> Changed:
    """Give keys a lease; what they hold already changes nothing, what is more than it is narrowed.

    Args:
        bank: The bank.
        by: The key that decides, in custody here.
        keys: Who gets it.
        terms: What they get.
        force: Decide on a control past that is not wholly here, or narrow the last admin.

    Raises:
        NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: `by` may not, or not now.
        InvalidInput: The lease would have expired already, or is a delegable admin.
        LimitExceeded: The bank would have more readers than one epoch can hold.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        acts: list[Control] = []
        changed = []
        for key in keys:
            more = _acts(bank, by, key, terms, now, authority, force=force)
            if more:
                changed.append(key)
                acts += more
        if not acts:
            return Changed(None, (), authority.current_epoch(now) is not None)
        readers = authority.readers(now) | (set(changed) if terms.level.allows(READ) else set())
        if len(readers) > LIMITS.readers:
            raise LimitExceeded("readers of a bank", LIMITS.readers, len(readers))
        entry, sealed = decide(bank, by, acts, now)
        return Changed(entry.id, tuple(changed), sealed)


def _acts(
    bank: Bank, by: bytes, key: bytes, terms: Terms, now: int, authority: Authority, *, force: bool
) -> list[Control]:
    """The acts that give one key a lease; none where it holds just that."""
    until = terms.until
    authority.check_grant(by, key, terms.level, now, delegable=terms.delegable, until=until, force=force)
    held = authority.leases_open(key)
    acts: list[Control] = []
    if any(terms.less_than(lease) for lease in held):
        authority.check_revoke(by, key, now, force or terms.level.code == ADMIN)
        acts.append(Revoke(key, tips_of(bank, authority, key)))
    elif any(terms.same(lease) for lease in authority.leases_now(key, now)):
        lacking = shares(bank, by, authority, key) if terms.level.allows(READ) else []
        return list(lacking)
    acts.append(_again(terms, key, authority))
    if terms.level.allows(READ):
        acts += shares(bank, by, authority, key)
    return acts


def _again(terms: Terms, key: bytes, authority: Authority) -> Grant:
    agent = terms.agent or (terms.level.allows(READ) and key in authority.agents)
    return Terms(terms.level, terms.until, terms.delegable, agent, terms.invite).act(key)


def standing(bank: Bank, keys: Sequence[bytes]) -> dict[bytes, list[Terms]]:
    """What keys hold now: what `restore` gives back."""
    authority, now = bank.authority, bank.host.clock.now_ms()
    return {key: [terms_of(lease, authority) for lease in authority.leases_now(key, now)] for key in keys}


def restore(bank: Bank, by: bytes, before: dict[bytes, list[Terms]]) -> EntryId:
    """Undo a grant of `by`: what the keys held before stands again, and nothing more.

    Raises:
        NotPermitted | StorageError: As their names say.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        acts: list[Control] = []
        for key, held in before.items():
            acts.append(Revoke(key, tips_of(bank, authority, key)))
            acts += [terms.act(key) for terms in held if _may(authority, by, key, terms, now)]
        return decide(bank, by, acts, now)[0].id


def _may(authority: Authority, by: bytes, key: bytes, terms: Terms, now: int) -> bool:
    """Whether a lease has to be given again: what `by` could not take away still stands."""
    leases = authority.leases_now(by, now)
    if any(lease.level.code == ADMIN for lease in leases):
        return terms.until is None or terms.until > now
    return any(lease.by == by and terms.same(lease) for lease in authority.leases_now(key, now))
