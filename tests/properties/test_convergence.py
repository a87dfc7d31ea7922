"""Replicas that hold the same entries show the same memory, whatever order they came in (design sections 1 and 4)."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check
from muniment.bank import Host
from muniment.base import codec
from muniment.base.errors import MunimentError, RefusedEntry
from muniment.base.ids import EntryId
from muniment.config import Settings
from muniment.identity import keys
from muniment.keyring.custody import Keyring
from muniment.keyring.journal import Journal
from muniment.ledger import entry as entries
from muniment.ledger.control import Found, Founder, Grant
from muniment.ledger.entry import Header, reload
from muniment.ledger.levels import parse_level
from muniment.platform.folders import PeerFolder
from muniment.store.memory import MemoryStore
from muniment.store.sqlite import SqliteStore
from muniment.testing.clock import TickingClock
from muniment.testing.entropy import SeededEntropy
from muniment.testing.ledger import sign_with_nonce
from muniment.testing.replicas import Parcel, Replica, Replicas, standing_epochs

NAMES = ("carol", "vera", "wim", "mia", "tom")
LEVELS = ("read", "write", "admin(2)", "admin(1)", "relay")


@contextmanager
def world(seed: int) -> Iterator[Replicas]:
    """A bank of an agent, vera, held by carol, and three others who hold nothing yet."""
    with tempfile.TemporaryDirectory() as folder, Replicas(Path(folder), NAMES, seed) as replicas:
        replicas.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera")
        yield replicas


class History:
    """A random history: what each step does follows from the numbers drawn."""

    def __init__(self, replicas: Replicas, chance: random.Random) -> None:
        self.replicas, self.chance = replicas, chance
        self.forged: list[Parcel] = []

    def run(self, steps: int) -> None:
        """Do so many things; what a replica's own gate refuses is not done."""
        for name in NAMES:
            self.replicas.carry("carol", name)
        for _ in range(steps):
            name = self.chance.choice(NAMES)
            try:
                self._step(self.replicas.at(name))
            except MunimentError:
                continue
        self.replicas.carry_all()
        self.replicas.carry_all()

    def _step(self, who: Replica) -> None:
        pick = self.chance.choice
        act = pick(
            ["remember"] * 6
            + ["forget", "undo", "erase", "grant", "grant", "revoke", "share", "carry", "carry"]
        )
        if act == "remember":
            key = pick([None, None, "k1", "k2"])
            text = f"{pick(['tea', 'coffee', 'rain'])} {self.chance.randrange(6)}"
            who.remember(
                text, key=key, tool=self.chance.random() < 0.2, tags=("t",), session=pick([None, "s"])
            )
        elif act == "forget":
            who.forget(self._some(who))
        elif act == "undo":
            who.forget(self._some(who, "forgotten"), undo=True)
        elif act == "erase":
            who.erase(self._some(who))
        elif act == "grant":
            who.grant(pick(NAMES[1:]), pick(LEVELS), agent=self.chance.random() < 0.2)
        elif act == "revoke":
            name = pick(NAMES[1:])
            held = who.bank.store.tips(self.replicas.keys[name])
            who.revoke(name, pick([held, held, (), self._older(who, name)]))
        elif act == "share":
            epoch, _ = pick(standing_epochs(who))
            who.share(epoch, pick(NAMES))
        else:
            self.replicas.carry(pick(NAMES), who.name)

    def _some(self, who: Replica, *states: str) -> str:
        rows = list(who.bank.store.versions_after(0, who.bank.store.watermark().last_ord))
        wanted = [row for row in rows if not states or row.state.name.lower() in states]
        if not wanted:
            raise MunimentError("nothing to name yet")
        return str(who.bank.store.version_id(self.chance.choice(wanted)))

    def _older(self, who: Replica, name: str) -> tuple[EntryId, ...]:
        key = self.replicas.keys[name]
        own = [row.id for row in who.bank.store.entries(author=key)]
        return (self.chance.choice(own),) if own else ()


def union(replicas: Replicas) -> list[Parcel]:
    """Every entry of every replica, each with the bodies that any of them has."""
    found: dict[bytes, list[bytes | None]] = {}
    for name in NAMES:
        for envelope, bodies in replicas.at(name).parcels():
            known = found.setdefault(envelope, [None] * len(bodies))
            for index, sealed in enumerate(bodies):
                known[index] = known[index] if sealed is None else sealed
    return list(found.items())


def scramble(parcels: list[Parcel], chance: random.Random) -> list[Parcel]:
    """Any order, with repeats, and some bodies in a later parcel."""
    out: list[Parcel] = []
    for envelope, bodies in parcels:
        if bodies and chance.random() < 0.3:
            kept = [sealed if chance.random() < 0.5 else None for sealed in bodies]
            out.append((envelope, kept))
        out.append((envelope, bodies))
        if chance.random() < 0.2:
            out.append((envelope, bodies))
    chance.shuffle(out)
    return out


