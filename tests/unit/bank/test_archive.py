"""The archive through the library: texts go to packs, are found meanwhile, and come back."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.agent import Agent
from muniment.archive import tree
from muniment.archive.options import DAY_MS
from muniment.archive.pack import pointer_of
from muniment.archive.room import PackRoom, RoomSource
from muniment.archive.source import chunk_of, outline_of
from muniment.base.errors import (
    BlobDamaged,
    BlobStoreUnavailable,
    InvalidInput,
    LimitExceeded,
    StoreFull,
    UnknownBlob,
    UnknownRecord,
)
from muniment.base.ids import BlobName
from muniment.blobs import folder as folder_module
from muniment.blobs.folder import FolderBlobs
from muniment.blobs.memory import MemoryBlobs
from muniment.peer import Peer
from muniment.remembering import Draft
from muniment.store import shelves
from muniment.store.packs import PackIndex
from muniment.testing.clock import START_MS, FixedClock
from muniment.testing.embedders import RandomEmbedder

SAID = "The harbour of Bergen sleeps while the sensors listen. " * 40 + "Zebra finches sing."


@pytest.fixture
def clock() -> FixedClock:
    """A clock that is moved by hand."""
    return FixedClock(START_MS)


@pytest.fixture
def peer(tmp_path: Path, clock: FixedClock) -> Iterator[Peer]:
    """A peer with an agent who has something long and something short to say."""
    with muniment.open(tmp_path / "peer", clock=clock) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember(SAID, key="bergen", title="Harbour", tags=["sea"], metadata={"n": 1}, session="s")
        agent.remember("tea at five", key="tea")
        yield peer


@pytest.fixture
def agent(peer: Peer) -> Agent:
    """The agent."""
    return peer.agent("ava")


def config(home: Path, text: str) -> None:
    """Settings of a peer folder."""
    (home / "config.yaml").write_text(text, "utf-8")


def test_an_archived_text_is_found_as_before(agent: Agent) -> None:
    """Same order, same scores, same terms; the hit says that its text lies in the archive."""
    before = agent.recall("zebra finches of the harbour")
    assert agent.archive("bergen").records == 1
    after = agent.recall("zebra finches of the harbour")
    assert [(hit.record.key, hit.score, hit.terms) for hit in after] == [
        (hit.record.key, hit.score, hit.terms) for hit in before
    ]
    (hit,) = after
    assert (hit.archived, hit.record.archived, hit.record.whole, hit.record.state) == (
        True,
        True,
        False,
        "archived",
    )
    assert hit.record.pointer is not None
    assert hit.record.pointer.startswith("bafkr4i")
    assert hit.record.text.startswith("The harbour of Bergen sleeps")
    assert agent.recall("zebra", fetch=True)[0].record.text == SAID
    assert agent.recall(mode="recent")[0].archived is False


def test_its_meaning_is_found_too(tmp_path: Path) -> None:
    """The vector stays where it was."""
    with muniment.open(tmp_path / "m", embedder=RandomEmbedder()) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember(SAID, key="bergen")
        before = agent.recall(SAID[:50], mode="vector")
        agent.archive("bergen")
        after = agent.recall(SAID[:50], mode="vector")
        assert [hit.score for hit in after] == [hit.score for hit in before] != []
        assert agent.check(rebuild=True) == []
        assert [hit.score for hit in agent.recall(SAID[:50], mode="vector")] == [hit.score for hit in before]


def test_get_reads_what_is_in_a_pack_here(agent: Agent) -> None:
    """With every field; so do history of nothing archived, export and filters."""
    before = agent.get("bergen")
    agent.archive("bergen")
    after = agent.get("bergen")
    assert after.text == SAID
    assert after.whole
    changed = {"archived": True, "state": "archived", "pointer": after.pointer}
    assert after.to_json() == {**before.to_json(), **changed}
    assert [record.key for record in agent.list(states=["archived"])] == ["bergen"]
    assert {record.key for record in agent.list(states=["live"])} == {"bergen", "tea"}
    assert [record.key for record in agent.list(tags=["sea"], metadata={"n": 1}, session="s")] == ["bergen"]
    with pytest.raises(InvalidInput, match="asked for alone"):
        agent.list(states=["archived", "forgotten"])


def test_the_words_leave_the_file(agent: Agent, tmp_path: Path) -> None:
    """Neither bank nor pack holds the text in clear, and the body is gone from the bank."""
    agent.archive("bergen")
    agent._bank.store.compact()
    found = b"".join(path.read_bytes() for path in (tmp_path / "peer").rglob("*") if path.is_file())
    assert b"sensors listen" not in found
    assert agent.stats().archive["released"] == 1
    assert agent.stats().archive["dead_bytes"] == 0


def test_restore_brings_it_back_for_good(agent: Agent) -> None:
    """The signed body is where it was, byte for byte; archiving it again works."""
    row = agent._bank.store.versions([1])[0]
    before = agent._bank.store.bodies([(row.seq, row.act)])
    agent.archive("bergen")
    assert agent._bank.store.bodies([(row.seq, row.act)]) == [None]
    (record,) = agent.restore("bergen")
    assert (record.state, record.text, record.archived, record.pointer) == ("live", SAID, False, None)
    assert agent._bank.store.bodies([(row.seq, row.act)]) == before
    assert agent.restore("bergen") == []
    assert agent.check() == []
    assert agent.check(rebuild=True) == []
    assert agent.archive("bergen").records == 1
    assert agent.get("bergen").archived


def test_words_are_found_and_tables_made_again_without_the_blobs(agent: Agent, tmp_path: Path) -> None:
    """With the blob folder away, a rebuild loses nothing but the texts themselves."""
    before = [(hit.record.key, hit.score) for hit in agent.recall("zebra harbour tea")]
    agent.archive("bergen")
    shutil.move(tmp_path / "peer" / "blobs", tmp_path / "away")
    problems = agent.check(rebuild=True)
    assert [(p.where, "is missing: 1 texts" in p.what) for p in problems] == [("blobs", True)]
    assert [(hit.record.key, hit.score) for hit in agent.recall("zebra harbour tea")] == before
    record = agent.get("bergen")
    assert (record.whole, record.title, record.tags) == (False, "Harbour", ("sea",))
    assert record.text.endswith("…")
    for call in (agent.fetch, agent.restore):
        with pytest.raises(UnknownBlob, match="bafkr4i"):
            call("bergen")
    with pytest.raises(UnknownBlob, match="not in reach"):
        agent.export_to(io.BytesIO())
    shutil.move(tmp_path / "away", tmp_path / "peer" / "blobs")
    assert agent.check() == []
    assert agent.fetch("bergen").text == SAID


def test_the_index_of_packs_may_be_lost(tmp_path: Path, agent: Agent, peer: Peer) -> None:
    """It is made again from the packs themselves."""
    agent.archive("bergen")
    peer.close()
    for path in (tmp_path / "peer").glob("packs.db*"):
        path.unlink()
    with muniment.open(tmp_path / "peer") as again:
        assert again.agent("ava").get("bergen").text == SAID
        assert again.agent("ava").check() == []


def test_a_damaged_pack_is_named_and_another_copy_taken(tmp_path: Path, agent: Agent, peer: Peer) -> None:
    """`check` says which and how many texts; what came from a source is then in a pack of its own."""
    agent.archive(larger_than=0, until=1 << 52)
    (pack,) = (tmp_path / "peer" / "blobs").rglob("bafkr4i*")
    good = pack.read_bytes()
    pack.write_bytes(good[:40] + bytes([good[40] ^ 1]) + good[41:])
    problems = agent.check()
    assert [pack.name in p.what and "is damaged: 2 texts" in p.what for p in problems] == [True]
    with pytest.raises(BlobDamaged):
        agent.fetch("bergen")
    assert agent.get("bergen").whole is False
    blobs = MemoryBlobs()
    blobs.put(good)
    room = PackRoom(blobs, PackIndex.open(tmp_path / "other.db"), lambda: 0)
    assert room.follow() == 1
    peer.archive.sources.append(RoomSource("ben", room))
    assert agent.fetch("bergen").text == SAID
    peer.archive.sources.clear()
    assert agent.fetch("bergen").text == SAID
    assert ["1 of them lie in another pack too" in p.what for p in agent.check()] == [True]
    room.close()


def test_chunks_of_a_pack_are_read_alone_and_still_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a pack was read whole each chunk costs its own bytes; one that was changed since is not served."""
    blobs = FolderBlobs(tmp_path / "blobs")
    room = PackRoom(blobs, PackIndex.open(tmp_path / "packs.db"), lambda: 0)
    payload = random.Random(1).randbytes(3 * tree.CHUNK)
    name = room.store([(pointer_of(payload), payload)])
    data, source = blobs.get(name), RoomSource("ben", room)
    said = source.outline(name)
    assert said == outline_of(data)
    whole: list[BlobName] = []
    monkeypatch.setattr(blobs, "get", whole.append)
    count = tree.chunk_count(len(data))
    assert [RoomSource("ben", room).chunk(name, n) for n in range(count)] == [
        chunk_of(data, n) for n in range(count)
    ]
    assert whole == []
    with pytest.raises(LimitExceeded):
        source.chunk(name, count)
    (path,) = (tmp_path / "blobs").rglob("bafkr4i*")
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert source.chunk(name, 0) == chunk_of(data, 0)
    with pytest.raises(BlobDamaged):
        source.chunk(name, count - 1)
    room.close()


