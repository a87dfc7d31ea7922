"""What was erased is gone on every replica, whoever was away, whatever came late, and whatever copy comes back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment import erasing
from muniment.base.clock import ms_of
from muniment.base.ids import VersionId
from muniment.check import check
from muniment.erasing import GRACE_MS, overdue, settle_erasures
from muniment.ledger.control import Erase, Revoke
from muniment.reading import Reader
from muniment.store.base import State
from muniment.testing.cluster import Cluster
from muniment.verify import verify
from muniment.writing import Writer

DAY = 86_400_000
WORD = "quetzalcoatlus"
NAMES = ("alfa", "bravo", "charlie", "delta", "echo")


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes go to the disk with the first row, not with the five hundredth."""
    monkeypatch.setattr("muniment.recall.follow.TAIL_ROWS", 1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Five peers that have met."""
    with Cluster(tmp_path / "cluster", seed=3) as made:
        made.settle()
        yield made


def reader(cluster: Cluster, name: str) -> Reader:
    """Reads there, with the key of that peer."""
    return Reader(cluster.at(name), cluster.peers[name].key, lambda _: None)


def erase(cluster: Cluster, by: str, ref: str) -> erasing.Erased:
    """Erase a record there, with the key of that peer."""
    return erasing.erase(cluster.at(by), cluster.peers[by].key, reader(cluster, by), ref)


def sealed(cluster: Cluster, name: str = "charlie") -> list[bytes]:
    """The sealed bodies of all versions there."""
    store = cluster.at(name).store
    rows = list(store.versions_after(0, 1 << 40))
    return [body for body in store.bodies([(row.seq, row.act) for row in rows]) if body is not None]


def indexed(cluster: Cluster, names: tuple[str, ...] = NAMES) -> None:
    """Let peers that can read bring their index to the disk."""
    for name in names:
        cluster.at(name).tidy(force=True)


def holders(cluster: Cluster, needles: list[bytes]) -> set[str]:
    """The peers in whose files any of these bytes stand."""
    found = set()
    for name, peer in cluster.peers.items():
        for path in peer.folder.rglob("*"):
            data = path.read_bytes() if path.is_file() and path.suffix != ".backup" else b""
            if any(needle in data for needle in needles):
                found.add(name)
    return found


def test_every_replica_loses_the_bytes(cluster: Cluster) -> None:
    """Plain words and sealed bodies stand in files before, and in none after an erase and a sync."""
    cluster.write("charlie", f"the {WORD} sleeps", key="k")
    cluster.write("charlie", f"the {WORD} wakes", key="k")
    cluster.settle()
    indexed(cluster, NAMES[:4])
    needles = sealed(cluster)
    assert len(needles) == 2
    assert holders(cluster, needles) == set(NAMES)
    assert holders(cluster, [WORD.encode()]) == set(NAMES[:4])  # a relay reads nothing
    receipt = erase(cluster, "charlie", "k")
    assert (len(receipt.versions), receipt.destroyed, receipt.waiting, receipt.swept) == (2, 2, 0, True)
    cluster.settle()
    assert holders(cluster, [*needles, WORD.encode()]) == set()
    cluster.check()
    for name in NAMES:
        assert check(cluster.at(name)) == [], name
        assert verify(cluster.at(name)).ok, name
        assert verify(cluster.at(name)).erased == 2


def test_who_was_away_erases_when_it_returns(cluster: Cluster) -> None:
    """A peer that syncs last has the bytes until then, and brings them back to nobody."""
    cluster.write("charlie", f"the {WORD} sleeps", key="k")
    cluster.settle()
    needles = sealed(cluster)
    erase(cluster, "alfa", "k")
    assert cluster.sync("charlie", "alfa")
    assert holders(cluster, needles) == {"bravo", "delta", "echo"}
    assert cluster.sync("delta", "alfa")
    assert holders(cluster, needles) == {"bravo", "echo"}
    cluster.settle()
    assert holders(cluster, needles) == set()
    cluster.check()


def test_an_old_copy_that_comes_back_brings_nothing_back(cluster: Cluster) -> None:
    """A file from before the erase loses the bytes with the next sync, and the others stay clean."""
    cluster.write("charlie", f"the {WORD} sleeps", key="k")
    cluster.settle()
    cluster.backup("delta")
    needles = sealed(cluster)
    erase(cluster, "charlie", "k")
    cluster.settle()
    cluster.restore("delta")
    assert holders(cluster, needles) == {"delta"}
    assert cluster.sync("bravo", "delta")
    assert cluster.sync("delta", "bravo")
    assert holders(cluster, needles) == set()
    cluster.settle()
    cluster.check()


def test_a_weaker_admin_hides_at_once_and_destroys_after_the_grace(cluster: Cluster) -> None:
    """Until then the bytes stay, and a founder who cuts that admin brings the memory back."""
    cluster.write("charlie", f"the {WORD} sleeps", key="k")
    for name in ("bravo", "alfa"):
        cluster.sync(name, "charlie")
    needles = sealed(cluster)
    receipt = erase(cluster, "bravo", "k")
    assert (receipt.destroyed, receipt.waiting, receipt.swept) == (0, 1, True)
    assert receipt.due_ms is not None
    (row,) = cluster.at("bravo").store.versions_after(0, 1 << 40)
    assert row.state is State.ERASED
    assert settle_erasures(cluster.at("bravo")).next_ms == receipt.due_ms
    assert "bravo" in holders(cluster, needles)
    cluster.clock.sleep(8 * 86_400_000)
    assert settle_erasures(cluster.at("bravo")).destroyed == 1
    assert settle_erasures(cluster.at("bravo")).destroyed == 0
    assert "bravo" not in holders(cluster, needles)


def test_an_erase_that_is_dated_back_leaves_the_whole_grace(cluster: Cluster) -> None:
    """Each peer counts from when it first knew of it, also after it was opened again."""
    cluster.write("charlie", f"the {WORD} sleeps", key="k")
    for name in ("bravo", "alfa"):
        cluster.sync(name, "charlie")
    needles = sealed(cluster)
    bravo, key = cluster.at("bravo"), cluster.peers["bravo"].key
    (row,) = bravo.store.versions_after(0, 1 << 40)
    cluster.clock.sleep(30 * DAY)
    with bravo.write() as authority:
        long_ago = bravo.host.clock.now_ms() - 20 * DAY
        Writer(bravo, key).commit_control(authority, [Erase((bravo.store.version_id(row),))], long_ago)
    cluster.sync("alfa", "bravo")
    alfa = cluster.at("alfa")
    (erasure,) = alfa.authority.erasures[bravo.store.version_id(row)]
    assert ms_of(erasure.at) == long_ago
    due = settle_erasures(alfa).next_ms
    assert due is not None
    assert 0 <= alfa.host.clock.now_ms() + GRACE_MS - due < DAY
    cluster.clock.sleep(6 * DAY)
    cluster.kill("alfa")
    alfa = cluster.at("alfa")
    settled = settle_erasures(alfa)
    assert (settled.destroyed, settled.next_ms, overdue(alfa)) == (0, due, 0)
    cluster.clock.sleep(2 * DAY)
    assert overdue(alfa) == 1
    assert settle_erasures(alfa).destroyed == 1
    assert "alfa" not in holders(cluster, needles)


def test_an_erase_that_turns_void_in_time_hides_no_more(cluster: Cluster) -> None:
    """A founder cuts the admin without its erase: everybody sees the memory again."""
    cluster.write("charlie", f"the {WORD} sleeps", key="k")
    for name in ("bravo", "alfa"):
        cluster.sync(name, "charlie")
    tips = cluster.at("alfa").store.tips(cluster.peers["bravo"].key)
    erase(cluster, "bravo", "k")
    alfa, key = cluster.at("alfa"), cluster.peers["alfa"].key
    cluster.sync("alfa", "bravo")
    assert [row.state for row in alfa.store.versions_after(0, 1 << 40)] == [State.ERASED]
    with alfa.write() as authority:
        Writer(alfa, key).commit_control(
            authority, [Revoke(cluster.peers["bravo"].key, tips)], alfa.host.clock.now_ms()
        )
    assert [row.state for row in alfa.store.versions_after(0, 1 << 40)] == [State.LIVE]
    assert reader(cluster, "alfa").get("k").text == f"the {WORD} sleeps"


def test_a_standing_order_takes_late_versions(cluster: Cluster) -> None:
    """A version that was written before and arrives later is erased too; one written afterwards stays."""
    cluster.write("charlie", f"the {WORD} sleeps", key="k")
    cluster.sync("alfa", "charlie")
    cluster.write("charlie", f"the {WORD} wakes", key="k")
    needles = sealed(cluster)
    cluster.clock.sleep(60_000)
    alfa = cluster.at("alfa")
    receipt = erasing.erase_key(alfa, cluster.peers["alfa"].key, "k")
    assert receipt.standing
    assert len(receipt.versions) == 1
    cluster.clock.sleep(60_000)
    cluster.sync("alfa", "charlie")
    settled = settle_erasures(alfa)
    assert (settled.named, settled.waiting) == (1, 0)
    cluster.settle()
    assert holders(cluster, needles) == set()
    cluster.write("charlie", "a new life", key="k")
    cluster.settle()
    assert settle_erasures(alfa).named == 0
    assert reader(cluster, "delta").get("k").text == "a new life"


def test_a_key_erases_nothing_of_a_stronger_one(cluster: Cluster) -> None:
    """An erase act that names a stronger key's words has no effect, here or elsewhere."""
    cluster.write("alfa", "the founder's words", key="k")
    cluster.settle()
    bank, key = cluster.at("bravo"), cluster.peers["bravo"].key
    (row,) = bank.store.versions_after(0, 1 << 40)
    named: VersionId = bank.store.version_id(row)
    with bank.write() as authority:
        Writer(bank, key).commit_control(authority, [Erase((named,))], bank.host.clock.now_ms())
    cluster.settle()
    for name in NAMES[:4]:
        settle_erasures(cluster.at(name))
        assert reader(cluster, name).get("k").text == "the founder's words"
