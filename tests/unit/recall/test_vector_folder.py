"""The files of a vector index: followed by many processes, broken in many ways, made again from the corpus."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recall.vector_reference import ids

from muniment.base.errors import StorageError, StoreCorrupt, StoreFull, StoreReadOnly
from muniment.recall import manifest, packing, vector_follow, vectors
from muniment.recall.vector_corpus import Array, ListVectors
from muniment.recall.vector_segments import Segment
from muniment.recall.vectors import VectorIndex

NOWHERE = Path(os.devnull) / "index"  # can't be made: an index there lives in memory
SOURCE = Path(__file__).parents[3] / "src"
DIMENSION = 8


def vector_of(number: int) -> Array:
    """What row `number` means."""
    return np.random.default_rng(number).standard_normal(DIMENSION)


def corpus_of(rows: int, **options: int) -> ListVectors:
    """That many rows."""
    corpus = ListVectors(DIMENSION, **options)
    for number in range(1, rows + 1):
        corpus.add(vector_of(number))
    return corpus


def opened(folder: Path, corpus: ListVectors, model: str = "") -> VectorIndex:
    """An index that has caught up."""
    index = VectorIndex(folder, corpus, DIMENSION, model=model)
    index.refresh()
    return index


Answers = list[list[tuple[int, float]]]


def answers(index: VectorIndex) -> Answers:
    """What it says to a few queries."""
    queries = [vector_of(number) for number in (3, 150, 1001, 1002)]
    return [[(hit.ord, round(hit.cosine, 6)) for hit in index.search(query, 10)] for query in queries]


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TAIL_ROWS": 16, "BACKLOG": 64, "BLOCK_ROWS": 50, "FAN_OUT": 3}.items():
        monkeypatch.setattr(vector_follow, name, value)


@pytest.fixture
def right() -> Answers:
    """What an index in memory says of 200 rows."""
    return answers(opened(NOWHERE, corpus_of(200)))


def test_an_index_opens_from_its_files(
    tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second instance maps the segments, asks the corpus for its watermark only, and answers alike."""
    corpus = corpus_of(200)
    opened(tmp_path, corpus).purge([])
    monkeypatch.setattr(corpus, "vectors", None)
    index = opened(tmp_path, corpus)
    assert answers(index) == right
    assert not any(segment.rows.flags.owndata for segment in index._follower.segments)


def test_each_instance_sees_what_another_wrote(tmp_path: Path) -> None:
    """Rows, deaths and segments of one are in the next search of the other, which keeps working on files unlinked."""
    corpus = corpus_of(100)
    one, two = opened(tmp_path, corpus), opened(tmp_path, corpus)
    two.maintain()
    before = answers(two)
    for number in range(101, 200):
        corpus.add(vector_of(number))
        if number % 10 == 0:
            corpus.set_live(number - 50, False)
            one.refresh()
            one.maintain()
    assert answers(two) == before
    one.refresh()
    two.refresh()
    assert ids(two, vector_of(150), 1) == [150]
    assert answers(two) == answers(one) == answers(opened(NOWHERE, corpus))


