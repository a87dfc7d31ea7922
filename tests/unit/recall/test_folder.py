"""The files of both indexes: followed by many processes, broken in many ways, made again from the corpus."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recall import followed
from tests.unit.recall.followed import (
    KINDS,
    NOWHERE,
    Answers,
    Kind,
    busy,
    corpus_of,
    held_in,
    opened,
    small_sizes,
)

from muniment.base.errors import ForeignFile, StorageError, StoreCorrupt, StoreFull, StoreReadOnly
from muniment.recall import manifest, packing
from muniment.recall.corpus import ListCorpus, Row

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    """The word index, and the vector index, with small segments."""
    found = KINDS[request.param]
    with small_sizes(found):
        yield found


@pytest.fixture
def right(kind: Kind) -> Answers:
    """What an index in memory says of 200 rows."""
    return kind.answers(opened(kind, NOWHERE, corpus_of(kind, 200)))


def test_an_index_opens_from_its_files(
    kind: Kind, tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second instance reads segments and columns, asks the corpus for its watermark only, and answers alike."""
    corpus = corpus_of(kind, 200)
    opened(kind, tmp_path, corpus).purge([])
    monkeypatch.setattr(corpus, "rows", None)
    assert kind.answers(opened(kind, tmp_path, corpus)) == right


def test_each_instance_sees_what_another_wrote(kind: Kind, tmp_path: Path) -> None:
    """Rows, deaths and segments of one are in the next search of the other, which keeps working on files unlinked."""
    corpus = corpus_of(kind, 100)
    one, two = opened(kind, tmp_path, corpus), opened(kind, tmp_path, corpus)
    two.maintain()
    before = kind.answers(two)
    for number in range(101, 200):
        kind.add(corpus, number)
        if number % 10 == 0:
            corpus.set_live(number - 50, False)
            one.refresh()
            one.maintain()
    assert kind.answers(two) == before
    one.refresh()
    two.refresh()
    assert kind.ids(two, 150, 1) == [150]
    assert kind.answers(two) == kind.answers(one) == kind.answers(opened(kind, NOWHERE, corpus))


def test_a_gone_row_is_found_by_no_search_and_in_no_file(kind: Kind, tmp_path: Path) -> None:
    """After an erasure the row is not returned, and after `purge` what it held is in no file."""
    corpus = corpus_of(kind, 100)
    index = opened(kind, tmp_path, corpus)
    index.purge([])
    assert kind.held(40) in held_in(tmp_path)
    corpus.erase(40)
    index.refresh()
    for past in (False, True):
        assert 40 not in kind.ids(index, 40, 100, past=past)
    assert (
        index.explain("onlygb" if isinstance(corpus, ListCorpus) else followed.vector_of(40), 40, past=True)
        is None
    )
    assert index.purge([40])
    assert kind.held(40) not in held_in(tmp_path)


def test_a_purged_row_is_hidden_before_the_corpus_says_so(kind: Kind, tmp_path: Path) -> None:
    """`purge` masks at once, whatever another process is doing to the folder."""
    index = opened(kind, tmp_path, corpus_of(kind, 20))
    with manifest.lock(tmp_path) as mine:
        assert mine
        assert index.purge([7]) is False
        assert 7 not in kind.ids(index, 7, 50, past=True)


@pytest.mark.parametrize("rows", [30, 200])
def test_superseded_and_void_rows_come_back(kind: Kind, tmp_path: Path, rows: int) -> None:
    """Rows that die stay searchable with `past`, void ones do not, and all return with `set_live`."""
    corpus = corpus_of(kind, rows)
    index = opened(kind, tmp_path, corpus)
    index.purge([])
    for turn in range(3):
        for number in range(1, 20):
            corpus.set_live(number, False)
        corpus.void(6)
        index.refresh()
        index.maintain()
        assert 5 not in kind.ids(index, 5, 300)
        assert kind.ids(index, 5, 1, past=True) == [5]
        assert 6 not in kind.ids(index, 6, 300, past=True)
        for number in range(1, 20):
            corpus.set_live(number, True)
        index.refresh()
        assert [kind.ids(index, number, 1) for number in (5, 6)] == [[5], [6]]
        if turn:
            index.maintain()
    assert kind.answers(index) == kind.answers(opened(kind, NOWHERE, corpus_of(kind, rows)))


