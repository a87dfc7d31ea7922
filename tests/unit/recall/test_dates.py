"""Times in questions: what is read, from which moment, and what is left alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.recall.dates import LATER_MS, Span, later, spans

NOW = int(datetime(2023, 6, 14, 15, 30, tzinfo=UTC).timestamp() * 1000)  # a Wednesday


def ms(text: str) -> int:
    """A day as Unix ms."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did Ava do on 7 March 2023?", "2023-03-07", "2023-03-08"),
        ("who came on the 7th of March, 2023", "2023-03-07", "2023-03-08"),
        ("March 7th, 2023: who came?", "2023-03-07", "2023-03-08"),
        ("notes of 2023-03-07", "2023-03-07", "2023-03-08"),
        ("notes of 2023-12", "2023-12-01", "2024-01-01"),
        ("What was new in December 2022?", "2022-12-01", "2023-01-01"),
        ("where were we in 2022", "2022-01-01", "2023-01-01"),
        ("the summer of 2022", "2022-01-01", "2023-01-01"),
        ("What happened last May?", "2023-05-01", "2023-06-01"),
        ("What happened last August?", "2022-08-01", "2022-09-01"),
        ("what did I eat yesterday", "2023-06-13", "2023-06-14"),
        ("the day before yesterday", "2023-06-12", "2023-06-13"),
        ("what did I buy 10 days ago?", "2023-06-04", "2023-06-05"),
        ("two weeks ago", "2023-05-28", "2023-06-04"),
        ("a couple of months ago", "2023-04-01", "2023-05-01"),
        ("four years ago", "2019-01-01", "2020-01-01"),
        ("last week", "2023-06-05", "2023-06-12"),
        ("last weekend", "2023-06-10", "2023-06-12"),
        ("this month", "2023-06-01", "2023-07-01"),
        ("next year", "2024-01-01", "2025-01-01"),
        ("in the last two days", "2023-06-12", "2023-06-15"),
        ("on Monday", "2023-06-12", "2023-06-13"),
        ("last Wednesday", "2023-06-07", "2023-06-08"),
        ("since March 2023", "2023-03-01", "9999-01-01"),
        ("after 2022-12", "2023-01-01", "9999-01-01"),
        ("before May 2022", "1970-01-01", "2022-05-01"),
        ("until May 2022", "1970-01-01", "2022-06-01"),
    ],
)
def test_a_time_is_read(question: str, start: str, end: str) -> None:
    """Days, months, years and what is counted from the moment of asking, as half-open spans in UTC."""
    assert spans(question, NOW) == (Span(ms(start), ms(end)),)


@pytest.mark.parametrize(
    "question",
    [
        "", "May I march on?", "what may he do", "version 2023.1", "call 555-2023", "before the move", "in room 2001b",
        "on 31 February 2023", "2023-13-01", "I am second to none", "99999 years", "decide on a plan",
    ],
)  # fmt: skip
def test_what_is_no_time_is_left_to_the_words(question: str) -> None:
    """Words that look like months, numbers that look like years, and days that do not exist."""
    assert spans(question, NOW) == ()


def test_without_a_year_any_year_is_meant() -> None:
    """A day or month alone comes every year, up to the next."""
    found = spans("What did we do in July?", NOW)
    assert Span(ms("2022-07-01"), ms("2022-08-01")) in found
    assert Span(ms("2024-07-01"), ms("2024-08-01")) in found
    assert len(spans("on February 29th", NOW)) == 14


def test_several_times_are_apart_and_in_order() -> None:
    """What overlaps is one; what lasts longer may become one."""
    found = spans("between 3 May 2023 and 1 May 2023, or 2 May 2023", NOW)
    assert found == (Span(ms("2023-05-01"), ms("2023-05-04")),)
    assert later(found) == (Span(ms("2023-05-01"), ms("2023-05-04") + LATER_MS),)
    assert len(later(spans("1 May 2023 and 5 May 2023", NOW))) == 1


@given(st.text(max_size=80), st.integers(-(10**18), 10**18))
def test_any_text_and_any_moment_have_an_answer(question: str, now: int) -> None:
    """No text and no clock breaks it, and spans are in order, apart and not empty."""
    for text in (question, f"{question} 9999 days ago, last {question} year, in May, two months ago"):
        edges = [edge for span in spans(text, now) for edge in span]
        assert edges == sorted(set(edges))
        assert all(edge >= 0 for edge in edges)