def test_a_rule_says_what_goes(agent: Agent, clock: FixedClock) -> None:
    """By age, size, tag, type, session and time; short texts stay unless a rule says so; a dry run does nothing."""
    clock.advance(100 * DAY_MS)
    agent.remember(SAID + " again", key="new")
    dry = agent.archive(older_than="30d", dry_run=True)
    assert (dry.records, dry.skipped, dry.dry_run) == (1, {"too short to gain anything": 1}, True)
    assert agent.list(states=["archived"]) == []
    for rule in (
        {"tags": ["land"]},
        {"session": "t"},
        {"type": "skill"},
        {"until": START_MS - 1},
        {"larger_than": "1MB"},
    ):
        assert agent.archive(**rule).records == 0  # type: ignore[arg-type]
    seen: list[tuple[int, int]] = []
    done = agent.archive(older_than="30d", progress=lambda a, b: seen.append((a, b)))
    assert (done.records, done.text_bytes, done.packs) == (1, len(SAID), 1)
    assert seen == [(2, 2)]
    assert [record.key for record in agent.list(states=["archived"])] == ["bergen"]
    assert agent.archive(older_than="0s", larger_than=0).records == 1
    assert agent.archive("new").records == 1


def test_nothing_is_archived_by_accident(agent: Agent) -> None:
    """Without a record and without a rule there is an error, and with both."""
    with pytest.raises(InvalidInput, match="nothing says what"):
        agent.archive()
    with pytest.raises(InvalidInput, match="both named"):
        agent.archive("bergen", older_than="1d")
    with pytest.raises(InvalidInput, match="not a length of time"):
        agent.archive(older_than="soon")
    with pytest.raises(UnknownRecord):
        agent.archive("nothing")
    agent.archive("bergen")
    assert agent.archive("bergen").skipped == {"in the archive already": 1}


