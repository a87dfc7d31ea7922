"""Every command gives the same result and the same error through the library and through the command line."""

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.base.errors import MunimentError
from muniment.commands import COMMANDS
from muniment.surfaces.cli import main

Call = Callable[[Any, Any], Any]  # peer, agent -> result

SECRET = "sk-example-1234"
NOTES = [
    ("Build with nix, copy to prod", {"key": "deploy", "tags": ["ops"], "title": "Deploy"}),
    ("Build with nix, then copy to prod on Friday", {"key": "deploy", "tags": ["ops"], "title": "Deploy"}),
    ("Met Kim at the fair in Oslo", {"metadata": {"place": {"city": "Oslo"}, "n": 2}, "session": "trip"}),
    (
        "Kim deploys sensors at sea",
        {"session": "trip", "type": "message", "created_at": "2026-01-02T03:04:05Z"},
    ),
    ("The old editor was vim", {"key": "editor"}),
]


def listed(name: str) -> Callable[[Any], Any]:
    """A list of views, as the commands wrap it."""
    return lambda items: {name: [item.to_json() for item in items]}


def plain(result: Any) -> Any:
    """A view's own JSON."""
    return result.to_json()


# One row a command at least: what is typed, the same by the library, and how the library's result reads as JSON.
SAME: list[tuple[str, list[str], Call, Callable[[Any], Any]]] = [
    ("remember", ["remember", "tea", "--key", "k", "--tag", "b", "--tag", "a", "--meta", "x.y=1"],
     lambda _, a: a.remember("tea", key="k", tags=["b", "a"], metadata={"x": {"y": 1}}), plain),
    ("remember", ["remember", NOTES[4][0], "--key", "editor"],
     lambda _, a: a.remember(NOTES[4][0], key="editor"), plain),
    ("recall", ["recall", "when", "do", "we", "deploy?"], lambda _, a: a.recall("when do we deploy?"), plain),
    ("recall", ["recall", "deploy", "--no-context", "-n", "1"],
     lambda _, a: a.recall("deploy", limit=1, context=False), plain),
    ("recall", ["recall", "kim", "--meta", "place.city=Oslo", "--session", "trip"],
     lambda _, a: a.recall("kim", metadata={"place.city": "Oslo"}, session="trip"), plain),
    ("recall", ["recall"], lambda _, a: a.recall(), plain),
    ("recall", ["recall", "zzz"], lambda _, a: a.recall("zzz"), plain),
    ("get", ["get", "deploy"], lambda _, a: a.get("deploy"), plain),
    ("list", ["list"], lambda _, a: a.list(), listed("records")),
    ("list", ["list", "--limit", "1", "--offset", "1", "--source", "self"],
     lambda _, a: a.list(limit=1, offset=1, source="self"), listed("records")),
    ("history", ["history", "deploy"], lambda _, a: a.history("deploy"), listed("records")),
    ("forget", ["forget", "editor"], lambda _, a: a.forget("editor"), listed("records")),
    ("why", ["why", "kim at sea", "deploy"], lambda _, a: a.why("kim at sea", "deploy"), plain),
    ("why", ["why", "kim", "deploy", "--tag", "ops"], lambda _, a: a.why("kim", "deploy", tags=["ops"]), plain),
    ("stats", ["stats"], lambda _, a: a.stats(), plain),
    ("archive", ["archive", "deploy"], lambda _, a: a.archive("deploy"), plain),
    ("archive", ["archive", "--older-than", "1d", "--larger-than", "10", "--type", "message", "--dry-run"],
     lambda _, a: a.archive(older_than="1d", larger_than="10", type="message", dry_run=True), plain),
    ("fetch", ["fetch", "deploy"], lambda _, a: a.fetch("deploy"), plain),
    ("restore", ["restore", "kept"], lambda _, a: a.restore("kept"), listed("records")),
    ("restore", ["restore", "deploy"], lambda _, a: a.restore("deploy"), listed("records")),
    ("recall", ["recall", "--fetch", "archived", "words"], lambda _, a: a.recall("archived words", fetch=True), plain),
    ("list", ["list", "--state", "archived"], lambda _, a: a.list(states=["archived"]), listed("records")),
    ("blobs list", ["blobs", "list"], lambda p, _: p.blobs.list(), listed("packs")),
    ("blobs gc", ["blobs", "gc", "--dry-run"], lambda p, _: p.blobs.collect(dry_run=True), plain),
    ("import", ["import", "notes.txt"], lambda _, a: a.import_from("notes.txt"), plain),
    ("export", ["export", "library.jsonl"], lambda _, a: a.export_to("library.jsonl"),
     lambda n: {"path": "library.jsonl", "records": n}),
    ("agent new", ["agent", "new", "ben"], lambda p, _: p.agent_info(p.new_agent("ben").name), plain),
    ("agent list", ["agent", "list"], lambda p, _: p.agents(), listed("agents")),
    ("agent show", ["agent", "show", "ava"], lambda p, _: p.agent_info("ava"), plain),
    ("agent show", ["agent", "show"], lambda p, _: p.agent_info("ava"), plain),
    ("key mine", ["key", "mine"], lambda _, a: a.claim(), lambda entry: {"agent": "ava", "entry": entry}),
    ("credential set", ["credential", "set", "lab"], lambda p, _: p.credentials.set("lab", SECRET), plain),
    ("credential list", ["credential", "list"], lambda p, _: p.credentials.list(), listed("credentials")),
    ("credential remove", ["credential", "remove", "openai"], lambda p, _: p.credentials.remove("openai"), plain),
    ("init", ["init", "--name", "laptop"], lambda p, _: p.init(name="laptop"), dict),
    ("check", ["check"], lambda _, a: a.check(),
     lambda found: {"agent": "ava", "ok": True, "rebuilt": False, "problems": found}),
    ("check", ["check", "--rebuild"], lambda _, a: a.check(rebuild=True),
     lambda found: {"agent": "ava", "ok": True, "rebuilt": True, "problems": found}),
    ("verify", ["verify"], lambda _, a: a.verify(), plain),
    ("reindex", ["reindex", "--home", "meaning line"],
     lambda *_: muniment.open("meaning library").choose_agent("ava").reindex(), plain),
    ("recall", ["recall", "deploy", "--mode", "hybrid"], lambda _, a: a.recall("deploy", mode="hybrid"), plain),
    ("doctor", ["doctor"], lambda p, _: p.doctor(), lambda found: {"ok": True, **listed("findings")(found)}),
]  # fmt: skip

