"""What a person or a script types, and what comes back."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from muniment.commands import COMMANDS

from .conftest import PROGRAM, Cli, program

RECORD_FIELDS = {
    "id", "bank", "key", "title", "text", "tags", "metadata", "type", "kind", "source", "author", "session",
    "created_at_ms", "state",
}  # fmt: skip
READING = [
    ("recall", "x"),
    ("get", "x"),
    ("list",),
    ("history", "x"),
    ("forget", "x"),
    ("why", "x", "y"),
    ("stats",),
    ("export", "-"),
    ("agent", "list"),
    ("agent", "show"),
    ("check",),
    ("check", "--rebuild"),
    ("verify",),
]


def test_remembered_words_are_recalled(cli: Cli) -> None:
    """The first memory needs nothing before it, and its words find it."""
    made = cli(
        "--json", "remember", "The deploy window is Friday", "--key", "deploy", "--tag", "ops", "-t", "cd"
    ).json
    assert made["created"]
    found = cli("--json", "recall", "when", "is", "the", "deploy", "window?").json
    assert [hit["record"]["id"] for hit in found["hits"]] == [made["id"]]
    assert found["hits"][0]["record"]["tags"] == ["cd", "ops"]


def test_recall_prints_the_promised_json(cli: Cli) -> None:
    """Programs get exactly hits, mode and degraded; a hit has its record, score, signals, snippet and conflict."""
    cli(
        "remember",
        "green tea",
        "--meta",
        "cups=2",
        "--meta",
        "place.city=Oslo",
        "--session",
        "s",
        "--title",
        "Tea",
    )
    found = cli("recall", "tea", "--json").json
    assert set(found) == {"hits", "mode", "degraded"}
    assert found["mode"] == "text"
    assert found["degraded"] is None
    hit = found["hits"][0]
    assert {"record", "score", "signals", "snippet", "conflict"} <= set(hit)
    assert set(hit["record"]) >= RECORD_FIELDS
    assert hit["record"]["metadata"] == {"cups": 2, "place": {"city": "Oslo"}}
    assert hit["record"]["type"] == "note"
    assert hit["record"]["state"] == "live"
    assert 0 < hit["score"] <= 1
    assert hit["conflict"] is False


def test_json_for_a_program_is_one_line(cli: Cli) -> None:
    """One answer is one line, so that lines can be read one by one."""
    cli("remember", "a\nb")
    assert cli("recall", "--json").out.count("\n") == 1


@pytest.mark.parametrize("place", ["before", "after", "between"])
def test_global_options_stand_anywhere(cli: Cli, tmp_path: Path, place: str) -> None:
    """--home, --agent and --json mean the same before and after the command, and inside a group."""
    there = str(tmp_path / "there")
    cli("--home", there, "agent", "new", "ava")
    cli("--home", there, "agent", "new", "ben")
    cli("--home", there, "--agent", "ben", "remember", "tea")
    options = ["--home", there, "--agent", "ben", "--json"]
    if place == "between":
        assert cli("agent", *options, "show").json["name"] == "ben"
        return
    words = [*options, "list"] if place == "before" else ["list", *options]
    assert [record["text"] for record in cli(*words).json["records"]] == ["tea"]


def test_what_is_said_last_holds(cli: Cli, tmp_path: Path) -> None:
    """An option after the command wins over the same one before it."""
    cli("--home", str(tmp_path / "a"), "remember", "x", "--home", str(tmp_path / "b"))
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_looking_makes_nothing(cli: Cli, home: Path, words: tuple[str, ...]) -> None:
    """A command that reads an empty home says what to do first, and leaves no trace."""
    done = cli(*words, code=3)
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert "muniment remember" in done.err
    assert not home.exists()


def test_doctor_tells_by_its_exit_code(cli: Cli, home: Path) -> None:
    """Warnings count with --strict alone; after --repair what is left counts; unknown settings are a finding."""
    cli("remember", "tea")
    home.chmod(0o755)
    assert "permissions" in cli("doctor").out
    cli("doctor", "--strict", code=1)
    mended = cli("doctor", "--repair", "--json").json["mended"]
    assert [(one["name"], one["done"]) for one in mended] == [("permissions", True)]
    assert cli("doctor", "--repair", "--json").json["mended"] == []
    (home / "config.yaml").write_text("colour: red\n")
    found = cli("doctor", "--repair", "--json", code=1).json["findings"]
    assert [one["name"] for one in found if one["status"] == "fail"] == ["settings"]


def test_doctor_looks_at_an_empty_home_without_making_it(cli: Cli, home: Path) -> None:
    """The one command that has something to say before there is anything."""
    assert cli("doctor", "--json").json["ok"]
    assert not home.exists()


def test_a_memory_can_come_from_a_pipe(cli: Cli) -> None:
    """`-` and a missing TEXT read standard input, one newline at the end is not part of it; TEXT wins over a pipe."""
    for words in (("remember", "-", "--key", "a"), ("remember", "--key", "b")):
        cli(*words, stdin=b"two\nlines\n\n")
        assert cli("get", words[-1], "--json").json["text"] == "two\nlines\n"
    cli("remember", "typed", "--key", "c", stdin=b"piped")
    assert cli("get", "c", "--json").json["text"] == "typed"
    cli("remember", "--key", "d", stdin=b"windows\r\n")
    assert cli("get", "d", "--json").json["text"] == "windows"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NUL \x00 here",
        "\x1b[31mred",
        "\u202egnp.exe",
        "日本語 👩‍👩‍👧",
        "' OR 1=1 --",
        'a AND "b" NEAR c*',
        "x" * 200_000,
    ],
    ids=["empty", "nul", "escape", "bidi", "cjk", "sql", "syntax", "long"],
)
def test_any_text_is_a_memory_and_a_query(cli: Cli, text: str) -> None:
    """Whatever the bytes, they are kept as given, can be asked for, and nothing of them acts on the output."""
    cli("remember", "--key", "k", "-", stdin=text.encode())
    assert cli("get", "k", "--json").json["text"] == text
    cli("recall", "--json", "--", text)
    for words in (
        ("get", "k"),
        ("list",),
        ("recall", "--", text),
        ("history", "k"),
        ("why", "--", text or "x", "k"),
    ):
        out = cli(*words).out
        assert not set(out) & {"\x00", "\x1b", "\u202e", "\t"}


def test_bytes_that_are_no_text_are_kept(cli: Cli) -> None:
    """Bytes that are no UTF-8 survive a pipe as lone surrogates, and print as escapes."""
    cli("remember", "--key", "k", stdin=b"caf\xe9 \xed\xa0\x80")
    assert cli("get", "k", "--json").json["text"] == "caf\udce9 \udced\udca0\udc80"
    assert "caf\\udce9" in cli("get", "k").out


def test_a_great_text_from_a_pipe_is_refused_by_its_limit(cli: Cli) -> None:
    """More than a memory may hold is a named error, without reading it all."""
    done = cli("remember", "--json", stdin=b"a" * 4_000_000, code=2)
    assert done.error["error"] == "LimitExceeded"
    assert "3145728" in done.error["message"] or "2097152" in done.error["message"]


def test_nothing_to_remember_is_an_error(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TEXT and without a pipe, there is nothing to wait for."""
    monkeypatch.setattr("muniment.surfaces.cli.app._piped", lambda: False)
    assert "TEXT" in cli("remember", code=2).err or "text" in cli("remember", code=2).err


