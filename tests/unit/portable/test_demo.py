"""The conversations of the demo."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path

import muniment
from muniment.portable import formats
from muniment.portable.base import Incoming

DATA = files("muniment.demo")
QUESTIONS = json.loads((DATA / "questions.json").read_text("utf-8"))
IN_2026 = range(1_767_225_600_000, 1_798_761_600_000)


def items() -> list[Incoming]:
    """All records of the demo; none may be bad."""
    with as_file(DATA / "conversations.jsonl") as path:
        assert formats.detect(path) == "jsonl"
        found = list(formats.read(path))
    assert all(isinstance(item, Incoming) for item in found)
    return [item for item in found if isinstance(item, Incoming)]


def test_the_conversations_are_dated_named_and_have_refs_of_their_own() -> None:
    """Sixty messages and more, in four conversations of 2026, in the order in which they were said."""
    found = items()
    assert sum(item.type == "message" for item in found) > 60
    assert len({item.session for item in found}) == 4
    times = [item.created_ms or 0 for item in found]
    assert times == sorted(times)
    assert all(time in IN_2026 for time in times)
    assert len({item.source_ref for item in found}) == len(found)
    assert {item.metadata["speaker"] for item in found} == {"Ava", "Ines"}


def test_each_question_is_answered_by_a_record_of_the_demo() -> None:
    """Five questions, each with the one record that a good answer shows."""
    refs = {item.source_ref for item in items()}
    assert len(QUESTIONS) == 5
    assert all(question["source_ref"] in refs for question in QUESTIONS)


def test_recall_by_words_finds_the_answers_and_not_what_was_superseded(tmp_path: Path) -> None:
    """Every answer stands among the first three hits, and the old delivery date is only in the history."""
    with muniment.open(tmp_path) as peer, as_file(DATA / "conversations.jsonl") as path:
        agent = peer.agent("ava", create=True)
        assert agent.import_from(path).bad_count == 0
        for question in QUESTIONS:
            found = [hit.record.source_ref for hit in agent.recall(question["question"], limit=3)]
            assert question["source_ref"] in found, question
        versions = agent.history("museum-guide.delivery")
        assert [version.state for version in versions] == ["live", "superseded"]
        assert agent.import_from(path).created == 0