@settings(max_examples=8)
@given(st.integers(0, 1 << 32))
def test_any_order_gives_the_same_memory(seed: int) -> None:
    """The entries of a random history, shuffled, repeated and split, make what the origin shows; so does a rebuild."""
    chance = random.Random(seed)
    with world(seed) as replicas:
        History(replicas, chance).run(40)
        parcels = union(replicas)
        origin = replicas.at("carol")
        origin.take(parcels)
        expected = origin.shown()
        for number in range(2):
            other = replicas.fresh(f"copy {number}", MemoryStore(replicas.bank))
            other.name = "carol"
            other.take(scramble(parcels, chance))
            assert other.shown() == expected
            assert check.check(other.bank) == []
        for name in NAMES:
            replica = replicas.at(name)
            replica.take(parcels)
            replica.name = "carol"
            assert replica.shown() == expected
        check.rebuild(origin.bank)
        assert origin.shown() == expected
        assert check.check(origin.bank) == []


@settings(max_examples=4)
@given(st.integers(0, 1 << 32))
def test_the_file_shows_what_the_dictionaries_show(seed: int) -> None:
    """The same entries in any order, in SQLite and reopened, give the memory of the origin; so does its rebuild."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, world(seed) as replicas:
        History(replicas, chance).run(25)
        parcels = union(replicas)
        origin = replicas.at("carol")
        origin.take(parcels)
        path = Path(folder) / "bank.db"
        other = replicas.fresh("file", SqliteStore.create(path, replicas.bank))
        other.name = "carol"
        other.take(scramble(parcels, chance))
        assert other.shown() == origin.shown()
        assert check.check(other.bank) == []
        other.bank.close()
        again = replicas.fresh("file", SqliteStore.open(path, bank=replicas.bank))
        again.name = "carol"
        assert again.shown() == origin.shown()
        check.rebuild(again.bank)
        assert again.shown() == origin.shown()
        assert check.check(again.bank) == []


@settings(max_examples=6)
@given(st.integers(0, 1 << 32))
def test_a_reader_alone_sees_what_was_written_for_it(seed: int) -> None:
    """A peer that holds one reader's key alone ends with the same memory in any order, whatever key came when."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, world(seed) as replicas:
        carol = replicas.at("carol")
        carol.remember("before tom could read", key="k1")
        carol.grant("tom", "read")
        History(replicas, chance).run(20)
        parcels = union(replicas)
        seen = []
        for number in range(3):
            home = PeerFolder(Path(folder) / str(number)).make()
            entropy = SeededEntropy(seed)
            keyring = Keyring.open(home, None, entropy)
            clock = TickingClock(replicas.clock.ms)
            keyring.create(keys_of(replicas.host.keyring, replicas.keys["tom"]), label="tom")
            host = Host(keyring, Journal(home), clock, entropy, Settings())
            other = replicas.fresh(f"tom {number}", MemoryStore(replicas.bank), host)
            other.name = "tom"
            other.take(scramble(parcels, chance))
            assert check.check(other.bank) == []
            seen.append(other.shown())
            check.rebuild(other.bank)
            seen.append(other.shown())
            host.journal.close()
        assert all(one == seen[0] for one in seen)


def keys_of(keyring: Keyring, public: bytes) -> bytes:
    """The seed of a key in a test's keyring."""
    return bytes(keyring._pair(public).secret[:32])


@settings(max_examples=6)
@given(st.integers(0, 1 << 32))
def test_a_revoked_key_adds_nothing_that_counts(seed: int) -> None:
    """Once admin(0) has cut a key, nothing that it signs from any past, new or backdated, changes what is shown."""
    chance = random.Random(seed)
    with world(seed) as replicas:
        carol, mia = replicas.at("carol"), replicas.at("mia")
        carol.grant("mia", chance.choice(["write", "admin(1)", "admin(2)"]))
        History(replicas, chance).run(15)
        replicas.carry("carol", "mia")
        stale = replicas.fresh("stale", MemoryStore(replicas.bank))
        stale.name = "mia"  # where the cut never arrives
        stale.take(mia.parcels())
        carol.revoke("mia")
        before = carol.shown()
        for _ in range(8):
            what = chance.choice(["remember", "forget", "grant", "revoke", "erase"])
            try:
                if what == "remember":
                    stale.remember(f"by a thief {chance.random()}", key=chance.choice([None, "k1"]))
                elif what == "grant":
                    stale.grant(chance.choice(["wim", "tom", "mia"]), chance.choice(LEVELS))
                elif what == "revoke":
                    stale.revoke(chance.choice(["vera", "wim", "tom"]), ())
                else:
                    rows = list(stale.bank.store.versions_after(0, stale.bank.store.watermark().last_ord))
                    target = str(stale.bank.store.version_id(chance.choice(rows))) if rows else "none"
                    stale.forget(target) if what == "forget" else stale.erase(target)
            except MunimentError:
                continue
        old = {envelope for envelope, _ in carol.parcels()}
        carol.take(parcel for parcel in scramble(stale.parcels(), chance) if parcel[0] not in old)
        after = carol.shown()
        for part in ("states", "members", "heads", "epochs", "erased", "current epoch"):
            assert after[part] == before[part], part
        assert {k: v for k, v in after["verdicts"].items() if k in before["verdicts"]} == before["verdicts"]
        fresh = {k: v for k, v in after["verdicts"].items() if k not in before["verdicts"]}
        assert set(fresh.values()) <= {"VOID"}
        assert [record for _, record in after["records"]] == [record for _, record in before["records"]]
        assert check.check(carol.bank) == []


