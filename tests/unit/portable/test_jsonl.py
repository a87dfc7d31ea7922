"""Our own JSON Lines."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base.errors import FutureFormat, InvalidInput
from muniment.portable import jsonl
from muniment.portable.base import BadLine, Incoming, Item
from muniment.portable.jsonl import Line
from muniment.portable.source import Source

ID = "0190a3f4-2b1c-7e21-8d5a-0123456789ab"
HEADER = jsonl.header("bafybank", 1_767_225_600_000)


def read(data: bytes) -> list[Item]:
    """All items of a file's bytes."""
    return list(jsonl.read(Source(io.BytesIO(data))))


def taken(data: bytes) -> list[Incoming]:
    """The items, none of which may be bad."""
    items = read(data)
    assert not [item for item in items if isinstance(item, BadLine)]
    return [item for item in items if isinstance(item, Incoming)]


any_text = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates too
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | any_text,
    lambda inner: st.lists(inner, max_size=3),
)
lines = st.builds(
    Line,
    id=st.just(ID),
    version=st.just("bafyentry/3"),
    text=any_text,
    key=st.none() | any_text,
    title=st.none() | any_text,
    tags=st.lists(any_text, max_size=3).map(tuple),
    metadata=st.none() | st.dictionaries(any_text, json_values, max_size=3),
    type=st.sampled_from(["note", "skill", "bullet", "message"]),
    session=st.none() | any_text,
    created_at_ms=st.integers(0, 2**53 - 1),
    at=st.integers(0, 2**63),
    author=any_text,
    author_name=st.none() | any_text,
    source=any_text,
    kind=any_text,
    state=st.sampled_from(["live", "forgotten", "superseded"]),
    supersedes=st.lists(any_text, max_size=2).map(tuple),
    conflict=st.booleans(),
    tool=st.booleans(),
    recalled=st.booleans(),
    source_ref=st.none() | any_text,
    valid_from=st.none() | st.integers(0, 2**53 - 1),
    valid_until=st.none() | st.integers(0, 2**53 - 1),
)


@given(lines)
def test_an_exported_line_reads_back_with_everything(line: Line) -> None:
    """Every field survives, lone surrogates and all; what only a bank knows is kept in `origin`."""
    (item,) = taken(HEADER + jsonl.write_line(line))
    assert (item.text, item.key, item.title, item.tags) == (line.text, line.key, line.title, line.tags)
    assert dict(item.metadata) == dict(line.metadata or {})
    assert (item.type, item.session, item.created_ms) == (line.type, line.session, line.created_at_ms)
    assert (item.valid_from, item.valid_until) == (line.valid_from, line.valid_until)
    assert (item.tool, item.recalled, item.source_ref) == (line.tool, line.recalled, line.source_ref)
    origin = dict(item.origin or {})
    assert origin.pop("bank") == "bafybank"
    assert origin.pop("conflict", False) == line.conflict
    assert tuple(origin.pop("supersedes", ())) == line.supersedes
    assert origin.pop("author_name", None) == line.author_name
    assert origin == {
        name: getattr(line, name) for name in ("id", "version", "at", "author", "source", "kind", "state")
    }


@given(lines)
def test_a_line_is_one_line_of_json(line: Line) -> None:
    """Whatever the words, a line has one line end, at its end, and is valid JSON for any other reader."""
    data = jsonl.write_line(line)
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert json.loads(data)["text"] == line.text


def test_a_header_is_a_line_that_names_the_bank_and_the_time() -> None:
    """The first line is what other programs recognise an export by."""
    assert json.loads(HEADER) == {
        "muniment": "export", "version": 1, "bank": "bafybank", "exported_at": 1_767_225_600_000,
    }  # fmt: skip
    assert read(HEADER) == []


def test_an_export_by_a_newer_version_is_refused() -> None:
    """Nothing of it is taken on a guess."""
    with pytest.raises(FutureFormat):
        read(HEADER.replace(b'"version":1', b'"version":2'))


