"""Exports: a page for people, and which form a file gets."""

import io
from pathlib import Path

import pytest

import muniment
from muniment.base.errors import InvalidInput
from muniment.commands import files
from muniment.exporting import FORMATS


@pytest.fixture
def ava(tmp_path: Path) -> muniment.Agent:
    """An agent that knows a few things."""
    peer = muniment.open(tmp_path / "home")
    agent = peer.agent("ava", create=True)
    agent.remember("The window is Thursday", key="window")
    agent.remember("The window is Friday", key="window")
    agent.save_skill("deploy", ["test", "tag"], "put a release on prod")
    agent.remember("ben: who holds the pager?", session="b", created_at=2000)
    agent.remember("kim: I do", session="b", created_at=3000)
    agent.remember("ben: good morning", session="a", created_at=1000)
    agent.forget(agent.remember("a slip of the tongue").id)
    return agent


def page_of(agent: muniment.Agent) -> str:
    """Its memories as a page."""
    stream = io.BytesIO()
    agent.export_to(stream, format="markdown")
    return stream.getvalue().decode()


def test_a_page_shows_what_is_live_in_the_order_of_reading(ava: muniment.Agent) -> None:
    """Skills, then notes, then conversations by when they began, each in the order of its lines."""
    found = page_of(ava)
    order = ["Memory of ava", "5 memories", "## Skills", "### deploy", "## Notes", "is Friday", "## Conversations",
             "### a", "good morning", "### b", "pager", "I do"]  # fmt: skip
    places = [found.index(text) for text in order]
    assert places == sorted(places)
    assert "Thursday" not in found
    assert "slip" not in found


def test_the_name_of_a_file_says_its_form(ava: muniment.Agent, tmp_path: Path) -> None:
    """`.md` becomes a page, anything else JSON Lines, unless the form is said."""
    assert ava.export_to(tmp_path / "a.md") == 5
    assert ava.export_to(tmp_path / "a.jsonl") == 7
    assert ava.export_to(tmp_path / "b.md", format="jsonl") == 7
    assert (tmp_path / "a.md").read_text("utf-8").startswith("# Memory of ava\n")
    assert (tmp_path / "a.jsonl").read_bytes().startswith(b'{"muniment":"export"')
    assert (tmp_path / "b.md").read_bytes().startswith(b'{"muniment":"export"')


def test_progress_ends_with_everything(ava: muniment.Agent) -> None:
    """The last report says that all is written."""
    seen: list[tuple[int, int]] = []
    ava.export_to(io.BytesIO(), format="markdown", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (5, 5)


def test_an_unknown_form_writes_nothing(ava: muniment.Agent, tmp_path: Path) -> None:
    """It is refused before a file is made."""
    with pytest.raises(InvalidInput, match="format"):
        ava.export_to(tmp_path / "a.txt", format="docx")
    assert list(tmp_path.glob("*a.txt*")) == []


def test_the_command_knows_the_same_forms() -> None:
    """The list of the command is that of the library."""
    assert files.EXPORTS == FORMATS


def test_a_page_read_in_again_is_no_bank(ava: muniment.Agent, tmp_path: Path) -> None:
    """A page is for people: taken in, it is notes of whoever takes it in, and no version of ours."""
    ava.export_to(tmp_path / "a.md")
    report = ava.import_from(tmp_path / "a.md")
    assert report.created >= 1
    assert all(record.source == "self" for record in ava.list(limit=50))
