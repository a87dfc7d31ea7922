"""What a bank calls itself: the `describe` act, sealed like all words (design section 3)."""

from __future__ import annotations

from muniment.bank import Bank
from muniment.base.errors import LimitExceeded
from muniment.base.limits import LIMITS
from muniment.ledger.acts import DESCRIBE, Describe
from muniment.project import BANK_SPACE, Projector
from muniment.values import newest_first
from muniment.writing import Writer

_NAME = "describe"


def described(bank: Bank, key: bytes) -> Describe | None:
    """The newest name and description that counts and opens to the caller; None if there is none."""
    opener = bank.opener(key)
    with bank.store.read():
        places = newest_first(bank, bank.authority, BANK_SPACE).get(_NAME, [])
        for place in places:
            act = opener.value(place, DESCRIBE)
            if isinstance(act, Describe):
                return act
    return None


def describe(bank: Bank, key: bytes, name: str, description: str) -> None:
    """Say what the bank is called and what it is for, to all its readers.

    Raises:
        LimitExceeded: The description is too long.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    if len(description) > LIMITS.description_chars:
        raise LimitExceeded("description characters", LIMITS.description_chars, len(description))
    act = Describe(name, description)
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        authority.check_write(key, now)
        _, seq = Writer(bank, key).commit_acts(authority, [act], now)
        Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), [act])
