"""Founding a bank: the entry that names who holds it, and its first epoch (design section 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from muniment.bank import Bank, Host
from muniment.base import codec
from muniment.base.ids import BankId
from muniment.identity.keys import check_public
from muniment.ledger import entry as entries
from muniment.ledger.control import SALT_BYTES, Found, Founder
from muniment.ledger.entry import Header
from muniment.ledger.levels import ADMIN, Level
from muniment.store.base import BankStore, Verdict
from muniment.store.rows import row_of
from muniment.writing import Writer, next_at


def agent_founders(agent: bytes, controller: bytes) -> tuple[Founder, ...]:
    """An agent's bank is held by its controller, admin(0), who can cut the agent's key, admin(1)."""
    return (Founder(controller, Level(ADMIN, 0)), Founder(agent, Level(ADMIN, 1), agent=True))


def found(
    host: Host, by: bytes, founders: Sequence[Founder], make_store: Callable[[BankId], BankStore]
) -> BankStore:
    """Sign the founding entry with `by`, one of the founders, and store it with the first epoch.

    Args:
        host: The peer's keyring, clock and entropy.
        by: A key in custody here.
        founders: All keys of the first hour, at least one of them admin(0).
        make_store: Makes the empty store of a bank of that id.

    Raises:
        RefusedKey: A founder's key is malformed or of small order.
        StorageError: The store can't be made; nothing stays.
    """
    for founder in founders:
        check_public(founder.key)
    now = host.clock.now_ms()
    act = Found(tuple(founders), host.entropy.bytes(SALT_BYTES))
    header = Header(None, by, (), (), next_at(0, now), None, (), (act,))
    signed = entries.header_bytes(header)
    entry = entries.assemble(signed, host.keyring.sign(by, codec.ENTRY, signed), header)
    store = make_store(BankId(entry.id))
    bank = Bank(store, host, None)
    with store.write():
        host.journal.record(bank.id, by, None, entry.id)
        store.add_entry(row_of(entry, verdict=Verdict.COUNTS, local=True), [])
        Writer(bank, by).start_epoch(bank.authority, now)
    return store
