"""The one door for what comes from elsewhere: bytes that are wrong are refused, all else is stored and judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muniment import check
from muniment.base import codec
from muniment.base.clock import at_of
from muniment.base.errors import LimitExceeded, RefusedBody, RefusedEntry
from muniment.base.ids import VersionId, cid_text, parse_version
from muniment.base.limits import LIMITS, Limits
from muniment.identity.did import to_did
from muniment.ledger import entry as entries
from muniment.ledger.acts import FORGET, REMEMBER, Remember, to_bytes
from muniment.ledger.control import Grant
from muniment.ledger.entry import Header, reload
from muniment.ledger.levels import parse_level
from muniment.receiving import Receiver
from muniment.remembering import Draft, remember
from muniment.store.memory import MemoryStore
from muniment.store.sqlite import SqliteStore
from muniment.testing.replicas import Parcel, Replica, Replicas
from muniment.verify import verify


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[Replicas]:
    """Vera's bank, held by carol; wim writes in it. All three have a replica."""
    with Replicas(tmp_path, ["carol", "vera", "wim"]) as made:
        carol = made.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera")
        carol.grant("wim", "write")
        made.carry("carol", "vera")
        made.carry("carol", "wim")
        yield made
        for name in ("carol", "vera", "wim"):
            assert check.check(made.at(name).bank) == []


def texts(replica: Replica) -> list[str]:
    """The live texts of a replica."""
    return sorted(record["text"] for _, record in replica.shown()["records"] if record["state"] == "live")


def last(replica: Replica) -> Parcel:
    """The entry that was stored last."""
    return replica.parcels()[-1]


def made_by_hand(replica: Replica, plain: list[tuple[int, bytes]], name: str = "wim") -> Parcel:
    """An honestly signed and sealed entry whose acts are whatever bytes are given."""
    bank, key = replica.bank, replica._all.keys[name]
    authority = bank.authority
    epoch = authority.current_epoch(replica._all.clock.ms)
    assert epoch is not None
    secret = bank.epoch_keys(key).get(authority, epoch)
    assert secret is not None
    bodies = [
        entries.seal_body(secret, bytes(24), data, entries.associated(bank.id, epoch, key, kind, index))
        for index, (kind, data) in enumerate(plain)
    ]
    refs = tuple(entries.act_ref(kind, sealed) for (kind, _), sealed in zip(plain, bodies, strict=True))
    header = Header(
        bank.id, key, bank.store.tips(key), authority.heads, at_of(replica._all.clock.now_ms()), epoch, refs
    )
    signed = entries.header_bytes(header)
    return codec.encode([signed, bank.host.keyring.sign(key, codec.ENTRY, signed)]), list(bodies)


def good(text: str) -> tuple[int, bytes]:
    """A memory's kind and bytes."""
    return REMEMBER, to_bytes(Remember(bytes(16), text, 1))  # type: ignore[arg-type]


def test_what_comes_twice_is_there_once(replicas: Replicas) -> None:
    """The same entry again changes nothing."""
    replicas.at("wim").remember("tea")
    carol = replicas.at("carol")
    for _ in range(3):
        carol.take([last(replicas.at("wim"))])
    assert texts(carol) == ["tea"]
    assert carol.bank.store.figures().entries == len(carol.parcels()) == 5


def test_a_body_that_does_not_match_is_refused_and_nothing_kept(replicas: Replicas) -> None:
    """Another length, another byte, too few or too many bodies: the sender's fault, and the entry stays out."""
    replicas.at("wim").remember("tea")
    carol, (envelope, bodies) = replicas.at("carol"), last(replicas.at("wim"))
    (body,) = bodies
    assert body is not None
    count = carol.bank.store.figures().entries
    for wrong in (
        [body[:-1]],
        [body + b"x"],
        [bytes([body[0] ^ 1]) + body[1:]],
        [],
        [body, body],
        [body, None],
    ):
        with pytest.raises(RefusedBody):
            carol.take([(envelope, wrong)])
    assert carol.bank.store.figures().entries == count
    carol.take([(envelope, [body])])
    assert texts(carol) == ["tea"]


def test_a_wrong_body_for_a_stored_entry_is_refused_too(replicas: Replicas) -> None:
    """A late body passes the same door."""
    replicas.at("wim").remember("tea")
    carol, (envelope, bodies) = replicas.at("carol"), last(replicas.at("wim"))
    carol.take([(envelope, [None])])
    assert texts(carol) == []
    assert list(carol.bank.store.absent()) == [(5, 0, False)]
    with pytest.raises(RefusedBody):
        carol.take([(envelope, [b"x" * 400])])
    carol.take([(envelope, bodies)])
    assert texts(carol) == ["tea"]
    assert list(carol.bank.store.absent()) == []


def test_all_acts_of_an_entry_take_effect_together(replicas: Replicas) -> None:
    """While one body of three is missing none of them shows; then all do."""
    wim, carol = replicas.at("wim"), replicas.at("carol")
    remember(wim.bank, wim.key, [Draft(f"tea {n}") for n in range(3)])
    envelope, bodies = last(wim)
    carol.take([(envelope, [bodies[0], None, bodies[2]])])
    assert texts(carol) == []
    carol.take([(envelope, [None, bodies[1], None])])
    assert texts(carol) == ["tea 0", "tea 1", "tea 2"]


