"""Archiving converges, and no text is ever between bank and pack (design section 9)."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check
from muniment.archive.pack import Payload, pointer_of, seal_payload
from muniment.base.errors import MunimentError
from muniment.fetching import body_from
from muniment.ledger.acts import Archive
from muniment.ledger.records import group_of_key
from muniment.ledger.stub import stub_of, to_bytes
from muniment.project import Projector
from muniment.store.base import State
from muniment.store.memory import MemoryStore
from muniment.store.sqlite import SqliteStore
from muniment.testing.replicas import Replica, Replicas, version
from muniment.writing import Writer

NAMES = ("carol", "vera", "wim", "mia")


@contextmanager
def world(seed: int) -> Iterator[Replicas]:
    """A bank of an agent, vera, held by carol; wim writes, mia reads; everybody serves packs to everybody."""
    with tempfile.TemporaryDirectory() as folder, Replicas(Path(folder), NAMES, seed) as replicas:
        carol = replicas.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera")
        carol.grant("wim", "write")
        carol.grant("mia", "read")
        replicas.carry("carol", "vera")
        replicas.carry("carol", "wim")
        replicas.carry("carol", "mia")
        for one in NAMES:
            for other in NAMES:
                if one != other:
                    replicas.at(one).lend(replicas.at(other))
        yield replicas


def act(replicas: Replicas, chance: random.Random) -> None:
    """One random thing at one replica; what its gate refuses is not done."""
    who = replicas.at(chance.choice(NAMES))
    what = chance.choice(
        ["remember"] * 5
        + ["archive"] * 4
        + ["restore"] * 2
        + ["settle", "forget", "undo", "erase", "carry", "revoke"]
    )
    refs = [str(who.bank.store.version_id(row)) for row in who.bank.store.versions_after(0, 1 << 30)] or [
        "k0"
    ]
    ref = chance.choice([*refs, "k0", "k1"])
    try:
        if what == "remember":
            who.remember(
                f"tea {chance.randrange(5)} " * 30, key=chance.choice([None, "k0", "k1"]), tags=("t",)
            )
        elif what == "carry":
            replicas.carry(who.name, chance.choice(NAMES))
        elif what == "revoke":
            if chance.random() < 0.3:
                replicas.at("carol").revoke("wim")
        elif what == "settle":
            who.settle()
        elif what in {"forget", "undo"}:
            who.forget(ref, undo=what == "undo")
        elif what == "erase":
            who.erase(ref)
        else:
            getattr(who, what)(ref)
    except MunimentError:
        pass


def texts(replica: Replica) -> dict[str, str]:
    """Every version that is shown, whole: from the bank, from a pack here, or from somebody else."""
    authority = replica.reader().enter()
    reader, store = replica.reader(), replica.bank.store
    found = {}
    for row in store.versions_after(0, store.watermark().last_ord):
        if row.state in {State.ERASED, State.VOID}:
            continue
        if store.bodies([(row.seq, row.act)])[0] is None:
            body_from(replica.bank, replica.bank.opener(replica.key), row)
        (record,) = reader.views([row], authority, whole=True)
        assert record.whole
        found[record.version] = record.text
    return found


@settings(max_examples=15)
@given(st.integers(0, 1 << 32), st.integers(5, 40))
def test_replicas_converge_and_every_text_is_in_reach(seed: int, steps: int) -> None:
    """Whatever is archived, restored, forgotten, erased and written at once, in any order, with duplicates."""
    chance = random.Random(seed)
    with world(seed) as replicas:
        for _ in range(steps):
            act(replicas, chance)
        replicas.carry_all()
        replicas.carry_all()
        carol = replicas.at("carol")
        shown = {name: replicas.at(name).shown() for name in NAMES}
        assert shown["vera"] == shown["carol"]
        assert {k: v for k, v in shown["wim"].items() if k != "records"} == {
            k: v for k, v in shown["carol"].items() if k != "records"
        }
        for name in ("carol", "vera"):
            replicas.at(name).settle()
            assert replicas.at(name).shown() == shown["carol"]
            assert texts(replicas.at(name)) == texts(carol)
            before = replicas.at(name).shown()
            check.rebuild(replicas.at(name).bank)
            assert replicas.at(name).shown() == before
            assert [p for p in check.check(replicas.at(name).bank) if p.where != "blobs"] == []


@settings(max_examples=10)
@given(st.integers(0, 1 << 32), st.integers(5, 30))
def test_any_order_of_arrival_shows_the_same(seed: int, steps: int) -> None:
    """Entries whose bodies were let go come in any order, twice, to a replica that has nothing else."""
    chance = random.Random(seed)
    with world(seed) as replicas:
        for _ in range(steps):
            act(replicas, chance)
        replicas.carry_all()
        replicas.carry_all()
        carol = replicas.at("carol")
        parcels = carol.parcels()
        expected = None
        for number in range(3):
            mixed = parcels + chance.sample(parcels, len(parcels) // 2)
            chance.shuffle(mixed)
            late = replicas.fresh("carol", MemoryStore(replicas.bank))
            late.take(mixed)
            shown = late.shown()
            expected = shown if expected is None else expected
            assert shown == expected, number
            late.bank.close()
        assert expected == carol.shown()


def test_a_peer_that_joins_late_finds_what_it_has_only_stubs_of(tmp_path: Path) -> None:
    """By words, with all fields; the text comes from whoever has it, and is then here."""
    with world(1) as replicas:
        vera = replicas.at("vera")
        said = "The harbour of Bergen sleeps. " * 50 + "Zebra finches sing."
        vera.remember(said, key="bergen", title="Harbour", tags=("t",), metadata={"x": 1}, session="s")
        assert vera.archive("bergen").records == 1
        late = replicas.fresh("carol", SqliteStore.create(tmp_path / "late.db", replicas.bank))
        late.take(vera.parcels())
        assert late.shown() == vera.shown()
        record = late.reader().get("bergen")
        assert (record.title, record.tags, record.metadata, record.session) == (
            "Harbour",
            ("t",),
            {"x": 1},
            "s",
        )
        assert (record.archived, record.whole, record.state) == (True, False, "archived")
        late.bank.index.refresh()
        vera.bank.index.refresh()
        hits = [bank.index.search("zebra finches", 5).hits for bank in (late.bank, vera.bank)]
        assert hits[0] == hits[1] != []
        with pytest.raises(MunimentError):
            body_from(
                late.bank, late.bank.opener(late.key), late.bank.store.of_group(group_of_key("bergen"))[0]
            )
        vera.lend(late)
        assert texts(late)[record.version] == said
        late.room.sources.clear()
        assert late.reader().get("bergen").text == said


def test_a_lying_stub_changes_nothing_where_the_text_is_and_nothing_after_it_came(tmp_path: Path) -> None:
    """An admin archives with a stub of its own making: bodies stay, and who believed it learns better."""
    with world(2) as replicas:
        vera, carol = replicas.at("vera"), replicas.at("carol")
        name = version(vera.remember("the truth " * 40, key="k", tags=("t",)))
        replicas.carry("vera", "carol")
        row = carol.bank.store.version_at(name)
        assert row is not None
        opener = carol.bank.opener(carol.key)
        (true,) = opener.remembered([row])
        (body,) = carol.bank.store.bodies([(row.seq, row.act)])
        assert true is not None
        assert body is not None
        lie = stub_of(replace(true, text="a lie " * 40, tags=("spam",)))
        sealed = seal_payload(Payload(name, body[:24], opener.unseal(row, body)), bytes(32), bytes(24))
        said = Archive(name, pointer_of(sealed), bytes(32), to_bytes(lie))
        with carol.bank.write() as authority:
            _, seq = Writer(carol.bank, carol.key).commit_acts(authority, [said], replicas.clock.now_ms())
            Projector(carol.bank.store, authority).entry(carol.bank.store.entry_at(seq), [said])
        carol.room.packs.store([(pointer_of(sealed), sealed)])
        assert carol.settle().kept == 1
        assert carol.reader().get("k").whole
        late = replicas.fresh("vera", MemoryStore(replicas.bank))
        without = [(e, [None if b == body else b for b in bodies]) for e, bodies in carol.parcels()]
        late.take(without)
        assert late.reader().get("k").tags == ("spam",)
        late.take(carol.parcels())
        assert late.reader().get("k").text == "the truth " * 40
        assert late.reader().get("k").tags == ("t",)
        assert late.shown() == carol.shown()
        assert check.check(late.bank) == []


def test_who_may_archive_and_restore() -> None:
    """A writer its own records, an admin any; an act by anybody else has no effect on any replica."""
    with world(3) as replicas:
        vera, wim, carol = (replicas.at(name) for name in ("vera", "wim", "carol"))
        vera.remember("vera's words " * 30, key="v")
        wim.remember("wim's words " * 30, key="w")
        replicas.carry_all()
        with pytest.raises(MunimentError, match="by another key"):
            wim.archive("v")
        assert wim.archive("w").records == 1
        assert carol.archive("v").records == 1
        replicas.carry_all()
        for one in (vera, wim, carol):
            assert {record: one.reader().get(record).state for record in "vw"} == {
                "v": "archived",
                "w": "archived",
            }
        with pytest.raises(MunimentError, match="by another key"):
            wim.restore("v")
        assert [record.state for record in vera.restore("v")] == ["live"]
        replicas.carry_all()
        assert {one.reader().get("v").state for one in (vera, wim, carol)} == {"live"}
        assert carol.settle().restored == 1 or carol.reader().get("v").whole
        assert carol.reader().get("v").whole


def test_trace_4_a_writer_can_not_archive_away_the_words_of_others() -> None:
    """An act that names a payload which never was, signed past all checks, hides nothing and lets no body go."""
    with world(3) as replicas:
        vera, wim, carol = (replicas.at(name) for name in ("vera", "wim", "carol"))
        text = "vera's words " * 30
        name = version(vera.remember(text, key="v"))
        replicas.carry_all()
        row = wim.bank.store.version_at(name)
        assert row is not None
        (true,) = wim.bank.opener(wim.key).remembered([row])
        assert true is not None
        stub = to_bytes(stub_of(replace(true, text="a lie " * 40)))
        said = Archive(name, pointer_of(b"never stored"), bytes(32), stub)
        with wim.bank.write() as authority:
            _, seq = Writer(wim.bank, wim.key).commit_acts(authority, [said], replicas.clock.now_ms())
            Projector(wim.bank.store, authority).entry(wim.bank.store.entry_at(seq), [said])
        replicas.carry_all()
        for one in (vera, wim, carol):
            one.settle()
            assert one.bank.store.seq_of(wim.bank.store.entry_at(seq).id) is not None
            found = one.reader().get("v")
            assert (found.state, found.whole, found.text) == ("live", True, text)


def test_receipts_of_others_let_a_body_go_without_a_copy_here() -> None:
    """Only after the blob was fetched once and found equal, and only while enough others keep it."""
    with world(4) as replicas:
        vera, carol = replicas.at("vera"), replicas.at("carol")
        vera.remember("long words " * 60, key="k")
        replicas.carry("vera", "carol")
        vera.archive("k")
        replicas.carry("vera", "carol")
        assert carol.reader().get("k").state == "archived"
        carol.room.sources.clear()
        carol.room.receipts = lambda _: 2
        assert carol.settle().kept == 1
        vera.lend(carol)
        carol.room.receipts = lambda _: 1
        assert carol.settle().kept == 1
        carol.room.receipts = lambda _: 2
        assert carol.settle().released == 1
        assert carol.room.packs.index.figures()[0] == 0
        assert not carol.reader().get("k").whole
