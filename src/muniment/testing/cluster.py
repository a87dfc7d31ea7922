"""Several peers of one bank in one process, each with its own folder, keyring, journal and clock; for tests.

```python
with Cluster(folder, seed=1) as cluster:
    cluster.write("bravo", "tea")
    cluster.sync("bravo", "alfa", Faults(lose=0.1))
    cluster.kill("alfa")
    cluster.settle()
    cluster.check()
```

The network loses and cuts as it is told, clocks are days apart, processes are dropped and files put back from old
copies. `check` says what must hold at every quiet point, whatever happened before.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from muniment import forgetting, founding, syncing
from muniment.bank import Bank, Host
from muniment.base.errors import Denied, SyncError
from muniment.base.ids import BankId, EntryId, cid_text, parse_version
from muniment.config import Settings
from muniment.heads import MemoryBook
from muniment.keyring.custody import Keyring
from muniment.keyring.journal import Journal
from muniment.ledger.authority import Verdict as Worth
from muniment.ledger.control import Founder, Grant, Revoke
from muniment.ledger.entry import reload
from muniment.ledger.levels import ADMIN, READ, parse_level
from muniment.platform.folders import PeerFolder
from muniment.reading import Reader
from muniment.remembering import Draft, remember
from muniment.store.base import State, Verdict
from muniment.store.sqlite import SqliteStore
from muniment.sync import messages, reconcile
from muniment.testing.entropy import SeededEntropy
from muniment.testing.link import Broken, Faults, Link, VirtualClock
from muniment.writing import Writer

LEVELS = {"alfa": "admin(0)", "bravo": "admin(1)", "charlie": "write", "delta": "read", "echo": "relay"}
PASSES = 8  # over all pairs, until a quiet point


@dataclass(slots=True)
class SkewedClock:
    """The cluster's clock as one peer sees it."""

    common: VirtualClock
    ahead_ms: int = 0

    def now_ms(self) -> int:
        """A millisecond passes with each look."""
        self.common.sleep(1)
        return self.common.ms + self.ahead_ms


class Peer:
    """One peer: its folder, and the process over it, which can be dropped at any time."""

    def __init__(self, name: str, folder: Path, clock: SkewedClock, seed: int) -> None:
        self.name, self.folder, self.clock = name, folder, clock
        self._entropy = SeededEntropy(seed)
        self.home = PeerFolder(folder).make()
        self._bank: Bank | None = None
        self.host = self._open_host()
        self.key = self.host.keyring.create(self._entropy.bytes(32), label=name)

    def _open_host(self) -> Host:
        keyring = Keyring.open(self.home, None, self._entropy)
        return Host(keyring, Journal(self.home), self.clock, self._entropy, Settings())

    @property
    def file(self) -> Path:
        """Where the bank lies."""
        return self.folder / "bank.db"

    def bank(self, bank: BankId) -> Bank:
        """The bank as this peer holds it, maybe still empty."""
        if self._bank is None:
            there = self.file.exists()
            store = SqliteStore.open(self.file, bank=bank) if there else SqliteStore.create(self.file, bank)
            self._bank = Bank(store, self.host, self.folder / "index")
        return self._bank

    def kill(self) -> None:
        """Drop the process: what is not on the disk is gone."""
        if self._bank is not None:
            self._bank.close()
            self._bank = None
        self.host.journal.close()
        self.host = self._open_host()


