"""Markdown notes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.base.errors import InvalidInput
from muniment.portable import markdown
from muniment.portable.base import BadLine, Incoming, Item, Progress, checked


def write(root: Path, **notes: str | bytes) -> Path:
    """A folder of notes; `__` in a name stands for a folder's end."""
    for name, text in notes.items():
        path = root / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return root


def read(path: Path) -> list[Incoming]:
    """The notes, none of which may be bad."""
    items = list(markdown.read(path))
    assert not [item for item in items if isinstance(item, BadLine)]
    return [item for item in items if isinstance(item, Incoming)]


FRONT = """---
title: The plan
tags: [house, "#move", 2026]
date: 2026-02-03
author: Ann
due: 2026-03-01T10:00:00Z
nested: {a: [1, 2.5, null, true]}
key: plan.house
---
We move in *March*.
"""


def test_front_matter_becomes_title_tags_time_and_metadata(tmp_path: Path) -> None:
    """Known fields go to their places, all others to the metadata as JSON, and the words are left as they are."""
    (note,) = read(write(tmp_path, plan=FRONT))
    assert note.text == "We move in *March*."
    assert (note.title, note.key, note.type) == ("The plan", "plan.house", "note")
    assert note.tags == ("house", "move", "2026")
    assert note.created_ms == 1_770_076_800_000
    assert note.metadata == {
        "date": "2026-02-03", "author": "Ann", "due": "2026-03-01T10:00:00+00:00",
        "nested": {"a": [1, 2.5, None, True]}, "path": "plan.md",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("written", "tags"), [("a, b c", ("a", "b c")), ("a #b", ("a", "b")), ("[]", ()), ("", ())]
)
def test_tags_are_written_in_several_ways(tmp_path: Path, written: str, tags: tuple[str, ...]) -> None:
    """A list, text with commas and text with spaces are all tags."""
    (note,) = read(
        write(tmp_path, n=f"---\ntags: {written if written[:1] == '[' else repr(written)}\n---\nx")
    )
    assert note.tags == tags


def test_tags_and_links_in_the_words_become_tags(tmp_path: Path) -> None:
    """`#tags` and link targets count; headings, code, colours in addresses and embedded files do not."""
    text = (
        "# Heading\n#house and #work/now, (#über) a#no &#35; http://x.y/#no `#no`\n"
        "[[People/Anna Schmidt|Anna]] [[Oslo#Weather]] ![[image.png]] [[Oslo]] #1 #house\n```\n#no [[no]]\n```\n"
    )
    (note,) = read(write(tmp_path, n=text))
    assert note.tags == ("house", "work/now", "über", "Anna Schmidt", "Oslo")


def test_titles_come_from_front_matter_the_first_heading_or_the_name(tmp_path: Path) -> None:
    """In that order; a file named after a day is of that day."""
    found = {note.metadata["path"]: note for note in read(write(
        tmp_path, a="# Head #\ntext", b="text\n# Later\n", sub__c="---\ntitle: T\n---\n# Head\n",
        **{"2026-02-03 diary": "x"},
    ))}  # fmt: skip
    assert [note.title for note in found.values()] == ["2026-02-03 diary", "Head", "b", "T"]
    assert found["2026-02-03 diary.md"].created_ms == 1_770_076_800_000
    assert found["a.md"].created_ms is None


def test_a_long_note_is_split_at_its_headings(tmp_path: Path) -> None:
    """Each section is a record `Note > Heading`, in one session; headings in code split nothing; no word is lost."""
    text = "intro words\n\n" + "".join(
        f"## Part {number}\n### Detail\n```\n# not a heading\n```\n" + f"word{number} " * 200 + "\n"
        for number in range(4)
    )
    (tmp_path / "long.md").write_text(text + "## Empty end\n", encoding="utf-8")
    notes = read(tmp_path)
    assert [note.title for note in notes] == ["long", *["long > Detail"] * 4]
    assert "\n".join(note.text for note in notes).split() == (text + "## Empty end\n").split()
    assert {note.session for note in notes} == {"long.md"}
    assert len({note.source_ref for note in notes}) == 5
    (short,) = read(write(tmp_path / "other", n="# A\nx\n# B\ny\n"))
    assert short.session is None


def test_refs_do_not_depend_on_where_the_folder_lies(tmp_path: Path) -> None:
    """The same folder elsewhere gives the same refs; two notes with the same words have two."""
    one = read(write(tmp_path / "one", a="same", b__a="same"))
    two = read(write(tmp_path / "two" / "deeper", a="same", b__a="same"))
    assert [note.source_ref for note in one] == [note.source_ref for note in two]
    assert len({note.source_ref for note in one}) == 2


