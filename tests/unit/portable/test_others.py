"""Memories of mem0, of the MCP memory server and of coding agents, and archives of conversations."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.base import limits
from muniment.base.errors import ForeignFile, InvalidInput, MunimentError, StoreCorrupt
from muniment.commands import files
from muniment.portable import archive, formats
from muniment.portable.base import BadLine, Incoming, Item, LeftOut

MEMORY = {
    "id": "0b1c", "memory": "Prefers tea", "hash": "ab", "metadata": {"mood": "calm"}, "categories": ["food"],
    "user_id": "kim", "run_id": "trip", "created_at": "2026-01-02T03:04:05-07:00", "updated_at": None,
}  # fmt: skip
GRAPH = [
    {"type": "entity", "name": "Kim", "entityType": "person", "observations": ["likes tea", "lives in Oslo"]},
    {"type": "entity", "name": "Oslo", "entityType": "city", "observations": []},
    {"type": "relation", "from": "Kim", "to": "Oslo", "relationType": "lives_in"},
]


def put(path: Path, data: str | bytes | Any) -> Path:
    """A file with that content; values are written as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = data if isinstance(data, str | bytes) else json.dumps(data)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def items(path: Path) -> list[Item]:
    """What it holds, its format told from its content."""
    return list(formats.read(path))


def kept(path: Path) -> list[Incoming]:
    """The memories, where nothing is bad."""
    found = items(path)
    assert not [item for item in found if isinstance(item, BadLine)]
    return [item for item in found if isinstance(item, Incoming)]


# mem0


@pytest.mark.parametrize("shape", ["list", "results", "memories", "lines", "pages"])
def test_each_shape_of_mem0_is_told_and_read(tmp_path: Path, shape: str) -> None:
    """A list, an answer of the client, an export, lines and a page give the same memory."""
    value: Any = {"list": [MEMORY], "results": {"results": [MEMORY]}, "memories": {"memories": [MEMORY]},
                  "lines": json.dumps(MEMORY) + "\n" + json.dumps({**MEMORY, "id": "2"}) + "\n",
                  "pages": {"count": 1, "next": None, "previous": None, "results": [MEMORY]}}[shape]  # fmt: skip
    path = put(tmp_path / "export.json", value)
    assert formats.detect(path) == "mem0"
    first = kept(path)[0]
    assert (first.text, first.key, first.tags, first.session) == (
        "Prefers tea",
        "mem0:0b1c",
        ("food",),
        "trip",
    )
    assert first.metadata["mood"] == "calm"
    assert first.metadata["mem0"]["user_id"] == "kim"
    assert first.created_ms == 1_767_348_245_000


def test_relations_of_mem0_become_memories(tmp_path: Path) -> None:
    """The graph beside the memories is kept too, and a broken line of it is named."""
    relations = [{"source": "kim", "relationship": "lives_in", "target": "oslo"}, {"source": "kim"}]
    found = items(put(tmp_path / "a.json", {"results": [MEMORY], "relations": relations}))
    assert [item.text for item in found if isinstance(item, Incoming)] == ["Prefers tea", "kim lives in oslo"]
    assert [item.place for item in found if isinstance(item, BadLine)] == ["item 1 (line 1) relations 2"]


