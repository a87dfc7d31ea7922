"""The head witness: what it tells, and that ordinary lag is not told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from muniment import syncing
from muniment.heads import MemoryBook, forked, is_older, rolled_back
from muniment.keyring.journal import Journal
from muniment.platform.folders import PeerFolder
from muniment.store.memory import MemoryStore
from muniment.testing.sync_world import World
from muniment.writing import Writer


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Carol's bank, held by wim and vera too."""
    made = World(tmp_path)
    for name in ("wim", "vera"):
        made.sync(name, "carol")
    yield made
    made.close()


def test_a_member_that_lags_is_not_rolled_back(world: World) -> None:
    """Vera has not seen wim's newest yet: she never showed it, so nothing is told."""
    world.at("wim").remember("one")
    assert world.sync("vera", "wim").rolled_back == ()
    world.at("wim").remember("two")
    world.sync("carol", "wim")
    assert world.sync("carol", "vera").rolled_back == ()


def test_a_peer_that_shows_less_than_before_is_told(world: World) -> None:
    """Of any author: what it showed once it has no more."""
    wim, carol = world.at("wim"), world.at("carol")
    wim.remember("one")
    old = wim.bank.store.tips(wim.key)
    wim.remember("two")
    new = wim.bank.store.tips(wim.key)
    world.sync("carol", "wim")
    book, rolf = MemoryBook(), world.replicas.keys["rolf"]
    store = carol.bank.store
    assert rolled_back(store, book, rolf, [(wim.key, old)]) == ()
    assert rolled_back(store, book, rolf, [(wim.key, new)]) == ()
    assert rolled_back(store, book, rolf, [(wim.key, old)]) == (wim.key,)
    assert rolled_back(store, book, rolf, [(wim.key, old)]) == (wim.key,)
    assert is_older(store, old, new)
    assert not is_older(store, new, old)
    assert not is_older(store, (), new)


def test_a_key_that_goes_two_ways_is_told(world: World, tmp_path: Path) -> None:
    """A restored copy that signed from an old tip: both branches stay, and every replica sees two ends."""
    wim, carol = world.at("wim"), world.at("carol")
    wim.remember("one")
    world.sync("wim", "carol")
    parcels = wim.parcels()
    wim.remember("this way")
    world.sync("wim", "carol")
    assert forked(carol.bank.store, [wim.key]) == ()
    # A copy with a journal of its own says `mine` to an older tip, and signs on from there.
    host = replace(world.replicas.host, journal=Journal(PeerFolder(tmp_path / "copy").make()))
    copy = world.replicas.fresh("copy", MemoryStore(world.replicas.bank), host)
    copy.take(parcels)
    Writer(copy.bank, wim.key).claim()
    carol.take(copy.parcels())
    host.journal.close()
    assert forked(carol.bank.store, [wim.key]) == (wim.key,)
    report = world.sync("vera", "carol")
    assert report.done
    assert report.forked == (wim.key,)


def test_the_server_tells_its_side(world: World) -> None:
    """What came, what was given, who asked, and whether all is done."""
    world.at("carol").remember("tea")
    world.at("wim").remember("coffee")
    server = world.server("carol")
    assert syncing.report_of(server).round.other == b""
    assert syncing.run(world.client("wim"), server.receive).done
    told = syncing.report_of(server)
    assert (told.round.received, told.round.sent, told.round.other) == (1, 1, world.replicas.keys["wim"])
    assert told.done
    assert server.done
    assert server.closed
    assert server.bank == world.replicas.bank
