"""Erasing on one peer: receipts, what goes with a memory, and that no file keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from muniment.agent import Agent
from muniment.base.errors import InvalidInput, NotPermitted, UnknownRecord
from muniment.testing.embedders import RandomEmbedder

if TYPE_CHECKING:
    from tests.unit.bank.conftest import MakePeer

WORD = "quetzalcoatlus"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes go to the disk with the first row, not with the five hundredth."""
    monkeypatch.setattr("muniment.recall.follow.TAIL_ROWS", 1)


@pytest.fixture
def ava(make_peer: MakePeer) -> Agent:
    """An agent with an embedder."""
    return make_peer(embedder=RandomEmbedder()).agent("ava", create=True)


def files(agent: Agent) -> dict[str, bytes]:
    """All files of the peer folder."""
    home = agent.peer.home
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def holding(agent: Agent, *needles: bytes) -> set[str]:
    """The files in which any of these bytes stand."""
    return {name for name, data in files(agent).items() if any(needle in data for needle in needles)}


def bodies(agent: Agent) -> list[bytes]:
    """All sealed bodies of the bank."""
    store = agent._bank.store
    places = [(row.seq, act) for row in store.entries(control=False) for act in range(4)]
    return [body for body in store.bodies(places) if body is not None]


def test_nothing_of_a_memory_stays_in_any_file(ava: Agent) -> None:
    """Text, title, tag, terms, vectors, stub and the key of its archived text leave bank, log and indexes."""
    ava.remember("bystanders stay here", key="other")
    kept = bodies(ava)
    ava.remember(f"the {WORD} sleeps " * 100, key="k", title="Secretum", tags=["hushhush"])
    ava.archive("k")
    assert ava.recall(WORD)[0].archived
    ava._bank.tidy(force=True)
    needles = [WORD.encode(), b"secretum", b"Secretum", b"hushhush"]
    assert any(name.startswith("index/") for name in holding(ava, *needles))
    sealed = [body for body in bodies(ava) if body not in kept]
    assert len(sealed) >= 2
    receipt = ava.erase("k")
    assert (len(receipt.versions), receipt.payload_keys, receipt.swept) == (1, 1, True)
    assert receipt.destroyed == len(receipt.versions) + receipt.acts
    assert holding(ava, *needles, *sealed) == set()
    assert not ava.recall(WORD, mode="text")
    assert ava.get("other").text == "bystanders stay here"
    assert ava.recall("bystanders")[0].record.key == "other"
    assert ava.check() == []
    assert ava.verify().ok


def test_all_versions_go_unless_one_is_named(ava: Agent) -> None:
    """Else the one before would be shown again, which happens where one version is meant."""
    ava.remember("first", key="k")
    second = ava.remember("second", key="k")
    ava.erase(second.version, version=True)
    assert [record.text for record in ava.history("k")] == ["first"]
    assert ava.erase("k").versions
    assert ava.history("k") == []
    with pytest.raises(UnknownRecord):
        ava.get("k")


def test_hidden_versions_go_too(ava: Agent) -> None:
    """A forgotten memory is erased like any other."""
    ava.remember(f"the {WORD} sleeps", key="k")
    ava.forget("k")
    assert len(ava.erase("k").versions) == 1
    with pytest.raises(UnknownRecord):
        ava.forget("k", undo=True)


def test_a_dry_run_does_nothing(ava: Agent) -> None:
    """It tells what would go."""
    ava.remember("words", key="k")
    receipt = ava.erase("k", dry_run=True)
    assert receipt.dry_run
    assert len(receipt.versions) == 1
    assert ava.get("k").text == "words"


def test_a_second_erase_signs_nothing(ava: Agent) -> None:
    """What is erased already is named once."""
    ava.remember("words", key="k")
    assert len(ava.erase("k").entries) == 1
    again = ava.erase("k")
    assert again.entries == ()
    assert again.destroyed == len(again.versions) + again.acts


