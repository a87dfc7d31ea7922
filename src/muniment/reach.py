"""Which banks of a peer an agent's own key opens (design section 4): authority is asked, no list is believed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from muniment.bank import Bank
from muniment.base.errors import Ambiguous, Denied, NotFound, StorageError, UnknownBank
from muniment.base.ids import cid_text
from muniment.identity.did import parse_did
from muniment.ledger.levels import READ
from muniment.views import Record

if TYPE_CHECKING:
    from muniment.peer import Peer

SELF = "self"


@dataclass(frozen=True, slots=True)
class BankAccess:
    """A bank that an agent may read: its name here (`self` for its own), id, and the agent's level in it."""

    name: str
    id: str
    level: str

    def to_json(self) -> dict[str, Any]:
        """The bank as JSON shows it."""
        return {"name": self.name, "id": self.id, "level": self.level}


def reachable(peer: Peer, key: bytes, own: Bank) -> list[BankAccess]:
    """The agent's own bank, then the others that it may read now, those first that came to this peer first.

    Args:
        peer: Whose banks.
        key: The agent's.
        own: Its own bank.
    """
    store = peer.standing_store()
    rows = [row for row in ([] if store is None else store.banks()) if row.bank != own.id]
    found = [BankAccess(SELF, cid_text(own.id), _level(own, key) or "none")]
    for row in rows:
        try:
            level = _level(peer.bank(row.bank), key)
        except (Denied, NotFound, StorageError):
            continue  # a broken bank must not hide the others
        if level is not None:
            found.append(BankAccess(row.name, cid_text(row.bank), level))
    return found


def named(found: list[BankAccess], ref: str) -> BankAccess:
    """The one that an id or a name means; `self` is the own bank. What is shut looks as if it were not there.

    Raises:
        UnknownBank: None does; the next step lists those that are open.
        Ambiguous: Several do.
    """
    wanted = ref.strip().casefold()
    if wanted in {"", SELF}:
        return found[0]
    fits = [one for one in found if one.id == wanted] or [
        one for one in found[1:] if one.name.casefold() == wanted
    ]
    if len(fits) > 1:
        raise Ambiguous(
            f"several banks are called {ref[:80]!r}", [one.id for one in fits], "Name the id of one."
        )
    if not fits:
        names = ", ".join(one.name for one in found)
        raise UnknownBank(
            f"no bank {ref[:80]!r} is open to this agent",
            f"There are: {names}. Without a bank, its own memory is meant.",
        )
    return fits[0]


def relative(record: Record, own: Bank) -> Record:
    """A record as the agent of a bank has to see it: `self` and `controller` are its own, whichever bank it lies in.

    In another agent's bank `source` says who the author is to *that* agent, whose `self` is a peer here.

    Args:
        record: From any bank.
        own: The bank of the agent that looks.
    """
    if record.bank == cid_text(own.id) or record.source == "tool":
        return record
    author, authority = parse_did(record.author), own.authority
    source = "peer"
    if author in authority.agents:
        source = "self"
    elif author in authority.controllers:
        source = "controller"
    return record if source == record.source else replace(record, source=source)


def _level(bank: Bank, key: bytes) -> str | None:
    level = bank.authority.level(key, bank.host.clock.now_ms())
    return str(level) if level is not None and level.allows(READ) else None