WRONG: list[tuple[str, list[str], Call]] = [
    ("remember", ["remember", "x", "--key", "k" * 600], lambda _, a: a.remember("x", key="k" * 600)),
    ("remember", ["remember", "x", "--key", ""], lambda _, a: a.remember("x", key="")),
    ("remember", ["remember", "x", "--type", "thing"], lambda _, a: a.remember("x", type="thing")),
    ("remember", ["remember", "x", "--created-at", "soon"], lambda _, a: a.remember("x", created_at="soon")),
    ("recall", ["recall", "x", "--limit", "0"], lambda _, a: a.recall("x", limit=0)),
    ("recall", ["recall", "x", "--limit", "1001"], lambda _, a: a.recall("x", limit=1001)),
    ("recall", ["recall", "x", "--mode", "magic"], lambda _, a: a.recall("x", mode="magic")),
    ("recall", ["recall", "x", "--author", "nobody"], lambda _, a: a.recall("x", author="nobody")),
    ("recall", ["recall", "x", "--source", "friend"], lambda _, a: a.recall("x", source="friend")),
    ("recall", ["recall", "x", "--state", "lost"], lambda _, a: a.recall("x", states=["lost"])),
    ("get", ["get", "nothing"], lambda _, a: a.get("nothing")),
    ("list", ["list", "--offset", "-1"], lambda _, a: a.list(offset=-1)),
    ("list", ["list", "--since", "soon"], lambda _, a: a.list(since="soon")),
    ("history", ["history", "nothing"], lambda _, a: a.history("nothing")),
    ("forget", ["forget", "nothing"], lambda _, a: a.forget("nothing")),
    ("forget", ["forget", "nothing", "--undo"], lambda _, a: a.forget("nothing", undo=True)),
    ("why", ["why", "x", "nothing"], lambda _, a: a.why("x", "nothing")),
    ("stats", ["stats", "--agent", "eve"], lambda p, _: p.choose_agent("eve").stats()),
    ("archive", ["archive"], lambda _, a: a.archive()),
    ("archive", ["archive", "nothing"], lambda _, a: a.archive("nothing")),
    ("archive", ["archive", "--older-than", "soon"], lambda _, a: a.archive(older_than="soon")),
    ("fetch", ["fetch", "nothing"], lambda _, a: a.fetch("nothing")),
    ("restore", ["restore", "nothing"], lambda _, a: a.restore("nothing")),
    ("blobs list", ["blobs", "list", "--home", "foreign"], lambda *_: muniment.open("foreign").blobs.list()),
    ("blobs gc", ["blobs", "gc", "--home", "foreign"], lambda *_: muniment.open("foreign").blobs.collect()),
    ("import", ["import", "missing.json"], lambda _, a: a.import_from("missing.json")),
    ("import", ["import", "notes.txt", "--format", "csv"], lambda _, a: a.import_from("notes.txt", format="csv")),
    ("export", ["export", "missing/folder/x.jsonl"], lambda _, a: a.export_to("missing/folder/x.jsonl")),
    ("agent new", ["agent", "new", "AVA"], lambda p, _: p.new_agent("AVA")),
    ("agent new", ["agent", "new", "n" * 65], lambda p, _: p.new_agent("n" * 65)),
    ("agent list", ["agent", "list", "--home", "foreign"], lambda *_: muniment.open("foreign").agents()),
    ("agent show", ["agent", "show", "eve"], lambda p, _: p.agent_info("eve")),
    ("key mine", ["key", "mine", "--agent", "eve"], lambda p, _: p.choose_agent("eve").claim()),
    ("credential set", ["credential", "set", "No Name"], lambda p, _: p.credentials.set("No Name", SECRET)),
    ("credential list", ["credential", "list", "--home", "foreign"],
     lambda *_: muniment.open("foreign").credentials.list()),
    ("credential remove", ["credential", "remove", "lab"], lambda p, _: p.credentials.remove("lab")),
    ("init", ["init", "--agent", "ava"], lambda p, _: p.init(agent="ava")),
    ("check", ["check", "--agent", "eve"], lambda p, _: p.choose_agent("eve").check()),
    ("reindex", ["reindex"], lambda _, a: a.reindex()),
    ("recall", ["recall", "x", "--mode", "vector"], lambda _, a: a.recall("x", mode="vector")),
    ("verify", ["verify", "--agent", "eve"], lambda p, _: p.choose_agent("eve").verify()),
]  # fmt: skip

