"""One more control entry, judged without judging all others again.

What a new entry says changes nothing that was judged before it, as long as nobody waited for it: no entry has it
in its past. A grant only adds a lease. A revocation takes leases from a key, and with them whatever that key
decided; where the key never decided anything, nothing else depends on them. All else is judged anew from the whole
set, so that the outcome is the same: a function of the set alone. Source: design section 4, "Resolution".
"""

from __future__ import annotations

from collections import defaultdict

from muniment.base.ids import EntryId
from muniment.ledger.control import Found, Grant, Revoke
from muniment.ledger.entry import Entry
from muniment.ledger.epochs import Facts
from muniment.ledger.leases import Lease, Leases, Revocation
from muniment.ledger.levels import ADMIN
from muniment.ledger.past import COUNTS, PATH_MISSING, Cuts


def grown(leases: Leases, facts: Facts, cuts: Cuts, entry: Entry) -> tuple[Leases, Facts] | None:
    """Leases and facts with one more entry; None where the whole set has to be judged anew."""
    acts = entry.header.ctl
    for act in acts:
        if isinstance(act, Found):
            return None
        if isinstance(act, Revoke) and (act.key == entry.header.by or act.key in leases.deciders):
            return None
    made = leases.past.grown(entry)
    if made is None:
        return None
    past, place = made
    later = {one.id for one in past.order[place + 1 :]}
    new = Leases.__new__(Leases)
    new.past, new.cuts = past, cuts
    new.by_key = defaultdict(list, leases.by_key)
    new.granted = defaultdict(list, leases.granted)
    new.revoked = dict(leases.revoked)
    new._of, new._by = defaultdict(list, leases._of), defaultdict(list, leases._by)
    new._open, new._deciding = dict(leases._open), dict(leases._deciding)
    new.deciders = leases.deciders | {entry.header.by}
    for number, act in enumerate(acts):
        if isinstance(act, Revoke):
            _revoke(new, entry, number, act)
    for number, act in enumerate(acts):
        if isinstance(act, Grant):
            _grant(new, entry, number, act, later)
    return new, facts.grown(new, entry, later)


def _revoke(leases: Leases, entry: Entry, number: int, act: Revoke) -> None:
    revocation = Revocation(act.key, act.tips, act.over, entry, number, leases.past.bit[entry.id])
    before = leases.past.before[entry.id]
    for lease in leases.by_key.get(entry.header.by, ()):
        decides = lease.level.code == ADMIN or lease.delegable
        if lease.ruling is COUNTS and decides and leases._usable(lease, entry, before, True) is COUNTS:
            revocation.under = lease
            break
    leases.revoked[entry.id, number] = revocation
    leases._of[act.key] = [*leases._of[act.key], revocation]
    leases._by[entry.header.by] = [*leases._by[entry.header.by], revocation]
    leases._open.pop(act.key, None)
    for lease in leases.by_key.get(act.key, ()):
        for with_own in (True, False):
            leases._deciding.pop((lease, with_own), None)


def _grant(leases: Leases, entry: Entry, number: int, act: Grant, later: set[EntryId]) -> None:
    made = list(leases._leases(entry, number, act))
    leases.granted[entry.id, number] = made
    for lease in made:
        leases._judge_grant(lease)
        if lease.ruling in (COUNTS, PATH_MISSING):
            leases.by_key[act.key] = _inserted(leases.by_key[act.key], lease, later)
        leases._open.pop(act.key, None)


def _inserted(held: list[Lease], lease: Lease, later: set[EntryId]) -> list[Lease]:
    """The leases of a key with one more: strongest first, among equals what comes later in the order first."""
    place = 0
    for one in held:
        newer = one.entry in later or (one.entry == lease.entry and one.act > lease.act)
        if one.grade > lease.grade or (one.grade == lease.grade and newer):
            place += 1
    return [*held[:place], lease, *held[place:]]
