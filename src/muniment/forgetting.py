"""Forgetting: exact versions are hidden, and can be shown again (design sections 5 and 9)."""

from __future__ import annotations

from muniment.bank import Bank
from muniment.base.errors import UnknownRecord
from muniment.base.ids import VersionId, parse_version
from muniment.ledger.acts import Forget
from muniment.ledger.authority import Authority
from muniment.project import Projector
from muniment.reading import Reader
from muniment.store.base import LIVE_ONLY, Naming, State, VersionRow
from muniment.values import newest, put
from muniment.views import Record
from muniment.writing import Writer

SPACE, LAST = "clear", "last"
_AT_ONCE = 10_000  # versions that one act names


def forget(bank: Bank, key: bytes, reader: Reader, ref: str) -> list[Record]:
    """Hide the live versions of a record, or the one version that `ref` names.

    A version that is written at the same time elsewhere is not named, so it stays.

    Returns:
        The versions in their new state; empty where nothing was live.

    Raises:
        UnknownRecord | Ambiguous | NotPermitted: As their names say.
    """
    now = bank.host.clock.now_ms()
    with bank.write() as authority:
        authority.check_write(key, now)
        group, exact = reader.find(ref, authority)
        named = [row for row in ([exact] if exact else group) if row.state is State.LIVE]
        if named:
            versions = tuple(bank.store.version_id(row) for row in named)
            _commit(bank, key, authority, Forget(versions=versions), now)
        return _again(bank, reader, named)


def undo(bank: Bank, key: bytes, reader: Reader, ref: str) -> list[Record]:
    """Take back every forget that still hides versions of a record.

    Raises:
        UnknownRecord: Nothing of that record is forgotten, or it is not there.
        Ambiguous | NotPermitted: As their names say.
    """
    now = bank.host.clock.now_ms()
    with bank.write() as authority:
        authority.check_write(key, now)
        group, exact = reader.find(ref, authority)
        hidden = [row for row in ([exact] if exact else group) if row.state is State.FORGOTTEN]
        acts = _forgets(bank, hidden)
        if not acts:
            raise UnknownRecord(
                f"nothing of {ref[:80]!r} is forgotten", "See `muniment history` for its versions."
            )
        _commit(bank, key, authority, Forget(undo=acts), now)
        return _again(bank, reader, hidden)


def clear(bank: Bank, key: bytes) -> int:
    """Hide all that is live, in one transaction; returns how many versions.

    Which acts did it is kept as a value of the bank, so that it can be undone as a whole.

    Raises:
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    now, count, acts = bank.host.clock.now_ms(), 0, []
    with bank.write() as authority:
        authority.check_write(key, now)
        ords = bank.store.select(LIVE_ONLY)
        for at in range(0, len(ords), _AT_ONCE):
            rows = bank.store.versions(ords[at : at + _AT_ONCE])
            act = Forget(versions=tuple(map(bank.store.version_id, rows)))
            acts.append(str(_commit(bank, key, authority, act, now)))
            count += len(rows)
        if acts:
            put(bank, key, SPACE, {LAST: acts})
    return count


def unclear(bank: Bank, key: bytes) -> int:
    """Bring back what `clear` hid last; returns how many versions are live again.

    Raises:
        UnknownRecord: Nothing was cleared, or it was brought back already.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    now = bank.host.clock.now_ms()
    with bank.write() as authority:
        authority.check_write(key, now)
        acts = newest(bank, authority, key, SPACE).get(LAST)
        if not isinstance(acts, list) or not acts:
            raise UnknownRecord("nothing was cleared", "One memory comes back with `muniment forget --undo`.")
        before = bank.store.counts().get(State.LIVE, 0)
        _commit(bank, key, authority, Forget(undo=tuple(map(parse_version, acts))), now)
        put(bank, key, SPACE, {LAST: None})
        return bank.store.counts().get(State.LIVE, 0) - before


def _forgets(bank: Bank, rows: list[VersionRow]) -> tuple[VersionId, ...]:
    """The forget acts that name these versions."""
    names = bank.store.namings([bank.store.version_id(row) for row in rows])
    acts = {(name.seq, name.act) for name in names if name.kind is Naming.FORGET}
    return tuple(sorted(VersionId(bank.store.entry_at(seq).id, act) for seq, act in acts))


def _commit(bank: Bank, key: bytes, authority: Authority, act: Forget, now: int) -> VersionId:
    entry, seq = Writer(bank, key).commit_acts(authority, [act], now)
    Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), [act])
    return VersionId(entry.id, 0)


def _again(bank: Bank, reader: Reader, rows: list[VersionRow]) -> list[Record]:
    return reader.views(bank.store.versions([row.ord for row in rows]), bank.rulings.authority)
