"""The memory tool of Claude over a bank: as its SDK's own tool over a folder answers, and nothing outside of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

import muniment
from muniment.agent import Agent
from muniment.surfaces.adapters.files import ROOT, MemoryFiles

from .scripted import scripted


@pytest.fixture
def ava(tmp_path: Path) -> Iterator[Agent]:
    """An agent with an empty memory."""
    with muniment.open(tmp_path / "home") as peer:
        yield peer.agent("ava", create=True)


def test_a_session_of_the_tool(ava: Agent) -> None:
    """Make, look, change, put in, move and delete, with the answers that the tool is documented with."""
    files = MemoryFiles(ava)

    def do(command: str, **given: Any) -> str:
        reply = files.handle({"command": command, **given})
        assert reply.ok, reply.text
        return reply.text

    assert do("create", path="/memories/a.txt", file_text="one\ntwo\n") == (
        "File created successfully at: /memories/a.txt"
    )
    assert do("view", path="/memories/a.txt") == (
        "Here's the content of /memories/a.txt with line numbers:\n     1\tone\n     2\ttwo\n     3\t"
    )
    assert do("view", path="/memories/a.txt", view_range=[2, 2]).endswith(":\n     2\ttwo")
    assert "     2\tTWO" in do("str_replace", path="/memories/a.txt", old_str="two", new_str="TWO")
    do("insert", path="/memories/a.txt", insert_line=1, insert_text="one and a half\n")
    do("rename", old_path="/memories/a.txt", new_path="/memories/notes/b.txt")
    do("create", path="/memories/.hidden", file_text="x")
    assert do("view", path=ROOT) == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and "
        "node_modules:\n24B\t/memories\n23B\t/memories/notes/\n23B\t/memories/notes/b.txt"
    )
    assert ava.get("/memories/notes/b.txt").text == "one\none and a half\nTWO\n"
    assert [record.text for record in ava.history("/memories/a.txt")][-1] == "one\ntwo\n"
    assert [hit.record.key for hit in ava.recall("half")] == ["/memories/notes/b.txt"]
    do("delete", path="/memories/notes")
    assert "notes" not in do("view", path=ROOT)
    ava.forget("/memories/notes/b.txt", undo=True)
    assert "notes" in do("view", path=ROOT)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "memories/a", "", "/", "/memoriesx/a", "/memories/../etc", "/memories/..", "/memories/a/../../b",
     "/memories/./a", "/memories/%2e%2e/a", "/memories/..%2f..%2fa", "/memories/a\x00b", "/memories/a\nb",
     "/memories/..\\..\\a", "//memories/a", "/MEMORIES/a"],
)  # fmt: skip
def test_no_path_leads_out(ava: Agent, path: str) -> None:
    """Each command refuses it, and nothing is kept."""
    files = MemoryFiles(ava)
    files.handle({"command": "create", "path": "/memories/own", "file_text": "x"})
    calls = [
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/new"},
        {"command": "rename", "old_path": "/memories/own", "new_path": path},
    ]
    for call in calls:
        assert not files.handle(call).ok, call
    assert [record.key for record in ava.list()] == ["/memories/own"]


def test_other_memories_are_no_files(ava: Agent) -> None:
    """A record under another key is neither listed nor reached; clearing leaves it alone."""
    files = MemoryFiles(ava)
    ava.remember("the deadline", key="deadline")
    assert not files.handle({"command": "view", "path": "deadline"}).ok
    assert files.handle({"command": "view", "path": ROOT}).text.endswith("0B\t/memories")
    files.handle({"command": "create", "path": "/memories/x", "file_text": "x"})
    files.clear()
    assert [record.key for record in ava.list()] == ["deadline"]


def test_a_file_is_no_directory(ava: Agent) -> None:
    """Nothing is made below a file, and nothing is moved into itself."""
    files = MemoryFiles(ava)
    files.handle({"command": "create", "path": "/memories/d/a", "file_text": "x"})
    for call in (
        {"command": "create", "path": "/memories/d/a/b", "file_text": "x"},
        {"command": "create", "path": "/memories/d", "file_text": "x"},
        {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/e"},
        {"command": "rename", "old_path": ROOT, "new_path": "/memories/e"},
        {"command": "delete", "path": ROOT},
        {"command": "insert", "path": "/memories/d", "insert_line": 0, "insert_text": "x"},
    ):
        assert not files.handle(call).ok, call
    assert [record.key for record in ava.list()] == ["/memories/d/a"]


def test_files_of_a_shared_bank_are_shared(tmp_path: Path) -> None:
    """One writes, the other reads; who may not read sees no file."""
    with muniment.open(tmp_path) as peer:
        ava, ben = (peer.agent(name, create=True) for name in ("ava", "ben"))
        bank = ava.banks.new("team")
        MemoryFiles(ava.bank("team")).handle(
            {"command": "create", "path": "/memories/t", "file_text": "for all"}
        )
        assert not MemoryFiles(ben.bank("team")).handle({"command": "view", "path": "/memories/t"}).ok
        ava.banks.grant("team", ben.did, "read")
        shared = MemoryFiles(ben.bank("team"))
        assert "for all" in shared.handle({"command": "view", "path": "/memories/t"}).text
        refused = shared.handle({"command": "create", "path": "/memories/u", "file_text": "x"})
        assert not refused.ok
        assert bank is not None


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from(["/memories/own", ROOT]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
COMMANDS = st.sampled_from(["view", "create", "str_replace", "insert", "delete", "rename"]) | JUNK
NAMES = [
    "path",
    "file_text",
    "old_str",
    "new_str",
    "insert_line",
    "insert_text",
    "old_path",
    "new_path",
    "view_range",
]
CALLS = st.fixed_dictionaries({"command": COMMANDS}, optional=dict.fromkeys(NAMES, JUNK)) | JUNK


@settings(max_examples=20, deadline=None)
@given(calls=st.lists(CALLS, max_size=30))
def test_any_call_is_answered_in_words(calls: list[Any]) -> None:
    """Whatever a model sends, it is a sentence and never an exception."""
    with tempfile.TemporaryDirectory() as home, muniment.open(home) as peer:
        files = MemoryFiles(peer.agent("ava", create=True))
        for call in calls:
            reply = files.handle(call)
            assert reply.text.encode()


PATHS = st.lists(st.sampled_from(["a", "b", "c.txt", ".h", "dé"]), min_size=1, max_size=3).map(
    lambda parts: "/".join([ROOT, *parts])
)
TEXTS = st.text(alphabet="ab\n ü", max_size=12)


class BesideTheFolder(RuleBasedStateMachine):
    """The same calls at the SDK's own tool over a folder and at ours over a bank."""

    def __init__(self) -> None:
        super().__init__()
        self._errors = pytest.importorskip("anthropic.lib.tools", reason="needs the extra anthropic")
        from anthropic.tools import BetaLocalFilesystemMemoryTool

        from muniment.surfaces.adapters.anthropic import MunimentMemoryTool

        self._place = Path(tempfile.mkdtemp())
        self._peer = muniment.open(self._place / "home")
        self._ours = MunimentMemoryTool(self._peer.agent("ava", create=True))
        self._theirs = BetaLocalFilesystemMemoryTool(str(self._place / "folder"))

    def teardown(self) -> None:
        """Leave nothing behind."""
        self._peer.close()
        shutil.rmtree(self._place)

    def both(self, **call: Any) -> None:
        """Do it at both, and compare."""
        ours, theirs = self._try(self._ours, call), self._try(self._theirs, call)
        self._prune()
        if theirs[0] == "broken":  # a place below a file: the folder's tool lets the system's error out
            assert ours[0] == "refused", (call, ours, theirs)
        else:
            assert ours == theirs, call

    def _try(self, tool: Any, call: dict[str, Any]) -> tuple[str, str]:
        try:
            return "done", tool.call(call)
        except self._errors.ToolError as error:
            return "refused", str(error)
        except OSError as error:
            return "broken", type(error).__name__

    def _prune(self) -> None:
        """Take empty folders away: ours are there while a file is in them."""
        root = self._place / "folder" / "memories"
        for folder in sorted((p for p in root.rglob("*") if p.is_dir()), reverse=True):
            if not any(folder.iterdir()):
                folder.rmdir()

    @rule(path=PATHS, text=TEXTS)
    def create(self, path: str, text: str) -> None:
        """A new file."""
        self.both(command="create", path=path, file_text=text)

    @rule(path=PATHS, span=st.none() | st.tuples(st.integers(0, 4), st.integers(-1, 5)).map(list))
    def view(self, path: str, span: Any) -> None:
        """A file; listings differ in the sizes of directories, so only their names are compared."""
        if (self._place / "folder" / path[1:]).is_dir():
            call = {"command": "view", "path": path}
            listed = [
                [line.partition("\t")[2] for line in self._try(tool, call)[1].splitlines()[1:]]
                for tool in (self._ours, self._theirs)
            ]
            assert listed[0] == listed[1]
        else:
            self.both(command="view", path=path, view_range=span)

    @rule(path=PATHS, old=TEXTS.filter(bool), new=TEXTS)
    def replace(self, path: str, old: str, new: str) -> None:
        """A text in the place of another."""
        self.both(command="str_replace", path=path, old_str=old, new_str=new)

    @rule(path=PATHS, line=st.integers(-1, 5), text=TEXTS)
    def insert(self, path: str, line: int, text: str) -> None:
        """Lines behind a line."""
        self.both(command="insert", path=path, insert_line=line, insert_text=text)

    @rule(path=PATHS | st.just(ROOT))
    def delete(self, path: str) -> None:
        """A file or a directory less."""
        self.both(command="delete", path=path)

    @rule(old=PATHS | st.just(ROOT), new=PATHS)
    def rename(self, old: str, new: str) -> None:
        """Another path."""
        self.both(command="rename", old_path=old, new_path=new)


