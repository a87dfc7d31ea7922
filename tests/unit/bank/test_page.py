"""The page for people: what is live, whole, and nothing of a text taken for the page's own."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import muniment
from muniment.base.errors import InvalidInput
from muniment.portable.jsonl import Line
from muniment.portable.page import moment, page
from muniment.testing.clock import FixedClock


def test_a_page_has_what_is_live(tmp_path: Path) -> None:
    """Archived texts whole, no older version, nothing forgotten; conversations under one heading."""
    with muniment.open(tmp_path / "home", clock=FixedClock(1_760_000_000_000)) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember("old", key="deploy")
        agent.remember("The window is Friday.\n\n# Steps\n- build", key="deploy", tags=["ops"])
        agent.remember("kept for long " * 30, title="A *long* one")
        agent.archive(agent.list(limit=1)[0].id)
        agent.remember("not this", key="gone")
        agent.forget("gone")
        agent.remember("hello", session="tuesday", type="message")
        agent.remember("good morning", session="tuesday", type="message")
        stream = io.BytesIO()
        assert agent.export_to(stream, format="markdown") == 4
        with pytest.raises(InvalidInput, match="no format"):
            agent.export_to(stream, format="pdf")
    text = stream.getvalue().decode()
    assert (
        "\n## deploy\n\n> The window is Friday.\n>\n> # Steps\n> - build\n\n*2025-10-09 08:53 UTC · tags ops*"
        in text
    )
    assert "## A \\*long\\* one" in text
    assert ("kept for long " * 30).strip() in text
    assert text.count("## Conversation tuesday") == 1
    assert "\n\n> good morning\n\n*" in text
    assert "old" not in text
    assert "not this" not in text


def test_a_page_says_who_else_wrote() -> None:
    """And where another version says something else; a time past all calendars and words that are no Unicode too."""
    line = Line("id", "v", "a \ud800 b", author_name="bob", source="peer", conflict=True, created_at_ms=1 << 52,
                title="t", key="k", type="skill")  # fmt: skip
    text = "".join(page("bank", 0, [line]))
    assert "key k · skill · by bob (peer) · another version says something else" in text
    assert moment(1 << 52).startswith("9999-12-31")
    assert moment(0) == "1970-01-01 00:00"
