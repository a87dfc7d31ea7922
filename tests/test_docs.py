"""The documents are run: their examples work, their links lead somewhere, and nothing is left out of them.

Blocks of one document share a folder, a home and Python names, from top to bottom:

- ```python is executed; with `>>>` in it, as a doctest.
- ```console runs the lines after `$ ` that call muniment (or one of `SHELL_WORDS`); what stands below them
  must be the output, where `...` stands for anything, and ids, times and durations only need their form.
  Exit code 0 is expected, or the one said behind the command as `# exit 3`.
- a block that begins ```kind file=NAME is written to that file first.

Anything else is to be read: use ```text for it.
"""

import dataclasses
import doctest
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[1]
DOCUMENTS = sorted([*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md")])
FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)$", re.MULTILINE | re.DOTALL)
SHELL_WORDS = {"muniment", "cat", "echo", "printf", "ls", "mkdir"}
SHOWN_ONLY = {"make", "pip", "git", "cd"}
VOLATILE = [
    (re.compile(r"bafyrei[a-z2-7]+(…[a-z2-7]*)?"), "<id>"),
    (re.compile(r"did:key:z[1-9A-HJ-NP-Za-km-z]+(…[1-9A-HJ-NP-Za-km-z]*)?"), "<did>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b"), "<record>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?( ?UTC|Z)?"), "<time>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b"), "<took>"),
    (re.compile(r"\b1[5-9]\d{11}\b"), "<ms>"),
]


@dataclass(frozen=True)
class Block:
    """One fenced block and where its first line stands."""

    kind: str
    options: Mapping[str, str]
    body: str
    line: int