TINY = Path(__file__).parents[1] / "unit" / "embed" / "tiny"
VOLATILE = {
    "name",
    "added_ms",
    "pointer",
    "before_bytes",
    "pack_bytes",
    "id",
    "entry",
    "version",
    "created_at_ms",
    "written_at_ms",
    "did",
    "bank",
    "file_bytes",
}


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two equal homes, one for each door; and a folder with something to import and a foreign home."""
    first, second = tmp_path / "library", tmp_path / "line"
    with muniment.open(first) as peer:
        agent = peer.agent("ava", create=True)
        for text, more in NOTES:
            agent.remember(text, **more)  # type: ignore[arg-type]
        agent.remember("archived words " * 20, key="kept")
        agent.archive("kept")
        peer.credentials.set("openai", SECRET)
    shutil.copytree(first, second)
    for name in ("meaning library", "meaning line"):
        shutil.copytree(first, tmp_path / name)
        block = f"embedding:\n  backend: local\n  model: tiny\n  folder: {TINY}\n"
        (tmp_path / name / "config.yaml").write_text(block, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{SECRET}\n".encode())))
    Path("notes.txt").write_text("Ava: when do we deploy?\nBen: on Friday\n", "utf-8")
    Path("foreign").mkdir()
    Path("foreign/packs.db").write_text("somebody's notes " * 100)
    Path("foreign/peer.db").write_text("somebody's notes " * 100)
    return first, second


def by_line(home: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line's JSON: a result, or an error."""
    capsys.readouterr()
    before = [] if "--home" in words else ["--home", str(home)]
    code = main([*before, "--json", *words])
    out, err = capsys.readouterr()
    return json.loads(err if code else out)


def steady(value: Any, home: Path) -> Any:
    """A result without what differs between two installations: new ids, times, the folder."""
    if isinstance(value, dict):
        return {name: "…" if name in VOLATILE else steady(item, home) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [steady(item, home) for item in value]
    return value.replace(str(home), "HOME") if isinstance(value, str) else value


@pytest.mark.parametrize(("name", "words", "call", "read"), SAME, ids=[" ".join(row[1])[:50] for row in SAME])
def test_the_same_result(
    homes: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    name: str,
    words: list[str],
    call: Call,
    read: Callable[[Any], Any],
) -> None:
    """Two equal homes, asked through two doors, answer alike."""
    with muniment.open(homes[0]) as peer:
        expected = json.loads(json.dumps(read(call(peer, peer.agent("ava")))))
    if name == "export":
        words = [word.replace("library.jsonl", "line.jsonl") for word in words]
        given = by_line(homes[1], words, capsys)
        files = [Path(name).read_bytes().splitlines() for name in ("line.jsonl", "library.jsonl")]
        assert files[0][1:] == files[1][1:]  # the first line says when it was written
        assert given == {**expected, "path": "line.jsonl"}
        return
    assert steady(by_line(homes[1], words, capsys), homes[1]) == steady(expected, homes[0])


@pytest.mark.parametrize(("name", "words", "call"), WRONG, ids=[" ".join(row[1])[:50] for row in WRONG])
def test_the_same_error(
    homes: tuple[Path, Path], capsys: pytest.CaptureFixture[str], name: str, words: list[str], call: Call
) -> None:
    """What one door refuses, the other refuses under the same name and with the same exit code."""
    with muniment.open(homes[0]) as peer, pytest.raises(MunimentError) as caught:
        call(peer, peer.agent("ava"))
    given = by_line(homes[1], words, capsys)
    assert given["error"] == caught.value.name
    assert given["exit_code"] == caught.value.exit_code
    assert given["message"]


def test_every_command_is_compared() -> None:
    """A command that is added comes with its rows here."""
    assert {row[0] for row in SAME} == set(COMMANDS)
    cannot_fail = {"doctor"}
    assert {row[0] for row in WRONG} == set(COMMANDS) - cannot_fail


def test_text_from_a_pipe_is_the_same_text(
    homes: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory read from standard input is what the library keeps of the same text."""
    text = "two\nlines, one of them \u202eodd"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{text}\n".encode())))
    by_line(homes[1], ["remember", "-", "--key", "piped"], capsys)
    with muniment.open(homes[1]) as peer:
        assert peer.agent("ava").get("piped").text == text
