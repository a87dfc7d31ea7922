"""The command that measures recall: its tables, its plot, and how it rewrites the documents."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import carriers, contenders, pages, quality, recall, rival_worker, rivals, sets


@pytest.fixture
def bank():
    """Two conversations, a question, and one that nothing answers."""
    bank = sets.Bank("tiny")
    bank.add("Ann: The red bicycle stands in the shed.", 1)
    bank.add("Bob: I painted the gate.", 1)
    bank.add("Ann: We had soup for dinner.", 2)
    bank.questions.append(sets.Question("Where is the red bicycle?", {1}, {1}))
    bank.unanswerable.append(sets.Question("What is the capital of Norway?", set()))
    return bank


@pytest.fixture
def result(bank):
    """Figures as `--json` keeps them, of two contenders on one set."""
    run = quality.Run(
        [[2, 1]], [[2, 1, 3]], [1.0], 5.0, {"ask": ([False], [False]), "sure": ([False], [True])}
    )
    other = quality.Run([[3]], [[3]], [2.0], 1.0, {"ask": ([False], [False])}, "1.0")
    found = {
        contenders.WORDS: quality.scores("tiny", [bank], run),
        contenders.BASE: quality.scores("tiny", [bank], other),
    }
    one = {"step": 5, "questions": 1, "unanswerable": 1, "records": 3, "contenders": quality.plain(found),
           "paired": recall.paired(found)}  # fmt: skip
    machine = {"cores": 2, "memory_gib": 1, "python": "3", "sqlite": "3", "numpy": "2"}
    made = {"machine": machine, "versions": {"bm25s": "0.3"}, "absent": ["mem0ai: not there"]}
    return json.loads(json.dumps({**made, "sets": {"locomo": one}}))


def test_the_page_tells_all_figures(result):
    """Intervals, differences, silence, versions, who is absent, and that not all was asked."""
    page = recall.page(result)
    rows = [line for line in page.splitlines() if line.startswith(f"| {contenders.WORDS} ")]
    assert "1.000 [1.000, 1.000]" in rows[0]
    assert "bm25s 0.3. Absent: mem0ai: not there." in page
    assert "3 records, 1 questions (one in 5)." in page
    told = [" ".join(line.split()) for line in page.splitlines()]
    assert "| recall@10 above plain | muniment, words | +1.000 [+1.000, +1.000] |" in told
    assert f"| {contenders.WORDS}, `floor=True` " in page
    assert "By session" in page


def test_the_documents_are_rewritten_between_the_marks(result, tmp_path: Path, monkeypatch):
    """What stands around stays, and twice is once."""
    page = tmp_path / "benchmarks.md"
    begin, end = pages.marks("recall")
    page.write_text(f"before\n\n{begin}\n\nold\n\n{end}\n\nafter\n", "utf-8")
    monkeypatch.setattr(pages, "PAGE", page)
    monkeypatch.setattr(pages, "IMAGES", tmp_path / "images")
    recall.write_docs(result)
    once = page.read_text("utf-8")
    assert once.startswith("before\n")
    assert once.endswith("\nafter\n")
    assert "old" not in once
    assert "(images/recall.svg)" in once
    assert "muniment, words" in (tmp_path / "images" / "recall.svg").read_text("utf-8")
    recall.write_docs(result)
    assert page.read_text("utf-8") == once
    page.write_text("no marks", "utf-8")
    with pytest.raises(SystemExit):
        recall.write_docs(result)


@pytest.mark.parametrize("name", ["recall", "scale", "year"])
def test_the_page_of_the_project_has_the_marks(name: str):
    """Else the command could not write."""
    text, (begin, end) = pages.PAGE.read_text("utf-8"), pages.marks(name)
    assert text.count(begin) == text.count(end) == 1
    assert text.index(begin) < text.index(end)


def test_the_library_may_give_nothing(bank, tmp_path: Path):
    """Asked for what is sure, and unasked: nothing of a capital, something of a bicycle."""
    made = contenders.Library()
    made.open(bank, tmp_path / "bank")
    try:
        for way in (made.sure, made.unasked):
            assert way("Where is the red bicycle?") == [1]
            assert way("What is the capital of Norway?") == []
    finally:
        made.close()


@pytest.fixture
def cache(bank, tmp_path: Path) -> carriers.Cache:
    """Vectors of the bank's texts: each its own direction, the question's that of its answer."""
    cache = carriers.Cache(tmp_path / "cache", "minilm", 128)
    texts = [*bank.texts, bank.questions[0].text, bank.unanswerable[0].text]
    rows = np.eye(384)[[0, 1, 2, 0, 5]]
    cache.add(texts, rows)
    return cache


def test_langgraph_is_asked_by_the_same_vectors(bank, cache, tmp_path: Path):
    """Two equal texts are two records."""
    bank.add(bank.texts[0], 2)
    made = rivals.Store(cache, "minilm")
    made.open(bank, tmp_path)
    assert set(made.ask("Where is the red bicycle?", 2)) == {1, 4}
    made.close()


def test_a_rival_that_is_not_there_is_told(bank, cache):
    """The worker runs in another interpreter; what goes wrong there is an error here, with its words."""
    import sys

    with pytest.raises(RuntimeError, match="nobody"):
        rivals.apart(Path(sys.executable), "nobody", [bank], None, shown=10, depth=30)
    assert not rivals.has(Path(sys.executable), "no_such_package")


def test_the_worker_answers_bank_by_bank():
    """Ranked rows, a longer answer where sessions count, and the questions without an answer."""

    class Shortest:
        def __init__(self) -> None:
            self.texts: dict[int, str] = {}

        def add(self, row: int, text: str) -> None:
            self.texts[row] = text

        def ask(self, question: str, limit: int) -> list[int]:
            return sorted(self.texts, key=lambda row: len(self.texts[row]))[:limit]

    job = {"texts": ["ccc", "a", "bb"], "questions": ["q"], "unanswerable": ["u"], "deep": True}
    found = rival_worker.answer(Shortest(), job, 2, 3)
    assert (found["ranked"], found["deep"], found["never"]) == ([[2, 3]], [[2, 3, 1]], [[2, 3]])
    assert len(found["milliseconds"]) == 1
