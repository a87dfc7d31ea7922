"""Events that questions name, and times that texts speak of."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.recall.dates import BEGINNING, END, Span, spans
from muniment.recall.events import (
    MOST_TOLD,
    Event,
    Telling,
    event_in,
    side_of,
    speaks_of,
    told_times,
    valid_in,
)

DAY = 86_400_000


def ms(text: str) -> int:
    """A day as Unix ms."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


SAID = ms("2023-06-14")  # a Wednesday


@pytest.mark.parametrize(
    ("question", "what", "before"),
    [
        ("What did Ava plan before the move?", "the move", True),
        ("After the wedding, who came?", "the wedding", False),
        ("how fast is it since we switched to Postgres", "we switched to postgres", False),
        ("where did he live until the fire in town", "the fire in town", True),
        ("what was said the day after the race", "the race", False),
    ],
)
def test_an_event_is_what_follows_before_after_or_since(question: str, what: str, before: bool) -> None:
    """Up to the end of its clause, wherever it stands."""
    assert event_in(question) == Event(what, before)


@pytest.mark.parametrize(
    "question",
    ["", "who looks after the dog?", "who was he named after all", "did we meet before?", "what comes after that",
     "an aftershock", "since when is it open", "the before-and-after picture"],
)  # fmt: skip
def test_what_is_no_event_is_left_to_the_words(question: str) -> None:
    """Other senses of the same words, and nothing behind them."""
    assert event_in(question) is None


def test_the_side_of_an_event_begins_or_ends_when_it_was_told() -> None:
    """The earliest telling counts."""
    tellings = [Telling(SAID + DAY, "the move went well"), Telling(SAID, "we move!")]
    assert side_of(Event("move", True), tellings) == (Span(BEGINNING, SAID),)
    assert side_of(Event("move", False), tellings) == (Span(SAID, END),)


def test_a_telling_that_names_its_day_tells_of_that_day() -> None:
    """Counted from when it was said; of several days none is taken."""
    for text, day in (
        ("On 12 May we moved", "2023-05-12"),
        ("we moved yesterday", "2023-06-13"),
        ("we moved on 2 May 2019", "2019-05-02"),
        ("from 12 May to 14 May we moved", "2023-06-14"),
    ):
        assert side_of(Event("move", False), [Telling(SAID, text)]) == (Span(ms(day), END),), text


def test_what_is_told_of_all_the_time_is_no_event() -> None:
    """Neither what many records tell of, nor what is told of over more than a month, nor what none tells of."""
    assert side_of(Event("tea", False), []) == ()
    assert side_of(Event("tea", False), [Telling(SAID, "tea")] * MOST_TOLD) == ()
    assert side_of(Event("tea", False), [Telling(SAID, "tea"), Telling(SAID + 32 * DAY, "tea")]) == ()
    assert side_of(Event("tea", True), [Telling(0, "tea")]) == ()


@pytest.mark.parametrize(
    ("text", "asked", "speaks"),
    [
        ("On 12 May we moved", "on 12 May 2023", True),
        ("On 12 May we moved", "on 12 May 2015", False),
        ("On 12 May we moved", "in May 2023", True),
        ("in May we moved", "on 12 May 2023", False),  # a month says little of a day
        ("we moved last week", "in June 2023", True),
        ("born on 12 May 1990", "on 12 May 1990", True),
        ("born on 12 May 1990, as each 12 May tells", "on 12 May 1990", True),
        ("we moved four years ago", "in 2019", True),
        ("we moved", "in 2023", False),
    ],
)
def test_a_text_speaks_of_the_times_within_those_asked_for(text: str, asked: str, speaks: bool) -> None:
    """A day without a year is one near to when it was said."""
    assert speaks_of(text, SAID, spans(asked, SAID)) is speaks


def test_what_was_valid_then() -> None:
    """Open ends hold for ever; no claim at all claims nothing; an end is not within."""
    asked = (Span(100, 200),)
    assert valid_in(150, None, asked)
    assert valid_in(None, 101, asked)
    assert not valid_in(None, None, asked)
    assert not valid_in(None, 100, asked)
    assert not valid_in(200, None, asked)


@given(st.text(max_size=80), st.integers(0, END))
def test_any_text_can_be_read(text: str, said: int) -> None:
    """No text and no moment breaks it."""
    for one in (text, f"before {text}", f"on 7 May, {text} 29 February, 99 years ago after {text}"):
        event_in(one)
        assert set(told_times(one, said)) <= set(spans(one, said))
