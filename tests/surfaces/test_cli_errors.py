"""How it fails: one line and a next step, an exit code by kind, and nothing spilled."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import muniment.surfaces.cli.app
from muniment.surfaces.cli import main

from .conftest import PROGRAM, Cli, program

SECRET = "correct horse battery staple"


def foreign(home: Path) -> None:
    """A file of somebody else where the peer's own should be."""
    home.mkdir(parents=True)
    (home / "peer.db").write_text("this is a shopping list, and not a data base at all. " * 100)


@pytest.mark.parametrize(
    ("words", "name", "code"),
    [
        (["recall", "x", "--limit", "0"], "InvalidInput", 2),
        (["recall", "x", "--limit", "5000"], "LimitExceeded", 2),
        (["recall", "x", "--since", "yesterday"], "InvalidInput", 2),
        (["recall", "x", "--mode", "vector"], "InvalidInput", 2),
        (["recall", "x", "--meta", "novalue"], "InvalidInput", 2),
        (["recall", "x", "--no-such"], "InvalidInput", 2),
        (["recal", "x"], "InvalidInput", 2),
        (["agent", "nwe"], "InvalidInput", 2),
        (["get"], "InvalidInput", 2),
        (["get", "a", "b"], "InvalidInput", 2),
        (["remember", "x", "--key", "k" * 513], "LimitExceeded", 2),
        (["remember", "x", "--tag", "t" * 129], "LimitExceeded", 2),
        (["remember", "x", "--meta", "a=" + "[" * 9 + "]" * 9], "LimitExceeded", 2),
        (["agent", "new", "default"], "InvalidInput", 2),
        (["get", "nothing"], "UnknownRecord", 3),
        (["forget", "nothing"], "UnknownRecord", 3),
        (["recall", "x", "--agent", "nobody"], "UnknownAgent", 3),
        (["remember", "x", "--agent", "nobody"], "UnknownAgent", 3),
        (["agent", "show", "nobody"], "UnknownAgent", 3),
        (["agent", "new", "eve", "--controller", "did:key:zwrong"], "RefusedKey", 5),
        (["import", "/no/such/file"], None, None),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_errors_have_a_name_a_next_step_and_a_code(
    cli: Cli, words: list[str], name: str | None, code: int | None
) -> None:
    """With --json an object on standard error, otherwise words; standard output stays empty."""
    cli("remember", "tea")
    done = cli(*words, "--json", code=code)
    assert done.out == ""
    assert set(done.error) == {"error", "message", "next_step", "exit_code"}
    assert name is None or done.error["error"] == name
    assert done.error["exit_code"] == done.code > 0
    plain = cli(*words, code=code)
    assert plain.out == ""
    lines = plain.err.splitlines()
    assert lines[0].startswith("error: ")
    assert all(line.startswith("       ") for line in lines[1:])


def test_several_agents_and_none_named(cli: Cli) -> None:
    """The choices are listed, and nothing is guessed."""
    cli("agent", "new", "ava")
    cli("agent", "new", "ben")
    done = cli("remember", "x", "--json", code=2)
    assert done.error["error"] == "Ambiguous"
    assert "ava" in done.error["message"]
    assert "ben" in done.error["message"]


@pytest.mark.parametrize("option", ["--home", "--agent"])
def test_an_empty_option_is_not_the_default(cli: Cli, option: str) -> None:
    """`--home "$UNSET"` is a mistake in a script, and must not write into the user's own folder."""
    assert "empty" in cli("remember", "x", option, "", code=2).err
    assert "empty" in cli(option, "", "remember", "x", code=2).err


def test_a_slip_is_answered_with_the_nearest(cli: Cli) -> None:
    """Commands, groups' commands, options and choices."""
    assert "`muniment recall`" in cli("recal", code=2).err
    assert "`muniment agent new`" in cli("agent", "nwe", code=2).err
    assert "--limit" in cli("recall", "--limt", "3", code=2).err
    assert "`recent`" in cli("recall", "--mode", "recnt", code=2).err
    assert "`--`" in cli("recall", "-zzz", code=2).err


def test_a_foreign_file_is_refused_and_left_alone(cli: Cli, home: Path) -> None:
    """A file that is not ours is a storage error, and keeps its bytes."""
    foreign(home)
    before = (home / "peer.db").read_bytes()
    assert cli("list", "--json", code=6).error["error"] == "ForeignFile"
    assert (home / "peer.db").read_bytes() == before


def test_a_sealed_keyring_needs_its_passphrase(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the variable; a wrong one and none at all are two errors, and neither repeats it."""
    monkeypatch.setenv("MUNIMENT_PASSPHRASE", SECRET)
    cli("init", "--passphrase")
    cli("remember", "tea")
    assert cli("recall", "tea", "--json").json["hits"]
    monkeypatch.setenv("MUNIMENT_PASSPHRASE", "wrong")
    assert cli("recall", "tea", "--json", code=7).error["error"] == "WrongPassphrase"
    monkeypatch.delenv("MUNIMENT_PASSPHRASE")
    done = cli("recall", "tea", "--json", code=7)
    assert done.error["error"] == "KeyringLocked"
    assert "MUNIMENT_PASSPHRASE" in done.error["next_step"]


def test_a_passphrase_is_never_taken_from_the_command_line(cli: Cli) -> None:
    """It would stand in the shell's history and in every list of processes."""
    assert cli("init", f"--passphrase={SECRET}", code=2).err.count(SECRET) == 0
    assert cli("init", "--passphrase", code=2).err.count("MUNIMENT_PASSPHRASE") == 1


@pytest.mark.parametrize("debug", [False, True])
def test_a_bug_tells_its_kind_and_nothing_else(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    """Exit code 70; what the exception says stays unsaid, unless somebody asks to see where it broke."""

    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(muniment.surfaces.cli.app, "invoke", broken)
    if debug:
        monkeypatch.setenv("MUNIMENT_DEBUG", "1")
    done = cli("list", code=70)
    assert "RuntimeError" in done.err
    assert "MUNIMENT_DEBUG=1" in done.err
    assert (SECRET in done.err) == debug


@pytest.mark.parametrize("error", [KeyboardInterrupt, EOFError])
def test_an_interruption_is_quiet(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """Ctrl-C and the end of input at a question end with 130 and without a traceback."""

    def interrupted(*_: object) -> None:
        raise error

    monkeypatch.setattr(muniment.surfaces.cli.app, "invoke", interrupted)
    done = cli("list", code=130)
    assert done.out == ""
    assert done.err.strip() == ""


@pytest.fixture
def heard() -> Iterator[None]:
    """SIGINT is not ignored, as it is in what a shell runs in the background, and as programs inherit it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_a_real_interruption_ends_a_waiting_program() -> None:
    """SIGINT while it reads a pipe: 130, and nothing was kept."""
    with subprocess.Popen(
        [*PROGRAM, "remember"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ,
    ) as run:
        assert run.stdin is not None
        run.stdin.write(b"half a memo")
        run.stdin.flush()
        try:
            run.wait(1.5)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGINT)
        assert run.wait(60) == 130
        assert run.stderr is not None
        assert b"Traceback" not in run.stderr.read()
    assert program("list").returncode == 3


def test_error_text_is_safe_too(cli: Cli) -> None:
    """What was typed comes back in messages, and acts on no terminal."""
    cli("remember", "tea")
    done = cli("get", "\x1b[31m\u202eevil", code=3)
    assert not set(done.err) & {"\x1b", "\u202e"}


def test_main_returns_and_never_raises() -> None:
    """Whatever the words, a caller gets an exit code."""
    for words in (
        ["--no"],
        ["get", "\ud800"],
        ["agent", "new", "\x00"],
        ["recall", "--meta", "="],
        ["--home"],
    ):
        assert isinstance(main(words), int)
