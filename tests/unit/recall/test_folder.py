"""The files of a word index: followed by many processes, broken in many ways, made again from the corpus."""

from __future__ import annotations

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

from muniment.base.errors import ForeignFile, StorageError, StoreCorrupt, StoreFull, StoreReadOnly
from muniment.recall import follow, lexical, manifest, packing
from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus, Row
from muniment.recall.lexical import ContextWeights, Ranking, WordIndex

NOWHERE = Path(os.devnull) / "index"  # can't be made: an index there lives in memory
SOURCE = Path(__file__).parents[3] / "src"


def text_of(number: int) -> str:
    """What row `number` says: words shared by many, by some and by none."""
    return f"common shared{spell(number % 7)} shared{spell(number % 31)} only{spell(number)}"


def spell(number: int) -> str:
    """A number in letters: digits would make identifiers of the words."""
    return str(number).translate(str.maketrans("0123456789", "bcdfghjkmp"))


def said(ranking: Ranking) -> list[tuple[int, float]]:
    """(row, score) of the hits."""
    return [(hit.ord, round(hit.score, 9)) for hit in ranking.hits]


def corpus_of(rows: int) -> ListCorpus:
    """That many rows in conversations of ten."""
    corpus = ListCorpus()
    for number in range(1, rows + 1):
        corpus.add(text_of(number), session=1 + number // 10)
    return corpus


def open_index(folder: Path, corpus: ListCorpus, **options: object) -> WordIndex:
    """An index that has caught up."""
    index = WordIndex(folder, corpus, Analyzer(), context=ContextWeights(), **options)  # type: ignore[arg-type]
    index.refresh()
    return index


Answers = list[list[tuple[int, float]]]


def answers(index: WordIndex) -> Answers:
    """What it says to a few queries; sums taken in another order may differ in their last digits."""
    return [
        said(index.search(query, 10)) for query in ("common onlyck", "sharedf sharedm", "onlygb", "common")
    ]


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TAIL_ROWS": 16, "BACKLOG": 64, "BLOCK_ROWS": 50, "FAN_OUT": 3}.items():
        monkeypatch.setattr(follow, name, value)


@pytest.fixture
def right() -> Answers:
    """What an index in memory says of 200 rows."""
    return answers(open_index(NOWHERE, corpus_of(200)))


def test_an_index_opens_from_its_files(
    tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second instance reads segments and columns, asks the corpus for its watermark only, and answers alike."""
    corpus = corpus_of(200)
    open_index(tmp_path, corpus).purge([])
    monkeypatch.setattr(corpus, "rows", None)
    assert answers(open_index(tmp_path, corpus)) == right


def test_each_instance_sees_what_another_wrote(tmp_path: Path) -> None:
    """Rows, deaths and segments of one are in the next search of the other, which keeps working on files unlinked."""
    corpus = corpus_of(100)
    one, two = open_index(tmp_path, corpus), open_index(tmp_path, corpus)
    two.maintain()
    before = answers(two)
    for number in range(101, 200):
        corpus.add(text_of(number))
        if number % 10 == 0:
            corpus.set_live(number - 50, False)
            one.refresh()
            one.maintain()
    assert answers(two) == before
    one.refresh()
    two.refresh()
    assert two.search("onlychb", 1).hits[0].ord == 150
    assert answers(two) == answers(one) == answers(open_index(NOWHERE, corpus))


def test_a_gone_row_is_found_by_no_search_and_in_no_file(tmp_path: Path) -> None:
    """After an erasure the row is not returned, and after `purge` its words are in no file."""
    corpus = corpus_of(100)
    index = open_index(tmp_path, corpus)
    index.purge([])
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"onlygb" in held
    corpus.erase(40)
    index.refresh()
    for past in (False, True):
        assert index.search("onlygb", 5, past=past).hits == [] or index.search("onlygb", 5).hits[0].tier == 0
        assert 40 not in {hit.ord for hit in index.search("common onlygb sharedh", 100, past=past).hits}
    assert index.explain("onlygb", 40, past=True) is None
    assert index.purge([40])
    assert b"onlygb" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_purged_row_is_hidden_before_the_corpus_says_so(tmp_path: Path) -> None:
    """`purge` masks at once, whatever another process is doing to the folder."""
    corpus = corpus_of(20)
    index = open_index(tmp_path, corpus)
    with manifest.lock(tmp_path) as mine:
        assert mine
        assert index.purge([7]) is False
        assert 7 not in {hit.ord for hit in index.search("common", 50, past=True).hits}


@pytest.mark.parametrize("rows", [30, 200])
def test_superseded_rows_move_out_of_the_way_and_come_back(tmp_path: Path, rows: int) -> None:
    """Rows that die leave the live statistics, stay searchable with `past`, and return with `set_live`."""
    corpus = corpus_of(rows)
    index = open_index(tmp_path, corpus)
    index.purge([])
    for turn in range(3):
        for number in range(1, 20):
            corpus.set_live(number, False)
        index.refresh()
        index.maintain()
        assert index.search("onlyh", 3).hits == [] or index.search("onlyh", 3).hits[0].tier == 0
        assert index.search("onlyh", 3, past=True).hits[0].ord == 5
        for number in range(1, 20):
            corpus.set_live(number, True)
        index.refresh()
        assert index.search("onlyh", 3).hits[0].ord == 5, turn
    assert answers(index) == answers(open_index(NOWHERE, corpus_of(rows)))


def test_other_settings_or_another_corpus_make_the_index_anew(tmp_path: Path) -> None:
    """An index of another analyser or generation is replaced, never used."""
    corpus = corpus_of(100)
    open_index(tmp_path, corpus).purge([])
    plain = WordIndex(tmp_path, corpus, Analyzer(kind="plain"))
    plain.refresh()
    assert {hit.ord for hit in plain.search("onlygb", 5).hits} == {40}
    other = ListCorpus(generation=2)
    other.extend(["quite different words"] * 3)
    index = open_index(tmp_path, other)
    assert [hit.ord for hit in index.search("common different", 5).hits] == [3, 2, 1]
    index.purge([])
    assert open_index(tmp_path, other).stats().records == 3


def test_a_corpus_that_went_back_is_followed_back(tmp_path: Path) -> None:
    """Rows that the corpus does not have (a restored copy) are not returned, and leave the index."""
    open_index(tmp_path, corpus_of(100)).purge([])
    index = open_index(tmp_path, corpus_of(50))
    assert {hit.ord for hit in index.search("common", 200).hits} <= set(range(1, 51))
    index.purge([])
    assert index.stats().records == 50


def test_a_removed_folder_is_made_again(tmp_path: Path, right: Answers) -> None:
    """Deleting the files at any time loses nothing, in a running process too."""
    corpus = corpus_of(200)
    index = open_index(tmp_path, corpus)
    for path in tmp_path.iterdir():
        path.unlink()
    assert answers(index) == right
    index.refresh()
    assert answers(index) == right
    index.purge([])
    assert answers(open_index(tmp_path, corpus)) == right


@pytest.mark.parametrize("damage", ["cut", "empty", "missing", "foreign", "head"])
def test_damaged_files_are_made_again(tmp_path: Path, right: Answers, damage: str) -> None:
    """Whichever file is cut, emptied, missing or not ours: the answers are right and the index is whole afterwards."""
    corpus = corpus_of(200)
    open_index(tmp_path, corpus).purge([])
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
        index = open_index(tmp_path, corpus)
        assert answers(index) == right, name
        index.purge([])
        assert answers(open_index(tmp_path, corpus)) == right


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
    tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maintenance says what is wrong; searching works all the same, and nothing is read twice."""
    (tmp_path / "file").write_bytes(b"")
    corpus = corpus_of(200)
    index = open_index(tmp_path / "file" / "index", corpus)
    with monkeypatch.context() as patch:
        patch.setattr(corpus, "rows", None)
        index.refresh()
    corpus.add("one more")
    index.refresh()
    assert index.search("one more", 1).hits[0].ord == 201
    corpus.erase(201)
    index = open_index(tmp_path / "file" / "index", corpus_of(200))
    assert answers(index) == right
    with pytest.raises(StorageError, match="word index") as caught:
        index.maintain()
    assert caught.value.next_step


def test_a_read_only_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system refuses to write, the error is `StoreReadOnly`."""
    real = os.open

    def closed(path: str, flags: int, *rest: int, **more: int | None) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(30, "Read-only file system", str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", closed)
    with pytest.raises(StoreReadOnly):
        open_index(tmp_path / "index", corpus_of(10)).maintain()


def test_a_full_disk_loses_nothing(tmp_path: Path, right: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """When writing breaks off anywhere, the old index stands, and the next maintenance makes up for it."""
    corpus = corpus_of(150)
    index = open_index(tmp_path, corpus)
    for number in range(151, 201):
        corpus.add(text_of(number), session=1 + number // 10)
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
        assert answers(index) == right
    monkeypatch.setattr(os, "fsync", real)
    index.refresh()
    index.purge([])
    assert answers(open_index(tmp_path, corpus)) == right


def test_a_budget_puts_large_merges_off(tmp_path: Path) -> None:
    """With a budget only merges of so many rows are done; without one, all that are due."""
    corpus = ListCorpus()
    index = open_index(tmp_path, corpus)
    for number in range(1, 16 * 6 + 1):
        corpus.add(text_of(number))
        index.refresh()
        index.maintain(budget=10)
    many = index.stats().segments
    index.maintain()
    assert index.stats().segments < many


def test_searches_go_on_during_a_long_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long merge holds no lock that a search waits for, and its result is seen at the next refresh."""
    monkeypatch.setattr(lexical, "SHORT_ROWS", 5)
    corpus = ListCorpus()
    index = open_index(tmp_path, corpus)
    for number in range(1, 16 * 6 + 1):
        corpus.add(text_of(number))
        index.refresh()
        index.maintain(budget=5)
    many, wanted, during = index.stats().segments, answers(index), list[Answers]()
    real = follow.merge_postings

    def merge(*arguments: object) -> object:
        thread = threading.Thread(target=lambda: during.append(answers(index)))
        thread.start()
        thread.join(20)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(follow, "merge_postings", merge)
    assert index.maintain()
    index.refresh()
    assert during
    assert all(said == wanted for said in [*during, answers(index)])
    assert index.stats().segments < many


SCRIPT = """
import sys
sys.path[:0] = sys.argv[1:2]
from pathlib import Path
from muniment.recall import follow
from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus
from muniment.recall.lexical import WordIndex
follow.TAIL_ROWS, follow.BACKLOG, follow.BLOCK_ROWS, follow.FAN_OUT = 4, 64, 50, 3
spell = lambda n: str(n).translate(str.maketrans("0123456789", "bcdfghjkmp"))
text_of = lambda n: f"common shared{spell(n % 7)} shared{spell(n % 31)} only{spell(n)}"
corpus = ListCorpus()
index = WordIndex(Path(sys.argv[2]), corpus, Analyzer())
print("ready", flush=True)
for number in range(1, int(sys.argv[3]) + 1):
    corpus.add(text_of(number), session=1 + number // 10)
    if number % 13 == 0:
        corpus.set_live(number - 5, False)
        corpus.set_live(number - 12, number % 2 == 0)
    if number % 3 == 0:
        index.refresh()
        index.maintain()
index.refresh()
index.purge([])
"""


def final_corpus(rows: int) -> ListCorpus:
    """What the script's corpus is in the end."""
    corpus = ListCorpus()
    for number in range(1, rows + 1):
        corpus.add(text_of(number), session=1 + number // 10)
        if number % 13 == 0:
            corpus.set_live(number - 5, False)
            corpus.set_live(number - 12, number % 2 == 0)
    return corpus


def start(folder: Path, rows: int) -> subprocess.Popen[str]:
    """A process that writes and maintains."""
    command = [sys.executable, "-c", SCRIPT, str(SOURCE), str(folder), str(rows)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_kill_at_any_moment_leaves_a_good_index(tmp_path: Path) -> None:
    """Killed in the middle of maintenance again and again, the folder opens and answers rightly every time."""
    rng = random.Random(5)
    corpus = final_corpus(400)
    wanted = answers(open_index(NOWHERE, corpus))
    for _ in range(12):
        process = start(tmp_path, 400)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.random() * 0.25)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert answers(open_index(tmp_path, corpus)) == wanted


def test_processes_maintain_at_once(tmp_path: Path) -> None:
    """Three processes that follow the same rows and maintain one folder end with one good index."""
    processes = [start(tmp_path, 150) for _ in range(3)]
    for process in processes:
        assert process.wait(120) == 0
        assert process.stdout is not None
        process.stdout.close()
    corpus = final_corpus(150)
    index = open_index(tmp_path, corpus)
    assert answers(index) == answers(open_index(NOWHERE, corpus))
    index.purge([])
    named = set(manifest.Manifest.load(tmp_path).sizes) | {manifest.NAME, manifest.LOCK}
    assert {path.name for path in tmp_path.iterdir()} == named


def test_importing_the_index_brings_in_little() -> None:
    """Neither the stemmer nor a database comes with the import: a command line starts fast."""
    code = "import sys, muniment.recall.lexical; print([m for m in ('Stemmer', 'apsw', 'sqlite3') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_the_list_corpus_keeps_the_contract() -> None:
    """Rows in order, changes numbered, live members of a conversation in order of place."""
    corpus = ListCorpus()
    corpus.add("a", session=1, place=5)
    corpus.add("b", session=1, place=3)
    corpus.add("c", session=1, place=4)
    corpus.set_live(3, False)
    assert corpus.session(1) == [(3, 2), (5, 1)]
    assert list(corpus.changes(0, 9)) == [(1, 3, False, False)]
    assert [row.ord for row in corpus.rows(1, 3)] == [2, 3]
    assert corpus.pick([3, 99]) == [Row(3, False, False, 1, 4, ("c",))]
    corpus.erase(1)
    corpus.set_live(1, True)
    assert corpus.pick([1])[0].gone
