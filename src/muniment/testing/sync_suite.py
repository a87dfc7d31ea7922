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

from collections.abc import Callable

from muniment import syncing
from muniment.testing.link import Broken
from muniment.testing.sync_attacks import AttackSuite, same, texts
from muniment.testing.sync_world import World


class SyncSuite(AttackSuite):
    """Every test begins with carol's bank, which the others do not have yet."""

    # Rounds

    def test_an_empty_replica_gets_everything(self, world: World) -> None:
        """A member without a copy holds the same afterwards, also what was superseded and forgotten."""
        carol = world.at("carol")
        for number in range(30):
            carol.remember(f"tea {number}", key=f"k{number % 7}")
        carol.forget(carol.remember("gone").version)
        report = self.round(world, "vera", "carol")
        assert report.done
        assert report.round.received == sum(1 for _ in carol.bank.store.entries())
        assert same(world.at("vera"), carol)

    def test_where_nothing_differs_one_question_is_enough(self, world: World) -> None:
        """After hello there is one question about the sets, and the last word."""
        world.at("carol").remember("tea")
        self.round(world, "wim", "carol")
        report = self.round(world, "wim", "carol")
        assert report.done
        assert report.round.questions == 4
        assert (report.round.received, report.round.sent) == (0, 0)

    def test_both_ends_get_what_they_lack_in_one_round(self, world: World) -> None:
        """Pull and push in the same round: differing replicas are equal afterwards."""
        self.round(world, "wim", "carol")
        for number in range(40):
            world.at("carol").remember(f"tea {number}")
            world.at("wim").remember(f"coffee {number}")
        report = self.round(world, "wim", "carol")
        assert report.done
        assert (report.round.received, report.round.sent) == (40, 40)
        assert same(world.at("wim"), world.at("carol"))
        assert len(texts(world.at("carol"))) == 80

    def test_a_round_that_only_takes_gives_nothing(self, world: World) -> None:
        """Without push the server stays as it was, and the round is not called done."""
        self.round(world, "wim", "carol")
        world.at("wim").remember("coffee")
        world.at("carol").remember("tea")
        report = self.round(world, "wim", "carol", push=False)
        assert not report.done
        assert texts(world.at("carol")) == ["tea"]
        assert texts(world.at("wim")) == ["coffee", "tea"]

    def test_a_relay_carries_between_two_writers(self, world: World) -> None:
        """Two writers that meet only through a relay read everything."""
        world.at("carol").remember("tea")
        for name in ("wim", "vera"):
            self.round(world, name, "carol")
        world.at("wim").remember("coffee")
        assert self.round(world, "rolf", "carol").done
        assert self.round(world, "wim", "rolf").done
        assert self.round(world, "vera", "rolf").done
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
        assert cuts
        assert report.done
        assert report.round.received < 70
        assert same(world.at("vera"), carol)

    def test_missing_bodies_are_asked_for(self, world: World) -> None:
        """An entry that came without its body keeps the sync from being done until somebody gives it."""
        carol = world.at("carol")
        carol.remember("tea")
        parcels = carol.parcels()
        world.at("vera").take([(envelope, [None] * len(bodies)) for envelope, bodies in parcels])
        rea = world.at("rea")
        rea.take([(envelope, [None] * len(bodies)) for envelope, bodies in parcels])
        without = self.round(world, "rea", "vera")
        assert not without.done
        assert without.round.absent == 1
        assert self.round(world, "rea", "carol").done
        assert texts(rea) == ["tea"]
        given = self.round(world, "rea", "vera")
        assert given.done
        assert given.round.bodies_sent == 1
        assert texts(world.at("vera")) == ["tea"]

    def test_a_past_that_is_void_by_now_goes_along(self, world: World) -> None:
        """What counts may name control entries that do not: they are given by id, taken or pushed."""
        carol = world.at("carol")
        for name in ("vera", "wim"):
            self.round(world, name, "carol")
        world.at("vera").grant("eve", "write")
        self.round(world, "vera", "carol")
        self.round(world, "wim", "carol")
        world.at("wim").remember("tea")  # knows of vera's grant
        self.round(world, "wim", "carol")
        carol.revoke("vera", ())
        carol.grant("wim", "write")  # its past has what became void
        assert self.round(world, "rea", "carol").done
        assert texts(world.at("rea")) == ["tea"]
        assert self.round(world, "rea", "carol").round.questions == 4
        self._push_to_rolf(world)

    def _push_to_rolf(self, world: World) -> None:
        """Rolf has nothing but the founding entry and the grants of the first hour, and is given the rest."""
        first = world.at("carol").parcels()[: 2 + 3 * 2]
        world.at("rolf").take(first)
        report = self.round(world, "carol", "rolf")
        assert report.done
        assert report.round.sent
        assert self.round(world, "rea", "rolf").round.questions == 4

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
        assert self.round(world, "wim", "carol").done
        assert texts(world.at("wim")) == ["tea"]
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
        client, server = world.client("wim", follow=True), world.server("carol")
        assert syncing.run(client, server.receive).done
        assert client.following
        world.at("carol").remember("tea")
        for message in server.news():
            assert client.receive(message) == []
        assert texts(world.at("wim")) == ["tea"]
        assert server.news() == []


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
