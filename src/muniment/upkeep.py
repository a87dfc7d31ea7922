"""What a serving peer does beside requests: custody, erases that are due, the archive's rules (design section 9).

All of it is done in small pieces by one thread, so nobody who asks waits long; at most one process of a folder does it.
Each piece is whole when it is done, and what is left is found again by the next process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from muniment.base.errors import MunimentError
from muniment.base.ids import BankId
from muniment.custody_keeper import Keeper, Kept
from muniment.sharing import speaker

if TYPE_CHECKING:
    from muniment.bank import Bank
    from muniment.peer import Peer

LOOK_S = 20.0  # between looks while nothing is due
REST_S = 0.2  # between two pieces
STOP_S = 10.0  # that a piece may take to its end when all is to stop
ROUND_MS = 3_600_000  # banks are looked at once an hour
SETTLE_MS = 24 * 3_600_000  # and their archived bodies once a day
PIECE = 256  # memories that are archived at once


class Upkeep:
    """One peer's upkeep, from `start` to `stop`, or piece by piece.

    Args:
        peer: An open peer that stays open until `stop` has returned.
        told: Hears of each step of custody.
    """

    def __init__(self, peer: Peer, told: Callable[[Kept], None] | None = None) -> None:
        self._peer, self._told = peer, told
        self._keeper = Keeper(peer)
        self._banks: list[BankId] = []  # left of this round
        self._after: int | None = None  # how far the first of them is archived; None before it was begun
        self._next_round = 0
        self._settled: dict[BankId, int] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread = threading.Thread(target=self._run, name="muniment-upkeep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the piece under way; one that waits for a silent holder is not waited for."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def step(self) -> bool:
        """Do one piece of what is due; False where nothing is.

        Raises:
            MunimentError: It can't be done now. It stays due.
        """
        kept = self._keeper.step()
        if kept is not None and self._told is not None:
            self._told(kept)
        return self._tend() or kept is not None

    def _run(self) -> None:
        while not self._stop.is_set():
            with suppress(MunimentError), self._peer.folder.lock("upkeep", wait=0):
                self._work()
            self._stop.wait(LOOK_S)  # another process has the place, or the folder can't be read

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                more = self.step()
            except MunimentError:  # `doctor` and `custody status` say what is wrong
                more = False
            self._stop.wait(REST_S if more else LOOK_S)

    def _tend(self) -> bool:
        """One piece about one bank."""
        now = self._peer.host.clock.now_ms()
        if not self._banks:
            store = self._peer.standing_store()
            if store is None or now < self._next_round:
                return False
            self._next_round = now + ROUND_MS
            self._banks = [row.bank for row in store.banks()]
            if not self._banks:
                return False
        bank = self._banks[0]
        done = True
        try:
            done = not self._archive(self._peer.bank(bank), now)
        finally:
            if done:  # a bank that is in trouble holds up no other one
                self._banks.pop(0)
                self._after = None
        return bool(self._banks)

    def _archive(self, bank: Bank, now: int) -> bool:
        """Destroy what is due, then archive one piece; whether there is more."""
        from muniment.archive_policy import due, settle
        from muniment.archiving import Archiver
        from muniment.erasing import overdue, settle_erasures
        from muniment.store.base import Filter

        options, key = self._peer.archive.options, speaker(self._peer, bank)
        if self._after is None:
            self._after = -1
            if overdue(bank):
                settle_erasures(bank, sign=key is not None)
        if key is None or not options.automatic:
            return False
        ords = [one for one in due(bank, options, Filter(), now) if one > self._after]
        if ords:
            piece = ords[:PIECE]
            Archiver(bank, key, larger_than=options.larger_than).run(piece)
            self._after = piece[-1]
        if len(ords) > PIECE:
            return True
        if now - self._settled.get(bank.id, 0) >= SETTLE_MS:
            settle(bank, key)
            self._settled[bank.id] = now
        return False
