"""Erasing: an act in clear names versions, and their bytes leave every replica (design section 9).

A version is erased with all acts about it (vectors, stubs, feedback), as far as the key may name them; the rest is
named by the next peer whose key may. Whatever order entries come in, the named bytes go and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from muniment.bank import Bank
from muniment.base.clock import ms_of
from muniment.base.errors import InvalidInput, MunimentError, NotPermitted
from muniment.base.ids import EntryId, VersionId, cid_text
from muniment.identity.did import to_did
from muniment.ledger.authority import Authority
from muniment.ledger.control import Erase
from muniment.ledger.epochs import Erasure
from muniment.ledger.levels import RELAY
from muniment.ledger.records import group_of_key
from muniment.store.base import Filter, Naming, State, VersionRow
from muniment.values import newest, put
from muniment.writing import Writer

if TYPE_CHECKING:
    from muniment.reading import Reader

GRACE = 1  # the policy that says how long an erase by others' leave waits, ms
GRACE_MS = 7 * 86_400_000  # where no policy does
SPACE = "erase"  # where standing orders for late versions of a key are kept
_AT_ONCE = 4000  # versions that one entry names: of the 256 KiB that a header may have
_CHUNK = 1000
_ABOUT = frozenset({Naming.VECTOR, Naming.ARCHIVE, Naming.FEEDBACK})


@dataclass(frozen=True, slots=True)
class Erased:
    """A receipt: what was erased, and where.

    Attributes:
        bank: The bank's id.
        entries: Ids of the signed erase acts, which every replica obeys.
        versions: The versions named, as text.
        acts: How many acts about them were named too: vectors, stubs, feedback.
        destroyed: Sealed bodies whose bytes are gone from this peer; `waiting` those that go at `due_ms` (Unix ms).
        payload_keys: Keys of archived texts that went with their acts: every copy of those texts is unreadable.
        swept: Whether log and indexes are clean of them; else somebody was reading, and the next write does it.
        standing: Whether late versions of the key go too.
        left: Versions of others that this key may not erase, by author DID.
        dry_run: Nothing was done.
    """

    bank: str
    entries: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    acts: int = 0
    destroyed: int = 0
    waiting: int = 0
    due_ms: int | None = None
    payload_keys: int = 0
    swept: bool = True
    standing: bool = False
    left: dict[str, int] = field(default_factory=dict)
    dry_run: bool = False

    def to_json(self) -> dict[str, Any]:
        """The receipt as `--json` prints it."""
        return {
            "bank": self.bank,
            "entries": list(self.entries),
            "versions": list(self.versions),
            "acts": self.acts,
            "destroyed": self.destroyed,
            "waiting": self.waiting,
            "due_ms": self.due_ms,
            "payload_keys": self.payload_keys,
            "swept": self.swept,
            "standing": self.standing,
            "left": dict(self.left),
            "dry_run": self.dry_run,
        }


@dataclass(frozen=True, slots=True)
class Settled:
    """What `settle_erasures` did: bodies that went, acts named, and bodies that wait until `next_ms` (Unix ms)."""

    destroyed: int
    named: int
    waiting: int
    next_ms: int | None
    swept: bool


# When


def grace_of(authority: Authority) -> int:
    """How long bytes stay that the eraser did not make, ms."""
    value = authority.policy(GRACE)
    return GRACE_MS if value is None else value


def due_at(erasures: Iterable[Erasure], grace: int, seen: Mapping[EntryId, int], now: int) -> int:
    """When a version's bytes go, Unix ms; 0 for at once.

    The grace runs from the date of the erase, and not before it was known here: whoever dates an erase back would
    leave nobody time to cut it.

    Args:
        erasures: All that name the version.
        grace: How long the bytes stay, ms.
        seen: When erases were first known here, Unix ms.
        now: Unix ms; an erase that is not in `seen` is known from now on.
    """
    return min(
        0 if one.immediate_ok else max(ms_of(one.at), seen.get(one.entry, now)) + grace for one in erasures
    )


def _orders(bank: Bank, versions: Iterable[VersionId], now: int) -> Mapping[EntryId, int]:
    """When erases were first known here; those of versions that have to wait are noted if they are new."""
    erasures, seen = bank.authority.erasures, bank.store.orders()
    named = (one for version in versions for one in erasures.get(version, ()))
    fresh = {one.entry: now for one in named if not one.immediate_ok and one.entry not in seen}
    if not fresh:
        return seen
    with bank.write():
        bank.store.note_orders(fresh)
    return {**fresh, **bank.store.orders()}


# Erasing


def erase(
    bank: Bank, by: bytes, reader: Reader, ref: str, *, only_version: bool = False, dry_run: bool = False
) -> Erased:
    """Destroy all versions of a record, or the one version that `ref` names.

    Raises:
        UnknownRecord | Ambiguous: As their names say.
        InvalidInput: One version is meant, and `ref` names none.
        NotPermitted: The key may erase none of them.
    """
    with bank.write() as authority:
        group, exact = reader.find(ref, authority)
        if only_version and exact is None:
            raise InvalidInput(f"{ref[:80]!r} names no version", "See `muniment history` for version ids.")
        rows = [exact] if only_version and exact is not None else group
        receipt, named = _erase(bank, by, authority, rows, dry_run=dry_run)
    return _swept(bank, receipt, named)


def erase_key(bank: Bank, by: bytes, key: str, *, dry_run: bool = False) -> Erased:
    """Destroy all versions of a record key, also those that were written by now and come later by the same authors.

    Raises:
        InvalidInput: The key is empty.
        NotPermitted: The key may not write here, or may erase none of the versions.
    """
    if not key:
        raise InvalidInput("the key is empty", "Name the key of a memory.")
    group = group_of_key(key)
    with bank.write() as authority:
        rows = bank.store.of_group(group)
        receipt, named = _erase(bank, by, authority, rows, dry_run=dry_run)
        if not dry_run:
            now = bank.host.clock.now_ms()
            authors = {row.author for row in rows if _may(authority, by, row.author, now)} | {by}
            order = {"authors": sorted(author.hex() for author in authors), "until": _clock(bank)}
            put(bank, by, SPACE, {group.hex(): order})
            receipt = replace(receipt, standing=True)
    return _swept(bank, receipt, named)


def erase_all(bank: Bank, by: bytes, *, dry_run: bool = False) -> Erased:
    """Destroy every version of a bank that the key may erase, hidden ones too.

    Raises:
        NotPermitted: There are memories, and the key may erase none of them.
    """
    states = frozenset(State) - {State.ERASED}
    with bank.write() as authority:
        rows = bank.store.versions(bank.store.select(Filter(states=states)))
        receipt, named = _erase(bank, by, authority, rows, dry_run=dry_run)
    return _swept(bank, receipt, named)


def _clock(bank: Bank) -> int:
    return bank.store.last_at(1 << 62)


def _may(authority: Authority, by: bytes, author: bytes, now: int) -> bool:
    return authority.may_erase(by, author, now)


def _erase(
    bank: Bank, by: bytes, authority: Authority, rows: Sequence[VersionRow], *, dry_run: bool
) -> tuple[Erased, list[VersionId]]:
    now = bank.host.clock.now_ms()
    authority.check_control(by, now, need=RELAY)
    mine = [row for row in rows if _may(authority, by, row.author, now)]
    left: dict[str, int] = {}
    for row in rows:
        if not _may(authority, by, row.author, now):
            left[to_did(row.author)] = left.get(to_did(row.author), 0) + 1
    if rows and not mine:
        raise NotPermitted(
            "these memories are by keys that this one may not erase",
            "Ask their author, or an admin who is stronger than they are.",
        )
    versions = [bank.store.version_id(row) for row in mine]
    about, keys = _about(bank, authority, by, versions, now)
    fresh = [one for one in [*versions, *about] if one not in authority.erasures]
    receipt = Erased(
        cid_text(bank.id), (), tuple(map(str, versions)), len(about), payload_keys=keys, left=left, dry_run=dry_run
    )  # fmt: skip
    if dry_run or not fresh:
        return receipt, [*versions, *about]
    entries = _sign(bank, by, fresh, now)
    return replace(receipt, entries=tuple(entries)), [*versions, *about]


def _about(
    bank: Bank, authority: Authority, by: bytes, versions: Sequence[VersionId], now: int
) -> tuple[list[VersionId], int]:
    """Acts about versions that a key may erase, and how many of them hold the key of an archived text."""
    found: dict[VersionId, bool] = {}
    for at in range(0, len(versions), _CHUNK):
        for naming in bank.store.namings(versions[at : at + _CHUNK]):
            if naming.kind in _ABOUT:
                row = bank.store.entry_at(naming.seq)
                if _may(authority, by, row.author, now):
                    found[VersionId(row.id, naming.act)] = naming.kind is Naming.ARCHIVE
    return list(found), sum(found.values())


def _sign(bank: Bank, by: bytes, named: Sequence[VersionId], now: int) -> list[str]:
    entries = []
    for at in range(0, len(named), _AT_ONCE):
        act = Erase(tuple(sorted(named[at : at + _AT_ONCE])))
        entry, _ = Writer(bank, by).commit_control(bank.rulings.authority, [act], now)
        entries.append(cid_text(entry.id))
    return entries


def _swept(bank: Bank, receipt: Erased, named: Sequence[VersionId]) -> Erased:
    """The receipt with what is true on this peer by now."""
    if receipt.dry_run:
        return receipt
    here = [version for version, _ in _here(bank, named)]
    erasures, grace, now = bank.authority.erasures, grace_of(bank.authority), bank.host.clock.now_ms()
    seen = _orders(bank, here, now)
    waits = [due_at(erasures[one], grace, seen, now) for one in here if one in erasures]
    later = [due for due in waits if due]
    return replace(
        receipt,
        destroyed=len(named) - len(here),
        waiting=len(here),
        due_ms=min(later, default=None),
        swept=bank.sweep(),
    )


def _here(bank: Bank, named: Sequence[VersionId]) -> Iterator[tuple[VersionId, tuple[int, int]]]:
    """Named bodies that are still on this peer, with their place; also those that lie in a pack of the archive."""
    for at in range(0, len(named), _CHUNK):
        part = named[at : at + _CHUNK]
        held = bank.store.held(list({one.entry for one in part}))
        known = [(one, (held[one.entry], one.act)) for one in part if one.entry in held]
        bodies = bank.store.bodies([place for _, place in known])
        for (one, place), body in zip(known, bodies, strict=True):
            if body is not None:
                yield one, place


# Settling


def settle_erasures(bank: Bank, *, sign: bool = True) -> Settled:
    """Do what standing erases ask of this peer by now; to be called at opening, after a sync and now and then.

    Destroys bytes whose grace has ended, and, with the keys of this peer, names what erases by others could not:
    acts about erased versions, and late versions of keys under a standing order. Harmless when done twice.

    Args:
        bank: The bank.
        sign: Whether keys of this peer may sign what is missing.

    Raises:
        StorageError: As its subclasses name it; what was done is whole.
    """
    named = _name_late(bank) if sign else 0
    authority, now = bank.authority, bank.host.clock.now_ms()
    erasures, grace = authority.erasures, grace_of(authority)
    destroyed, later = 0, []
    here = list(_here(bank, list(erasures)))
    seen, due = _orders(bank, (version for version, _ in here), now), []
    for version, place in here:
        when = due_at(erasures[version], grace, seen, now)
        if when <= now:
            due.append((version, place))
        else:
            later.append(when)
    if due:
        with bank.write():
            standing = bank.rulings.authority.erasures
            for version, place in due:
                if version in standing:
                    bank.destroy(version, place)
                    destroyed += 1
    return Settled(destroyed, named, len(later), min(later, default=None), bank.sweep())


def overdue(bank: Bank) -> int:
    """How many bodies are here whose time is over."""
    authority, now = bank.authority, bank.host.clock.now_ms()
    grace, seen = grace_of(authority), bank.store.orders()
    here = _here(bank, list(authority.erasures))
    return sum(due_at(authority.erasures[version], grace, seen, now) <= now for version, _ in here)


def _name_late(bank: Bank) -> int:
    """Sign erases of what came late, with each key of this peer that may; returns how many versions and acts."""
    authority, now = bank.authority, bank.host.clock.now_ms()
    keys = [key for key in sorted(bank.host.keyring.keys()) if authority.level(key, now) is not None]
    orders = next(iter(bank.store.values(SPACE)), None) is not None
    if not keys or not (orders or authority.erasures):
        return 0
    count = 0
    for key in keys:
        wanted = {*_unnamed(bank, key, now), *(_ordered(bank, key, now) if orders else ())}
        if not wanted:
            continue
        with bank.write() as standing:
            fresh = sorted(one for one in wanted if one not in standing.erasures)
            try:
                standing.check_control(key, now, need=RELAY)
            except MunimentError:
                continue  # a frozen or incomplete bank: the next time, or another key
            if fresh:
                _sign(bank, key, fresh, now)
                count += len(fresh)
    return count


def _unnamed(bank: Bank, key: bytes, now: int) -> list[VersionId]:
    """Acts about erased versions that no erase names yet and that a key may name."""
    authority = bank.authority
    about, _ = _about(bank, authority, key, list(authority.erasures), now)
    return [one for one in about if one not in authority.erasures]


def _ordered(bank: Bank, key: bytes, now: int) -> Iterator[VersionId]:
    """Late versions that a standing order is about: of its key, by one of its authors, from before it was given."""
    authority = bank.authority
    with bank.store.read():
        orders = newest(bank, authority, key, SPACE)
        for name, order in orders.items():
            for row in bank.store.of_group(bytes.fromhex(name)):
                version = bank.store.version_id(row)
                late = row.author.hex() in order["authors"] and row.at <= order["until"]
                if late and version not in authority.erasures and _may(authority, key, row.author, now):
                    yield version
