"""Attacks on a sync, as tests: who may have what, hostile bytes, floods, and what must show; part of `SyncSuite`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

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
from muniment.syncing import SyncReport
from muniment.testing.link import Broken, Channel, Link, Make
from muniment.testing.replicas import Replica
from muniment.testing.sync_world import World
from muniment.testing.tools import MonkeyPatch, fixture, raises


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


class AttackSuite:
    """The traces of the protocol's review that concern a sync, and hostile peers; `SyncSuite` has the rest."""

    @contextmanager
    def wire(self, make: Make) -> Iterator[Wire]:
        """Serve `make` for as long as the block runs."""
        yield MemoryWire(make)

    @fixture
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
            with raises(SyncRefused):
                client.receive(channel.exchange(asked[0])[0])

    def test_an_expired_key_is_not_served_and_serves_not(self, world: World) -> None:
        """From the expiry on, by the local clock, neither end gives that key anything."""
        carol, clock = world.at("carol"), world.replicas.clock
        carol.control(Grant(world.replicas.keys["eve"], parse_level("write"), until=clock.ms + 60_000))
        assert self.round(world, "eve", "carol").done
        clock.ms += 60_000
        with raises(SyncRefused):
            self.round(world, "eve", "carol")
        with raises(SyncRefused):
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
                assert isinstance(greeted, Greeted)
                assert isinstance(recorded, Hello)
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
        with raises(SyncRefused):
            world.sync("wim", "carol", link)

    def test_a_server_has_to_prove_its_key(self, world: World) -> None:
        """A server that names a member's key without holding it gets nothing."""
        self.round(world, "wim", "carol")
        world.at("wim").remember("coffee")
        client = world.client("wim")
        greeted = messages.encode(Greeted(b"s" * 16, b"r" * 16))
        client.start()
        client.receive(greeted)
        with raises(SyncRefused, match="did not prove"):
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
        assert not report.done
        assert report.round.refused
        assert not report.round.received
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

    def test_what_a_cut_accepts_comes_whole(self, world: World, monkeypatch: MonkeyPatch) -> None:
        """A new replica takes the accepted past of a cut key, the newest first, so that none of it has to wait."""
        self.round(world, "wim", "carol")
        for number in range(60):
            world.at("wim").remember(f"tea {number}")
        self.round(world, "wim", "carol")
        world.at("carol").revoke("wim")
        monkeypatch.setattr("muniment.intake.LIMITS", _Fewer(0))
        assert self.round(world, "vera", "carol").done
        assert len(texts(world.at("vera"))) == 60

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

    def test_a_flood_of_waiting_entries_is_bounded(self, world: World, monkeypatch: MonkeyPatch) -> None:
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
        assert holder.missing()
        assert world.at("vera").bank.authority.incomplete
        assert self.round(world, "vera", "carol").done
        assert not holder.missing()
        assert texts(world.at("vera")) == ["tea"]

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
        assert self.round(world, "wim", "carol").done
        assert texts(world.at("wim")) == ["one", "two"]

    def test_oversized_frames_are_refused_before_they_are_parsed(self, world: World) -> None:
        """A message over the cap is turned down by its length alone."""
        with self.wire(world.make("carol")) as wire, wire.connect() as channel:
            try:
                (answer,) = channel.exchange(bytes(LIMITS.sync_message_bytes + 1))
            except (SyncError, OSError, Broken):
                return
            assert messages.decode(answer) == Failure(messages.BAD)


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
        return [messages.encode(_spoilt(messages.decode(answer))) for answer in exchange(question)]

    return carry


def _spoilt(said: messages.Message) -> messages.Message:
    if not isinstance(said, Entries):
        return said
    return replace(
        said, parcels=tuple((env[:-1] + bytes([env[-1] ^ 1]), bodies) for env, bodies in said.parcels)
    )


class _Fewer:
    """`Limits` with fewer waiting entries."""

    def __init__(self, waiting: int) -> None:
        self.sync_waiting = waiting

    def __getattr__(self, name: str) -> object:
        return getattr(LIMITS, name)


def _ids(parcels: list[tuple[bytes, list[bytes | None]]]) -> list[EntryId]:
    from muniment.base.ids import cid_of

    return [cid_of(envelope) for envelope, _ in parcels]
