"""What a person sees: the same command line, on a terminal."""

import contextlib
import os
import re
import select
import subprocess
import time

import pytest

from .conftest import PROGRAM, program

fcntl = pytest.importorskip("fcntl", reason="needs Linux")
pty = pytest.importorskip("pty", reason="needs Linux")
termios = pytest.importorskip("termios", reason="needs Linux")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SECRET = "correct horse battery staple"


def on_terminal(*words: str, answers: tuple[str, ...] = (), **environment: str) -> tuple[int, str]:
    """Run the program on a terminal of 100 columns, answer its questions, and give what it showed."""
    ours, theirs = pty.openpty()
    more = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", **environment}
    run = subprocess.Popen(
        [*PROGRAM, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **more},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # noqa: PLW1509 (one thread)
    )
    os.close(theirs)
    seen, told, end = b"", 0, time.monotonic() + 60
    try:
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # Linux says so when the other end is gone
                    break
                if not part:
                    break
                seen += part
            if told < len(answers) and len(re.findall(rb"(?:assphrase|again|not shown\)): ", seen)) > told:
                os.write(ours, answers[told].encode() + b"\n")
                told += 1
    finally:
        os.close(ours)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(30)
        run.kill()
        run.wait()
    return run.returncode, seen.decode("utf-8", "replace").replace("\r\n", "\n")


def test_hits_are_drawn_with_colour_and_the_words_that_matched() -> None:
    """A person gets colours, a score and provenance; a program does not."""
    program("remember", "--key", "deploy", "--tag", "ops", "The deploy window is Friday")
    code, seen = on_terminal("recall", "deploy")
    assert code == 0
    assert COLOUR.search(seen)
    words = COLOUR.sub("", seen)
    assert "The deploy window is Friday" in words
    assert "#ops" in words
    assert "━" in words
    assert b"\x1b" not in program("recall", "deploy").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "evil"),
        ("list",),
        ("get", "k"),
        ("history", "k"),
        ("why", "evil", "k"),
        ("forget", "k"),
        ("get", "k", "--json"),
        ("recall", "evil", "--json"),
    ],
    ids=" ".join,
)
def test_stored_text_never_acts_on_the_terminal(words: tuple[str, ...]) -> None:
    """Of all escape sequences only our own colours are left, and no control or bidi character of a memory."""
    evil = "evil \x1b]0;title\x07 \x1b[2J \x9b31m \u202egnp.exe \x08\x08 \r over [bold]markup[/] :smile:"
    program(
        "remember", "--key", "k", "--tag", "t\x1b[31m", "--title", "T\u202e", "--session", "s\x07",
        "--meta", "m=\x1b[1m", "-", stdin=evil.encode(),
    )  # fmt: skip
    _, seen = on_terminal(*words)
    rest = COLOUR.sub("", seen)
    assert not set(rest) & {"\x1b", "\x07", "\x08", "\x9b", "\u202e", "\r"}
    assert "evil" in rest
    if "--json" not in words and words[0] == "get":
        assert "[bold]markup[/] :smile:" in rest


@pytest.mark.parametrize("words", [("recall", "tea"), ("recal",)], ids=" ".join)
def test_no_color_is_honoured(words: tuple[str, ...]) -> None:
    """NO_COLOR leaves no colour, in answers and in errors."""
    program("remember", "tea")
    _, seen = on_terminal(*words, NO_COLOR="1")
    colours = {part for code in re.findall(r"\x1b\[([0-9;]*)m", seen) for part in code.split(";")}
    assert not {part for part in colours if part[:1] in {"3", "4", "9"} and len(part) == 2}


def test_a_dumb_terminal_gets_plain_lines() -> None:
    """A terminal that can't draw gets what a pipe gets."""
    program("remember", "tea")
    _, seen = on_terminal("list", TERM="dumb")
    assert seen == program("list").stdout.decode()


def test_json_is_indented_for_a_person() -> None:
    """On a terminal JSON is to be read."""
    program("remember", "tea")
    _, seen = on_terminal("list", "--json")
    assert '\n  "records"' in seen


def test_each_command_can_be_drawn() -> None:
    """Nothing that is drawn breaks, and no line is wider than the terminal."""
    program("remember", "tea " * 60, "--key", "k", "--tag", "t", "--session", "s", "--meta", "n=1")
    program("remember", "short", "--key", "k")
    program("remember", "other " * 30)
    for words in (
        ["recall", "tea"], ["recall"], ["recall", "zzz"], ["get", "k"], ["list"], ["list", "--tag", "none"],
        ["history", "k"], ["why", "short", "k"], ["why", "zzz", "k"], ["stats"], ["forget", "k"],
        ["forget", "--undo", "k"], ["agent", "list"], ["agent", "show"], ["credential", "list"],
        ["check"], ["verify"], ["doctor"],
        ["remember", "short", "--key", "k"], ["remember", "new", "--key", "k"], ["agent", "new", "ben"],
    ):  # fmt: skip
        code, seen = on_terminal(*words, MUNIMENT_AGENT="default")
        assert code == 0, (words, seen)
        assert max(len(line) for line in COLOUR.sub("", seen).splitlines()) <= 100, (words, seen)


def test_a_passphrase_is_asked_twice_and_not_shown() -> None:
    """`init --passphrase` asks twice; later commands ask once; what is typed is never on the screen."""
    code, seen = on_terminal("init", "--passphrase", answers=(SECRET, SECRET))
    assert code == 0, seen
    assert SECRET not in seen
    code, seen = on_terminal("remember", "tea", answers=(SECRET,))
    assert code == 0, seen
    assert SECRET not in seen
    assert "Passphrase:" in seen
    assert program("recall", "tea").returncode == 7
    assert b"tea" in program("recall", "tea", MUNIMENT_PASSPHRASE=SECRET).stdout


def test_an_api_key_is_asked_for_and_not_shown() -> None:
    """Once, since a wrong one can be set again; then it is listed by its fingerprint, drawn for a person."""
    code, seen = on_terminal("credential", "set", "openai", answers=("sk-typed-4711",))
    assert code == 0, seen
    assert "sk-typed" not in seen
    code, seen = on_terminal("credential", "list")
    assert code == 0, seen
    mark = program("credential", "list").stdout.split()[1].decode()
    assert mark in seen
    assert "fingerprint" in seen
    code, seen = on_terminal("credential", "set", "openai", answers=("",))
    assert code == 2, seen
    code, seen = on_terminal("credential", "remove", "openai")
    assert code == 0, seen
    assert program("credential", "list").stdout == b"no API keys\n"


@pytest.mark.parametrize("answers", [(SECRET, "another"), ("",)], ids=["differ", "empty"])
def test_a_passphrase_that_is_not_repeated_changes_nothing(answers: tuple[str, ...]) -> None:
    """Two different answers, or none, are an error before anything is made."""
    code, seen = on_terminal("init", "--passphrase", answers=answers)
    assert code == 2, seen
    assert SECRET not in seen
    assert not os.path.exists(os.environ["MUNIMENT_HOME"])  # noqa: PTH110
