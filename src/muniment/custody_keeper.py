"""Custody by itself: who has to prove what next, and whose term is to be made longer (docs/custody.md, "By itself").

When something is due follows from what is noted in `peer.db` and from the clock, so a process that was killed leaves
nothing to be made good: the next one finds the same things due.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.base.errors import MunimentError, StorageError
from muniment.base.ids import BlobName, blob_text
from muniment.custody import Custody
from muniment.custody_views import Outcome
from muniment.store.custody import Given

if TYPE_CHECKING:
    from muniment.peer import Peer

_LOG = logging.getLogger("muniment")
SOONER = 8  # after a failure a holder is asked again after an eighth of the interval
SPREAD = 10  # up to a tenth of a wait falls away by chance
SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Kept:
    """What one step did: a challenge, or a term made longer; and to whom the pack went besides.

    Attributes:
        outcome: How the challenge went; None where the step was about a term.
        renewed: The pack whose term is longer now.
        given: Addresses of other holders that took the pack, since one had failed.
    """

    outcome: Outcome | None = None
    renewed: str | None = None
    given: tuple[str, ...] = ()


def next_at(row: Given, interval: int, salt: bytes) -> int:
    """When a holder has to prove a pack again, Unix ms.

    A holder must not know when: up to a tenth of the wait falls away, by a hash that needs a secret.

    Args:
        row: What is known of it; one that failed is asked sooner.
        interval: Between two challenges, ms.
        salt: The secret.
    """
    wait = interval if row.alarm is None else interval // SOONER
    last = row.since if row.tried is None else row.tried
    drawn = hashlib.sha256(salt + row.blob + row.holder + last.to_bytes(8)).digest()
    return last + wait - int.from_bytes(drawn[:8]) % max(1, wait // SPREAD)


def next_due(rows: Sequence[Given], interval: int, salt: bytes, now: int) -> Given | None:
    """Who has waited longest among those that have to prove something by now; None if nobody has to."""
    found = min(rows, key=lambda row: next_at(row, interval, salt), default=None)
    return found if found is not None and next_at(found, interval, salt) <= now else None


class Keeper:
    """Does what is due, one small step at a time.

    Args:
        peer: An open peer.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer, self._custody = peer, Custody(peer)
        self._salt = peer.host.entropy.bytes(SALT_BYTES)
        self._refused: dict[tuple[BlobName, bytes], int] = {}  # when a longer term was last asked for in vain

    def step(self) -> Kept | None:
        """Do what is due first; None where nothing is.

        Raises:
            StorageError: What came of it can't be noted.
        """
        interval, store = self._peer.archive.options.challenge, self._peer.standing_store()
        if interval is None or store is None:
            return None
        return self._renew(interval) or self._challenge(store.custody.given(), interval)

    def _renew(self, interval: int) -> Kept | None:
        now = self._peer.host.clock.now_ms()
        for row in self._custody.due():
            name = (row.blob, row.holder)
            if now - self._refused.get(name, 0) < interval // SOONER:
                continue
            try:
                self._custody.renew(row)
            except StorageError:
                raise
            except MunimentError as error:
                self._refused[name] = now
                _LOG.warning("%s gives no longer term for %s: %s", row.address, blob_text(row.blob), error)
                continue
            self._refused.pop(name, None)
            return Kept(renewed=blob_text(row.blob))
        return None

    def _challenge(self, rows: Sequence[Given], interval: int) -> Kept | None:
        row = next_due(rows, interval, self._salt, self._peer.host.clock.now_ms())
        if row is None:
            return None
        outcome = self._custody.prove(row)
        if outcome.proven:
            return Kept(outcome)
        _LOG.warning("custody: %s did not prove %s: %s", row.address, outcome.blob, outcome.alarm)
        return Kept(outcome, given=tuple(one.address for one in self._custody.mend(row.blob)))
