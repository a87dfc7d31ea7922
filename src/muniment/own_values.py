"""Named values that belong to a bank: `set` acts, merged per name, the newest wins (design section 3).

In an agent's bank only what the agent or its controller signed counts: a guest who may write there does not choose
how the agent behaves.
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
    """The value of each name that is set in a space: of the newest act that counts and opens.

    Args:
        bank: Whose values.
        authority: As of now; the caller holds `store.read()` or `bank.write()`.
        key: The caller's: what it can't open is passed over.
        space: Such as `auto_recall`.
    """
    own, now, store = own_keys(authority), bank.host.clock.now_ms(), bank.store
    found: dict[str, list[tuple[int, EntryRow, int]]] = {}
    for row in store.values(space):
        entry = store.entry_at(row.seq)
        gone = VersionId(entry.id, row.act) in authority.erasures
        counts = entry.verdict is Verdict.COUNTS and entry.readable and not gone
        if counts and (own is None or entry.author in own) and not is_ahead(entry.at, now):
            found.setdefault(row.name, []).append((entry.at, entry, row.act))
    opener = bank.opener(key)
    values: dict[str, Any] = {}
    for name, places in found.items():
        for _, entry, act in sorted(places, key=lambda p: (p[0], p[1].id, p[2]), reverse=True):
            opened = opener.values([SetPlace(entry.seq, act, entry.author)])[0]
            if opened is not None:
                if opened.value is not None:
                    values[name] = opened.value
                break
    return values


def put(bank: Bank, key: bytes, space: str, values: Mapping[str, Any]) -> None:
    """Set what differs from what stands, in one entry; None removes a name.

    Raises:
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        authority.check_write(key, now)
        standing = newest(bank, authority, key, space)
        plain = {n: list(value) if isinstance(value, tuple) else value for n, value in values.items()}
        acts = [Set(space, name, value) for name, value in plain.items() if standing.get(name) != value]
        if acts:
            _, seq = Writer(bank, key).commit_acts(authority, acts, now)
            Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), acts)
