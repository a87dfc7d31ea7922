"""Memories as a page for people."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.portable import page
from muniment.portable.jsonl import Line

ID = "0190a3f4-2b1c-7e21-8d5a-0123456789ab"
LINE = Line(
    id=ID,
    version="bafy/0",
    text="The window is Friday",
    created_at_ms=1_714_000_000_000,
    author="did:key:z6Mk",
)
any_text = st.text(st.characters(exclude_categories=()), max_size=60)  # lone surrogates too


def test_a_memory_says_what_it_is_and_where_from() -> None:
    """Name, words, tags, time and author stand there."""
    line = replace(LINE, key="window", title="When we deploy", tags=("ops",), author_name="ava")
    assert page.memory(line).decode() == (
        "\n### When we deploy\n\n> The window is Friday\n\n"
        f"*key window · tags ops · 2024-04-24 23:06 UTC, by ava · {ID}*\n"
    )


def test_a_turn_names_its_speaker_once() -> None:
    """The speaker stands before the words, and not in them again."""
    line = replace(LINE, text="user: I am off to Lisbon", metadata={"speaker": "user"}, session="s")
    assert page.turn(line).decode() == "\n**user**, 2024-04-24 23:06 UTC\n\n> I am off to Lisbon\n"


@pytest.mark.parametrize(
    "text", ["# Not ours", "> said\n# Not ours", "a\r# Not ours", "<b>x</b>", "\u202e# x"]
)
def test_words_of_a_memory_are_never_the_pages_own(text: str) -> None:
    """No line of a text is a heading, begins HTML, or turns the order of what is read."""
    said = page.quoted(text)
    assert all(line.startswith(">") for line in said.split("\n"))
    assert not re.search(r"(?<!\\)<[a-z/!?]|[\u202a-\u202e]", said)


@given(any_text, any_text, st.none() | any_text, st.lists(any_text, max_size=2))
def test_any_memory_makes_its_own_lines_and_no_others(
    text: str, name: str, key: str | None, tags: list[str]
) -> None:
    """Whatever it holds: one heading at most, quoted lines, and one line of origin."""
    line = replace(LINE, text=text, title=name, key=key, tags=tuple(tags), author_name=name, source_ref=name)
    lines = page.memory(line).decode().split("\n")
    assert [one for one in lines if one and not one.startswith((">", "### "))] == [lines[-2]]
    assert len([one for one in lines if one.startswith("### ")]) <= 1
    assert not any(char in "\n".join(lines) for char in "\0\x1b\u202e")


def test_a_time_out_of_the_calendar_is_shown_all_the_same() -> None:
    """A clock that says year 200000 does not stop the page."""
    assert page.moment(1 << 53).startswith("9999-")
