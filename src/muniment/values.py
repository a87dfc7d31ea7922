"""Named values that belong to a bank or an agent: `set` acts, the newest of each name wins (design section 3).

In an agent's bank only what the agent or its controller signed counts: a guest who may write there does not
choose how the agent is set up. In a shared bank every writer's word counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.bank import Bank
from muniment.base.ids import VersionId
from muniment.ledger.acts import Set
from muniment.ledger.authority import Authority
from muniment.opening import SetPlace
from muniment.project import Projector, own_keys
from muniment.reading import is_ahead
from muniment.store.base import EntryRow, Verdict
from muniment.writing import Writer


def newest(bank: Bank, authority: Authority, key: bytes, space: str) -> dict[str, Any]:
    """The value of each name of a space that is set: of the newest act that counts and opens.

    Args:
        bank: The bank; in an open `store.read()` or `write()`.
        authority: Its authority.
        key: The caller's: what it can't open is passed over.
        space: `refs`, `auto_recall`, `trust` and the like.
    """
    opener = bank.opener(key)
    values: dict[str, Any] = {}
    for name, places in newest_first(bank, authority, space).items():
        opened = next((act for act in map(opener.value, places) if isinstance(act, Set)), None)
        if opened is not None and opened.value is not None:
            values[name] = opened.value
    return values


def newest_first(bank: Bank, authority: Authority, space: str) -> dict[str, list[SetPlace]]:
    """Where the acts of a space stand that count and are due, by name, the newest first."""
    own, now, store = own_keys(authority), bank.host.clock.now_ms(), bank.store
    found: dict[str, list[tuple[int, EntryRow, int]]] = {}
    for row in store.values(space):
        entry = store.entry_at(row.seq)
        gone = VersionId(entry.id, row.act) in authority.erasures
        counts = entry.verdict is Verdict.COUNTS and entry.readable and not gone
        if counts and (own is None or entry.author in own) and not is_ahead(entry.at, now):
            found.setdefault(row.name, []).append((entry.at, entry, row.act))
    return {
        name: [
            SetPlace(entry.seq, act, entry.author)
            for _, entry, act in sorted(places, key=lambda p: (p[0], p[1].id, p[2]), reverse=True)
        ]
        for name, places in found.items()
    }


def read(bank: Bank, key: bytes, space: str) -> dict[str, Any]:
    """All values of a space, as far as they open to the caller."""
    with bank.store.read():
        return newest(bank, bank.authority, key, space)


def put(bank: Bank, key: bytes, space: str, changes: Mapping[str, Any]) -> bool:
    """Set what changes, in one entry; None removes a name. False if nothing had to be written.

    Raises:
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        authority.check_write(key, now)
        standing = newest(bank, authority, key, space)
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in changes.items()}
        acts = [Set(space, name, value) for name, value in plain.items() if standing.get(name) != value]
        if not acts:
            return False
        _, seq = Writer(bank, key).commit_acts(authority, acts, now)
        Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), acts)
        return True