@dataclass
class Step:
    """One command of a console block, what should come of it, and where it stands."""

    command: str
    exit_code: int
    output: list[str]
    line: int


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a document, in order."""
    text = path.read_text("utf-8")
    found = []
    for match in FENCE.finditer(text):
        kind, *rest = match["info"].split() or [""]
        options = dict(word.split("=", 1) for word in rest if "=" in word)
        found.append(Block(kind, options, match["body"], text.count("\n", 0, match.start("body")) + 1))
    return found


def steps(block: Block) -> list[Step]:
    """The commands of a console block."""
    found: list[Step] = []
    continued = False
    for number, line in enumerate(block.body.splitlines(), block.line):
        if continued:
            found[-1].command += "\n" + line.removeprefix("> ")
        elif line.startswith("$ "):
            found.append(Step(line[2:], 0, [], number))
        elif found:
            found[-1].output.append(line)
        continued = line.endswith("\\") and not (found and found[-1].output)
    for step in found:
        if match := re.search(r"\s+# exit (\d+)$", step.command):
            step.command, step.exit_code = step.command[: match.start()], int(match[1])
        while step.output and not step.output[-1].strip():
            step.output.pop()
    return found


def normal(text: str) -> str:
    """Text with volatile values replaced by their kind."""
    for pattern, name in VOLATILE:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def agrees(expected: str, given: str) -> bool:
    """Whether `given` is what `expected` says; a line `...` stands for any lines, `...` in a line for any words."""
    pattern = ""
    for line in normal(expected).splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
    return re.fullmatch(pattern, normal(given) + "\n") is not None


def run_console(block: Block, name: str) -> None:
    """Run a console block as a person would type it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for step in steps(block):
        word = step.command.split()[0]
        if word in SHOWN_ONLY:
            continue
        assert word in SHELL_WORDS, f"{name}:{step.line}: {word} is not run here; show it in a ```text block"
        done = subprocess.run(
            ["/bin/sh", "-c", step.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": path},
            timeout=60,
            check=False,
        )
        place = f"{name}:{step.line}: $ {step.command}"
        assert done.returncode == step.exit_code, f"{place}\nexit {done.returncode}\n{done.stdout}"
        if step.output:
            expected = "\n".join(step.output)
            assert agrees(expected, done.stdout), (
                f"{place}\n--- document\n{expected}\n--- given\n{done.stdout}"
            )


def run_python(block: Block, name: str, names: dict[str, Any]) -> None:
    """Execute a Python block; an error points at its line in the document."""
    if ">>> " in block.body:
        test = doctest.DocTestParser().get_doctest(block.body, names, name, name, block.line - 1)
        report: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        failed = runner.run(test, out=report.append, clear_globs=False).failed
        names.update(test.globs)
        assert not failed, "".join(report)
    else:
        exec(compile("\n" * (block.line - 1) + block.body, name, "exec"), names)


def runnable(path: Path) -> bool:
    """Whether a document holds anything to run."""
    return any(block.kind in {"python", "console"} for block in blocks(path))


@pytest.mark.parametrize("path", list(filter(runnable, DOCUMENTS)), ids=lambda p: str(p.relative_to(TOP)))
def test_examples_work(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of the document does what the document says, in a home made for it."""
    if importlib.util.find_spec("muniment.surfaces.cli") is None:
        return  # the examples come alive with the command line
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "muniment-home"))
    name = str(path.relative_to(TOP))
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path):
        if "file" in block.options:
            Path(block.options["file"]).write_text(block.body, "utf-8")
        elif block.kind == "console":
            run_console(block, name)
        elif block.kind == "python":
            run_python(block, name, names)


def anchors(path: Path) -> set[str]:
    """The names by which the headings of a document can be linked to."""
    text = FENCE.sub("", path.read_text("utf-8"))
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+)$", text, re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(words.replace(" ", "-"))
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(TOP)))
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link names a file of the project, and a heading in it if it says one."""
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", path.read_text("utf-8"))):
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{path.name} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{path.name} links to {target}: no such heading"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(TOP)))
def test_documents_speak_of_the_product_alone(path: Path) -> None:
    """No path of somebody's machine, no number of an issue, and no trailing blanks."""
    text = path.read_text("utf-8")
    assert re.search(r"(?<!\w)/(work|root|home|Users)/|\b[Ii]ssue #?\d", text) is None
    assert re.search(r"[ \t]+$", text, re.MULTILINE) is None


def test_decisions_say_what_was_rejected() -> None:
    """A decision without its rivals teaches nothing; the numbers have no gap."""
    paths = sorted((TOP / "docs" / "adr").glob("[0-9]*.md"))
    assert [path.name[:4] for path in paths] == [f"{number:04}" for number in range(1, len(paths) + 1)]
    for path in paths:
        headings = re.findall(r"^## (.+)$", path.read_text("utf-8"), re.MULTILINE)
        assert headings == ["Question", "Decision", "Rejected", "Consequences"], path.name


CLAUSE = re.compile(r"\bF-\d+\.\d+\b")


def test_clauses_of_the_format_are_numbered_in_order() -> None:
    """Each clause has one id, within its section, without a gap; and every MUST stands in a clause."""
    sections: dict[int, list[int]] = {}
    section = 0
    for line in FENCE.sub("", (TOP / "docs" / "format.md").read_text("utf-8")).splitlines():
        if match := re.match(r"## (\d+)\. ", line):
            section = int(match[1])
        elif match := re.match(r"- \*\*F-(\d+)\.(\d+)\*\* ", line):
            assert int(match[1]) == section, line
            sections.setdefault(section, []).append(int(match[2]))
        elif "MUST" in line and not line.startswith(("  ", "|")):
            assert section == 0, f"a MUST without a clause: {line}"
    for number, clauses in sections.items():
        assert clauses == list(range(1, len(clauses) + 1)), f"section {number}"


def test_clauses_that_are_cited_exist() -> None:
    """A test or a comment that cites a clause cites one that is there."""
    known = set(CLAUSE.findall((TOP / "docs" / "format.md").read_text("utf-8")))
    for path in [*(TOP / "src").rglob("*.py"), *(TOP / "tests").rglob("*.py"), *DOCUMENTS]:
        assert set(CLAUSE.findall(path.read_text("utf-8"))) <= known, f"{path.name} cites what is not there"


def test_the_index_lists_each_page_once() -> None:
    """Every page and decision stands in the index, once, and decisions in their order."""
    index = (TOP / "docs" / "index.md").read_text("utf-8")
    linked = re.findall(r"\]\(([\w/.-]+\.md)\)", index)
    here = {path.relative_to(TOP / "docs").as_posix() for path in (TOP / "docs").rglob("*.md")} - {"index.md"}
    assert sorted(name for name in linked if not name.startswith("..")) == sorted(here)
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \[", index, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_tests_that_are_named_exist() -> None:
    """A document that points to a test, or to a folder of tests, points to one that is there."""
    words = all_words()
    suites = (TOP / "src" / "muniment" / "testing").rglob("*.py")  # of many implementations, run from tests
    code = "\n".join(path.read_text("utf-8") for path in [*(TOP / "tests").rglob("test_*.py"), *suites])
    assert {name for name in re.findall(r"`(test_\w+)`", words) if f"def {name}(" not in code} == set()
    folders = set(re.findall(r"`(tests/[\w/]+)`", words))
    assert {name for name in folders if not list((TOP / name).rglob("*"))} == set()


def all_words() -> str:
    """The text of all documents."""
    return "\n".join(path.read_text("utf-8") for path in DOCUMENTS)


def commands() -> Mapping[str, Any]:
    """The table of commands, by name; empty until it is built."""
    if importlib.util.find_spec("muniment.commands.table") is None:
        return {}
    table: Mapping[str, Any] = importlib.import_module("muniment.commands.table").COMMANDS
    return table


def mentions(words: str, option: str) -> bool:
    """Whether the option stands in the text as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", words) is not None


def test_every_command_and_option_is_documented() -> None:
    """A command or an option that no page mentions does not exist for its users."""
    words = all_words()
    missing = [option for option in ("--home", "--agent", "--json") if not mentions(words, option)]
    for name, command in commands().items():
        if not mentions(words, f"muniment {name}"):
            missing.append(f"muniment {name}")
        options = [f"--{param.typed_name}" for param in command.params if not param.positional]
        missing += [f"muniment {name} {option}" for option in options if not mentions(words, option)]
    assert missing == [], "in no document"


def test_every_setting_is_documented_with_its_default() -> None:
    """Each setting of the configuration file, and each variable that is read, has a row in `docs/settings.md`."""
    text = (TOP / "docs" / "settings.md").read_text("utf-8")
    rows = {
        name: cell.strip("`") for name, cell in re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE)
    }
    variables: set[str] = set()
    for path in (TOP / "src").rglob("*.py"):
        variables |= set(re.findall(r"\bMUNIMENT_[A-Z]+(?:_[A-Z]+)*\b", path.read_text("utf-8")))
    assert {name for name in rows if name.startswith("MUNIMENT_")} == variables
    settings = importlib.import_module("muniment.config").Settings()
    shown = {f.name: str(getattr(settings, f.name)).lower() for f in dataclasses.fields(settings)}
    assert {name: value for name, value in rows.items() if not name.startswith("MUNIMENT_")} == shown


def test_make_targets_in_documents_exist() -> None:
    """Documents name only targets that the Makefile has."""
    targets = set(re.findall(r"^([a-z]+):", (TOP / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:`|\$ )make ([a-z]+)", all_words()))
    assert named <= targets


def test_output_is_compared_with_wildcards() -> None:
    """The comparison itself: dots stand for anything, ids for their kind, all else for itself."""
    assert agrees("a ... z\n...\nend", "a b c z\n1\n2\nend")
    assert agrees("...\nend", "x\ny\nend")
    assert agrees("start\n...", "start\nx")
    assert agrees("took 3 ms for bafyreiabc", "took 250 ms for bafyreixyz")
    assert not agrees("a\nb", "a\nc")
    assert not agrees("score 0.5", "score 0.6")