def test_each_filter_reaches_the_library(cli: Cli) -> None:
    """Tags, metadata, type, session, times, state and moment each leave out what does not fit."""
    cli("remember", "tea one", "--tag", "a", "--meta", "n=1", "--session", "s", "--created-at", "2026-01-01")
    cli("remember", "tea two", "--tag", "b", "--meta", "n=2", "--type", "skill", "--created-at", "2026-02-01")
    cases = {
        ("--tag", "a"): ["tea one"], ("--tag", "b"): ["tea two"], ("--tag", "a", "--tag", "b"): [],
        ("--meta", "n=1"): ["tea one"], ("--meta", 'n="1"'): [], ("--type", "skill"): ["tea two"],
        ("--session", "s"): ["tea one"], ("--since", "2026-01-15"): ["tea two"],
        ("--until", "2026-01-15T00:00:00Z"): ["tea one"], ("--until", "1768435200000"): ["tea one"],
        ("--state", "forgotten"): [], ("--source", "peer"): [], ("--source", "self"): ["tea one", "tea two"],
        ("--kind", "granted"): [], ("--as-of", "2025-12-01"): [], ("--limit", "1", "--mode", "recent"): ["tea two"],
    }  # fmt: skip
    for options, expected in cases.items():
        hits = cli("recall", "tea", *options, "--json").json["hits"]
        assert sorted(hit["record"]["text"] for hit in hits) == expected, options
        if "--mode" not in options:
            listed = cli("list", *options, "--json").json["records"]
            assert sorted(record["text"] for record in listed) == expected, options


def test_forget_hides_and_undo_shows_again(cli: Cli) -> None:
    """Forgetting is reversible, and history tells of it."""
    cli("remember", "tea", "--key", "k")
    assert cli("forget", "k", "--json").json["records"][0]["state"] == "forgotten"
    assert cli("recall", "tea", "--json").json["hits"] == []
    assert cli("history", "k", "--json").json["records"][0]["state"] == "forgotten"
    assert "forgotten" in cli("list", "--state", "forgotten").out
    assert cli("forget", "--undo", "k", "--json").json["records"][0]["state"] == "live"
    assert cli("recall", "tea", "--json").json["hits"]