def test_a_gone_row_is_found_by_no_search_and_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an erasure the row is not returned, and after `purge` its vector is in no file, nor an older one of it."""
    monkeypatch.setattr(vector_follow, "FAN_OUT", 9)
    corpus = corpus_of(100)
    index = opened(tmp_path, corpus)
    index.purge([])
    old = corpus.pick([40])[0].vector
    corpus.set_vector(40, vector_of(4000))
    index.refresh()
    index.maintain()
    new = corpus.pick([40])[0].vector
    assert old
    assert new
    index._follower._settle(None)
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert old in held
    assert new in held
    corpus.erase(40)
    index.refresh()
    for past in (False, True):
        assert 40 not in ids(index, vector_of(4000), 100, past=past)
    assert index.explain(vector_of(40), 40, past=True) is None
    assert index.purge([40])
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert old not in held
    assert new not in held


def test_a_purged_row_is_hidden_before_the_corpus_says_so(tmp_path: Path) -> None:
    """`purge` masks at once, whatever another process is doing to the folder."""
    index = opened(tmp_path, corpus_of(20))
    with manifest.lock(tmp_path) as mine:
        assert mine
        assert index.purge([7]) is False
        assert 7 not in ids(index, vector_of(7), 50, past=True)


@pytest.mark.parametrize("rows", [30, 200])
def test_superseded_and_void_rows_come_back(tmp_path: Path, rows: int) -> None:
    """Rows that die stay searchable with `past`, void ones do not, and both return with `set_live`."""
    corpus = corpus_of(rows)
    index = opened(tmp_path, corpus)
    index.purge([])
    for turn in range(3):
        corpus.set_live(5, False)
        corpus.void(6)
        index.refresh()
        index.maintain()
        assert 5 not in ids(index, vector_of(5), 3)
        assert ids(index, vector_of(5), 1, past=True) == [5]
        assert 6 not in ids(index, vector_of(6), 9, past=True)
        for number in (5, 6):
            corpus.set_live(number, True)
        index.refresh()
        assert ids(index, vector_of(5), 1) == [5]
        assert ids(index, vector_of(6), 1) == [6]
        if turn:
            index.maintain()
    assert answers(index) == answers(opened(NOWHERE, corpus_of(rows)))


def test_another_model_or_corpus_makes_the_index_anew(tmp_path: Path) -> None:
    """An index of another model, dimension or generation is replaced, never used."""
    corpus = corpus_of(100)
    opened(tmp_path, corpus, "a").purge([])
    again = corpus_of(50)
    assert opened(tmp_path, again, "b").stats().records == 50
    other = ListVectors(3, generation=2)
    other.add(np.ones(3))
    index = VectorIndex(tmp_path, other, 3, model="a")
    index.refresh()
    assert ids(index, np.ones(3)) == [1]
    index.purge([])
    assert opened(tmp_path, corpus_of(7, generation=3), "a").stats().records == 7


def test_a_corpus_that_went_back_is_followed_back(tmp_path: Path) -> None:
    """Rows that the corpus does not have (a restored copy) are not returned, and leave the index."""
    opened(tmp_path, corpus_of(100)).purge([])
    index = opened(tmp_path, corpus_of(50))
    assert set(ids(index, vector_of(80), 200)) <= set(range(1, 51))
    index.purge([])
    assert index.stats().records == 50


def test_a_removed_folder_is_made_again(tmp_path: Path, right: Answers) -> None:
    """Deleting the files at any time loses nothing, in a running process too."""
    corpus = corpus_of(200)
    index = opened(tmp_path, corpus)
    for path in tmp_path.iterdir():
        path.unlink()
    assert answers(index) == right
    index.refresh()
    assert answers(index) == right
    index.purge([])
    assert answers(opened(tmp_path, corpus)) == right


@pytest.mark.parametrize("damage", ["cut", "empty", "missing", "foreign", "head"])
def test_damaged_files_are_made_again(tmp_path: Path, right: Answers, damage: str) -> None:
    """Whichever file is cut, emptied, missing or not ours: the answers are right and the index is whole afterwards."""
    corpus = corpus_of(200)
    opened(tmp_path, corpus).purge([])
    names = sorted(path.name for path in tmp_path.iterdir() if path.name != manifest.LOCK)
    assert len(names) >= 3
    for name in names:
        path = tmp_path / name
        if not path.exists():
            continue  # replaced when an earlier one was damaged
        data = path.read_bytes()
        path.unlink()
        if damage != "missing":
            broken = {
                "cut": data[: len(data) // 2],
                "empty": b"",
                "foreign": b"SQLite format 3\0" + data[16:],
                "head": data[:40] + bytes([data[40] ^ 255]) + data[41:],
            }[damage]
            path.write_bytes(broken)
        index = opened(tmp_path, corpus)
        assert answers(index) == right, name
        index.purge([])
        assert answers(opened(tmp_path, corpus)) == right


@pytest.mark.parametrize("wrong", ["rows", "bits", "scale", "offset", "mean", "ords", "order", "zero"])
def test_a_segment_whose_parts_do_not_fit_is_refused(tmp_path: Path, wrong: str) -> None:
    """A file with arrays of different lengths or rows out of order is damaged, not read."""
    arrays: packing.Arrays = {
        "ords": np.array([1, 2, 3], np.int32), "rows": np.ones(3 * DIMENSION, np.float16),
        "bits": np.zeros(3, np.uint64), "mean": np.zeros(DIMENSION, np.float32),
        "scale": np.ones(3, np.float32), "offset": np.ones(3, np.float32),
    }  # fmt: skip
    packing.write(tmp_path / "good", arrays, {"spread": 3})
    assert len(Segment.open(tmp_path / "good", DIMENSION).ords) == 3
    if wrong in {"order", "zero"}:
        arrays["ords"] = np.array([1, 3, 2] if wrong == "order" else [0, 1, 2], np.int32)
    else:
        arrays[wrong] = arrays[wrong][: -DIMENSION if wrong == "rows" else -1]
    packing.write(tmp_path / "bad", arrays, {"spread": 3})
    with pytest.raises(StoreCorrupt):
        Segment.open(tmp_path / "bad", DIMENSION)


def test_pieces_are_written_as_one_array(tmp_path: Path) -> None:
    """An array given in pieces comes back whole."""
    pieces = (np.full(5, n, np.float16) for n in range(4))
    packing.write(tmp_path / "a", {"x": packing.Parts("float16", 20, pieces)}, {})
    assert packing.read(tmp_path / "a")[0]["x"].tolist() == [n for n in range(4) for _ in range(5)]


def test_a_full_disk_loses_nothing(tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever sync fails, the error names it, searches go on, and the next maintenance ends well."""
    real = os.fsync
    for failing in range(6):
        corpus, calls = corpus_of(200), [0]
        folder = tmp_path / str(failing)
        index = opened(folder, corpus_of(60))
        index.maintain()
        index = VectorIndex(folder, corpus, DIMENSION)

        def fsync(handle: int, failing: int = failing, calls: list[int] = calls) -> None:
            calls[0] += 1
            if calls[0] == failing + 1:
                raise OSError(errno.ENOSPC, "no space")
            real(handle)

        monkeypatch.setattr(os, "fsync", fsync)
        index.refresh()
        assert answers(index) == right
        monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "no space")))
        corpus.erase(200)
        index.refresh()
        with pytest.raises(StoreFull):
            index.purge([200])
        monkeypatch.setattr(os, "fsync", real)
        assert index.purge([200])
        assert answers(opened(folder, corpus)) == answers(index)