def history(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    """A `history.db` as mem0 keeps it."""
    link = apsw.Connection(str(path))
    link.execute(
        "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
        " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
    )
    for number, row in enumerate(rows):
        link.execute("INSERT INTO history VALUES (?,?,?,?,?,?,?,?,NULL,NULL)", (str(number), *row))
    link.close()
    return path


def test_the_history_of_mem0_gives_versions_and_leaves_out_what_was_deleted(tmp_path: Path) -> None:
    """An update is a second version under the same key; a deleted memory does not come back."""
    rows = [
        ("m1", None, "Likes tea", "ADD", "2026-01-01T00:00:00", None, 0),
        ("m2", None, "Secret", "ADD", "2026-01-01T00:00:01", None, 0),
        ("m1", "Likes tea", "Likes coffee", "UPDATE", "2026-01-01T00:00:00", "2026-01-03T00:00:00", 0),
        ("m2", "Secret", None, "DELETE", "2026-01-01T00:00:01", "2026-01-04T00:00:00", 1),
    ]
    found = items(history(tmp_path / "history.db", rows))
    assert [(i.key, i.text) for i in found if isinstance(i, Incoming)] == [
        ("mem0:m1", "Likes tea"), ("mem0:m1", "Likes coffee"),
    ]  # fmt: skip
    assert [(i.reason, i.parts) for i in found if isinstance(i, LeftOut)] == [("deleted there", 2)]


def test_a_foreign_or_damaged_database_is_an_error_of_ours(tmp_path: Path) -> None:
    """A file without the table, one that is cut, and one that is none at all."""
    link = apsw.Connection(str(tmp_path / "other.db"))
    link.execute("CREATE TABLE notes (x)")
    link.execute("CREATE VIEW history AS SELECT x AS memory_id FROM notes")
    link.close()
    with pytest.raises(InvalidInput, match="no table"):
        items(tmp_path / "other.db")
    whole = history(
        tmp_path / "history.db", [("m", None, "x" * 9000, "ADD", "2026-01-01", None, 0)]
    ).read_bytes()
    with pytest.raises((StoreCorrupt, ForeignFile, InvalidInput)):
        items(put(tmp_path / "cut.db", whole[:4096]))
    with pytest.raises((StoreCorrupt, ForeignFile)):
        items(put(tmp_path / "none.db", b"SQLite format 3\0" + b"\xff" * 5000))


# The MCP memory server


@pytest.mark.parametrize("shape", ["lines", "graph"])
def test_a_graph_gives_one_memory_a_fact(tmp_path: Path, shape: str) -> None:
    """Each observation and each relation can be recalled by itself; an entity without any is named."""
    whole = {"entities": GRAPH[:2], "relations": GRAPH[2:]}
    path = put(tmp_path / "memory.jsonl", "\n".join(map(json.dumps, GRAPH)) if shape == "lines" else whole)
    assert formats.detect(path) == "mcp-memory"
    found = kept(path)
    assert [i.text for i in found] == [
        "Kim: likes tea",
        "Kim: lives in Oslo",
        "Oslo (city)",
        "Kim lives in Oslo",
    ]
    assert found[0].tags == ("person",)
    assert found[3].metadata["relation"] == {"from": "Kim", "type": "lives_in", "to": "Oslo"}


def test_a_graph_that_was_sorted_anew_gives_the_same_refs(tmp_path: Path) -> None:
    """A fact is named by what it says, so an import after the server wrote its file anew changes nothing."""
    first = kept(put(tmp_path / "a.jsonl", "\n".join(map(json.dumps, GRAPH))))
    again = kept(put(tmp_path / "b.jsonl", "\n".join(map(json.dumps, GRAPH[::-1]))))
    assert {i.source_ref for i in first} == {i.source_ref for i in again}


# Coding agents


def test_a_memory_folder_gives_a_memory_a_file_and_leaves_its_index_out(tmp_path: Path) -> None:
    """Name, description and type of the front matter become key, title and tag."""
    fact = "---\nname: deploy-day\ndescription: When we deploy\nmetadata:\n  type: project\n---\nOn Fridays. [[nix]]\n"
    put(tmp_path / "deploy-day.md", fact)
    put(tmp_path / "MEMORY.md", "- [deploy](deploy-day.md): when\n")
    assert formats.detect(tmp_path) == "agent-files"
    found = items(tmp_path)
    (memory,) = [item for item in found if isinstance(item, Incoming)]
    assert (memory.key, memory.title, memory.text) == ("deploy-day", "When we deploy", "On Fridays. [[nix]]")
    assert memory.tags == ("project", "nix")
    assert [item.place for item in found if isinstance(item, LeftOut)] == ["MEMORY.md"]


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md"])
def test_instruction_files_are_notes_with_a_tag(tmp_path: Path, name: str) -> None:
    """They are found in their folder, hidden ones too, and marked for what they are."""
    put(tmp_path / "AGENTS.md", "# Rules\nUse tabs.\n")
    put(tmp_path / name, "# Rules\nUse tabs.\n")
    assert {item.tags[0] for item in kept(tmp_path)} == {"instructions"}
    assert name in {item.metadata["path"] for item in kept(tmp_path)}


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """A repository that links its memory to somebody's keys gives nothing away."""
    put(tmp_path / "secret.md", "the key")
    put(tmp_path / "repo" / "CLAUDE.md", "# Rules\nUse tabs.\n")
    (tmp_path / "repo" / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    assert [item.text for item in kept(tmp_path / "repo")] == ["# Rules\nUse tabs."]


# Exports of chat applications


def node(name: str, parent: str | None, role: str, said: str) -> dict[str, Any]:
    """A node of a ChatGPT conversation."""
    message = {"id": name, "author": {"role": role}, "content": {"content_type": "text", "parts": [said]}}
    return {"id": name, "parent": parent, "children": [], "message": message}


CHATGPT = [{
    "title": "Tea", "conversation_id": "c1", "create_time": 1_767_225_600, "current_node": "d",
    "mapping": {
        "r": {"id": "r", "parent": None, "children": ["a"], "message": None},
        "a": node("a", "r", "user", "Tea or coffee?"), "b": node("b", "a", "assistant", "Coffee."),
        "c": node("c", "a", "assistant", "Tea."), "d": node("d", "c", "user", "Thanks"),
    },
}]  # fmt: skip
CLAUDE = [{
    "uuid": "c2", "name": "Trip", "created_at": "2026-01-01T00:00:00Z", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "See this", "created_at": "2026-01-01T00:00:01Z",
         "content": [{"type": "text", "text": "See this"}],
         "attachments": [{"file_name": "a.txt", "extracted_content": "the plan"}]},
        {"uuid": "m2", "sender": "assistant", "text": "Fine.", "content": [{"type": "text", "text": "Fine."}]},
    ],
}]  # fmt: skip