def test_folders_are_walked_in_order_and_not_left(tmp_path: Path) -> None:
    """Hidden files, other files and links that lead out of the folder are not read; links inside are."""
    root = write(tmp_path / "root", b="b", a__z="z", a__a="a")
    write(tmp_path / "outside", secret="secret")
    write(root / ".hidden", x="x")
    (root / ".dot.md").write_text("x")
    (root / "image.png").write_bytes(b"x")
    (root / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "outdir").symlink_to(tmp_path / "outside", target_is_directory=True)
    (root / "inside.md").symlink_to(root / "b.md")
    (root / "broken.md").symlink_to(root / "nowhere.md")
    assert [note.metadata["path"] for note in read(root)] == ["b.md", "inside.md", "a/a.md", "a/z.md"]


@pytest.mark.parametrize(
    "text",
    [b"\xff\xfenot utf-8", b"a\xff", b"---\n{bad: [yaml\n---\nx", b"---\n- a list\n---\nx",
     b"---\n!!python/object:os.system {}\n---\nx",
     b"---\na: &x [1]\nb: *x\n---\nx", b"---\n" + b"[" * 3000 + b"\n---\nx", b"---\ndate: 2026-99-99\n---\nx",
     b"---\na: " + b"x" * 70_000 + b"\n---\nx", b"---\n? [a]\n: {}\n---\nx"],
)  # fmt: skip
def test_a_bad_note_is_named_and_the_others_are_taken(tmp_path: Path, text: bytes) -> None:
    """Broken, dangerous or endless front matter and wrong bytes make one bad line, with the file's name."""
    items = list(markdown.read(write(tmp_path, a="fine", b=text, c="fine")))
    assert [type(item) for item in items] == [Incoming, BadLine, Incoming]
    assert isinstance(items[1], BadLine)
    assert items[1].place == "b.md"


def test_a_small_front_matter_that_stands_for_billions_is_refused_fast(tmp_path: Path) -> None:
    """Aliases of aliases are not unfolded."""
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
    start = time.process_time()
    (item,) = markdown.read(write(tmp_path, n=f"---\na0: &a0 [x]\n{levels}---\nx"))
    assert isinstance(item, BadLine)
    assert time.process_time() - start < 2


def test_hostile_notes_take_no_long_time(tmp_path: Path) -> None:
    """Long lines of the characters that the patterns look for are read in time that grows with their length."""
    pieces = (
        "# " + " " * 200_000 + "x",
        "[[" * 100_000,
        "[[a|" * 50_000,
        "`" * 200_001,
        "#a" * 100_000,
        "---\n" + "\n" * 200_000,
        "~" * 200_000 + "\n" + "~" * 199_999,
        "---\ntags: '" + " " * 60_000 + "'\n---\nx",
        "---\na: " + "[" * 60_000 + "\n---\nx",
    )
    for piece in pieces:
        start = time.process_time()
        list(markdown.read(write(tmp_path, n=piece)))
        assert time.process_time() - start < 3


def test_empty_notes_are_no_memories_and_one_file_is_enough(tmp_path: Path) -> None:
    """Nothing is taken of a note without words; a single file may be given in place of a folder."""
    write(tmp_path, a="", b="---\ntitle: T\n---\n\n", c="\ufeffwords\r\nmore\r\n")
    assert [note.text for note in read(tmp_path)] == ["words\nmore"]
    assert [note.metadata["path"] for note in read(tmp_path / "c.md")] == ["c.md"]
    with pytest.raises(InvalidInput):
        list(markdown.read(tmp_path / "missing.md"))


def test_progress_reaches_the_size_of_all_notes(tmp_path: Path) -> None:
    """Total is the sum of the sizes, known before the first note, and done ends there."""
    progress = Progress()
    items = markdown.read(write(tmp_path, a="12345", b="678"), progress)
    next(items)
    assert progress.total == 8
    list(items)
    assert progress.done == 8


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=150) | st.text("-#[]|`~: \n*&ab", max_size=150).map(str.encode), st.booleans())
def test_any_note_is_read_without_an_exception(tmp_path: Path, body: bytes, front: bool) -> None:
    """Any bytes, with and without front matter around them, are notes or bad lines that a bank can check."""
    path = tmp_path / "n.md"
    path.write_bytes(b"---\n" + body + b"\n---\nwords" if front else body)
    try:
        items: list[Item] = list(markdown.read(path))
    except InvalidInput as error:
        items = [BadLine("n.md", error.message)]
    assert all(isinstance(checked(item), Incoming | BadLine) for item in items)


@given(st.lists(st.sampled_from(["# A", "## B", "text", "", "```", "~~~", "more text"]), max_size=12))
def test_splitting_loses_no_line(lines: list[str]) -> None:
    """Whatever the headings, the sections together are the note."""
    sections = markdown._split("\n".join(lines))
    joined = "\n".join(section.text for section in sections)
    assert joined.split("\n") == lines or not any(line.strip() for line in lines)