def test_what_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without leave is `StoreReadOnly`, anything else a `StorageError`, with the next step."""
    index = opened(tmp_path, corpus_of(20))
    for number, kind in ((errno.EACCES, StoreReadOnly), (errno.EIO, StorageError)):
        fail = lambda *_, number=number: (_ for _ in ()).throw(OSError(number, "no"))  # noqa: E731
        monkeypatch.setattr(packing, "write", fail)
        with pytest.raises(kind) as caught:
            index.maintain()
        assert caught.value.next_step
        index.refresh()
        assert ids(index, vector_of(7), 1) == [7]


def test_a_budget_puts_large_merges_off(tmp_path: Path) -> None:
    """With a budget only merges of so many rows are done; without one, all that are due."""
    corpus = ListVectors(DIMENSION)
    index = opened(tmp_path, corpus)
    for number in range(1, 16 * 6 + 1):
        corpus.add(vector_of(number))
        index.refresh()
        index.maintain(budget=10)
    many = index.stats().segments
    index.maintain()
    assert index.stats().segments < many


def test_searches_go_on_during_a_long_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long merge holds no lock that a search waits for, and its result is seen at the next refresh."""
    monkeypatch.setattr(vectors, "SHORT_ROWS", 5)
    corpus = ListVectors(DIMENSION)
    index = opened(tmp_path, corpus)
    for number in range(1, 16 * 6 + 1):
        corpus.add(vector_of(number))
        index.refresh()
        index.maintain(budget=5)
    many, wanted, during = index.stats().segments, answers(index), list[Answers]()
    real = vector_follow.Merged

    def merge(*arguments: object) -> object:
        thread = threading.Thread(target=lambda: during.append(answers(index)))
        thread.start()
        thread.join(20)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(vector_follow, "Merged", merge)
    assert index.maintain()
    index.refresh()
    assert during
    assert all(said == wanted for said in [*during, answers(index)])
    assert index.stats().segments < many


