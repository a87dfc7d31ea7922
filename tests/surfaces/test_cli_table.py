"""The table of commands: complete, described, and light until it is used."""

import ast
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import muniment.commands
from muniment.commands import COMMANDS, GROUPS, Command
from muniment.commands.records import STATES, TYPES
from muniment.surfaces.cli.app import root
from muniment.surfaces.cli.plain import WRITE

ALL = [COMMANDS[name] for name in COMMANDS]
HEAVY = {
    "numpy",
    "apsw",
    "nacl",
    "libipld",
    "rich",
    "yaml",
    "platformdirs",
    "zstandard",
    "asyncio",
    "orjson",
    "click",
}


def by_name(command: Command) -> str:
    """A test's id."""
    return command.name


@pytest.mark.parametrize("command", ALL, ids=by_name)
def test_each_command_and_parameter_has_help_and_examples(command: Command) -> None:
    """Summary, description, an example, and a sentence for each parameter."""
    assert command.summary.endswith(".")
    assert command.description.endswith(".")
    assert command.examples
    assert command.right in {"none", "read", "write", "admin"}
    assert command.group == "" or command.group in GROUPS
    names = [param.name for param in command.params]
    assert len(names) == len(set(names))
    shorts = [param.short for param in command.params if param.short]
    assert len(shorts) == len(set(shorts))
    for param in command.params:
        assert len(param.help) > 8
        assert param.help[0].isupper() or param.help[0] in "`-"
        assert not param.help.endswith(".")


@pytest.mark.parametrize("command", ALL, ids=by_name)
def test_each_parameter_is_one_of_the_handler(command: Command) -> None:
    """The table and the handler agree on names."""
    code = command.handler.__code__
    named = set(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])
    given = {param.name for param in command.params}
    takes_more = code.co_flags & 0x08
    assert named <= given
    assert takes_more or named == given


@pytest.mark.parametrize("command", ALL, ids=by_name)
def test_each_example_can_be_typed(command: Command) -> None:
    """Each example is a line that the command line understands, and most are of the command itself."""
    own = 0
    for example in command.examples:
        words = shlex.split(example.line)
        words = words[words.index("muniment") + 1 :]
        for stop in ("|", ">"):
            words = words[: words.index(stop)] if stop in words else words
        group: click.Command = root()
        with group.make_context("muniment", list(words)) as context:
            while isinstance(group, click.Group):
                _, found, words = group.resolve_command(
                    context,
                    [*context.protected_args, *context.args]
                    if words is None
                    else list(_after_options(words)),
                )
                assert found is not None
                group = found
            group.make_context("x", list(words), parent=context)
        own += getattr(getattr(group, "command", None), "name", "") == command.name
        assert example.purpose
    assert own


def _after_options(words: list[str]) -> list[str]:
    """Words without the global options in front."""
    while words and words[0].startswith("-"):
        words = words[1:] if words[0] == "--json" else words[2:]
    return words


def test_each_command_can_be_shown_both_ways() -> None:
    """Plain lines and drawings exist for each command, and for nothing else."""
    from muniment.surfaces.cli.pretty import DRAW

    assert set(WRITE) == set(DRAW) == set(COMMANDS)


def test_choices_are_those_of_the_library() -> None:
    """The table repeats a few lists so that help is fast; they may not drift."""
    from muniment import query
    from muniment.ledger import acts

    assert set(TYPES) == set(acts.TYPES)
    assert tuple(STATES) == tuple(query.STATES)
    of = {param.name: set(param.choices) for param in COMMANDS["recall"].params}
    assert of["source"] == set(query.SOURCES)
    assert of["kind"] == set(query.KINDS)


def test_the_table_behaves_as_a_mapping() -> None:
    """Names can be listed, counted and looked up, groups too."""
    assert len(COMMANDS) == len(list(COMMANDS))
    assert "recall" in COMMANDS
    assert 3 not in COMMANDS
    assert COMMANDS.get("nothing") is None
    assert COMMANDS.in_group("agent") == [
        "agent new",
        "agent list",
        "agent show",
        "agent tools",
        "agent bind",
    ]


def test_families_import_nothing_heavy() -> None:
    """Every definition can be read without loading what it takes to carry one out."""
    code = (
        "import sys\n"
        "from muniment.commands import COMMANDS\n"
        "assert all(COMMANDS[name].summary for name in COMMANDS)\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_one_module_writes_to_streams() -> None:
    """Printing anywhere else could let stored text act on a terminal."""
    place = Path(muniment.commands.__file__).parents[1]
    for path in [*(place / "commands").rglob("*.py"), *(place / "surfaces" / "cli").rglob("*.py")]:
        calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text("utf-8")))
                 if isinstance(node, ast.Call)}  # fmt: skip
        assert not calls & {"print", "sys.stdout.write", "sys.stderr.write"}, path
        assert "click.echo" not in calls or path.name == "build.py", path


def loaded_by(*words: str) -> set[str]:
    """The heavy modules that one run of the command line loads."""
    code = (
        "import sys\n"
        "from muniment.surfaces.cli import main\n"
        f"main({list(words)!r})\n"
        "print('\\n' + ' '.join(name.split('.')[0] for name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return (HEAVY | {"difflib", "importlib.metadata", "email"}) & set(done.stdout.splitlines()[-1].split())


def test_help_loads_the_parser_alone() -> None:
    """Lists and help pages need no numpy, no data base and no keys."""
    for words in ([], ["--help"], ["recall", "--help"], ["agent", "--help"]):
        assert loaded_by(*words) == {"click"}, words


def test_recall_through_a_pipe_loads_only_what_it_needs() -> None:
    """What draws, and what other commands need, is not loaded where nobody looks."""
    loaded_by("remember", "tea")
    for words in (["recall", "tea"], ["recall", "tea", "--json"], ["list"]):
        assert not loaded_by(*words) & {"rich", "yaml", "asyncio", "zstandard", "difflib"}, words