def test_each_command_says_something_readable(cli: Cli) -> None:
    """Plain output has neither tabs nor colours, and a word about what was done."""
    cli(
        "remember",
        "tea in Oslo",
        "--key",
        "k",
        "--tag",
        "t",
        "--title",
        "Tea",
        "--session",
        "s",
        "--meta",
        "n=1",
    )
    said = {
        ("recall", "tea"): "[k · Tea] tea in Oslo", ("recall", "zzz"): "no memory matches",
        ("get", "k"): "meta n", ("list",): "by default (self)", ("list", "--tag", "none"): "no memories",
        ("history", "k"): "1. live", ("why", "tea", "k"): "Rank 1", ("why", "zzz", "k"): "", ("stats",): "memories",
        ("agent", "list"): "did:key:", ("agent", "show"): "controller", ("check",): "nothing wrong",
        ("verify",): "entries", ("doctor",): "ok", ("remember", "tea in Oslo", "--key", "k2"): "remembered ",
        ("remember", "tea", "--key", "k"): "in place of 1 version", ("agent", "new", "ben"): "bank",
    }  # fmt: skip
    for words, expected in said.items():
        out = cli(*words).out
        assert expected in out, (words, out)
        assert not set(out) & {"\t", "\x1b"}
    again = cli("remember", "tea", "--key", "k", "--agent", "default")
    assert again.out.startswith("already there")


def test_the_overview_and_help_are_friendly(cli: Cli) -> None:
    """Without a command: a few lines with what to type. Help of each command: arguments, options and examples."""
    assert 'muniment remember "' in cli().out
    assert all(COMMANDS.summary(name) in cli("--help").out for name in COMMANDS if " " not in name)
    for name in COMMANDS:
        out = cli(*name.split(), "--help").out
        assert "Examples:" in out
        assert "--home DIR" in out
        assert cli("help", *name.split()).out == out
    assert "new" in cli("agent").out
    assert cli("--version").out.startswith("muniment ")


def test_init_makes_the_first_agent(cli: Cli) -> None:
    """`--agent` names it, said before the command or after it; a second init with nothing to choose is refused."""
    made = cli("--agent", "ava", "init", "--name", "laptop", "--json").json
    assert [agent["name"] for agent in made["agents"]] == ["ava"]
    assert made["name"] == "laptop"
    assert cli("init", "--json", code=2).error["error"] == "InvalidInput"
    assert "agents" in cli("init", "--name", "desk").out


def test_completion_is_printed_and_works(cli: Cli) -> None:
    """Each shell gets its script, and the program completes commands, groups, options and choices."""
    for shell in ("zsh", "fish", "bash"):
        assert "_MUNIMENT_COMPLETE" in cli("completion", shell).out
    for typed, expected in {
        "muniment rec": "recall", "muniment agent n": "new", "muniment recall --li": "--limit",
        "muniment recall --mode r": "recent", "muniment ag": "agent", "muniment import ./no": "file,./no",
    }.items():  # fmt: skip
        words = typed.split()
        done = program(_MUNIMENT_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1))
        assert done.returncode == 0
        assert expected in done.stdout.decode(), (typed, done)


def test_it_runs_as_a_module_and_as_a_program() -> None:
    """`python -m muniment` and `python -m muniment.surfaces.cli` are the same program; the exit code gets out."""
    import sys

    for module in ("muniment", "muniment.surfaces.cli"):
        done = subprocess.run(
            [sys.executable, "-m", module, "list", "--json"], capture_output=True, check=False, env=os.environ
        )
        assert done.returncode == 3
        assert json.loads(done.stderr)["error"] == "UnknownAgent"


def test_a_reader_that_leaves_early_is_no_error(home: Path) -> None:
    """`muniment list | head -0` ends without a word."""
    program("remember", "tea")
    for words in (["list"], ["--help"], ["export"]):
        with subprocess.Popen(
            [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
        ) as run:
            assert run.stdout is not None
            run.stdout.close()
            assert run.stderr is not None
            assert run.stderr.read() == b""
            assert run.wait(60) in {0, 141}, words


def test_closed_streams_are_no_error() -> None:
    """Started without standard output or error, it does its work and says nothing."""
    command = " ".join(PROGRAM)
    for closed in (">&-", "2>&-", ">&- 2>&-", "<&-"):
        done = subprocess.run(
            ["/bin/sh", "-c", f"{command} remember tea {closed}"], env=os.environ, check=False
        )
        assert done.returncode == 0, closed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
def test_output_that_can_not_be_written_is_an_error() -> None:
    """A full disk behind the output is told, with the exit code of storage errors."""
    program("remember", "tea")
    done = subprocess.run(
        ["/bin/sh", "-c", f"{' '.join(PROGRAM)} list > /dev/full"],
        env=os.environ,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 6
    assert b"can't be written" in done.stderr
