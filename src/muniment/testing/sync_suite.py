"""The conformance suite of sync transports: subclass `SyncSuite`, say how a server is reached, and run it by pytest.

```python
class TestMine(SyncSuite):
    @contextmanager
    def wire(self, make):
        with my_server(make) as address:
            yield MyWire(address)
```

`make(binding)` gives a `ServerRound`, or keep a `Desk` over it. The suite looks at what both ends hold afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from muniment import check, syncing
from muniment.base import codec
from muniment.base.errors import SyncError, SyncRefused
from muniment.base.ids import BankId, EntryId
from muniment.base.limits import LIMITS
from muniment.ledger.control import Grant
from muniment.ledger.levels import parse_level
from muniment.store.base import Verdict
from muniment.store.memory import MemoryStore
from muniment.sync import hello, messages, reconcile
from muniment.sync.messages import Entries, Failure, Greet, Greeted, Hello, Welcome
from muniment.sync.round import ClientRound
from muniment.syncing import SyncReport
from muniment.testing.link import Broken, Channel, Link, Make
from muniment.testing.replicas import Replica
from muniment.testing.sync_world import World


class Wire(Protocol):
    """A running server, and a way to it."""

    def connect(self) -> AbstractContextManager[Channel]:
        """A conversation of its own."""
        ...


class MemoryWire:
    """The wire of the in-memory link."""

    def __init__(self, make: Make) -> None:
        self._link = Link(make)

    def connect(self) -> AbstractContextManager[Channel]:
        """A conversation of its own."""
        return self._link.connect()


def same(one: Replica, other: Replica) -> bool:
    """Whether two replicas show the same of what their readers can see."""
    return one.shown() == other.shown()


def texts(replica: Replica) -> list[str]:
    """The live texts of a replica, as its own key reads them."""
    return sorted(record["text"] for _, record in replica.shown()["records"] if record["state"] == "live")


class SyncSuite:
    """Every test begins with carol's bank, which the others do not have yet."""

    @contextmanager
    def wire(self, make: Make) -> Iterator[Wire]:
        """Serve `make` for as long as the block runs."""
        yield MemoryWire(make)

    @pytest.fixture
    def world(self, tmp_path: Path) -> Iterator[World]:
        """Carol's bank; nobody else holds a copy yet. Afterwards every copy is checked."""
        made = World(tmp_path)
        yield made
        for name in made.replicas._replicas:
            assert check.check(made.at(name).bank) == []
        made.close()

    def round(self, world: World, client: str, server: str, *, push: bool = True) -> SyncReport:
        """A whole round over the transport."""
        with self.wire(world.make(server)) as wire, wire.connect() as channel:
            return syncing.run(world.client(client, channel.binding, push=push), channel.exchange)

    # Rounds

    def test_an_empty_replica_gets_everything(self, world: World) -> None:
        """A member without a copy holds the same afterwards, also what was superseded and forgotten."""
        carol = world.at("carol")
        for number in range(30):
            carol.remember(f"tea {number}", key=f"k{number % 7}")
        carol.forget(carol.remember("gone").version)
        report = self.round(world, "vera", "carol")
        assert report.done and report.round.received == sum(1 for _ in carol.bank.store.entries())
        assert same(world.at("vera"), carol)

    def test_where_nothing_differs_one_question_is_enough(self, world: World) -> None:
        """After hello there is one question about the sets, and the last word."""
        world.at("carol").remember("tea")
        self.round(world, "wim", "carol")
        report = self.round(world, "wim", "carol")
        assert report.done and report.round.questions == 4
        assert (report.round.received, report.round.sent) == (0, 0)

    def test_both_ends_get_what_they_lack_in_one_round(self, world: World) -> None:
        """Pull and push in the same round: differing replicas are equal afterwards."""
        self.round(world, "wim", "carol")
        for number in range(40):
            world.at("carol").remember(f"tea {number}")
            world.at("wim").remember(f"coffee {number}")
        report = self.round(world, "wim", "carol")
        assert report.done and (report.round.received, report.round.sent) == (40, 40)
        assert same(world.at("wim"), world.at("carol")) and len(texts(world.at("carol"))) == 80

    def test_a_round_that_only_takes_gives_nothing(self, world: World) -> None:
        """Without push the server stays as it was, and the round is not called done."""
        self.round(world, "wim", "carol")
        world.at("wim").remember("coffee")
        world.at("carol").remember("tea")
        report = self.round(world, "wim", "carol", push=False)
        assert not report.done and texts(world.at("carol")) == ["tea"]
        assert texts(world.at("wim")) == ["coffee", "tea"]

    def test_a_relay_carries_between_two_writers(self, world: World) -> None:
        """Two writers that meet only through a relay read everything."""
        world.at("carol").remember("tea")
        for name in ("wim", "vera"):
            self.round(world, name, "carol")
        world.at("wim").remember("coffee")
        assert self.round(world, "rolf", "carol").done
        assert self.round(world, "wim", "rolf").done and self.round(world, "vera", "rolf").done
        assert texts(world.at("vera")) == ["coffee", "tea"]

    def test_a_round_cut_at_any_message_goes_on_where_it_was(self, world: World) -> None:
        """Cut after each message in turn: what was committed stays, each round needs less, the last is whole."""
        carol = world.at("carol")
        for number in range(60):
            carol.remember(f"tea {number} " + "x" * 30_000)
        held = cuts = 0
        with self.wire(world.make("carol")) as wire:
            while True:
                with wire.connect() as channel:
                    client = world.client("vera", channel.binding)
                    try:
                        report = syncing.run(client, _cut_after(channel.exchange, 4 + cuts))
                        break
                    except Broken:
                        cuts += 1
                now = sum(1 for _ in world.at("vera").bank.store.entries())
                assert now >= held
                held = now
        assert cuts and report.done and report.round.received < 70 and same(world.at("vera"), carol)

    def test_missing_bodies_are_asked_for(self, world: World) -> None:
        """An entry that came without its body keeps the sync from being done until somebody gives it."""
        carol = world.at("carol")
        carol.remember("tea")
        parcels = carol.parcels()
        world.at("vera").take([(envelope, [None] * len(bodies)) for envelope, bodies in parcels])
        rea = world.at("rea")
        rea.take([(envelope, [None] * len(bodies)) for envelope, bodies in parcels])
        without = self.round(world, "rea", "vera")
        assert not without.done and without.round.absent == 1
        assert self.round(world, "rea", "carol").done and texts(rea) == ["tea"]
        given = self.round(world, "rea", "vera")
        assert given.done and given.round.bodies_sent == 1 and texts(world.at("vera")) == ["tea"]

    def test_erased_bodies_are_never_sent(self, world: World) -> None:
        """A new replica gets the entry and not the body, and lacks nothing."""
        carol = world.at("carol")
        gone = carol.remember("the PIN is 4821")
        carol.remember("tea")
        self.round(world, "wim", "carol")
        carol.erase(gone.version)
        assert self.round(world, "vera", "carol").done
        vera = world.at("vera").bank.store
        assert [erased for *_, erased in vera.absent()] == [True] or list(vera.absent())
        assert self.round(world, "wim", "carol").done and texts(world.at("wim")) == ["tea"]
        assert texts(world.at("vera")) == ["tea"]

    def test_what_is_ahead_of_the_clock_is_stored(self, world: World) -> None:
        """An entry from a clock that is a day fast is synced like any other."""
        self.round(world, "wim", "carol")
        world.replicas.clock.ms += 86_400_000
        world.at("wim").remember("from tomorrow")
        world.replicas.clock.ms -= 86_400_000
        assert self.round(world, "wim", "carol").done
        assert len(list(world.at("carol").bank.store.versions_after(0, 100))) == 1

    def test_a_live_tail_tells_what_is_new(self, world: World) -> None:
        """A client that follows gets what is written later, as the server's news."""
        self.round(world, "wim", "carol")
        client, server = world.client("wim"), world.server("carol")
        syncing.run(client, server.receive)
        asked = client.start() if not client.over else []
        assert not asked and server.closed
        client, server = world.client("wim"), world.server("carol")
        _until_done(client, server.receive)
        assert server.receive(client.follow()) == []
        world.at("carol").remember("tea")
        for message in server.news():
            assert client.receive(message) == []
        assert texts(world.at("wim")) == ["tea"] and server.news() == []

    # Who may

    def test_unknown_and_forbidden_banks_look_the_same(self, world: World) -> None:
        """A stranger gets the same bytes for a bank that is here, one that is not, one not shared, and a bad proof."""
        answers = []
        other = BankId(reconcile.id_of(b"\7" * 32))
        for bank, key, spoil, shared in (
            (world.replicas.bank, "eve", False, True),
            (other, "eve", False, True),
            (other, "wim", False, True),
            (world.replicas.bank, "wim", True, True),
            (world.replicas.bank, "wim", False, False),
        ):
            world.shared = shared
            with self.wire(world.make("carol")) as wire, wire.connect() as channel:
                answers.append(_knock(world, channel, bank, key, spoil=spoil))
        assert len(set(map(tuple, answers))) == 1
        assert messages.decode(answers[0][0]) == Failure(messages.REFUSED)

    def test_a_level_taken_away_ends_the_round(self, world: World) -> None:
        """Serving asks for the level at each request, not only at hello."""
        self.round(world, "wim", "carol")
        with self.wire(world.make("carol")) as wire, wire.connect() as channel:
            client = world.client("wim", channel.binding)
            asked = client.start()
            for _ in range(2):
                asked = client.receive(channel.exchange(asked[0])[0])
            world.at("carol").revoke("wim")
            with pytest.raises(SyncRefused):
                client.receive(channel.exchange(asked[0])[0])

    def test_an_expired_key_is_not_served_and_serves_not(self, world: World) -> None:
        """From the expiry on, by the local clock, neither end gives that key anything."""
        carol, clock = world.at("carol"), world.replicas.clock
        carol.control(Grant(world.replicas.keys["eve"], parse_level("write"), until=clock.ms + 60_000))
        assert self.round(world, "eve", "carol").done
        clock.ms += 60_000
        with pytest.raises(SyncRefused):
            self.round(world, "eve", "carol")
        with pytest.raises(SyncRefused):
            self.round(world, "wim", "eve")

    def test_hello_replayed_opens_nothing(self, world: World) -> None:
        """Trace 14: a proof recorded from one round is worthless in the next, whose nonce is another."""
        self.round(world, "wim", "carol")
        with self.wire(world.make("carol")) as wire:
            with wire.connect() as channel:
                asked = world.client("wim", channel.binding)
                question = asked.receive(channel.exchange(asked.start()[0])[0])[0]
                recorded = messages.decode(question)
            with wire.connect() as channel:
                (answer,) = channel.exchange(messages.encode(Greet(b"n" * 16)))
                greeted = messages.decode(answer)
                assert isinstance(greeted, Greeted) and isinstance(recorded, Hello)
                again = Hello(greeted.round, recorded.bank, recorded.by, recorded.sig)
                assert messages.decode(channel.exchange(messages.encode(again))[0]) == Failure(
                    messages.REFUSED
                )

    def test_a_man_in_the_middle_is_refused(self, world: World) -> None:
        """Trace 14: a middleman who forwards every byte has another channel to each end, and hello covers it."""
        self.round(world, "wim", "carol")
        link = Link(
            world.make("carol"), binding=b"https://middle.example", binding_there=b"https://carol.example"
        )
        with pytest.raises(SyncRefused):
            world.sync("wim", "carol", link)

    def test_a_server_has_to_prove_its_key(self, world: World) -> None:
        """A server that names a member's key without holding it gets nothing."""
        self.round(world, "wim", "carol")
        world.at("wim").remember("coffee")
        client = world.client("wim")
        greeted = messages.encode(Greeted(b"s" * 16, b"r" * 16))
        client.start()
        client.receive(greeted)
        with pytest.raises(SyncRefused, match="did not prove"):
            client.receive(messages.encode(Welcome(world.replicas.keys["carol"], bytes(64))))

    # Hostile bytes

    def test_garbage_is_answered_and_ends_the_round(self, world: World) -> None:
        """Whatever the bytes are, one answer comes, and the server is there for the next client."""
        bad = [b"", b"\xff", b"\xa0", messages.encode(Greet(b"n" * 16))[:-1], b"\x9f" * 1000]
        with self.wire(world.make("carol")) as wire:
            for question in bad:
                with wire.connect() as channel:
                    (answer,) = channel.exchange(question)
                    assert messages.decode(answer) == Failure(messages.BAD)
            with wire.connect() as channel:
                assert syncing.run(world.client("wim", channel.binding), channel.exchange).done

    def test_forged_entries_are_refused(self, world: World) -> None:
        """A server that flips bits gives nothing: signatures are checked before anything is kept."""
        world.at("carol").remember("tea")
        with self.wire(world.make("carol")) as wire, wire.connect() as channel:
            report = syncing.run(world.client("vera", channel.binding), _forged(channel.exchange))
        assert not report.done and report.round.refused and not report.round.received
        assert not list(world.at("vera").bank.store.entries())

    def test_a_second_founding_entry_is_refused(self, world: World) -> None:
        """Another bank's founding entry, offered as this one's, never gets in."""
        other = World(Path(str(world.replicas._folder) + "-other"), seed=9)
        (founding, *_) = other.at("carol").parcels()
        other.close()
        self.round(world, "wim", "carol")
        stored = world.holder("wim").take([founding], frozenset())
        assert (stored.new, stored.refused) == (0, 1)

    def test_entries_of_a_cut_key_do_not_come_back(self, world: World) -> None:
        """Trace 7: what a cut key signs outside of its cut is neither offered, asked for nor taken in."""
        self.round(world, "wim", "carol")
        world.at("wim").remember("before")
        self.round(world, "wim", "carol")
        self.round(world, "rolf", "carol")
        world.at("wim").remember("after the theft")
        self.round(world, "wim", "rolf")  # the relay does not know yet
        world.at("carol").revoke("wim")
        assert self.round(world, "rolf", "carol").done
        assert texts(world.at("carol")) == ["before"]
        assert self.round(world, "vera", "rolf").done
        assert texts(world.at("vera")) == ["before"]
        assert same(world.at("vera"), world.at("carol"))

    def test_a_flood_of_void_entries_is_not_kept(self, world: World) -> None:
        """Trace 7: a cut key that floods a peer costs it no row."""
        self.round(world, "wim", "carol")
        world.at("carol").revoke("wim")
        for number in range(300):
            world.at("wim").remember(f"flood {number}")
        before = sum(1 for _ in world.at("carol").bank.store.entries())
        stored = world.holder("carol").take(world.at("wim").parcels(), frozenset())
        assert (stored.new, stored.void) == (0, 300)
        assert sum(1 for _ in world.at("carol").bank.store.entries()) == before

    def test_a_flood_of_waiting_entries_is_bounded(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A member that pins an unknown past brings a round's worth of waiting entries at most."""
        monkeypatch.setattr("muniment.intake.LIMITS", _Fewer(20))
        self.round(world, "wim", "carol")
        world.at("carol").grant("eve", "write")
        self.round(world, "eve", "carol")
        for number in range(50):
            world.at("eve").remember(f"flood {number}")
        data = [parcel for parcel in world.at("eve").parcels() if parcel[1]]
        stored = world.holder("wim").take(data, frozenset())
        assert (stored.new, stored.refused) == (20, 30)

    def test_withheld_control_shows(self, world: World) -> None:
        """Trace 15: a relay that gives data and keeps its control past back leaves the sync undone."""
        carol = world.at("carol")
        self.round(world, "vera", "carol")
        carol.grant("eve", "write")
        self.round(world, "eve", "carol")
        world.at("eve").remember("tea")
        data = [parcel for parcel in world.at("eve").parcels() if parcel[1]]
        holder = world.holder("vera")
        holder.take(data, frozenset())
        rows = world.at("vera").bank.store.entries(verdict=Verdict.WAITING)
        assert len(list(rows)) == 1
        later = carol.control(Grant(world.replicas.keys["rea"], parse_level("write")))
        withheld = [parcel for parcel in carol.parcels() if later in _ids([parcel])]
        holder.take(withheld, frozenset())
        assert holder.missing() and world.at("vera").bank.authority.incomplete
        assert self.round(world, "vera", "carol").done
        assert not holder.missing() and texts(world.at("vera")) == ["tea"]

    def test_entries_reach_the_same_verdict_in_any_order(self, world: World) -> None:
        """Trace 7: data before its grant, a grant before its past: after a sync everybody says the same."""
        carol = world.at("carol")
        for name in ("wim", "vera"):
            self.round(world, name, "carol")
        carol.grant("eve", "write")
        self.round(world, "eve", "carol")
        world.at("eve").remember("tea")
        world.holder("wim").take(list(reversed(world.at("eve").parcels())), frozenset())
        assert self.round(world, "vera", "eve").done
        assert self.round(world, "wim", "vera").done
        assert world.at("wim").shown()["verdicts"] == world.at("vera").shown()["verdicts"]

    def test_an_older_tip_is_told(self, world: World) -> None:
        """A peer whose own newest entry is older than what others hold of it was rolled back."""
        self.round(world, "wim", "carol")
        world.at("wim").remember("one")
        old = world.at("wim").parcels()
        world.at("wim").remember("two")
        self.round(world, "wim", "carol")
        restored = world.replicas.fresh("wim", MemoryStore(world.replicas.bank))
        restored.take(old)
        report = self.round(world, "carol", "wim")
        assert report.rolled_back == (world.replicas.keys["wim"],)
        assert self.round(world, "wim", "carol").done and texts(world.at("wim")) == ["one", "two"]

    def test_oversized_frames_are_refused_before_they_are_parsed(self, world: World) -> None:
        """A message over the cap is turned down by its length alone."""
        with self.wire(world.make("carol")) as wire, wire.connect() as channel:
            try:
                (answer,) = channel.exchange(bytes(LIMITS.sync_message_bytes + 1))
            except (SyncError, OSError, Broken):
                return
            assert messages.decode(answer) == Failure(messages.BAD)


def _until_done(client: ClientRound, exchange: Callable[[bytes], list[bytes]]) -> None:
    """Talk until the client would say its last word, and keep the round open."""
    asked = client.start()
    while not client.done:
        (answer,) = exchange(asked[0])
        asked = client.receive(answer)


def _cut_after(
    exchange: Callable[[bytes], list[bytes]], messages_left: int
) -> Callable[[bytes], list[bytes]]:
    def carry(question: bytes) -> list[bytes]:
        nonlocal messages_left
        messages_left -= 1
        if messages_left < 0:
            raise Broken("cut")
        return exchange(question)

    return carry


def _knock(world: World, channel: Channel, bank: BankId, name: str, *, spoil: bool) -> list[bytes]:
    """Say hello as a name, about a bank."""
    (answer,) = channel.exchange(messages.encode(Greet(b"n" * 16)))
    greeted = messages.decode(answer)
    assert isinstance(greeted, Greeted)
    key = world.replicas.keys[name]
    message = hello.proof(hello.CLIENT, bank, key, b"", (b"n" * 16, greeted.nonce), channel.binding)
    sig = world.replicas.host.keyring.sign(key, codec.HELLO, message)
    sig = bytes(64) if spoil else sig
    return channel.exchange(messages.encode(Hello(greeted.round, bank, key, sig)))


def _forged(exchange: Callable[[bytes], list[bytes]]) -> Callable[[bytes], list[bytes]]:
    """Flip a bit in the last byte of each envelope that passes: in its signature."""

    def carry(question: bytes) -> list[bytes]:
        out = []
        for answer in exchange(question):
            said = messages.decode(answer)
            if isinstance(said, Entries):
                spoilt = tuple((env[:-1] + bytes([env[-1] ^ 1]), bodies) for env, bodies in said.parcels)
                answer = messages.encode(Entries(spoilt, said.round, said.left, said.more))
            out.append(answer)
        return out

    return carry


class _Fewer:
    """`Limits` with fewer waiting entries."""

    def __init__(self, waiting: int) -> None:
        self.sync_waiting = waiting

    def __getattr__(self, name: str) -> object:
        return getattr(LIMITS, name)


def _ids(parcels: list[tuple[bytes, list[bytes | None]]]) -> list[EntryId]:
    from muniment.base.ids import cid_of

    return [cid_of(envelope) for envelope, _ in parcels]
