"""Revoking: cuts that name what stays, and the new epoch that leaves the key out (design section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.bank import Bank
from muniment.base.errors import InvalidInput, NotPermitted, UnknownRecord
from muniment.base.ids import EntryId, cid_text
from muniment.granting import Changed, decide, settle_epoch, shares, terms_of, tips_of
from muniment.ledger.authority import Authority, Verdict
from muniment.ledger.control import Control, Revoke
from muniment.ledger.entry import reload
from muniment.ledger.levels import ADMIN, READ
from muniment.writing import Writer


@dataclass(frozen=True, slots=True)
class Cut:
    """What a revocation did; `let_in` are the keys that the target let in and that still hold something."""

    changed: Changed
    let_in: tuple[bytes, ...]


def revoke(
    bank: Bank, by: bytes, keys: Sequence[bytes], *, cascade: bool = False, force: bool = False
) -> Cut:
    """Take from keys all that they hold; what they wrote and what counts here stays.

    Args:
        bank: The bank.
        by: The key that decides; anybody may leave.
        keys: Who is cut.
        cascade: Cut those too whom these let in, and whom those did, in the same entry.
        force: Also the last admin, or on a control past that is not wholly here.

    Raises:
        InvalidInput: A key holds nothing in the bank.
        NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: `by` may not, or not now.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        let_in = _let_in(authority, keys)
        named = [*keys, *let_in] if cascade else list(keys)
        for key in named:
            if not authority.leases_open(key):
                raise InvalidInput("that key holds nothing in this bank", "See `muniment bank members`.")
            authority.check_revoke(by, key, now, force)
        acts = [Revoke(key, tips_of(bank, authority, key)) for key in named]
        entry, sealed = decide(bank, by, acts, now)
        return Cut(Changed(entry.id, tuple(named), sealed), () if cascade else let_in)


def _let_in(authority: Authority, keys: Sequence[bytes]) -> tuple[bytes, ...]:
    found = frozenset[bytes]().union(*(authority.granted_by(key, deep=True) for key in keys))
    return tuple(sorted(found - set(keys)))


def rekey(bank: Bank, by: bytes, *, force: bool = False) -> EntryId:
    """Start an epoch for the readers of now.

    Raises:
        NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: `by` may not, or not now.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        authority.check_control(by, now, force)
        return Writer(bank, by).start_epoch(authority, now).entry


def share_keys(bank: Bank, by: bytes, reader: bytes) -> Changed:
    """Give the keys of the standing epochs to a reader who lacks them: any reader may.

    Raises:
        NotPermitted: `by` or the reader may not read.
        ControlIncomplete | ReadOnlyBank: Not now.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        authority.check_control(by, now, need=READ)
        authority.check_read(reader, now)
        acts = shares(bank, by, authority, reader)
        if not acts:
            return Changed(None, (), authority.current_epoch(now) is not None)
        entry, sealed = decide(bank, by, acts, now)
        return Changed(entry.id, (reader,), sealed)


def settle_expired(bank: Bank, by: bytes) -> Changed | None:
    """Cut the keys whose leases have expired, with the tips held here; what they hold besides is given again.

    To be called by an admin's peer when it opens or writes a bank, and now and then by whoever runs for long.

    Args:
        bank: The bank.
        by: A key of this peer.

    Returns:
        What was written; None where nothing has expired or `by` is no admin.
    """
    now = bank.host.clock.now_ms()
    if not bank.authority.expired(now):
        return None
    with bank.write() as authority:
        level = authority.level(by, now)
        if level is None or level.code < ADMIN or authority.incomplete or authority.unknown_acts:
            return None
        acts: list[Control] = []
        cut = []
        for key in sorted(authority.expired(now)):
            try:
                authority.check_revoke(by, key, now, force=True)
            except NotPermitted:
                continue  # of an equal or stronger admin: another peer's to cut
            cut.append(key)
            acts.append(Revoke(key, tips_of(bank, authority, key)))
            acts += [terms_of(lease, authority).act(key) for lease in authority.leases_now(key, now)]
        if not acts:
            return None
        entry, sealed = decide(bank, by, acts, now)
        return Changed(entry.id, tuple(cut), sealed)


def adopt(bank: Bank, by: bytes, entry: EntryId, *, force: bool = False) -> EntryId:
    """Take back an entry that stands outside its author's cut, and what leads to it, by a wider cut.

    Returns:
        The control entry.

    Raises:
        UnknownRecord: The entry is not here.
        InvalidInput: It counts already.
        NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: `by` may not, or it would not count still.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        row = bank.store.entry(entry)
        if row is None:
            raise UnknownRecord(
                f"no entry {cid_text(entry)} is in this bank", "`muniment verify` lists those without effect."
            )
        held = reload(row.envelope)
        if authority.rule(held).verdict is Verdict.COUNTS:
            raise InvalidInput("that entry counts already", "There is nothing to adopt.")
        authority.check_control(by, now, force)
        tips = {entry, *tips_of(bank, authority, row.author)}
        acts = authority.adoption(row.author, tuple(tips), now)
        made, _ = decide(bank, by, acts, now)
        if bank.rulings.authority.rule(held).verdict is not Verdict.COUNTS:
            raise NotPermitted(
                f"that entry would still not count: {bank.rulings.authority.rule(held).reason}",
                "It takes an admin as strong as the one who cut its author, and only what lies outside a cut "
                "can be taken back.",
            )
        return made.id


def settle_readers(bank: Bank, by: bytes) -> bool:
    """Start an epoch if the readers have changed and `by` may; whether one stands for exactly them."""
    with bank.write():
        return settle_epoch(bank, by, bank.host.clock.now_ms())