def test_many_rows_take_the_tail_along(kind: Kind, tmp_path: Path) -> None:
    """Rows in memory are in the files too once a backlog behind them is: the manifest says that it holds them."""
    corpus = corpus_of(kind, 10)
    index = opened(kind, tmp_path, corpus)
    for number in range(11, 201):
        kind.add(corpus, number)
    index.refresh()
    other = opened(kind, tmp_path, corpus)
    assert [kind.ids(other, number, 1) for number in range(1, 12)] == [[number] for number in range(1, 12)]
    assert kind.answers(other) == kind.answers(index)


def test_other_settings_or_another_corpus_make_the_index_anew(kind: Kind, tmp_path: Path) -> None:
    """An index of other settings or another generation is replaced, never used."""
    opened(kind, tmp_path, corpus_of(kind, 100)).purge([])
    assert opened(kind, tmp_path, corpus_of(kind, 50), other=True).stats().records == 50
    other = corpus_of(kind, 7, generation=2)
    index = opened(kind, tmp_path, other)
    assert index.stats().records == 7
    assert kind.ids(index, 3, 1) == [3]
    index.purge([])
    assert opened(kind, tmp_path, other).stats().records == 7


def test_a_corpus_that_went_back_is_followed_back(kind: Kind, tmp_path: Path) -> None:
    """Rows that the corpus does not have (a restored copy) are not returned, and leave the index."""
    opened(kind, tmp_path, corpus_of(kind, 100)).purge([])
    index = opened(kind, tmp_path, corpus_of(kind, 50))
    assert set(kind.ids(index, 80, 200)) <= set(range(1, 51))
    index.purge([])
    assert index.stats().records == 50


def test_a_removed_folder_is_made_again(kind: Kind, tmp_path: Path, right: Answers) -> None:
    """Deleting the files at any time loses nothing, in a running process too."""
    corpus = corpus_of(kind, 200)
    index = opened(kind, tmp_path, corpus)
    for path in tmp_path.iterdir():
        path.unlink()
    assert kind.answers(index) == right
    index.refresh()
    assert kind.answers(index) == right
    index.purge([])
    assert kind.answers(opened(kind, tmp_path, corpus)) == right