def test_signatures_follow_a_bank_that_outgrows_their_mean(tmp_path: Path) -> None:
    """A mean serves until a segment is much larger than the rows it was taken of; then it is taken anew."""
    corpus = corpus_of(40)
    index = opened(tmp_path, corpus)
    index.purge([])
    first = index._follower.segments[0].mean.copy()
    for number in range(41, 1001):
        corpus.add(vector_of(number) + 2)
        if number % 16 == 0:
            index.refresh()
            index.maintain()
    largest = max(index._follower.segments, key=lambda segment: len(segment.ords))
    assert not np.allclose(first, largest.mean)
    assert largest.spread * vector_follow.FAN_OUT >= len(largest.ords) // 4


SCRIPT = """
import sys
sys.path[:0] = sys.argv[1:2]
from pathlib import Path
import numpy as np
from muniment.recall import vector_follow
from muniment.recall.vector_corpus import ListVectors
from muniment.recall.vectors import VectorIndex
for name, value in dict(TAIL_ROWS=4, BACKLOG=64, BLOCK_ROWS=50, FAN_OUT=3).items():
    setattr(vector_follow, name, value)
vector_of = lambda n: np.random.default_rng(n).standard_normal(8)
corpus = ListVectors(8)
index = VectorIndex(Path(sys.argv[2]), corpus, 8)
print("ready", flush=True)
for number in range(1, int(sys.argv[3]) + 1):
    corpus.add(vector_of(number) if number % 11 else None)
    if number % 13 == 0:
        corpus.set_live(number - 5, False)
        corpus.set_live(number - 12, number % 2 == 0)
        corpus.set_vector(number - 2, vector_of(number + 5000))
    if number % 3 == 0:
        index.refresh()
        index.maintain()
index.refresh()
index.purge([])
"""


def final_corpus(rows: int) -> ListVectors:
    """What the script's corpus is in the end."""
    corpus = ListVectors(DIMENSION)
    for number in range(1, rows + 1):
        corpus.add(vector_of(number) if number % 11 else None)
        if number % 13 == 0:
            corpus.set_live(number - 5, False)
            corpus.set_live(number - 12, number % 2 == 0)
            corpus.set_vector(number - 2, vector_of(number + 5000))
    return corpus


def start(folder: Path, rows: int) -> subprocess.Popen[str]:
    """A process that writes and maintains."""
    command = [sys.executable, "-c", SCRIPT, str(SOURCE), str(folder), str(rows)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_kill_at_any_moment_leaves_a_good_index(tmp_path: Path) -> None:
    """Killed in the middle of maintenance again and again, the folder opens and answers rightly every time."""
    rng = random.Random(5)
    corpus = final_corpus(400)
    wanted = answers(opened(NOWHERE, corpus))
    for _ in range(12):
        process = start(tmp_path, 400)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.random() * 0.25)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert answers(opened(tmp_path, corpus)) == wanted


def test_processes_maintain_at_once(tmp_path: Path) -> None:
    """Three processes that follow the same rows and maintain one folder end with one good index."""
    processes = [start(tmp_path, 150) for _ in range(3)]
    for process in processes:
        assert process.wait(120) == 0
        assert process.stdout is not None
        process.stdout.close()
    corpus = final_corpus(150)
    index = opened(tmp_path, corpus)
    assert answers(index) == answers(opened(NOWHERE, corpus))
    index.purge([])
    named = set(manifest.Manifest.load(tmp_path).sizes) | {manifest.NAME, manifest.LOCK}
    assert {path.name for path in tmp_path.iterdir()} == named


def test_importing_the_index_brings_in_little() -> None:
    """Neither the stemmer nor a database comes with the import: a command line starts fast."""
    code = "import sys, muniment.recall.vectors; print([m for m in ('Stemmer', 'apsw', 'sqlite3') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
