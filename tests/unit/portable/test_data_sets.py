"""The files of LoCoMo and LongMemEval."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muniment.portable import locomo, longmemeval
from muniment.portable.base import BadLine, Incoming, Item, checked
from muniment.portable.source import Source

SAMPLE: dict[str, Any] = {
    "sample_id": "conv-1",
    "qa": [{"question": "Where?", "answer": "Oslo", "evidence": ["D2:1"], "category": 4}],
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_10_date_time": "9:00 am on 1 June, 2023",
        "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "Ten"}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "Hello"},
            {
                "speaker": "Ben",
                "dia_id": "D2:2",
                "text": "Look",
                "blip_caption": "a red boat",
                "query": "boat",
            },
            {"speaker": "Ann", "dia_id": "D2:3", "text": "Hello"},
        ],
        "session_3_date_time": "8:00 am on 9 May, 2023",
    },
}
QUESTION: dict[str, Any] = {
    "question_id": "q1",
    "question": "How much?",
    "answer": "$420",
    "question_date": "2023/10/02 (Mon) 04:40",
    "haystack_dates": ["2023/04/11 (Tue) 07:47", "2023/09/30 (Sat) 08:34"],
    "haystack_session_ids": ["s1", "s2"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "Hi", "has_answer": True},
            {"role": "assistant", "content": "Hi", "has_answer": False},
        ],
        [{"role": "user", "content": "Hi", "has_answer": False}],
    ],
    "answer_session_ids": ["s1"],
}  # fmt: skip


def of(module: Any, value: Any, sample: str | None = None) -> list[Item]:
    """The items of a value, read as one of the two."""
    return list(module.read(Source(io.BytesIO(json.dumps(value).encode())), sample))


def test_turns_of_locomo_become_messages_in_the_order_of_their_sessions() -> None:
    """Speaker, photo, session, time and turn id are where the benchmark looks for them."""
    items = of(locomo, [SAMPLE])
    found = [item for item in items if isinstance(item, Incoming)]
    assert [item.text for item in found] == [
        "Ann: Hello",
        "Ben: Look [shares a photo: a red boat]",
        "Ann: Hello",
        "Ben: Ten",
    ]
    assert [item.session for item in found] == [*["conv-1/session_2"] * 3, "conv-1/session_10"]
    start = 1_683_554_160_000
    assert [item.created_ms for item in found[:3]] == [start, start + 1000, start + 2000]
    assert found[0].metadata == {"dia_id": "D2:1", "speaker": "Ann", "session_date": "1:56 pm on 8 May, 2023"}
    assert found[0].type == "message"
    assert len({item.source_ref for item in found}) == 4


def test_one_sample_can_be_read_of_many_and_a_file_can_be_one() -> None:
    """A benchmark puts each conversation into a bank of its own; an unknown sample is named."""
    other = {**SAMPLE, "sample_id": "conv-2"}
    assert len(of(locomo, [SAMPLE, other])) == 8
    assert {item.session for item in of(locomo, [SAMPLE, other], "conv-2") if isinstance(item, Incoming)} == {
        "conv-2/session_2", "conv-2/session_10",
    }  # fmt: skip
    assert of(locomo, SAMPLE) == of(locomo, [SAMPLE])
    (missing,) = of(locomo, [SAMPLE], "conv-9")
    assert isinstance(missing, BadLine)
    assert "conv-9" in missing.reason


def test_turns_of_longmemeval_become_messages() -> None:
    """Role, session, date and turn id are kept; equal turns have refs of their own."""
    found = [item for item in of(longmemeval, [QUESTION]) if isinstance(item, Incoming)]
    assert [item.text for item in found] == ["user: Hi", "assistant: Hi", "user: Hi"]
    assert [item.session for item in found] == ["s1", "s1", "s2"]
    assert found[1].created_ms == 1_681_199_220_000 + 1000
    assert found[1].metadata == {
        "turn_id": "s1#2", "turn": 2, "speaker": "assistant", "session_date": "2023/04/11 (Tue) 07:47",
    }  # fmt: skip
    assert len({item.source_ref for item in found}) == 3


def test_answers_do_not_leak_into_memories() -> None:
    """Nothing of a record says which turns hold an answer, nor what it is."""
    for module, value in ((longmemeval, QUESTION), (locomo, SAMPLE)):
        for item in of(module, [value]):
            assert "answer" not in repr(item)
            assert "420" not in repr(item)
            assert "Oslo" not in repr(item)
            assert "Where?" not in repr(item)


def test_a_session_of_two_questions_is_taken_once() -> None:
    """Pooled files repeat sessions; one question alone still has all of its own."""
    second = {**QUESTION, "question_id": "q2"}
    assert len(of(longmemeval, [QUESTION, second])) == 3
    assert len(of(longmemeval, [QUESTION, second], "q2")) == 3


def test_parts_that_are_no_turns_are_named() -> None:
    """Samples, sessions and turns of the wrong kind are bad lines, and the rest is taken."""
    broken = {
        **SAMPLE,
        "conversation": {**SAMPLE["conversation"], "session_1": "x", "session_2": [5, {"text": "t"}]},
    }
    items = of(locomo, [5, {}, broken])
    assert [type(item) for item in items] == [BadLine, BadLine, BadLine, BadLine, Incoming, Incoming]
    assert [item.place for item in items[:4]] == [
        "sample 1 (line 1)",
        "sample 2 (line 1)",
        "conv-1 session_1",
        "conv-1 session_2 turn 1",
    ]
    wrong = {**QUESTION, "haystack_sessions": [7, [None, {"content": "c"}]], "haystack_dates": 5}
    items = of(longmemeval, [{}, wrong])
    assert [type(item) for item in items] == [BadLine, BadLine, BadLine, Incoming]


NAMES = [
    "sample_id",
    "conversation",
    "session_1",
    "session_1_date_time",
    "speaker",
    "text",
    "content",
    "role",
    "dia_id",
    "blip_caption",
    "haystack_sessions",
    "haystack_session_ids",
    "haystack_dates",
    "question_id",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=20,
)


@given(json_values, json_values)
def test_any_json_is_read_without_an_exception(one: Any, two: Any) -> None:
    """Fields of any kind in any place give turns or bad lines."""
    for module in (locomo, longmemeval):
        for value in (one, [one], {"conversation": {"session_1": one, "session_2": [one, two]}},
                      {"haystack_sessions": [one, [two]], "haystack_session_ids": two}):  # fmt: skip
            assert all(isinstance(checked(item), Incoming | BadLine) for item in of(module, value))