def test_clear_can_erase_everything(ava: Agent) -> None:
    """All versions go, hidden ones too; and what is erased does not come back."""
    for number in range(5):
        ava.remember(f"the {WORD} number {number}", key=f"k{number}")
    ava.remember("again", key="k0")
    ava.forget("k1")
    store = ava._bank.store
    rows = list(store.versions_after(0, 1 << 40))
    sealed = [body for body in store.bodies([(row.seq, row.act) for row in rows]) if body is not None]
    assert len(sealed) == 6
    cleared = ava.clear(erase=True)
    assert cleared.records == 6
    assert cleared.erased is not None
    assert cleared.to_json()["erased"]["swept"] is True
    assert holding(ava, WORD.encode(), *sealed) == set()
    assert ava.list(states=["live", "superseded", "forgotten"]) == []
    with pytest.raises(UnknownRecord):
        ava.clear(undo=True)
    with pytest.raises(InvalidInput):
        ava.clear(undo=True, erase=True)


def test_one_record_has_to_be_named(ava: Agent) -> None:
    """Neither, both, or a version that is none, are errors."""
    ava.remember("words", key="k")
    for ref, more in ((None, {}), ("k", {"key": "k"}), ("k", {"version": True}), (None, {"key": ""})):
        with pytest.raises(InvalidInput):
            ava.erase(ref, **more)  # type: ignore[arg-type]
    with pytest.raises(UnknownRecord):
        ava.erase("nothing")


def test_a_guest_erases_only_its_own(ava: Agent) -> None:
    """The words of stronger keys are refused; the agent erases the guest's."""
    ben = ava.peer.agent("ben", create=True)
    ava.banks.new("team")
    ava.banks.grant("team", "ben", "write")
    ava.bank("team").remember("by ava", key="a")
    ben.bank("team").remember("by ben", key="b")
    with pytest.raises(NotPermitted):
        ben.bank("team").erase("a")
    assert len(ben.bank("team").erase("b").versions) == 1
    ben.bank("team").remember("by ben again", key="c")
    assert ava.bank("team").erase("c").destroyed >= 1


def test_check_finds_what_an_unfinished_erase_left(ava: Agent) -> None:
    """A copy from before an upgrade, a note of traces, and a body that should be gone, are named."""
    ava.remember("words", key="k")
    ava.erase("k")
    copy = ava.peer.home / "banks" / f"{ava.bank_id}.db.v1.bak"
    copy.write_bytes(b"old bytes")
    with ava._bank.store.write():
        ava._bank.store.trace([0])
    said = " ".join(problem.what for problem in ava.check())
    assert "older copy" in said
    assert "may still hold words" in said
    ava._bank._traced = None
    assert ava._bank.sweep()
    assert not copy.exists()
    assert ava.check() == []


def test_what_a_kill_left_is_swept_by_the_next_process(ava: Agent, make_peer: MakePeer) -> None:
    """Traces are noted with the erase itself, so whoever opens the bank next ends the work."""
    ava.remember(f"the {WORD} sleeps", key="k")
    assert ava.recall(WORD)
    ava._bank.tidy(force=True)
    ava._bank.sweep = lambda: False  # type: ignore[method-assign]  # the process ends here
    ava.erase("k")
    assert holding(ava, WORD.encode())
    ava.peer.close()
    again = make_peer(embedder=RandomEmbedder()).agent("ava")
    assert not again.recall(WORD, mode="text")
    assert holding(again, WORD.encode()) == set()


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    """The scan of free pages tells clean ones from others."""
    import apsw

    from muniment.store.free_pages import unclean_pages

    for secure, expected in ((1, False), (0, True)):
        path = tmp_path / f"{secure}.db"
        link = apsw.Connection(str(path))
        list(link.execute(f"PRAGMA secure_delete = {secure}"))
        link.execute("CREATE TABLE t (x BLOB)")
        link.executemany("INSERT INTO t VALUES (?)", [(b"words " * 500,)] * 200)
        link.execute("DELETE FROM t")
        link.close()
        assert (unclean_pages(path, 4096) > 0) is expected