BAD_BODIES = {
    "not canonical": b"\xa1\x61a\x18\x01",
    "not a map": codec.encode([1, 2]),
    "without a text": codec.encode({"id": bytes(16), "at": 1}),
    "noise": b"\xff\xff\xff",
    "empty": b"",
}


@pytest.mark.parametrize("bad", BAD_BODIES)
def test_one_bad_body_makes_the_whole_entry_unreadable(replicas: Replicas, bad: str) -> None:
    """Of three acts one is garbage: none has effect, the entry is kept, and `verify` names its author."""
    parcel = made_by_hand(replicas.at("wim"), [good("one"), (REMEMBER, BAD_BODIES[bad]), good("three")])
    carol = replicas.at("carol")
    carol.take([parcel])
    assert texts(carol) == []
    report = verify(carol.bank)
    assert not report.ok
    assert report.unreadable == {to_did(replicas.keys["wim"]): 1}
    assert report.void == 0
    check.rebuild(carol.bank)
    assert texts(carol) == []
    assert verify(carol.bank).unreadable == report.unreadable


def test_a_body_of_another_kind_than_it_says_is_unreadable(replicas: Replicas) -> None:
    """A memory under the name of a forget opens for nobody: kind and place are bound to the seal."""
    wim, carol = replicas.at("wim"), replicas.at("carol")
    envelope, bodies = made_by_hand(wim, [good("one"), good("two")])
    carol.take([made_by_hand(wim, [(FORGET, good("one")[1])])])
    header = reload(envelope).header
    assert header.epoch is not None
    swapped = tuple(
        entries.act_ref(ref.kind, body) for ref, body in zip(header.acts, bodies[::-1], strict=True) if body
    )
    signed = entries.header_bytes(replace(header, acts=swapped, at=header.at + 1))
    moved = codec.encode([signed, wim.bank.host.keyring.sign(header.by, codec.ENTRY, signed)])
    carol.take([(moved, bodies[::-1])])
    assert texts(carol) == []
    # A forget that names nothing is an act without effect; two memories in each other's place do not open.
    assert verify(carol.bank).unreadable == {to_did(replicas.keys["wim"]): 1}


def test_acts_of_a_newer_version_hinder_nothing(replicas: Replicas) -> None:
    """An unknown kind is kept without effect, and the acts beside it count."""
    carol = replicas.at("carol")
    carol.take([made_by_hand(replicas.at("wim"), [good("tea"), (99, b"whatever it says")])])
    assert texts(carol) == ["tea"]
    assert verify(carol.bank).ok
    check.rebuild(carol.bank)
    assert texts(carol) == ["tea"]


def test_an_entry_waits_for_its_past_and_then_counts(replicas: Replicas) -> None:
    """Data before its grant: stored, waiting, shown as soon as the grant is there."""
    replicas.at("wim").remember("tea")
    fresh = replicas.fresh("fresh", MemoryStore(replicas.bank))
    fresh.name = "carol"
    parcels = replicas.at("wim").parcels()
    fresh.take(reversed(parcels))
    assert texts(fresh) == ["tea"]
    assert set(fresh.shown()["verdicts"].values()) == {"COUNTS"}
    other = replicas.fresh("other", MemoryStore(replicas.bank))
    other.name = "carol"
    other.take([parcels[0], parcels[-1]])
    assert other.shown()["verdicts"][cid_text(reload(parcels[-1][0]).id)] == "WAITING"
    assert verify(other.bank).waiting == 1


