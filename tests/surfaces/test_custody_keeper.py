"""Custody that goes on by itself, under a clock that goes as told."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import muniment
from muniment.archive.options import DAY_MS
from muniment.base.errors import InvalidInput
from muniment.base.ids import BlobName, parse_blob
from muniment.custody import Custody
from muniment.custody_desk import CustodyDesk
from muniment.custody_keeper import SOONER, SPREAD, Keeper, Kept, next_at, next_due
from muniment.custody_links import alarms
from muniment.erasing import settle_erasures
from muniment.remembering import Draft
from muniment.store.base import Filter, State
from muniment.store.custody import Given
from muniment.testing.clock import START_MS, FixedClock
from muniment.upkeep import PIECE, Upkeep

from .serving import send, served
from .test_custody import holder

WEEK = 7 * DAY_MS
Settings = Callable[[str], None]


@pytest.fixture
def clock() -> FixedClock:
    """Shared by all installations of a test."""
    return FixedClock()


@pytest.fixture
def owner(tmp_path: Path, clock: FixedClock) -> Iterator[muniment.Peer]:
    """A peer with one pack."""
    with muniment.open(tmp_path / "owner", clock=clock) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember("the harbour sleeps " * 100, key="report")
        agent.archive("report")
        yield peer


def row(tried: int | None = None, alarm: str | None = None, holder: bytes = bytes(32)) -> Given:
    """A receipt."""
    since, until = START_MS, START_MS + 90 * DAY_MS
    return Given(BlobName(bytes(32)), holder, "/x", b"", until, since, tried, tried, alarm)


def archived(agent: muniment.Agent) -> int:
    """How many of its memories lie in the archive."""
    return len(agent._bank.store.select(Filter(states=frozenset({State.LIVE}), archived=True)))


def done(keeper: Keeper) -> list[Kept]:
    """All that is due."""
    return list(iter(keeper.step, None))


def test_the_wait_is_the_interval_less_up_to_a_tenth() -> None:
    """It can't be foretold without the salt, and is the same each time with it."""
    moments = [next_at(row(), WEEK, bytes([salt])) - START_MS for salt in range(200)]
    assert all(WEEK - WEEK // SPREAD < wait <= WEEK for wait in moments)
    assert len(set(moments)) == 200
    assert next_at(row(), WEEK, b"x") == next_at(row(), WEEK, b"x")


def test_a_holder_that_failed_is_asked_sooner() -> None:
    """After an eighth of the interval at most."""
    at = START_MS + DAY_MS
    assert next_at(row(at, "gone"), WEEK, b"") <= at + WEEK // SOONER
    assert next_at(row(at), WEEK, b"") > at + WEEK // SOONER


def test_who_waited_longest_comes_first() -> None:
    """And nobody comes before its time."""
    old, new = row(START_MS, holder=b"o" * 32), row(START_MS + 2 * DAY_MS, holder=b"n" * 32)
    assert next_due([new, old], WEEK, b"", START_MS + 2 * WEEK) == old
    assert next_due([new, old], WEEK, b"", START_MS + DAY_MS) is None
    assert next_due([], WEEK, b"", START_MS) is None


def test_each_holder_proves_once_an_interval(owner: muniment.Peer, tmp_path: Path, clock: FixedClock) -> None:
    """In eight weeks of one look a day, seven to nine challenges, all in the log."""
    Custody(owner).offer(str(holder(tmp_path / "holder", owner)), days=365)
    keeper = Keeper(owner)
    steps: list[Kept] = []
    for _ in range(56):
        clock.advance(DAY_MS)
        steps += done(keeper)
    assert 7 <= len(steps) <= 9
    assert all(step.outcome is not None and step.outcome.proven for step in steps)
    assert [line[3] for line in Custody(owner).status().log].count("proven") == len(steps)
    assert Custody(owner).status().blobs[0].days in range(8)


def test_a_failed_proof_is_an_alarm_and_the_pack_goes_elsewhere(
    owner: muniment.Peer, tmp_path: Path, clock: FixedClock
) -> None:
    """The other holder is known by another pack; the alarm ends when the first has the pack again."""
    first, second = (holder(tmp_path / name, owner) for name in ("one", "two"))
    (lost,) = Custody(owner).offer(str(first))
    agent = owner.agent("ava")
    agent.remember("other words " * 200, key="other")
    agent.archive("other")
    other = next(blob.blob for blob in Custody(owner).status().blobs if blob.blob != lost.blob)
    Custody(owner).offer(str(second), other)
    shutil.rmtree(first / "blobs")
    clock.advance(WEEK)
    failed = [step for step in done(Keeper(owner)) if step.outcome is not None and not step.outcome.proven]
    assert [step.given for step in failed] == [(str(second),)]
    assert owner.archive.receipts(parse_blob(lost.blob)) == 1
    assert alarms(owner) == 1
    Custody(owner).offer(str(first), lost.blob)
    assert alarms(owner) == 0


def test_a_term_is_made_longer_before_it_ends(
    owner: muniment.Peer, tmp_path: Path, clock: FixedClock
) -> None:
    """In two years of receipts for 40 days, the pack is never without one."""
    Custody(owner).offer(str(holder(tmp_path / "holder", owner)), days=40)
    name, keeper = owner.made_store().custody.given()[0].blob, Keeper(owner)
    renewed = 0
    for _ in range(146):
        clock.advance(5 * DAY_MS)
        renewed += sum(step.renewed is not None for step in done(keeper))
        assert owner.archive.receipts(name) == 1
    assert 730 // 40 <= renewed <= 730 // 25


def test_a_term_that_is_refused_is_asked_for_again_later(
    owner: muniment.Peer, tmp_path: Path, clock: FixedClock
) -> None:
    """Not at each look; and it is an alarm from its end on."""
    home = holder(tmp_path / "holder", owner)
    Custody(owner).offer(str(home), days=8)
    holder(home, owner, space="0")
    keeper = Keeper(owner)
    asked: list[bytes] = []
    real = CustodyDesk._keep

    def keep(desk: CustodyDesk, key: bytes, **said: int) -> bytes:
        asked.append(key)
        return real(desk, key, **said)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CustodyDesk, "_keep", keep)
        clock.advance(WEEK)
        for _ in range(3):
            done(keeper)
        assert len(asked) == 1
        clock.advance(2 * DAY_MS)
        done(keeper)
    assert len(asked) == 2
    assert alarms(owner) == 1