def sign(pair: keys.KeyPair, header: Header) -> bytes:
    """The envelope of a header, signed by whoever."""
    signed = entries.header_bytes(header)
    return codec.encode([signed, keys.sign(pair.secret, codec.ENTRY, signed)])


def test_what_is_unsigned_or_forged_is_never_stored() -> None:
    """A missing, foreign or altered signature is refused at the door, and nothing of it is kept."""
    with world(1) as replicas:
        carol = replicas.at("carol")
        carol.remember("tea")
        row = list(carol.bank.store.entries())[-1]
        header = reload(row.envelope).header
        mallory = keys.keypair(b"m" * 32)
        signed = entries.header_bytes(header)
        forged = [
            codec.encode([signed, bytes(64)]),
            codec.encode([signed, keys.sign(mallory.secret, codec.ENTRY, signed)]),
            sign(
                mallory, Header(header.bank, header.by, header.prev, header.auth, header.at + 1, ctl=(GRANT,))
            ),
        ]
        before = carol.shown()
        for envelope in forged:
            with pytest.raises(RefusedEntry) as caught:
                carol.take([(envelope, [None] if envelope is not forged[2] else [])])
            assert caught.value.reason == "bad signature"
        assert carol.shown() == before
        assert carol.bank.store.figures().entries == 3


GRANT = Grant(keys.keypair(b"m" * 32).public, parse_level("admin(1)"))


def test_who_authorises_itself_is_void() -> None:
    """A stranger's own grant, a stranger's founding act and entries that stand on them never count."""
    with world(2) as replicas:
        carol = replicas.at("carol")
        mallory = keys.keypair(b"m" * 32)
        heads, bank, at = carol.bank.authority.heads, replicas.bank, carol.bank.store.last_at(1 << 62)
        grant = sign(mallory, Header(bank, mallory.public, (), heads, at + 1, ctl=(GRANT,)))
        granted = EntryId(entries.verify(grant, bank).id)
        onwards = sign(mallory, Header(bank, mallory.public, (granted,), tuple(sorted((*heads, granted))), at + 2, ctl=(
            Grant(replicas.keys["tom"], parse_level("write")),)))  # fmt: skip
        founds = Found((Founder(mallory.public, parse_level("admin(0)")),), bytes(16))
        before = carol.shown()
        carol.take([(onwards, []), (grant, [])])
        after = carol.shown()
        assert set(after["verdicts"].values()) == {"COUNTS", "VOID"}
        assert {part: after[part] for part in after if part != "verdicts"} == {
            part: before[part] for part in before if part != "verdicts"
        }
        with pytest.raises(RefusedEntry) as caught:
            carol.take([(sign(mallory, Header(None, mallory.public, (), (), at, ctl=(founds,))), [])])
        assert caught.value.reason == "second founding entry"


def test_a_header_signed_twice_counts_once() -> None:
    """Of two signatures over one header the smaller id counts alone, whichever came first, and after a rebuild."""
    with world(3) as replicas:
        carol = replicas.at("carol")
        carol.remember("tea", key="k")
        row = list(carol.bank.store.entries())[-1]
        entry = reload(row.envelope)
        pair = keys.keypair(keys_of(replicas.host.keyring, row.author))
        bodies = carol.bank.store.bodies([(row.seq, 0)])
        twins = [
            codec.encode(
                [
                    entry.header_bytes,
                    sign_with_nonce(pair, codec.ENTRY + entry.header_bytes, bytes([n + 1]) * 64),
                ]
            )
            for n in range(6)
        ]
        parcels = [*carol.parcels(), *((twin, bodies) for twin in twins)]
        smallest = min(entries.verify(envelope, replicas.bank).id for envelope in [row.envelope, *twins])
        for order in range(4):
            other = replicas.fresh(f"copy {order}", MemoryStore(replicas.bank))
            other.name = "carol"
            random.Random(order).shuffle(parcels)
            other.take(parcels)
            for _ in range(2):
                rows = [r for r in other.bank.store.entries(author=row.author) if not r.control]
                assert {r.id for r in rows if r.verdict.name == "COUNTS"} == {smallest}
                assert len(other.shown()["states"]) == 1
                assert check.check(other.bank) == []
                check.rebuild(other.bank)
