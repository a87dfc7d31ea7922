"""Refs: what an agent's own bank says of the banks it was granted (design section 4).

They travel with the agent's memory, so that another installation of the agent finds its banks. They open nothing:
authority is asked at each call, and a ref that was left behind after a revoke leads to a refusal.
"""

from __future__ import annotations

from typing import NamedTuple

from muniment.bank import Bank
from muniment.base.ids import BankId, cid_text
from muniment.values import put as put_values
from muniment.values import read

SPACE = "refs"


class Ref(NamedTuple):
    """A bank that an agent was granted: its id as text, what it was called then, and the level given."""

    bank: str
    name: str
    level: str


def refs(own: Bank, key: bytes) -> list[Ref]:
    """The refs in an agent's own bank, by name; what is not of their form is passed over."""
    found = []
    for bank, value in read(own, key, SPACE).items():
        if isinstance(value, dict):
            name, level = value.get("name"), value.get("level")
            if isinstance(name, str) and isinstance(level, str):
                found.append(Ref(bank, name, level))
    return sorted(found, key=lambda ref: (ref.name.casefold(), ref.bank))


def put_ref(own: Bank, key: bytes, bank: BankId, name: str, level: str) -> bool:
    """Write a ref, signed by the agent; False if it stood so already.

    Raises:
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    return put_values(own, key, SPACE, {cid_text(bank): {"name": name, "level": level}})


def drop_ref(own: Bank, key: bytes, bank: BankId) -> bool:
    """Take a ref away; False if there was none.

    Raises:
        As `put_ref`.
    """
    return put_values(own, key, SPACE, {cid_text(bank): None})