def test_what_was_not_recalled_goes(tmp_path: Path) -> None:
    """Disuse is counted on this peer, over restarts, and only where the settings ask for it."""
    home = tmp_path / "p"
    clock = FixedClock(START_MS)
    with muniment.open(home, clock=clock) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember("zebra " + SAID, key="used")
        agent.remember("yak " + SAID, key="unused")
    config(home, "archive:\n  unused_for: 30d\n")
    clock.advance(40 * DAY_MS)
    with muniment.open(home, clock=clock) as peer:
        assert [hit.record.key for hit in peer.agent("ava").recall("zebra", limit=1)] == ["used"]
    clock.advance(20 * DAY_MS)
    with muniment.open(home, clock=clock) as peer:
        report = peer.agent("ava").run_archive_policy()
        assert report.archived is not None
        assert report.archived.records == 1
        assert [record.key for record in peer.agent("ava").list(states=["archived"])] == ["unused"]
        assert json.dumps(report.to_json())
        clock.advance(15 * DAY_MS)
        assert peer.agent("ava").archive().records == 1


def test_without_settings_the_policy_archives_nothing(agent: Agent) -> None:
    """It still settles what others archived."""
    report = agent.run_archive_policy()
    assert report.archived is None
    assert report.settled.to_json() == {"released": 0, "kept": 0, "restored": 0, "waiting": 0}