def test_waiting_entries_are_bounded(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """An author's entries without a past fill no disk: over the limit they are refused with its name."""
    from muniment import receiving

    monkeypatch.setattr(receiving, "LIMITS", Limits(waiting_per_author=3))
    wim = replicas.at("wim")
    for number in range(5):
        wim.remember(f"tea {number}")
    parcels = wim.parcels()
    fresh = replicas.fresh("fresh", MemoryStore(replicas.bank))
    fresh.name = "carol"
    fresh.take(parcels[:1])
    fresh.take(parcels[-5:-2])
    with pytest.raises(LimitExceeded) as caught:
        fresh.take(parcels[-2:])
    assert caught.value.allowed == 3
    fresh.take(parcels)
    assert len(texts(fresh)) == 5
    assert LIMITS.waiting_per_author > 3


def test_a_revocation_that_stands_late_cuts_all_the_same(replicas: Replicas) -> None:
    """A revocation whose own past comes last, by an entry that is no revocation, still voids what it cuts."""
    carol, vera, wim = replicas.at("carol"), replicas.at("vera"), replicas.at("wim")
    wim.remember("kept")
    replicas.carry("wim", "vera")
    link = vera.control(Grant(replicas.keys["carol"], parse_level("relay")))
    vera.revoke("wim")
    wim.remember("cut")
    wim.remember("cut too")
    parcels = {
        reload(envelope).id: (envelope, bodies) for envelope, bodies in [*vera.parcels(), *wim.parcels()]
    }
    held_back = parcels.pop(link)
    carol.take(parcels.values())
    assert texts(carol) == ["cut", "cut too", "kept"]
    carol.take([held_back])
    assert texts(carol) == ["kept"]
    assert check.check(carol.bank) == []


def test_what_is_erased_is_never_taken_in_again(replicas: Replicas) -> None:
    """A body that comes after its erase, with its entry or late, is not kept; nor is it asked for."""
    wim, carol = replicas.at("wim"), replicas.at("carol")
    made = wim.remember("secret")
    parcel = last(wim)
    wim.erase(made.version)
    erase = last(wim)
    carol.take([erase, parcel])
    carol.take([parcel])
    row = carol.bank.store.entry(reload(parcel[0]).id)
    assert row is not None
    assert carol.bank.store.bodies([(row.seq, 0)]) == [None]
    assert list(carol.bank.store.absent()) == [(row.seq, 0, True)]
    assert texts(carol) == []
    other = replicas.at("vera")
    other.take([parcel])
    assert texts(other) == ["secret"]
    other.take([erase])
    assert texts(other) == []
    assert other.bank.store.bodies([(other.bank.store.seq_of(row.id) or 0, 0)]) == [None]


def test_an_erase_by_a_weaker_admin_hides_and_keeps_until_its_time(replicas: Replicas) -> None:
    """Bytes that another key's admin erased stay for the grace; when the erase turns void they show again."""
    carol, vera, wim = replicas.at("carol"), replicas.at("vera"), replicas.at("wim")
    made = wim.remember("tea")
    replicas.carry("wim", "vera")
    replicas.carry("wim", "carol")
    cut = vera.bank.store.tips(vera.key)
    vera.erase(made.version)
    replicas.carry("vera", "carol")
    assert texts(carol) == []
    version = VersionId(reload(last(wim)[0]).id, 0)
    assert carol.bank.store.bodies([(carol.bank.store.seq_of(version.entry) or 0, 0)]) != [None]
    carol.revoke("vera", cut)
    assert texts(carol) == ["tea"]
    assert check.check(carol.bank) == []


def test_one_entry_is_one_transaction(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """If projecting fails nothing of the entry is stored, and it can be taken again."""
    from muniment import receiving

    replicas.at("wim").remember("tea")
    carol, parcel = replicas.at("carol"), last(replicas.at("wim"))
    before = carol.shown()

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(receiving, "project", fail)
        with pytest.raises(ZeroDivisionError):
            carol.take([parcel])
    assert carol.shown() == before
    carol.take([parcel])
    assert texts(carol) == ["tea"]


def test_entries_of_another_bank_are_refused(replicas: Replicas, tmp_path: Path) -> None:
    """They name their bank, and a second founding entry is none of this one."""
    with Replicas(tmp_path / "other", ["carol"], seed=9) as others:
        other = others.found({"carol": "admin(0)"})
        other.remember("tea")
        reasons = []
        for parcel in other.parcels():
            with pytest.raises(RefusedEntry) as caught:
                Receiver(replicas.at("carol").bank).take(*parcel)
            reasons.append(caught.value.reason)
        assert reasons == ["second founding entry", "wrong bank", "wrong bank"]


def test_an_erase_leaves_no_word_on_the_disk(replicas: Replicas, tmp_path: Path) -> None:
    """Sealed bytes leave the bank's file and log, and the words leave the index, when the erase is committed."""
    carol = replicas.at("carol")
    made = carol.remember("xylophone")
    remember(carol.bank, carol.key, [Draft(f"marimba {number}") for number in range(600)])
    name = parse_version(made.version)
    disk = replicas.fresh("disk", SqliteStore.create(tmp_path / "disk.db", replicas.bank))
    disk.take(carol.parcels())
    sealed = disk.bank.store.bodies([(disk.bank.store.seq_of(name.entry) or 0, name.act)])[0]
    assert sealed is not None
    assert sealed[24:] in everything_in(tmp_path)
    disk.bank.tidy(force=True)
    before = disk.bank.index.stats()
    carol.erase(made.version)
    disk.take(carol.parcels())
    assert sealed[24:] not in everything_in(tmp_path)
    after = disk.bank.index.stats()
    assert (before.records, after.records) == (601, 600)
    assert (before.segments, after.segments) == (1, 1)
    assert after.terms < before.terms
    assert disk.bank.index.search("xylophone", 5, past=True).hits == []


def everything_in(folder: Path) -> bytes:
    """All bytes of all files below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_clock_that_is_a_little_ahead_is_followed(replicas: Replicas) -> None:
    """What is written after something was seen is later than it, up to ten minutes ahead; never further."""
    wim, carol = replicas.at("wim"), replicas.at("carol")
    now = replicas.clock.ms
    for minutes, followed in ((5, True), (60, False)):
        replicas.clock.ms = now + minutes * 60_000
        wim.remember(f"from {minutes} minutes ahead")
        replicas.clock.ms = now
        carol.take([last(wim)])
        carol.remember(f"after {minutes}")
        seen, own = (reload(last(replica)[0]).header.at for replica in (wim, carol))
        assert (own > seen) is followed