class Cluster:
    """The peers of one bank.

    Attributes:
        acknowledged: Entries whose writer was told that they are kept.
        cuts: For each key that was revoked, its entries that the revoker held.
    """

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.clock = VirtualClock()
        self.peers = {
            name: Peer(name, folder / name, SkewedClock(self.clock), seed * 100 + number)
            for number, name in enumerate(LEVELS)
        }
        self._book, self._seed = MemoryBook(), seed
        self.acknowledged: dict[EntryId, str] = {}
        self.cuts: dict[bytes, frozenset[EntryId]] = {}
        self.members = set(LEVELS)
        alfa = self.peers["alfa"]
        founders = [Founder(alfa.key, parse_level("admin(0)"))]
        store = founding.found(
            alfa.host, alfa.key, founders, lambda bank: SqliteStore.create(alfa.file, bank)
        )
        self.bank = store.bank
        store.close()
        for name in ("bravo", "charlie", "delta", "echo"):
            self.grant("alfa", name)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for peer in self.peers.values():
            peer.kill()
            peer.host.journal.close()

    def at(self, name: str) -> Bank:
        """The bank as a peer holds it."""
        return self.peers[name].bank(self.bank)

    # What people do; what authority denies has no effect

    def write(self, name: str, text: str, key: str | None = None) -> bool:
        """Remember; whether it was acknowledged."""
        peer = self.peers[name]
        try:
            (done,) = remember(self.at(name), peer.key, [Draft(text, key=key)])
        except Denied:
            return False
        self.acknowledged[parse_version(done.version).entry] = name
        return True

    def forget(self, name: str, number: int) -> bool:
        """Forget one of the versions that are live there."""
        bank, key = self.at(name), self.peers[name].key
        live = [row for row in bank.store.versions_after(0, 1 << 40) if row.state is State.LIVE]
        if not live:
            return False
        version = str(bank.store.version_id(live[number % len(live)]))
        try:
            forgetting.forget(bank, key, Reader(bank, key, lambda _: None), version)
        except Denied:
            return False
        return True

    def grant(self, by: str, name: str) -> bool:
        """Grant a name its level; a key that was revoked stays out."""
        key = self.peers[name].key
        if key in self.cuts:
            return False
        return self._decide(by, Grant(key, parse_level(LEVELS[name])))

    def revoke(self, by: str, name: str) -> bool:
        """Revoke a name with what the revoker holds of it."""
        key, bank = self.peers[name].key, self.at(by)
        held = frozenset(row.id for row in bank.store.entries(author=key))
        if not self._decide(by, Revoke(key, bank.store.tips(key))):
            return False
        self.cuts[key] = self.cuts.get(key, held) | held
        self.members.discard(name)
        return True

    def _decide(self, by: str, act: Grant | Revoke) -> bool:
        bank, key = self.at(by), self.peers[by].key
        try:
            with bank.write() as authority:
                now = bank.host.clock.now_ms()
                if isinstance(act, Grant):
                    authority.check_grant(key, act.key, act.level, now)
                else:
                    authority.check_revoke(key, act.key, now)
                Writer(bank, key).commit_control(authority, [act], now)
                self._start_epoch(bank, key)
        except Denied:
            return False
        return True

    def rekey(self, by: str) -> bool:
        """Start an epoch, if the key is an admin's."""
        bank, key = self.at(by), self.peers[by].key
        try:
            with bank.write():
                return self._start_epoch(bank, key)
        except Denied:
            return False

    @staticmethod
    def _start_epoch(bank: Bank, key: bytes) -> bool:
        authority, now = bank.rulings.authority, bank.host.clock.now_ms()
        level = authority.level(key, now)
        if level is None or level.code != ADMIN:
            return False
        Writer(bank, key).start_epoch(authority, now)
        return True

    # What happens to machines

    def kill(self, name: str) -> None:
        """Drop a process."""
        self.peers[name].kill()

    def backup(self, name: str) -> None:
        """Copy a peer's bank aside."""
        peer = self.peers[name]
        peer.kill()
        if peer.file.exists():
            shutil.copyfile(peer.file, peer.folder / "bank.backup")

    def restore(self, name: str) -> None:
        """Put the copy back; the keyring and the journal stay. What only this peer held since is nobody's fault."""
        peer = self.peers[name]
        copy = peer.folder / "bank.backup"
        if not copy.exists():
            return
        peer.kill()
        for old in peer.folder.glob("bank.db*"):
            old.unlink()
        shutil.copyfile(copy, peer.file)
        held = {row.id for other in self.peers for row in self.at(other).store.entries()}
        self.acknowledged = {entry: by for entry, by in self.acknowledged.items() if entry in held}
        self.cuts = {key: entries for key, entries in self.cuts.items() if self._still_cut(key)}

    def _still_cut(self, key: bytes) -> bool:
        """Whether any peer still holds a revocation of a key: the only copy of it may have been lost with a file."""
        for name in self.peers:
            for row in self.at(name).store.entries(control=True):
                acts = reload(row.envelope).header.ctl
                if any(isinstance(act, Revoke) and act.key == key for act in acts):
                    return True
        self.members |= {name for name, peer in self.peers.items() if peer.key == key}
        return False

    def skew(self, name: str, ahead_ms: int) -> None:
        """Set a peer's clock so far ahead of the others."""
        self.peers[name].clock.ahead_ms = ahead_ms

    # Syncing

    def sync(self, client: str, server: str, faults: Faults | None = None) -> bool:
        """One round over a link; whether it was done. What is refused or breaks has no effect."""
        there = self.peers[server]

        def find(bank: BankId, by: bytes, claim: bytes) -> tuple[Bank, bytes] | None:
            del by, claim
            return (self.at(server), there.key) if bank == self.bank else None

        self._seed += 1
        link = Link(
            lambda binding: syncing.serve(find, binding, there.host.entropy, book=self._book),
            faults=faults or Faults(),
            clock=self.clock,
            seed=self._seed,
        )
        client_round = syncing.connect(self.at(client), self.peers[client].key, b"memory", book=self._book)
        try:
            with link.connect() as channel:
                return syncing.run(client_round, channel.exchange).done
        except (Broken, SyncError):
            return False

    def settle(self) -> None:
        """Let everybody sync with everybody until nothing moves, clocks right again."""
        for peer in self.peers.values():
            peer.clock.ahead_ms = 0
        self.clock.sleep(10 * 86_400_000)  # what was ahead is due
        before: list[tuple[bytes, bytes]] = []
        for _ in range(PASSES):
            for client in self.peers:
                for server in self.peers:
                    if client != server:
                        self.sync(client, server)
            now = [self._print(name) for name in self.peers]
            if now == before:
                return
            before = now
        raise AssertionError("the cluster does not come to rest")

    def _print(self, name: str) -> tuple[bytes, bytes]:
        """Fingerprints of what counts at a peer."""
        bank = self.at(name)
        control, data = (
            bank.counted.index(which).fingerprint(reconcile.START, reconcile.END) for which in messages.SETS
        )
        return control, data

    # What must hold

    def check(self) -> None:
        """Everything that must hold at a quiet point.

        Raises:
            AssertionError: With what does not.
        """
        standing = sorted(self._standing())
        prints = {name: self._print(name) for name in standing}
        assert len(set(prints.values())) == 1, f"members differ: {prints}"
        states = {name: self._state(name) for name in standing if LEVELS[name] != "relay"}
        assert len({repr(state) for state in states.values()}) == 1, f"readers see different things: {states}"
        for name in standing:
            self._check_acknowledged(name)
            self._check_cuts(name)
            self._check_secrets(name)
            problems = self.at(name).store.check()
            assert problems == [], f"{name}: {problems}"

    def _standing(self) -> Iterator[str]:
        """Who is a member by the strongest admin's replica."""
        bank = self.at("alfa")
        for name, peer in self.peers.items():
            if bank.authority.level(peer.key, self.clock.ms) is not None:
                yield name

    def _state(self, name: str) -> list[tuple[str, str]]:
        """What a reader sees: each version that counts, and what became of it."""
        store = self.at(name).store
        rows = store.versions_after(0, store.watermark().last_ord)
        return sorted(
            (str(store.version_id(row)), row.state.name) for row in rows if row.state is not State.VOID
        )

    def _check_acknowledged(self, name: str) -> None:
        bank = self.at(name)
        alfa = self.at("alfa")
        for entry, by in self.acknowledged.items():
            row = bank.store.entry(entry)
            judged = alfa.store.entry(entry)
            lost = row is None and self.peers[by].key not in self.cuts
            assert not lost, f"{name} lost {cid_text(entry)}, which {by} was told is kept"
            if row is not None and judged is not None and row.verdict is Verdict.COUNTS:
                assert alfa.authority.rule(reload(judged.envelope)).verdict is Worth.COUNTS

    def _check_cuts(self, name: str) -> None:
        for key, held in self.cuts.items():
            counting = {
                row.id for row in self.at(name).store.entries(author=key) if row.verdict is Verdict.COUNTS
            }
            assert counting <= held, f"{name} counts what a cut key signed outside of its cut"

    def _check_secrets(self, name: str) -> None:
        """Keys that may not read hold no key of the current epoch, and a relay never held any."""
        bank = self.at(name)
        now = self.clock.ms
        epoch = bank.authority.current_epoch(now)
        for other, peer in self.peers.items():
            level = bank.authority.level(peer.key, now)
            if epoch is None or (level is not None and level.allows(READ)):
                continue
            theirs = self.at(other)
            assert theirs.epoch_keys(peer.key).get(theirs.authority, epoch) is None, f"{other} reads on"
        if LEVELS[name] == "relay":
            assert not list(bank.store.versions_after(0, 1 << 40)), f"{name} reads what it relays"