def test_plain_lines_take_any_of_our_fields_and_keep_others_as_metadata() -> None:
    """A hand-written line needs only `text`; fields of its own are not dropped."""
    fields = {
        "text": "t", "key": "k", "title": "T", "tags": ["a"], "metadata": {"m": 1}, "type": "bullet",
        "session": "s", "created_at": "2026-01-02T00:00:00Z", "valid_from": "2026-01-01", "speaker": "Ann",
        "colour": "red", "source_ref": "mine", "version": 4, "state": "forgotten",
    }  # fmt: skip
    (item,) = taken(json.dumps(fields).encode())
    assert item == Incoming(
        text="t",
        place="line 1",
        key="k",
        title="T",
        tags=("a",),
        metadata={"m": 1, "speaker": "Ann", "colour": "red", "version": 4, "state": "forgotten"},
        type="bullet",
        session="s",
        created_ms=1_767_312_000_000,
        valid_from=1_767_225_600_000,
        source_ref="mine",
        author="Ann",
    )


def test_an_id_counts_only_if_it_is_one() -> None:
    """A UUID is kept as the record's id; any other id of the writer's is metadata and names the place."""
    first, second = taken(json.dumps({"text": "a", "id": ID}).encode() + b"\n" + b'{"text": "b", "id": 17}')
    assert first.origin == {"id": ID}
    assert first.metadata == {}
    assert second.origin is None
    assert second.metadata == {"id": 17}
    assert (second.source_ref or "").endswith("#17")


def test_equal_lines_stay_two_and_growth_changes_no_ref() -> None:
    """Refs tell equal lines apart, and are the same after more lines were added and bad ones mended."""
    start = b'{"text": "same"}\nnonsense\n{"text": "same"}\n'
    refs = [item.source_ref for item in read(start) if isinstance(item, Incoming)]
    assert len(set(refs)) == 2
    grown = [
        item.source_ref for item in taken(start.replace(b"nonsense", b'{"text": "x"}') + b'{"text": "more"}')
    ]
    assert [grown[0], grown[2]] == refs
    assert len(set(grown)) == 4


def test_exported_memories_get_no_new_ref() -> None:
    """A memory that was not imported where it came from is the same memory here."""
    (item,) = taken(HEADER + jsonl.write_line(Line(ID, "bafy/0", "t")))
    assert item.source_ref is None


@pytest.mark.parametrize(
    "bad",
    [b"nonsense", b"[1]", b"5", b'"text"', b"{}", b'{"text": 5}', b'{"text": null}', b'{"text": "a", "tags": "b"}',
     b'{"text": "a", "tags": [1]}', b'{"text": "a", "metadata": []}', b'{"text": "a", "key": 1}',
     b'{"text": "a", "created_at": "soon"}', b'{"text": "a", "created_at_ms": -1}', b'{"text": "a", "tool": 1}',
     b'{"text": "a", "type": 1}', b'{"text": "\xff"}', b'{"text": "a"', b'{"text": NaN}', b"{\"text\": 'a'}",
     b'{"text": ' + b"[" * 100_000, b'{"text": "a", "valid_until": [' + b"[" * 900 + b"]" * 900 + b"]}",
     b'{"created_at": ' + b"[" * 1000 + b"]" * 1000 + b"}"],
)  # fmt: skip
def test_a_bad_line_is_named_and_the_others_are_taken(bad: bytes) -> None:
    """Each line that can't be taken gives its number and a reason; its neighbours are taken."""
    first, wrong, last = read(b'{"text": "a"}\n' + bad + b'\n{"text": "c"}')
    assert isinstance(first, Incoming)
    assert isinstance(last, Incoming)
    assert isinstance(wrong, BadLine)
    assert wrong.place == "line 2"
    assert wrong.reason
    assert str(wrong) == f"line 2: {wrong.reason}"


def test_marks_blank_lines_and_line_ends_of_other_systems_are_passed_over() -> None:
    """A byte order mark, CRLF, blank lines and a missing last line end change nothing but the numbers."""
    items = taken(b'\xef\xbb\xbf{"text": "a"}\r\n\r\n   \n{"text": "b"}')
    assert [(item.text, item.place) for item in items] == [("a", "line 1"), ("b", "line 4")]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    """Whatever stands in a file, each line is an item or a bad line, also behind our header."""
    for made in (data, HEADER + data):
        with contextlib.suppress(InvalidInput):  # UTF-16
            assert all(isinstance(item, Incoming | BadLine) for item in read(made))


@given(
    st.dictionaries(st.sampled_from([*Line.__slots__, "created", "speaker", "bank"]), json_values), any_text
)
def test_any_object_with_text_is_taken_or_named(fields: dict[str, Any], text: str) -> None:
    """Fields of the wrong kind never raise."""
    (item,) = read(json.dumps({**fields, "text": text}).encode())
    assert isinstance(item, Incoming | BadLine)
