"""What the package imports is what it declares, and nothing heavy is loaded before it is needed."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
ROOT = TOP / "src" / "muniment"
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
LOCKS = sorted((TOP / "requirements").glob("*.lock"))

# Modules whose name is not that of the distribution that brings them.
DISTRIBUTION = {
    "Stemmer": "pystemmer",
    "agents": "openai-agents",
    "langgraph": "langgraph-checkpoint",
    "nacl": "pynacl",
    "pydantic_ai": "pydantic-ai-slim",
    "yaml": "pyyaml",
}
# Slow to load: a program that only asks for help, or does not need them, must not pay for them.
HEAVY = {
    "numpy",
    "apsw",
    "nacl",
    "libipld",
    "rich",
    "yaml",
    "zstandard",
    "blake3",
    "Stemmer",
    "keyring",
    "asyncio",
    "httpx2",
    "onnxruntime",
    "tokenizers",
}


def distribution(requirement: str) -> str:
    """The normalised name in a requirement line."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match
    return re.sub(r"[-_.]+", "-", match[0]).lower()


DECLARED = {distribution(line) for line in PROJECT["project"]["dependencies"]}
EXTRAS = {
    distribution(line): extra
    for extra, lines in PROJECT["project"].get("optional-dependencies", {}).items()
    for line in lines
}


def third_party() -> dict[str, set[str]]:
    """Distribution -> the files in the package that import it, inside functions too."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                if top != "muniment" and top not in sys.stdlib_module_names:
                    found[DISTRIBUTION.get(top, distribution(top))].add(str(path.relative_to(ROOT)))
    return found


def test_every_import_is_declared() -> None:
    """No module is there by luck, as another package's dependency."""
    undeclared = {name: files for name, files in third_party().items() if name not in DECLARED | set(EXTRAS)}
    assert undeclared == {}


def test_every_dependency_is_used() -> None:
    """What is not imported is not asked of anybody."""
    assert DECLARED - set(third_party()) == set()


@pytest.mark.parametrize("name", sorted(EXTRAS))
def test_an_extra_is_touched_in_one_file(name: str) -> None:
    """An optional part has one door, so its absence has one message."""
    files = third_party().get(name, set())
    assert len(files) == 1, f"{name} (extra {EXTRAS[name]}) is imported in {sorted(files)}"


def loaded_by(code: str) -> set[str]:
    """Top-level names of all modules that a fresh interpreter loads for `code`."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True
    )
    names = [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line]
    return {name.split(".")[0] for name in names}


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import muniment` is nearly free; what is needed comes with the first name that is used."""
    assert loaded_by("import muniment") & HEAVY == set()


def test_the_command_line_loads_nothing_heavy_before_a_command_runs() -> None:
    """`muniment --help` needs click alone."""
    assert importlib.util.find_spec("muniment.surfaces.cli"), "the command line is not built yet"
    assert loaded_by("import muniment.surfaces.cli") & HEAVY == set()
    code = "import sys; sys.argv = ['muniment', '--help']; from muniment.surfaces.cli import main; main()"
    assert loaded_by(f"try:\n exec({code!r})\nexcept SystemExit: pass") & HEAVY == set()


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: p.name)
def test_a_lock_pins_by_hash_and_names_no_host(path: Path) -> None:
    """Each package has one version per environment and its hashes; where it comes from is the user's affair."""
    text = path.read_text("utf-8")
    assert "://" not in text
    assert "index-url" not in text
    pins = re.findall(r"^([A-Za-z0-9._-]+)==\S+.*\\\n(?=    --hash=sha256:)", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[A-Za-z0-9]", text, re.MULTILINE))


def test_the_lock_holds_all_that_is_declared() -> None:
    """A dependency that was added is pinned before it is used."""
    pinned = set(
        re.findall(r"^([a-z0-9-]+)==", (TOP / "requirements" / "dev.lock").read_text("utf-8"), re.MULTILINE)
    )
    groups = {distribution(line) for line in PROJECT["dependency-groups"]["dev"]}
    assert DECLARED | set(EXTRAS) | groups <= pinned, "run `make lock`"
