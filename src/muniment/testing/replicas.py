"""Replicas of one bank in one process, for tests: several keys, several stores, entries carried by hand.

```python
from muniment.testing.replicas import Replicas

with Replicas(folder, ["carol", "vera", "wim"]) as replicas:
    replicas.found({"carol": "admin(0)"}, agent=None)
    carol = replicas.at("carol")  # carol's own replica: she alone writes here
    carol.grant("wim", "write")
    replicas.carry("carol", "wim")
    replicas.at("wim").remember("tea")
    replicas.carry("wim", "carol")
```

All keys lie in one keyring, each signs at its own replica alone. The clock stands still unless it is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from muniment import archive_policy, archiving, forgetting, founding
from muniment.archive.options import Options
from muniment.archive.room import RoomSource
from muniment.archive_room import ArchiveRoom
from muniment.bank import Bank, Host
from muniment.base.errors import WaitingForKey
from muniment.base.ids import BankId, EntryId, VersionId, cid_text, parse_version
from muniment.blobs.memory import MemoryBlobs
from muniment.config import Settings
from muniment.keyring.custody import Keyring
from muniment.keyring.journal import Journal
from muniment.ledger.control import Control, Epoch, EpochId, Erase, Founder, Grant, Revoke, Share
from muniment.ledger.entry import reload
from muniment.ledger.levels import Level, parse_level
from muniment.ledger.stub import beginning
from muniment.platform.folders import PeerFolder
from muniment.query import Where
from muniment.reading import Reader
from muniment.receiving import Receiver
from muniment.remembering import Draft, remember
from muniment.store.base import BankStore, State
from muniment.store.memory import MemoryStore
from muniment.testing.clock import TickingClock
from muniment.testing.entropy import SeededEntropy
from muniment.views import Record, Remembered
from muniment.writing import Writer

Parcel = tuple[bytes, list[bytes | None]]
"""An entry as it travels: its envelope and its bodies, None where one was erased or has not come."""


class Replicas:
    """A keyring with a key for each name, and the replicas of one bank that these keys write to.

    Attributes:
        clock: Shared by all; one millisecond passes with each look.
        host: What every replica stands on.
    """

    def __init__(self, folder: Path, names: Sequence[str], seed: int = 0) -> None:
        home = PeerFolder(folder).make()
        entropy = SeededEntropy(seed)
        self.clock = TickingClock()
        self.host = Host(Keyring.open(home, None, entropy), Journal(home), self.clock, entropy, Settings())
        self._folder = folder
        self.keys = {name: self.host.keyring.create(entropy.bytes(32), label=name) for name in names}
        self._replicas: dict[str, Replica] = {}
        self._bank: BankId | None = None

    def __enter__(self) -> Replicas:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        for replica in self._replicas.values():
            replica.bank.close()
            if replica.bank.host.archive is not None:
                replica.room.close()
        self.host.journal.close()

    @property
    def bank(self) -> BankId:
        """The bank's id; `found` has to come first."""
        if self._bank is None:
            raise LookupError("nothing is founded yet")
        return self._bank

    def found(self, founders: Mapping[str, str], agent: str | None = None) -> Replica:
        """Found the bank at the replica of the first name."""
        by = next(iter(founders))
        named = [
            Founder(self.keys[name], parse_level(level), name == agent) for name, level in founders.items()
        ]
        store = founding.found(self.host, self.keys[by], named, MemoryStore)
        self._bank = store.bank
        return self._add(by, store)

    def _add(self, name: str, store: BankStore) -> Replica:
        room = ArchiveRoom(
            PeerFolder(self._folder / "rooms" / name),
            Options(),
            self.clock,
            blobs=MemoryBlobs(self.clock.now_ms),
        )
        host = replace(self.host, archive=room)
        self._replicas[name] = Replica(self, name, Bank(store, host, self._folder / "index" / name))
        return self._replicas[name]

    def at(self, name: str) -> Replica:
        """The replica of a key; empty before something is carried to it."""
        return self._replicas.get(name) or self._add(name, MemoryStore(self.bank))

    def fresh(self, name: str, store: BankStore, host: Host | None = None) -> Replica:
        """Another replica, over a store of the caller's, that is closed with the others."""
        replica = self._add(name, store)
        if host is not None:
            replica.bank = Bank(store, host, self._folder / "index" / name)
        return replica

    def carry(self, source: str, target: str) -> None:
        """Carry whatever one replica holds to another."""
        self.at(target).take(self.at(source).parcels())

    def carry_all(self) -> None:
        """Carry everything everywhere."""
        names = list(self._replicas)
        for source in names:
            for target in names:
                if source != target:
                    self.carry(source, target)


