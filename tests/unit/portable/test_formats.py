"""Telling formats apart, and reading any of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.base.errors import InvalidInput, MunimentError
from muniment.base.limits import LIMITS
from muniment.portable import formats, jsonl
from muniment.portable.base import BadLine, Incoming, LeftOut, Progress, checked

MESSAGES = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
FILES: list[tuple[str, str | bytes, str]] = [
    ("a.jsonl", b'{"text": "x"}\n{"text": "y"}\n', "jsonl"),
    ("a.jsonl", b'nonsense\n{"text": "x"}\n', "jsonl"),
    ("a.jsonl", jsonl.header("b", 0), "jsonl"),
    ("empty", b"", "jsonl"),
    ("author.jsonl", b'{"text": "x", "author": "Ann"}', "jsonl"),
    ("a.json", json.dumps(MESSAGES), "chat"),
    ("a.json", json.dumps({"messages": MESSAGES}, indent=2), "chat"),
    ("a.jsonl", "\n".join(json.dumps(message) for message in MESSAGES), "chat"),
    ("a.json", json.dumps([{"mapping": {}}]), "chat"),
    ("a.txt", "Anna: hi\nBen: hello\n", "chat"),
    ("a.txt", "[2026-01-01 10:00] Anna: hi\n[2026-01-01 10:01] Ben: hello\n", "chat"),
    ("a.md", "# Note", "markdown"),
    ("a.json", json.dumps([{"sample_id": "c", "conversation": {"session_1": []}}]), "locomo"),
    ("a.json", json.dumps([{"haystack_sessions": []}], indent=1), "longmemeval"),
]


def put(path: Path, data: str | bytes) -> Path:
    """A file with that content."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(("name", "data", "wanted"), FILES)
def test_the_format_is_told_from_the_file(tmp_path: Path, name: str, data: str | bytes, wanted: str) -> None:
    """Each kind of file is recognised, plain and compressed, and read as what it is."""
    raw = data.encode() if isinstance(data, str) else data
    assert formats.detect(put(tmp_path / name, raw)) == wanted
    if wanted != "markdown":
        assert formats.detect(put(tmp_path / f"{name}.gz", gzip.compress(raw))) == wanted
        assert formats.detect(put(tmp_path / "other", b"\xef\xbb\xbf" + raw)) == wanted
    assert list(formats.read(tmp_path / name)) == list(formats.read(tmp_path / name, wanted))


def test_a_folder_is_notes(tmp_path: Path) -> None:
    """A folder is Markdown, and nothing else can be read from one."""
    put(tmp_path / "a.md", "x")
    assert formats.detect(tmp_path) == "markdown"
    assert [item.text for item in formats.read(tmp_path) if isinstance(item, Incoming)] == ["x"]
    with pytest.raises(InvalidInput, match="folder"):
        list(formats.read(tmp_path, "jsonl"))


@pytest.mark.parametrize(
    "data", ["once upon a time\n", b"\x89PNG\r\n\x1a\n", "[]", "[1, 2]", '{"a": 1}', "<html>", "a,b\n1,2\n"]
)
def test_a_file_that_can_not_be_told_lists_the_formats(tmp_path: Path, data: str | bytes) -> None:
    """The error says how to name the format."""
    with pytest.raises(InvalidInput, match="--format jsonl"):
        formats.detect(put(tmp_path / "x", data))


def test_unknown_formats_and_missing_files_are_named(tmp_path: Path) -> None:
    """Both are the caller's words, and the error says what there is."""
    put(tmp_path / "x", "Anna: a\nBen: b\n")
    with pytest.raises(InvalidInput, match="unknown format"):
        list(formats.read(tmp_path / "x", "csv"))
    for format in ("auto", *formats.FORMATS):  # noqa: A001
        with pytest.raises(InvalidInput):
            list(formats.read(tmp_path / "missing", format))


def test_what_no_bank_would_take_is_a_bad_line(tmp_path: Path) -> None:
    """Values over a limit are named with the limit, before anything is signed."""
    long = "x" * (LIMITS.key_chars + 1)
    deep = '{"a":' * 20 + "1" + "}" * 20
    lines = [
        f'{{"text": "a", "key": "{long}"}}', '{"text": "a", "tags": [""]}', f'{{"text": "a", "metadata": {deep}}}',
        '{"text": "a", "type": "unknown"}', '{"text": "a", "metadata": {"n": 123456789012345678901234567890}}',
        f'{{"text": "{"x" * (LIMITS.text_chars + 1)}"}}', f'{{"text": "a", "source_ref": "{"x" * 600}"}}',
        '{"text": "a", "metadata": {"\\ud800": 1}}', '{"text": "good"}',
    ]  # fmt: skip
    items = list(formats.read(put(tmp_path / "x.jsonl", "\n".join(lines)), "jsonl"))
    assert [type(item) for item in items] == [BadLine] * 8 + [Incoming]
    assert isinstance(items[0], BadLine)
    assert str(LIMITS.key_chars) in items[0].reason
    assert str(len(long)) in items[0].reason


def test_every_limit_is_met_exactly() -> None:
    """An item at its limits passes the check as it is."""
    item = Incoming(
        text="x", place="p", key="k" * LIMITS.key_chars, title="t" * LIMITS.title_chars, created_ms=0
    )
    assert checked(item) is item


def test_an_import_can_be_left_in_the_middle(tmp_path: Path) -> None:
    """Closing the items closes the file; progress is known from the first item on."""
    path = put(tmp_path / "x.jsonl", b'{"text": "x"}\n' * 50_000)
    progress = Progress()
    items = formats.read(path, "auto", progress)
    next(items)
    assert progress.total == path.stat().st_size
    assert 0 < progress.done < progress.total
    items.close()  # type: ignore[attr-defined]
    for _ in formats.read(path, "auto", progress):
        pass
    assert progress.done == progress.total


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"", b"[", b"{", b'[{"', b"Anna: ", b"\x1f\x8b"]))
def test_any_file_is_read_or_refused_by_name(tmp_path: Path, data: bytes, start: bytes) -> None:
    """Whatever a file holds, each format gives items or one of our errors."""
    path = put(tmp_path / "x", start + data)
    for format in ("auto", *formats.FORMATS):  # noqa: A001
        try:
            items = list(formats.read(path, format))
        except MunimentError:
            continue
        assert all(isinstance(item, Incoming | BadLine | LeftOut) for item in items)
