"""Small packs are put together, dead payloads left out, and what others have signed for stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import muniment
from muniment.base.ids import parse_blob
from muniment.testing.clock import FixedClock

DAY = 24 * 3600 * 1000
SAID = [f"text number {number}: " + "the harbour of Bergen sleeps " * 50 for number in range(6)]


@pytest.fixture
def clock() -> FixedClock:
    """A clock that stands still."""
    return FixedClock(1_760_000_000_000)


@pytest.fixture
def peer(tmp_path: Path, clock: FixedClock) -> Iterator[muniment.Peer]:
    """A peer with six texts in six packs."""
    with muniment.open(tmp_path / "home", clock=clock) as opened:
        agent = opened.agent("ava", create=True)
        for number, text in enumerate(SAID):
            agent.remember(text, key=f"k{number}")
            agent.archive(f"k{number}")
        yield opened


def whole(peer: muniment.Peer) -> bool:
    """Whether every text can be read, and nothing is found wrong."""
    agent = peer.agent("ava")
    return [agent.get(f"k{n}").text for n in range(len(SAID))] == SAID and agent.check() == []


def test_small_packs_become_one(peer: muniment.Peer) -> None:
    """Every text is read as before, and a second run has nothing to do."""
    would = peer.blobs.collect(dry_run=True)
    assert (would.merged, would.merged_into, len(peer.blobs.list())) == (6, 1, 6)
    done = peer.blobs.collect()
    assert (done.merged, done.merged_into) == (6, 1)
    assert [pack.payloads for pack in peer.blobs.list()] == [6]
    assert whole(peer)
    assert peer.blobs.collect().merged == 0


def test_a_pack_is_not_written_again_for_each_small_one(peer: muniment.Peer) -> None:
    """One more small one waits for others; so does not every run copy everything."""
    peer.blobs.collect()
    agent = peer.agent("ava")
    agent.remember("one more " + SAID[0], key="more")
    agent.archive("more")
    assert peer.blobs.collect().merged == 0
    assert sorted(pack.payloads for pack in peer.blobs.list()) == [1, 6]


def test_what_was_erased_is_left_out_after_its_grace(peer: muniment.Peer, clock: FixedClock) -> None:
    """Before it the pack rests as it is."""
    peer.blobs.collect()
    agent = peer.agent("ava")
    for number in range(4):
        agent.erase(f"k{number}")
    assert peer.blobs.collect().merged == 0
    clock.ms += 8 * DAY
    done = peer.blobs.collect()
    assert (done.merged, done.merged_into) == (1, 1)
    assert done.merged_bytes > 0
    assert [pack.payloads for pack in peer.blobs.list()] == [2]
    assert [agent.get(f"k{number}").text for number in (4, 5)] == SAID[4:]
    assert agent.check() == []


def test_packs_that_others_signed_for_stay(peer: muniment.Peer) -> None:
    """And those that are kept for others: their names stand in receipts."""
    names = [parse_blob(pack.name) for pack in peer.blobs.list()]
    peer.archive.lent = lambda: frozenset(names[:1])
    peer.archive.held = lambda name: name == names[1]
    assert peer.blobs.collect().merged == 4
    left = {parse_blob(pack.name) for pack in peer.blobs.list()}
    assert set(names[:2]) < left
    assert len(left) == 3
    assert whole(peer)


def test_a_pack_that_others_keep_is_known_by_its_receipt(peer: muniment.Peer, clock: FixedClock) -> None:
    """Until its date."""
    from muniment.store.custody import Given

    name = parse_blob(peer.blobs.list()[0].name)
    store = peer.standing_store()
    assert store is not None
    now = clock.now_ms()
    store.custody.give(Given(name, bytes(32), "http://x", b"receipt", now + DAY, now, None, None, None), [])
    assert peer.archive.lent() == {name}
    assert peer.blobs.collect().merged == 5
    clock.ms += 2 * DAY
    assert peer.archive.lent() == frozenset()


def test_a_damaged_pack_is_left_as_it_is(peer: muniment.Peer, tmp_path: Path) -> None:
    """It is named by `check`; the others are put together without it."""
    first = peer.blobs.list()[0].name
    (file,) = (tmp_path / "home" / "blobs").rglob(f"*{first}*")
    file.write_bytes(file.read_bytes()[:-900] + bytes(900))
    done = peer.blobs.collect()
    assert (done.merged, done.merged_into) == (5, 1)
    assert first in {pack.name for pack in peer.blobs.list()}
    assert any(first in problem.what for problem in peer.agent("ava").check())


def test_payloads_in_two_packs_are_kept_once(peer: muniment.Peer) -> None:
    """What a kill between writing and taking away leaves."""
    room = peer.archive.packs
    both = [slot for row in room.index.packs()[:2] for slot in room.index.slots(row.name)]
    room.store([(slot.pointer, room.payload(slot.pointer)) for slot in both])
    assert len(peer.blobs.list()) == 7
    peer.blobs.collect()
    assert [pack.payloads for pack in peer.blobs.list()] == [6]
    assert whole(peer)


def test_a_reader_goes_on_in_the_pack_that_took_its_place(peer: muniment.Peer) -> None:
    """A place that was looked up before the packs were put together leads to nothing; the index is asked again."""
    room = peer.archive.packs
    slot = room.index.slots(room.index.packs()[0].name)[0]
    real, asked = room.index.places, []

    def places(pointer: bytes) -> list[object]:
        found = real(pointer)
        if not asked:
            asked.append(found)
            peer.blobs.collect()
        return list(found)

    room.index.places = places  # type: ignore[method-assign, assignment]
    assert room.payload(slot.pointer)
    assert len(peer.blobs.list()) == 1