def test_a_setting_without_meaning_is_named(tmp_path: Path) -> None:
    """With the file and the next step."""
    (tmp_path / "p").mkdir()
    config(tmp_path / "p", "archive:\n  older: 5d\n")
    with pytest.raises(InvalidInput, match=r"config.yaml: archive has no setting 'older'"):
        muniment.open(tmp_path / "p")


def test_a_pack_that_nothing_needs_goes_after_its_grace(agent: Agent, peer: Peer, clock: FixedClock) -> None:
    """First it rests; needed again, it stays; one that holds the only copy of a text is never touched."""
    agent.archive("bergen")
    assert peer.blobs.collect().to_json() == {
        "gone": 0, "gone_bytes": 0, "resting": 0, "kept": 1, "dry_run": False, "reason": None,
        "merged": 0, "merged_into": 0, "merged_bytes": 0,
    }  # fmt: skip
    clock.advance(100 * DAY_MS)
    assert peer.blobs.collect().kept == 1
    agent.restore("bergen")
    assert peer.blobs.collect(dry_run=True).resting == 1
    assert peer.blobs.list()[0].idle_ms is None
    assert peer.blobs.collect().resting == 1
    clock.advance(6 * DAY_MS)
    assert peer.blobs.collect().resting == 1
    clock.advance(2 * DAY_MS)
    assert peer.blobs.collect(dry_run=True).gone == 1
    peer.archive.held = lambda _: True
    assert peer.blobs.collect().kept == 1
    peer.archive.held = lambda _: False
    assert peer.blobs.collect().resting == 1
    clock.advance(8 * DAY_MS)
    gone = peer.blobs.collect()
    assert (gone.gone, gone.kept) == (1, 0)
    assert peer.blobs.list() == []
    assert agent.get("bergen").text == SAID
    assert agent.check() == []


def test_a_bank_that_can_not_be_read_keeps_every_pack(agent: Agent, peer: Peer, clock: FixedClock) -> None:
    """What it needs is not known, so nothing is taken away."""
    agent.archive("bergen")
    agent.restore("bergen")
    peer.blobs.collect()
    clock.advance(100 * DAY_MS)
    peer.bank(agent._bank.id)._keys.clear()
    opener = type(agent._bank.opener(agent._key))
    kept = opener.archives
    try:
        opener.archives = lambda self, places: [None] * len(places)  # type: ignore[method-assign]
        found = peer.blobs.collect()
    finally:
        opener.archives = kept  # type: ignore[method-assign]
    assert (found.gone, found.kept) == (0, 1)
    assert found.reason is not None


def test_a_blob_store_that_does_not_answer_is_said_so(tmp_path: Path) -> None:
    """`doctor` fails on it; archiving is refused and every text stays."""
    home = tmp_path / "p"
    with muniment.open(home) as peer:
        peer.agent("ava", create=True).remember(SAID, key="bergen")
    (home / "blobs").write_text("not a folder")
    with muniment.open(home) as peer:
        agent = peer.agent("ava")
        with pytest.raises(BlobStoreUnavailable):
            agent.archive("bergen")
        assert agent.get("bergen").state == "live"
        shutil.move(home / "blobs", home / "x")
        agent.archive("bergen")
        shutil.rmtree(home / "blobs")
        (finding,) = [one for one in peer.doctor() if one.name == "archive"]
        assert (finding.status, "1 of 1 packs are missing" in finding.detail) == ("fail", True)