class Replica:
    """One replica, and the key that writes there."""

    def __init__(self, replicas: Replicas, name: str, bank: Bank) -> None:
        self._all, self.name, self.bank = replicas, name, bank

    @property
    def key(self) -> bytes:
        """The public key that writes here."""
        return self._all.keys[self.name]

    def reader(self, name: str | None = None) -> Reader:
        """Reads this replica with a key, its own unless another is named."""
        return Reader(self.bank, self._all.keys[name or self.name], lambda _: None)

    @property
    def room(self) -> ArchiveRoom:
        """This replica's own packs."""
        return archiving.room_of(self.bank)

    # Writing

    def archive(self, ref: str) -> archiving.Archived:
        """Archive a record with this replica's key."""
        return archiving.archive(self.bank, self.key, self.reader(), ref)

    def restore(self, ref: str) -> list[Record]:
        """Take a record out of the archive."""
        return archiving.restore(self.bank, self.key, self.reader(), ref)

    def settle(self) -> archive_policy.Settled:
        """Let bodies go, or bring them back, as the archive acts of others say."""
        return archive_policy.settle(self.bank, self.key)

    def lend(self, other: Replica) -> None:
        """Serve this replica's packs to another."""
        other.room.sources.append(RoomSource(self.name, self.room.packs))

    def remember(self, text: str, **fields: Any) -> Remembered:
        """Remember with this replica's key; the fields are those of `Draft`."""
        return remember(self.bank, self.key, [Draft(text, **fields)])[0]

    def forget(self, ref: str, *, undo: bool = False) -> list[Record]:
        """Forget, or undo it."""
        act = forgetting.undo if undo else forgetting.forget
        return act(self.bank, self.key, self.reader(), ref)

    def control(self, *acts: Control) -> EntryId:
        """Sign and store control acts, allowed or not."""
        with self.bank.write() as authority:
            return Writer(self.bank, self.key).commit_control(authority, acts, self._now())[0].id

    def _now(self) -> int:
        return self._all.clock.now_ms()

    def grant(self, name: str, level: Level | str, **more: Any) -> EntryId:
        """Grant, and start an epoch for those who read then."""
        asked = parse_level(level) if isinstance(level, str) else level
        entry = self.control(Grant(self._all.keys[name], asked, **more))
        self.rekey()
        return entry

    def revoke(self, name: str, tips: tuple[EntryId, ...] | None = None) -> EntryId:
        """Revoke with the tips held here, unless others are given, and start an epoch."""
        key = self._all.keys[name]
        entry = self.control(Revoke(key, self.bank.store.tips(key) if tips is None else tuple(sorted(tips))))
        self.rekey()
        return entry

    def erase(self, *versions: str) -> EntryId:
        """Erase versions, by their text form."""
        return self.control(Erase(tuple(parse_version(version) for version in versions)))

    def rekey(self) -> None:
        """Start an epoch for the readers of now, if this key may."""
        with self.bank.write() as authority:
            now = self._now()
            level = authority.level(self.key, now)
            if level is not None and level.code == parse_level("admin(0)").code:
                Writer(self.bank, self.key).start_epoch(authority, now)

    def share(self, epoch: EpochId, name: str) -> EntryId:
        """Give the key of an epoch to one more reader."""
        key = self.bank.epoch_keys(self.key).get(self.bank.authority, epoch)
        if key is None:
            raise WaitingForKey("the epoch's key is not open to this replica's key")
        from muniment.identity.keys import box

        reader = self._all.keys[name]
        return self.control(Share(epoch, reader, box(reader, key, self._all.host.entropy.bytes(32))))

    # Carrying

    def parcels(self) -> list[Parcel]:
        """Everything held here, as it travels."""
        store = self.bank.store
        out: list[Parcel] = []
        for row in store.entries():
            places = [(row.seq, act) for act in range(len(reload(row.envelope).header.acts))]
            out.append((row.envelope, store.bodies(places)))
        return out

    def take(self, parcels: Iterable[Parcel]) -> None:
        """Receive entries in this order."""
        receiver = Receiver(self.bank)
        for envelope, bodies in parcels:
            receiver.take(envelope, bodies)

    # Looking

    def shown(self) -> dict[str, Any]:
        """All that a caller can see or an entry can bring about, in a form that does not depend on order of arrival."""
        store, authority = self.bank.store, self.bank.authority
        names = {key: name for name, key in self._all.keys.items()}
        mark = store.watermark()
        rows = list(store.versions_after(0, mark.last_ord))
        reader = self.reader()
        where = Where(states=("live", "superseded", "forgotten"))
        filter_ = reader.filter(where, authority)
        records = [
            # How much of an archived text is here is the replica's own affair.
            replace(record, text=beginning(record.text), whole=True)
            for record in reader.views(store.newest(filter_, 100_000), authority)
        ]
        return {
            "verdicts": {cid_text(row.id): row.verdict.name for row in store.entries()},
            "states": {
                str(store.version_id(row)): (row.state.name, row.ended)
                for row in rows
                if row.state not in (State.ERASED, State.VOID)
            },
            "records": sorted((record.version, record.to_json()) for record in records),
            "members": [
                (names.get(m.key), str(m.level), m.state) for m in authority.members(self._all.clock.ms)
            ],
            "heads": authority.heads,
            "epochs": set(authority.epochs),
            "erased": {str(version) for version in authority.erasures},
            "current epoch": authority.current_epoch(self._all.clock.ms),
        }


def standing_epochs(replica: Replica) -> list[tuple[EpochId, Epoch]]:
    """The standing epochs of a replica, causes first."""
    return [(epoch, info.act) for epoch, info in replica.bank.authority.epochs.items()]


def version(result: Remembered) -> VersionId:
    """The version that a `remember` made."""
    return parse_version(result.version)