def test_no_challenges_where_the_settings_want_none(tmp_path: Path, clock: FixedClock) -> None:
    """`challenge: null` leaves it to the command; less than an hour is refused."""
    home = tmp_path / "quiet"
    home.mkdir()
    (home / "config.yaml").write_text("archive:\n  challenge: null\n")
    with muniment.open(home, clock=clock) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember("words " * 400, key="x")
        agent.archive("x")
        Custody(peer).offer(str(holder(tmp_path / "holder", peer)))
        clock.advance(80 * DAY_MS)
        assert done(Keeper(peer)) == []
    (home / "config.yaml").write_text("archive:\n  challenge: 5m\n")
    with pytest.raises(InvalidInput, match="holders would do nothing else"):
        muniment.open(home)


def test_an_owner_accepted_while_it_serves_counts_at_the_next_request(
    owner: muniment.Peer, tmp_path: Path
) -> None:
    """Also by a home that was empty when its server began."""
    with muniment.open(owner.home) as now, served(tmp_path / "holder") as url:
        with pytest.raises(muniment.MunimentError, match="keeps nothing for that key"):
            Custody(now).offer(url)
        holder(tmp_path / "holder", now)
        assert len(Custody(now).offer(url)) == 1
        assert Custody(now).challenge().well


def test_a_server_tells_of_alarms(owner: muniment.Peer, tmp_path: Path, clock: FixedClock) -> None:
    """`/healthz` and `/metrics` count receipts that do not count; nothing is said where all is well."""
    home = holder(tmp_path / "holder", owner)
    Custody(owner).offer(str(home))
    shutil.rmtree(home)
    assert not Custody(owner).challenge().well
    with served(owner.home) as url:
        assert b'"custody_alarms":1' in send(url, method="GET", path="/healthz")[2]
        assert b"muniment_custody_alarms 1" in send(url, method="GET", path="/metrics")[2]
    with served(tmp_path / "other") as url:
        assert send(url, method="GET", path="/healthz")[2] == b'{"ok":true}'


def test_what_others_erased_goes_when_its_time_is_over(tmp_path: Path, clock: FixedClock) -> None:
    """By upkeep alone, without anybody opening the memory; not before."""
    with muniment.open(tmp_path / "home", clock=clock) as peer:
        ava, ben = (peer.agent(name, create=True) for name in ("ava", "ben"))
        peer.banks.new("team")
        for name, level in (("ava", "admin"), ("ben", "write")):
            peer.banks.grant("team", name, level)
        ben.bank("team").remember("a secret of the harbour", key="k")
        assert ava.bank("team").erase("k").waiting == 1
        shared = ava.bank("team")._bank
        upkeep = Upkeep(peer)
        while upkeep.step():
            pass
        clock.advance(6 * DAY_MS)
        while upkeep.step():
            pass
        waiting = settle_erasures(shared, sign=False)
        assert (waiting.destroyed, waiting.waiting) == (0, 1)
        clock.advance(2 * DAY_MS)
        while upkeep.step():
            pass
        gone = settle_erasures(shared, sign=False)
        assert (gone.destroyed, gone.waiting) == (0, 0)


def test_the_archive_rules_run_in_small_pieces(tmp_path: Path, clock: FixedClock) -> None:
    """Each step archives at most a piece, and after the round all that is due is in."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("archive:\n  older_than: 30d\n  larger_than: 100\n")
    with muniment.open(home, clock=clock) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember_many([Draft(f"text {number} " + "words " * 30) for number in range(PIECE + 20)])
        upkeep = Upkeep(peer)
        while upkeep.step():
            pass
        assert archived(agent) == 0
        clock.advance(31 * DAY_MS)
        counts = []
        more = True
        while more:
            more = upkeep.step()
            counts.append(archived(agent))
        assert counts[0] == PIECE
        assert counts[-1] == PIECE + 20
        assert agent.check() == []


def test_a_server_stops_while_its_upkeep_rests(owner: muniment.Peer) -> None:
    """Stopping twice is harmless, and no thread is left."""
    upkeep = Upkeep(owner)
    upkeep.start()
    upkeep.stop()
    upkeep.stop()
    assert upkeep._thread is not None
    assert not upkeep._thread.is_alive()
