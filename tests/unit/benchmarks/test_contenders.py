"""The contenders of the quality benchmark take a bank in and answer with its rows."""

from pathlib import Path

import pytest
from benchmarks import contenders, quality, sets


@pytest.fixture
def bank():
    """Three turns of two conversations and a question."""
    bank = sets.Bank("tiny")
    bank.add("Ann: The red bicycle stands in the shed.", 1, "1:56 pm on 8 May, 2023")
    bank.add("Bob: I painted the gate.", 1, "1:56 pm on 8 May, 2023")
    bank.add("Ann: We had soup for dinner.", 2, "10:37 am on 27 June, 2023")
    bank.questions.append(sets.Question("Where is the bicycle?", {1}, {1}))
    return bank


@pytest.mark.parametrize("name", contenders.names(None, 128))
def test_each_finds_the_row(name, bank, tmp_path: Path):
    """Rows count from 1; what holds no word of the question is no must."""
    made = contenders.make(name, None, 128)
    made.open(bank, tmp_path / "bank")
    try:
        assert made.ask("Where is the bicycle?", 10)[0] == 1
        assert len(made.ask("bicycle soup gate", 2)) == 2
    finally:
        made.close()


def test_scores_count_turns_and_sessions(bank):
    """The relevant turn comes second, its session by another turn first."""
    found = quality.scores("tiny", [bank], quality.Run([[2, 1]], [[2, 1, 3]], [1.0, 3.0], 5.0))
    each = {key: float(values.mean()) for key, values in found["each"].items()}
    assert each["recall@1"] == 0.0
    assert each["recall@5"] == each["any@5"] == 1.0
    assert each["NDCG@10"] == pytest.approx(0.63093, abs=1e-5)  # 1 / log2(3)
    assert each["session any@1"] == each["session NDCG@10"] == 1.0
    assert found["tokens"] == (len(bank.texts[0]) + len(bank.texts[1])) / 4
