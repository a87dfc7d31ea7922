"""Stored text is a stranger's text: what of it reaches a screen."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.surfaces.cli.output import as_json
from muniment.surfaces.cli.words import (
    count,
    local,
    one_line,
    pieces,
    short_cid,
    short_did,
    shown,
    size,
    utc,
)

HOSTILE = {
    "\x1b[31mred": "\\x1b[31mred",
    "\x00": "\\x00",
    "\x9b31m": "\\x9b31m",
    "\u202eevil": "\\u202eevil",
    "\u2066a\u2069": "\\u2066a\\u2069",
    "a\u200bb": "a\\u200bb",
    "\ufeffa": "\\ufeffa",
    "\ud800": "\\ud800",
    "\U000e0041": "\\U000e0041",
    "a\rb": "a\\x0db",
    "a\x7f": "a\\x7f",
}
KEPT = ["naïve", "日本語", "👩‍👩‍👧", "می‌خواهم", "شكرا", "✓ done"]

any_text = st.text(st.characters(), max_size=60)


@pytest.mark.parametrize(("text", "expected"), HOSTILE.items(), ids=ascii)
def test_what_acts_on_a_terminal_is_shown_by_its_number(text: str, expected: str) -> None:
    """Escape sequences, controls, bidi overrides, invisible marks and surrogates become visible text."""
    assert shown(text) == expected


@pytest.mark.parametrize("text", KEPT)
def test_all_other_writing_is_left_alone(text: str) -> None:
    """Accents, scripts, joiners and emoji are words, not dangers."""
    assert shown(text) == text
    assert one_line(text) == text


@given(any_text)
def test_no_text_gets_a_control_character_through(text: str) -> None:
    """Whatever the text, only newlines are left of all control, format-override and surrogate characters."""
    for safe, allowed in ((shown(text), "\n"), (one_line(text), ""), (one_line(text, 12), "")):
        bad = [c for c in safe if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} and c not in allowed]
        assert not bad
        assert not any(
            unicodedata.bidirectional(c) in {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI"} for c in safe
        )
        safe.encode("utf-8")


@given(any_text)
def test_json_is_safe_and_says_the_same(text: str) -> None:
    """JSON escapes what a terminal would obey, and parses back to exactly the value."""
    written = as_json({"text": text})
    assert json.loads(written) == {"text": text}
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0x202A <= ord(c) <= 0x202E for c in written)


@pytest.mark.parametrize("value", [{"n": 1 << 70}, {"t": "\ud800"}, {"deep": [{"t": "\udcff"}]}])
def test_json_takes_what_orjson_refuses(value: object) -> None:
    """Great numbers and lone surrogates print, indented or not."""
    assert json.loads(as_json(value)) == value
    assert json.loads(as_json(value, indent=True)) == value


@given(any_text, st.lists(st.integers(0, 60), max_size=6))
def test_highlights_cut_a_snippet_without_losing_anything(text: str, cuts: list[int]) -> None:
    """The pieces of a snippet, put together, are its text as a terminal may see it."""
    ends = sorted({min(cut, len(text)) for cut in cuts})
    spans = tuple(zip(ends[::2], ends[1::2], strict=False))
    joined = "".join(piece for piece, _ in pieces(text, spans))
    assert one_line(joined).replace(" ", "") == one_line(text).replace(" ", "")


def test_a_long_text_is_cut_before_it_is_cleaned() -> None:
    """A megabyte is not cleaned to show one line of it, and the cut is seen."""
    line = one_line("word " * 300_000, 40)
    assert len(line) <= 40
    assert line.endswith("…")


def test_times_outside_the_calendar_are_shown_as_numbers() -> None:
    """No stored time breaks the output, however far out it is."""
    assert utc(0) == "1970-01-01T00:00:00Z"
    assert utc(None) == local(None) == "-"
    for ms in (1 << 62, -(1 << 62), 253_402_300_800_000):
        assert utc(ms)
        assert local(ms)


def test_counts_sizes_and_ids_read_well() -> None:
    """Short forms keep what tells things apart."""
    assert count(1, "memory", "memories") == "1 memory"
    assert count(1200, "entry", "entries") == "1,200 entries"
    assert [size(n) for n in (5, 5_000, 123_456_789, 5 * 10**12)] == ["5 B", "5.0 kB", "123 MB", "5.0 TB"]
    assert short_did("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK") == "did:key:z6Mkha…a2doK"
    assert short_cid("bafyreiabcdefghijklmnopqrstuvwxyz234567/3") == "bafyreiab…34567/3"
    assert short_cid("short") == "short"