@pytest.mark.parametrize("where", ["pack", "bank"])
def test_a_full_disk_loses_nothing(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Whether the pack or the bank can't be written: the text stays, and the next try works."""

    def full(*_: Any, **__: Any) -> Any:
        if where == "pack":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise StoreFull("no space is left")

    with monkeypatch.context() as patch:
        if where == "pack":
            patch.setattr(folder_module, "_write", full)
        else:
            patch.setattr(shelves, "bury", full)
        with pytest.raises(StoreFull):
            agent.archive("bergen")
    assert agent.get("bergen").state == "live"
    assert agent.get("bergen").whole
    assert agent.check() == []
    assert agent.archive("bergen").records == 1
    assert agent.fetch("bergen").text == SAID


def test_a_new_version_forget_and_archive_go_together(agent: Agent) -> None:
    """Archiving concerns one version; what is written over it is not archived, and history has both."""
    agent.archive("bergen")
    agent.remember("short now", key="bergen")
    assert [(r.state, r.archived) for r in agent.history("bergen")] == [("live", False), ("superseded", True)]
    agent.forget("bergen")
    agent.forget("bergen", undo=True)
    assert agent.get("bergen").text == "short now"
    assert agent.check(rebuild=True) == []


def test_an_export_has_the_whole_texts_and_imports_as_live(agent: Agent, tmp_path: Path) -> None:
    """The archive is this bank's affair, not the file's."""
    agent.archive("bergen")
    assert agent.export_to(tmp_path / "out.jsonl") == 2
    with muniment.open(tmp_path / "other") as other:
        ben = other.agent("ben", create=True)
        ben.import_from(tmp_path / "out.jsonl")
        assert (ben.get("bergen").text, ben.get("bergen").state) == (SAID, "live")


def test_reading_an_archive_costs_nothing_where_there_is_none(tmp_path: Path) -> None:
    """No folder, no index of packs and no heavy library before something is archived."""
    code = (
        "import sys, muniment\n"
        f"with muniment.open({str(tmp_path / 'p')!r}) as peer:\n"
        "    agent = peer.agent('ava', create=True)\n"
        "    agent.remember('tea')\n"
        "    assert agent.recall('tea')[0].record.text == 'tea'\n"
        "print(sorted({'zstandard', 'blake3', 'obstore'} & set(sys.modules)))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.stdout.strip() == "[]", done.stderr
    assert (
        sorted(path.name for path in (tmp_path / "p").iterdir() if path.name.startswith(("blobs", "packs")))
        == []
    )


def test_many_texts_share_packs_and_the_file_shrinks(tmp_path: Path) -> None:
    """Entries, packs and transactions hold many; the room of the bodies goes back to the disk."""
    with muniment.open(tmp_path / "p") as peer:
        agent = peer.agent("ava", create=True)
        agent.remember_many(
            [Draft(f"{number} " + "many different words here " * 300) for number in range(600)]
        )
        agent._bank.store.scrub()
        before = agent.stats().file_bytes
        done = agent.archive(larger_than=0, until=1 << 52)
        assert (done.records, done.packs) == (600, 1)
        assert done.file_bytes < before / 4
        assert agent.check() == []
        assert len(agent.recall("different", limit=700)) == 600


def test_what_a_query_finds_goes(agent: Agent) -> None:
    """The best first, at most so many, together with the other rules; a dry run lists them and does nothing."""
    for number in range(5):
        agent.remember(
            f"the lighthouse keeper wrote entry {number}", key=f"l{number}", tags=["log"] if number else []
        )
    agent.remember("bread is baked at six", key="bread")
    would = agent.archive(query="lighthouse keeper", larger_than=0, dry_run=True)
    assert {match.key for match in would.matches} == {f"l{number}" for number in range(5)}
    assert agent.list(states=["archived"]) == []
    done = agent.archive(query="lighthouse keeper", tags=["log"], limit=2, larger_than=0)
    assert done.records == 2
    assert done.to_json()["matches"][0]["text"].startswith("the lighthouse keeper")
    agent.archive(query="lighthouse keeper", larger_than=0)
    assert {record.key for record in agent.list(states=["archived"])} == {f"l{number}" for number in range(5)}
    assert agent.archive(query="lighthouse keeper", larger_than=0).records == 0
    assert agent.archive(query="lighthouse keeper", older_than="1d", larger_than=0).records == 0
    assert agent.archive(query="submarine", larger_than=0).matches == ()
    with pytest.raises(InvalidInput, match="query is empty"):
        agent.archive(query="  ")
