"""Background sync: pushes on write, full rounds now and then, and an ear at each peer's door (design section 8).

Each way to a peer (a bank and an address) has a lane of its own, so a peer that is silent, slow or gone holds up
nobody. What has to be sent needs no queue beside the bank: a lane knows how far its peer is (`mark` in `peer.db`,
durable), and whatever was written after that, by any process of this folder, is due.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from muniment.base.errors import MunimentError, Overloaded, StoreBusy
from muniment.base.ids import BankId
from muniment.joining import complete, waiting
from muniment.rounds import as_let_in, caller, care, open_round, options_of, sync_route, talk
from muniment.sharing import stamp
from muniment.sync.dialling import Dialled, dial

if TYPE_CHECKING:
    from muniment.bank import Bank
    from muniment.peer import Peer

LOOK_S = 0.025  # between two looks whether a bank was written to
NEWS_S = 1.0  # between two looks for new routes
SURE_S = 2.0  # after so long a bank is looked at in any case
WANTED_S = 15.0  # between two tries to be let in where this peer asked
FIRST_S, MOST_S = 1.0, 300.0  # after the first failure, and at most
LANES = 256

Route = tuple[BankId, str]


def backoff(failures: int, chance: int) -> float:
    """Seconds to wait after so many failures in a row: twice as long each time, the second half at random.

    Args:
        failures: At least one.
        chance: A random byte: peers that lost the same server must not come back to it all at once.
    """
    whole = min(MOST_S, FIRST_S * 2.0 ** min(failures - 1, 16))
    return whole / 2 + whole / 2 * chance / 255


class Syncer:
    """Syncs one peer's banks in threads of its own, from `start` to `stop`.

    At most one is at work in a folder: others wait for its place (`sync.lock`).

    Args:
        peer: An open peer that stays open until `stop` has returned.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer, self._options = peer, options_of(peer)
        self._stop = threading.Event()
        self._lanes: dict[Route, _Lane] = {}
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin; returns at once."""
        thread = threading.Thread(target=self._run, name="muniment-sync", daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self) -> None:
        """End: rounds under way are cut, which loses nothing."""
        self._stop.set()
        for lane in list(self._lanes.values()):
            lane.stop()
        for thread in self._threads:
            thread.join()
        for lane in list(self._lanes.values()):
            lane.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._peer.folder.lock("sync", wait=0):
                    self._watch()
            except StoreBusy:  # another process syncs this folder
                self._stop.wait(NEWS_S)
            except MunimentError:
                self._stop.wait(NEWS_S)  # the folder can't be read: `doctor` says why

    def _watch(self) -> None:
        stamps: dict[BankId, tuple[object, float]] = {}
        next_news = next_wanted = 0.0
        while not self._stop.wait(LOOK_S):
            now = time.monotonic()
            if now >= next_wanted:
                next_wanted = now + WANTED_S
                self._knock()
            if now >= next_news:
                next_news = now + NEWS_S
                self._renew()
            for bank in {bank for bank, _ in self._lanes}:
                seen, looked = stamps.get(bank, (None, 0.0))
                at = stamp(self._peer, bank)
                if at != seen or now - looked > SURE_S:
                    stamps[bank] = at, now
                    self._wake(bank)

    def _wake(self, bank: BankId) -> None:
        try:
            entries = self._peer.bank(bank).store.figures().entries
        except MunimentError:
            return
        for (of, _), lane in list(self._lanes.items()):
            if of == bank:
                lane.written(entries)

    def _renew(self) -> None:
        """Open a lane for each route of a listed bank, and close those whose route is gone."""
        store = self._peer.standing_store()
        if store is None:
            return
        listed = {row.bank for row in store.banks()}
        routes = [row for row in store.others.routes() if row.bank in listed][:LANES]
        wanted = {(row.bank, row.address): row for row in routes}
        for gone in {name for name, lane in self._lanes.items() if name not in wanted or not lane.alive}:
            self._lanes[gone].stop()
            self._lanes.pop(gone).join()
        for name, row in wanted.items():
            if name not in self._lanes and not self._stop.is_set():
                self._lanes[name] = _Lane(self._peer, *name, row.mark, row.failures)
                self._lanes[name].start()

    def _knock(self) -> None:
        """Ask again where this peer waits to be let in. In a thread of its own: who is asked may be silent."""
        if any(thread.name == "muniment-knock" and thread.is_alive() for thread in self._threads):
            return
        if not waiting(self._peer):
            return

        def knock() -> None:
            with suppress(MunimentError):
                complete(self._peer)

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(threading.Thread(target=knock, name="muniment-knock", daemon=True))
        self._threads[-1].start()


class _Lane:
    """One bank and one address: a thread that holds rounds, and one that listens."""

    def __init__(self, peer: Peer, bank: BankId, address: str, mark: int, failures: int) -> None:
        self._peer, self._bank, self._address = peer, bank, address
        self._options = options_of(peer)
        self._mark, self._failures = mark, failures
        self._stop, self._due = threading.Event(), threading.Event()
        self._listening = threading.Event()
        self._heard: Dialled | None = None
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), name=f"muniment-sync-{name}", daemon=True)
            for name, work in (("round", self._rounds), ("tail", self._tails))
        ]

    def start(self) -> None:
        """Begin with a round at once."""
        self._due.set()
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still works: a lane that broke is opened anew."""
        return self._threads[0].is_alive()

    def stop(self) -> None:
        """Say that it ends."""
        self._stop.set()
        self._due.set()
        self._listening.set()
        with self._lock:
            heard = self._heard
        if heard is not None:
            heard.close()

    def join(self) -> None:
        """Wait for it. A round with a silent peer ends by its deadline, and is not waited for so long."""
        for thread in self._threads:
            thread.join(timeout=2.0)

    def written(self, entries: int) -> None:
        """So many entries are here: push if the other end is not known to have them."""
        if entries > self._mark:
            self._due.set()

    def _guarded(self, work: Callable[[], None]) -> None:
        with suppress(MunimentError):  # the folder went away; the lane is opened again if it comes back
            work()

    def _rounds(self) -> None:
        wait = 0.0
        while not self._stop.is_set():
            self._due.wait(wait)
            if self._stop.is_set():
                return
            self._due.clear()
            wait = self._options.interval
            try:
                self._round()
            except MunimentError as error:
                self._failures += 1
                pause = backoff(self._failures, self._peer.host.entropy.bytes(1)[0])
                if isinstance(error, Overloaded):
                    pause = max(pause, error.retry_after)
                if self._stop.wait(pause):
                    return
                wait = 0.0
            else:
                self._failures = 0
                self._listening.set()

    def _round(self) -> None:
        mark = self._peer.bank(self._bank).store.figures().entries
        report = sync_route(self._peer, self._bank, self._address)
        if report.done:
            # What came in this round is there as well; what was written meanwhile is due still.
            self._mark = max(self._mark, mark + report.round.received)
        with suppress(MunimentError):  # what can't be done now is tried after the next round
            if care(self._peer, self._bank):
                self._due.set()

    def _tails(self) -> None:
        """Listen, whenever a round went well, until the other end stops telling."""
        failures = 0
        while self._options.live and not self._stop.is_set():
            self._listening.wait()
            if self._stop.is_set():
                return
            began = time.monotonic()
            with suppress(MunimentError):
                self._listen()
            failures = 0 if time.monotonic() - began > MOST_S else failures + 1
            self._stop.wait(backoff(failures or 1, self._peer.host.entropy.bytes(1)[0]))
            if self._failures:
                self._listening.clear()

    def _listen(self) -> None:
        bank = self._peer.bank(self._bank)
        as_let_in(self._peer, bank, lambda key: self._listen_as(bank, key))

    def _listen_as(self, bank: Bank, key: bytes) -> None:
        with dial(self._address, caller(self._peer, key)) as link:
            with self._lock:
                self._heard = link
            try:
                client = open_round(self._peer, bank, key, link, self._address, follow=True)
                question = talk(client, link)
                if question is None:
                    return
                noted = self._mark
                for message in link.tail(question):
                    if self._stop.is_set():
                        return
                    if message:
                        before = client.report.received
                        client.receive(message)
                        self._mark += client.report.received - before  # it came from there
                    elif self._mark != noted:  # a quiet moment: what is noted costs a write to the disk
                        noted = self._mark
                        now = self._peer.host.clock.now_ms()
                        self._peer.made_store().others.heard(self._bank, self._address, now, noted)
            finally:
                with self._lock:
                    self._heard = None
