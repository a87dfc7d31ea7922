"""The part of a text that is shown, and what of it is marked."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.recall.analyzer import Analyzer
from muniment.recall.snippet import snippet

STANDARD = Analyzer()
FILLER = "lorem ipsum dolor sit amet "


def marked(text: str, query: str, width: int = 200, **options: object) -> list[str]:
    """The marked words of a snippet."""
    cut = snippet(text, query, STANDARD, width=width, **options)  # type: ignore[arg-type]
    return [cut.text[a:b] for a, b in cut.highlights]


@pytest.mark.parametrize(
    ("text", "query", "words"),
    [
        ("She was Running to the café", "run cafe", ["Running", "café"]),
        ("call fooBar() now", "bar", ["fooBar"]),
        ("私は東京都に住んでいます", "東京都", ["東京都"]),
        ("私は東京都に住んでいます", "京", ["京"]),
        ("ok 👍 fine", "👍", ["👍"]),
        ("the dog and the cat", "the dogs", ["dog"]),
        ("nothing here", "zebra", []),
        ("", "zebra", []),
        ("some text", "", []),
    ],
)
def test_matches_are_marked_as_the_index_sees_them(text: str, query: str, words: list[str]) -> None:
    """Stem, case and accents apart, identifiers by their parts, dense scripts by characters."""
    assert marked(text, query) == words


def test_the_stretch_with_the_most_of_the_query_is_shown() -> None:
    """Two words that stand together win over one that comes earlier and more often."""
    text = "red red red " + FILLER * 20 + "the red fox jumped " + FILLER * 20
    cut = snippet(text, "red fox", STANDARD, width=80)
    assert "red fox" in cut.text
    assert cut.text.startswith("…")
    assert cut.text.endswith("…")
    assert len(cut.text) <= 80


def test_weights_decide_between_stretches() -> None:
    """A rare word outweighs two common ones."""
    text = "red dog " + FILLER * 20 + "zebra " + FILLER * 20
    assert marked(text, "red dog zebra", 60) == ["red", "dog"]
    assert marked(text, "red dog zebra", 60, weights={"red": 0.1, "dog": 0.1, "zebra": 5.0}) == ["zebra"]


def test_a_short_text_is_shown_whole() -> None:
    """Nothing is cut that fits."""
    assert snippet("a red fox", "fox", STANDARD).text == "a red fox"


def test_without_a_match_the_beginning_is_shown() -> None:
    """A record found by its neighbours or its title shows how it begins."""
    cut = snippet(FILLER * 30, "zebra", STANDARD, width=50)
    assert cut.text.startswith("lorem ipsum")
    assert len(cut.text) <= 50


def test_line_ends_and_control_characters_become_blanks() -> None:
    """What is shown stays on one line and holds no byte that a terminal would act on."""
    assert snippet("a\nred\0fox\x1b[31m \ud800", "fox", STANDARD).text == "a red fox [31m \ufffd"


@pytest.mark.parametrize("part", ["e\u0301", "👨\u200d👩\u200d👧", "👍🏽", "🇩🇪"])
def test_characters_are_not_taken_apart(part: str) -> None:
    """A cut never falls inside a mark, a joined pictograph or a flag."""
    text = part * 300
    for width in range(20, 40):
        shown = snippet(text, "zebra", STANDARD, width=width).text.removesuffix("…")
        assert shown
        assert len(shown) % len(part) == 0


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400), st.text(max_size=30), st.integers(0, 120))
def test_any_text_has_a_snippet_within_its_width(text: str, query: str, width: int) -> None:
    """No text breaks it; marks are in order, inside, apart; it is never longer than asked (8 at least)."""
    cut = snippet(text, query, STANDARD, width=width)
    assert len(cut.text) <= max(width, 8)
    assert bool(cut.text) == bool(text)
    last = 0
    for start, end in cut.highlights:
        assert last <= start < end <= len(cut.text)
        last = end
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in cut.text)


def test_a_long_text_is_cut_in_one_pass() -> None:
    """A megabyte with its match at the end shows the match."""
    assert marked(FILLER * 40_000 + "needle", "needles") == ["needle"]
    assert len(marked("needle " * 150_000, "needle", 50)) >= 6