def zipped(path: Path, members: dict[str, bytes | Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """An archive of these files."""
    with zipfile.ZipFile(path, "w", method) as out:
        for name, data in members.items():
            out.writestr(name, data if isinstance(data, bytes) else json.dumps(data))
    return path


def test_a_conversation_is_the_branch_that_is_shown(tmp_path: Path) -> None:
    """An answer that was asked for again is left out, and counted."""
    found = items(put(tmp_path / "conversations.json", CHATGPT))
    assert [i.text for i in found if isinstance(i, Incoming)] == [
        "user: Tea or coffee?", "assistant: Tea.", "user: Thanks",
    ]  # fmt: skip
    assert [(i.reason, i.parts) for i in found if isinstance(i, LeftOut)] == [
        ("messages of branches that were edited away", 1)
    ]


def test_an_export_is_read_as_it_was_sent(tmp_path: Path) -> None:
    """Of an archive only the conversations are taken; an attached text stands with its message."""
    path = zipped(
        tmp_path / "export.zip", {"users.json": [{}], "data/conversations.json": CLAUDE, "chat.html": b"<p>"}
    )
    found = items(path)
    assert [i.text for i in found if isinstance(i, Incoming)] == [
        "human: See this\n[attached a.txt]\nthe plan", "assistant: Fine.",
    ]  # fmt: skip
    assert {i.place for i in found if isinstance(i, LeftOut)} == {"users.json", "chat.html"}
    unpacked = tmp_path / "unpacked"
    put(unpacked / "conversations.json", CLAUDE)
    put(unpacked / "users.json", [{}])
    assert [i.text for i in kept(unpacked)] == [i.text for i in found if isinstance(i, Incoming)]


def test_an_archive_of_other_files_is_read_file_by_file(tmp_path: Path) -> None:
    """Notes, lines and graphs in one archive; names that lead elsewhere lead nowhere, archives in it stay shut."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as out:
        out.writestr("x.md", "hidden")
    path = zipped(tmp_path / "a.zip", {
        "../../etc/note.md": b"# Note\nhello", "lines.jsonl": b'{"text": "a line"}\n', "g.jsonl": GRAPH[2],
        "inner.zip": inner.getvalue(), "blob.bin": b"\0\1\2",
    })  # fmt: skip
    found = items(path)
    words = {i.text for i in found if isinstance(i, Incoming)}
    assert words == {"# Note\nhello", "a line", "Kim lives in Oslo"}
    assert {i.place for i in found if isinstance(i, LeftOut)} == {"inner.zip", "blob.bin"}
    assert not (tmp_path.parent / "etc").exists()


def test_an_archive_that_unpacks_without_end_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes out is counted, whatever the archive says of itself."""
    monkeypatch.setattr(archive, "LIMITS", limits.Limits(archive_bytes=1 << 20))
    path = zipped(tmp_path / "bomb.zip", {f"{n}.jsonl": b'{"text": "x"}\n' * 50_000 for n in range(4)})
    found = items(path)
    assert len([i for i in found if isinstance(i, Incoming)]) <= (1 << 20) / 14 + 1
    assert [i for i in found if isinstance(i, BadLine)]


def test_an_archive_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted before the first is opened."""
    monkeypatch.setattr(archive, "LIMITS", limits.Limits(archive_members=2))
    with pytest.raises(InvalidInput, match="3 files"):
        items(zipped(tmp_path / "a.zip", {f"{n}.md": b"x" for n in range(3)}))


@settings(max_examples=100)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=5))
def test_a_damaged_archive_ends_in_one_of_our_errors(
    tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes
) -> None:
    """Bytes written anywhere over an archive give memories, bad places or a `MunimentError`."""
    path = zipped(
        tmp_path_factory.mktemp("zip") / "a.zip", {"a.jsonl": b'{"text": "x"}\n' * 20, "b.md": b"# B\nb"}
    )
    data = bytearray(path.read_bytes())
    at %= len(data)
    data[at : at + len(noise)] = noise
    path.write_bytes(data)
    try:
        assert all(isinstance(item, Incoming | BadLine | LeftOut) for item in formats.read(path))
    except MunimentError as error:
        assert error.message  # noqa: PT017 - that it is one of ours is the claim


def test_the_command_offers_the_formats_that_there_are() -> None:
    """The command's list, kept apart so that help stays fast, is the importers' list."""
    assert files.FORMATS == formats.FORMATS