TestBesideTheFolder = BesideTheFolder.TestCase
TestBesideTheFolder.settings = settings(max_examples=12, stateful_step_count=20, deadline=None)


def test_the_sdks_tool_runner_works_with_it(ava: Agent) -> None:
    """A model on loopback makes a file, fails to make it again, and is told so as an error."""
    anthropic = pytest.importorskip("anthropic", reason="needs the extra anthropic")
    from muniment.surfaces.adapters.anthropic import MunimentMemoryTool

    def says(*content: Any, stop: str) -> dict[str, Any]:
        return {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": list(content),
                "stop_reason": stop, "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip

    def use(number: int) -> dict[str, Any]:
        given = {"command": "create", "path": "/memories/tea.txt", "file_text": "Kim drinks tea."}
        return {"type": "tool_use", "id": f"t{number}", "name": "memory", "input": given}

    steps = [says(use(1), stop="tool_use"), says(use(2), stop="tool_use"),
             says({"type": "text", "text": "Kept."}, stop="end_turn")]  # fmt: skip
    with (
        scripted(steps) as model,
        anthropic.Anthropic(base_url=model.url, api_key="k", max_retries=0) as client,
    ):
        runner = client.beta.messages.tool_runner(
            model="claude", max_tokens=100, tools=[MunimentMemoryTool(ava)],
            messages=[{"role": "user", "content": "Kim drinks tea."}],
        )  # fmt: skip
        assert runner.until_done().content[0].text == "Kept."
        assert model.asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
        results = [asked["messages"][-1]["content"][0] for asked in model.asked[1:]]
    assert results[0]["content"] == "File created successfully at: /memories/tea.txt"
    assert not results[0].get("is_error")
    assert results[1]["is_error"]
    assert ava.recall("what does Kim drink?")[0].record.key == "/memories/tea.txt"