@pytest.mark.parametrize("damage", ["cut", "empty", "missing", "foreign", "head"])
def test_damaged_files_are_made_again(kind: Kind, tmp_path: Path, right: Answers, damage: str) -> None:
    """Whichever file is cut, emptied, missing or not ours: the answers are right and the index is whole afterwards."""
    corpus = corpus_of(kind, 200)
    opened(kind, tmp_path, corpus).purge([])
    names = sorted(path.name for path in tmp_path.iterdir() if path.name != manifest.LOCK)
    assert len(names) >= 3
    for name in names:
        path = tmp_path / name
        if not path.exists():
            continue  # replaced when an earlier one was damaged
        data = path.read_bytes()
        if damage == "missing":
            path.unlink()
        else:
            broken = {
                "cut": data[: len(data) // 2],
                "empty": b"",
                "foreign": b"SQLite format 3\0" + data[16:],
                "head": data[:40] + bytes([data[40] ^ 255]) + data[41:],
            }[damage]
            path.unlink()
            path.write_bytes(broken)
        index = opened(kind, tmp_path, corpus)
        assert kind.answers(index) == right, name
        index.purge([])
        assert kind.answers(opened(kind, tmp_path, corpus)) == right


def test_files_are_told_apart(tmp_path: Path) -> None:
    """Not ours is `ForeignFile`, cut short is `StoreCorrupt`; arrays come back as they were."""
    path = tmp_path / "a.words"
    arrays = {"x": np.arange(1000, dtype=np.int32), "y": np.zeros(0, np.uint8)}
    size = packing.write(path, arrays, {"past": True})
    back, meta, told = packing.read(path)
    assert (meta, told) == ({"past": True}, size)
    assert all(np.array_equal(back[name], arrays[name]) for name in arrays)
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(StoreCorrupt, match="instead of"):
        packing.read(path)
    path.write_bytes(b"x" * 500)
    with pytest.raises(ForeignFile):
        packing.read(path)
    path.write_bytes(b"x")
    with pytest.raises(StoreCorrupt, match="cut short"):
        packing.read(path)


def test_a_folder_that_cannot_be_written_is_searched_from_memory(
    kind: Kind, tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maintenance says what is wrong; searching works all the same, and nothing is read twice."""
    (tmp_path / "file").write_bytes(b"")
    corpus = corpus_of(kind, 200)
    index = opened(kind, tmp_path / "file" / "index", corpus)
    with monkeypatch.context() as patch:
        patch.setattr(corpus, "rows", None)
        index.refresh()
    kind.add(corpus, 201)
    index.refresh()
    assert kind.ids(index, 201, 1) == [201]
    corpus.erase(201)
    index = opened(kind, tmp_path / "file" / "index", corpus_of(kind, 200))
    assert kind.answers(index) == right
    with pytest.raises(StorageError, match=kind.what) as caught:
        index.maintain()
    assert caught.value.next_step


def test_a_read_only_folder_is_named(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system refuses to write, the error is `StoreReadOnly`."""
    real = os.open

    def closed(path: str, flags: int, *rest: int, **more: int | None) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(30, "Read-only file system", str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", closed)
    with pytest.raises(StoreReadOnly):
        opened(kind, tmp_path / "index", corpus_of(kind, 10)).maintain()


def test_what_cannot_be_written_is_named(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without leave is `StoreReadOnly`, anything else a `StorageError`, with the next step."""
    index = opened(kind, tmp_path, corpus_of(kind, 20))
    for number, error in ((errno.EACCES, StoreReadOnly), (errno.EIO, StorageError)):
        fail = lambda *_, number=number: (_ for _ in ()).throw(OSError(number, "no"))  # noqa: E731
        monkeypatch.setattr(packing, "write", fail)
        with pytest.raises(error) as caught:
            index.maintain()
        assert caught.value.next_step
        index.refresh()
        assert kind.ids(index, 7, 1) == [7]


def test_a_full_disk_loses_nothing(
    kind: Kind, tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever sync fails, the error names it, searches go on, and the next maintenance ends well."""
    real = os.fsync
    for failing in range(6):
        corpus, calls = corpus_of(kind, 200), [0]
        folder = tmp_path / str(failing)
        index = opened(kind, folder, corpus_of(kind, 60))
        index.maintain()
        index = kind.make(folder, corpus)

        def fsync(handle: int, failing: int = failing, calls: list[int] = calls) -> None:
            calls[0] += 1
            if calls[0] == failing + 1:
                raise OSError(errno.ENOSPC, "no space")
            real(handle)

        monkeypatch.setattr(os, "fsync", fsync)
        index.refresh()
        assert kind.answers(index) == right
        monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "no space")))
        corpus.erase(200)
        index.refresh()
        with pytest.raises(StoreFull):
            index.purge([200])
        monkeypatch.setattr(os, "fsync", real)
        assert index.purge([200])
        assert kind.answers(opened(kind, folder, corpus)) == kind.answers(index)


def test_a_disk_that_fills_up_loses_nothing(
    kind: Kind, tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When writing breaks off anywhere, the old index stands, and the next maintenance makes up for it."""
    corpus = corpus_of(kind, 150)
    index = opened(kind, tmp_path, corpus)
    for number in range(151, 201):
        kind.add(corpus, number)
    index.refresh()
    real, calls = os.fsync, 0
    for failing in range(1, 6):
        calls = 0

        def fsync(handle: int, failing: int = failing) -> None:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(28, "No space left on device")
            real(handle)

        monkeypatch.setattr(os, "fsync", fsync)
        if failing <= 3:
            with pytest.raises(StoreFull, match="No space left"):
                index.purge([])
        index.refresh()
        assert kind.answers(index) == right
    monkeypatch.setattr(os, "fsync", real)
    index.refresh()
    index.purge([])
    assert kind.answers(opened(kind, tmp_path, corpus)) == right


def test_a_budget_puts_large_merges_off(kind: Kind, tmp_path: Path) -> None:
    """With a budget only merges of so many rows are done; without one, all that are due."""
    corpus = kind.empty()
    index = opened(kind, tmp_path, corpus)
    for number in range(1, 16 * 6 + 1):
        kind.add(corpus, number)
        index.refresh()
        index.maintain(budget=10)
    many = index.stats().segments
    index.maintain()
    assert index.stats().segments < many


def test_searches_go_on_during_a_long_merge(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long merge holds no lock that a search waits for, and its result is seen at the next refresh."""
    monkeypatch.setattr(kind.index, "SHORT_ROWS", 5)
    corpus = kind.empty()
    index = opened(kind, tmp_path, corpus)
    for number in range(1, 16 * 6 + 1):
        kind.add(corpus, number)
        index.refresh()
        index.maintain(budget=5)
    many, wanted, during = index.stats().segments, kind.answers(index), list[Answers]()
    real = getattr(*kind.merge)

    def merge(*arguments: object) -> object:
        thread = threading.Thread(target=lambda: during.append(kind.answers(index)))
        thread.start()
        thread.join(20)
        return real(*arguments)  # type: ignore[no-any-return]

    monkeypatch.setattr(*kind.merge, merge)
    assert index.maintain()
    index.refresh()
    assert during
    assert all(said == wanted for said in [*during, kind.answers(index)])
    assert index.stats().segments < many


def start(kind: Kind, folder: Path, rows: int) -> subprocess.Popen[str]:
    """A process that writes and maintains."""
    name = next(name for name, one in KINDS.items() if one is kind)
    command = [sys.executable, "-m", followed.__name__, name, str(folder), str(rows)]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}
    )


