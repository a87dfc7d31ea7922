"""Batches that wait until somebody has looked at them (design section 3, `set`).

They stand as values of the bank, so they sync like everything else; in an agent's own bank only the agent and its
controller can put something there. A batch that is accepted twice, in two places, is the same batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from muniment.bank import Bank
from muniment.base.clock import ms_of
from muniment.base.errors import Ambiguous, LimitExceeded, MunimentError, UnknownRecord
from muniment.base.limits import LIMITS
from muniment.identity.did import to_did
from muniment.ledger.acts import Set
from muniment.ledger.authority import Authority
from muniment.playbook_ops import Batch, batch_of, operation_json
from muniment.values import newest_first, put

SPACE = "playbook.review"
_LEAST_CHARS = 4  # of an id that is given in short


@dataclass(frozen=True, slots=True)
class Proposal:
    """A batch that waits, who proposed it, and when (Unix milliseconds)."""

    batch: Batch
    author: str
    proposed_at_ms: int

    @property
    def id(self) -> str:
        """The id of its batch."""
        return self.batch.id

    @property
    def operations(self) -> list[dict[str, Any]]:
        """The operations of its batch, as JSON."""
        return [operation_json(one) for one in self.batch.operations]

    def to_json(self) -> dict[str, Any]:
        """The proposal as `--json` prints it."""
        return {
            "id": self.id, "operations": self.operations, "author": self.author, "proposed_at_ms": self.proposed_at_ms,
        }  # fmt: skip


def propose(bank: Bank, key: bytes, batch: Batch) -> None:
    """Put a batch in the queue; one that is there stays as it is.

    Raises:
        LimitExceeded: `Limits.playbook_proposals` wait already.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    with bank.write() as authority:
        standing = waiting(bank, authority, key)
        if batch.id not in {one.id for one in standing} and len(standing) >= LIMITS.playbook_proposals:
            raise LimitExceeded(
                "batches that wait", LIMITS.playbook_proposals, len(standing) + 1,
                "Look through them with `muniment playbook review list`.",
            )  # fmt: skip
        put(bank, key, SPACE, {batch.id: batch.to_json()})


def waiting(bank: Bank, authority: Authority, key: bytes) -> list[Proposal]:
    """What waits, the oldest first; what is no batch is passed over. In an open `read`."""
    opener = bank.opener(key)
    found = []
    for name, places in newest_first(bank, authority, SPACE).items():
        place = places[0]
        act = opener.value(place)
        if not isinstance(act, Set) or act.value is None:
            continue
        try:
            read = batch_of(act.value)
        except MunimentError:
            continue
        if read.id == name:
            at = ms_of(bank.store.entry_at(place.seq).at)
            found.append(Proposal(read, to_did(place.author), at))
    found.sort(key=lambda one: (one.proposed_at_ms, one.id))
    return found[: LIMITS.playbook_proposals]


def find(bank: Bank, authority: Authority, key: bytes, name: str) -> Proposal:
    """The proposal of that id, or of an id that begins so.

    Raises:
        UnknownRecord: None waits.
        Ambiguous: Several begin so.
    """
    every = waiting(bank, authority, key)
    found = [one for one in every if one.id == name] or [
        one for one in every if len(name) >= _LEAST_CHARS and one.id.startswith(name)
    ]
    if len(found) > 1:
        raise Ambiguous(
            f"several batches begin with {name[:40]!r}", [one.id for one in found], "Give more of the id."
        )
    if not found:
        raise UnknownRecord(f"no batch {name[:40]!r} waits", "See `muniment playbook review list`.")
    return found[0]


def remove(bank: Bank, key: bytes, proposal: Proposal) -> None:
    """Take it out of the queue."""
    put(bank, key, SPACE, {proposal.id: None})