def test_a_kill_at_any_moment_leaves_a_good_index(kind: Kind, tmp_path: Path) -> None:
    """Killed in the middle of maintenance again and again, the folder opens and answers rightly every time."""
    rng = random.Random(5)
    corpus = busy(kind, 400, kind.empty())
    wanted = kind.answers(opened(kind, NOWHERE, corpus))
    for _ in range(12):
        process = start(kind, tmp_path, 400)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.random() * 0.25)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert kind.answers(opened(kind, tmp_path, corpus)) == wanted


def test_processes_maintain_at_once(kind: Kind, tmp_path: Path) -> None:
    """Three processes that follow the same rows and maintain one folder end with one good index."""
    processes = [start(kind, tmp_path, 150) for _ in range(3)]
    for process in processes:
        assert process.wait(120) == 0
        assert process.stdout is not None
        process.stdout.close()
    corpus = busy(kind, 150, kind.empty())
    index = opened(kind, tmp_path, corpus)
    assert kind.answers(index) == kind.answers(opened(kind, NOWHERE, corpus))
    index.purge([])
    named = set(manifest.Manifest.load(tmp_path).sizes) | {manifest.NAME, manifest.LOCK}
    assert {path.name for path in tmp_path.iterdir()} == named


@pytest.mark.parametrize("module", ["lexical", "vectors"])
def test_importing_the_index_brings_in_little(module: str) -> None:
    """Neither the stemmer nor a database comes with the import: a command line starts fast."""
    code = f"import sys, muniment.recall.{module}; "
    code += "print([m for m in ('Stemmer', 'apsw', 'sqlite3') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_the_list_corpus_keeps_the_contract() -> None:
    """Rows in order, changes numbered, what is erased stays gone."""
    corpus = ListCorpus()
    corpus.add("a", session=1, place=5)
    corpus.add("b", session=1, place=3)
    corpus.add("c", session=1, place=4)
    corpus.set_live(3, False)
    assert list(corpus.changes(0, 9)) == [(1, 3, False, False)]
    assert [row.ord for row in corpus.rows(1, 3)] == [2, 3]
    assert corpus.pick([3, 99]) == [Row(3, False, False, 1, 4, ("c",))]
    corpus.erase(1)
    corpus.set_live(1, True)
    assert corpus.pick([1])[0].gone
