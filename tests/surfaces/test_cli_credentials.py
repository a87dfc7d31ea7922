"""API keys through the command line: from standard input, never from a word, never on a screen."""

import pytest

from .conftest import Cli, program

KEY = "sk-test-4711-very-secret"


def test_a_key_is_read_from_standard_input(cli: Cli) -> None:
    """With its newline or without; what comes back is a fingerprint."""
    done = cli("credential", "set", "openai", stdin=f"{KEY}\n".encode())
    assert KEY not in done.out + done.err
    mark = done.out.split()[-1]
    assert cli("credential", "list").out == f"openai  {mark}\n"
    assert cli("credential", "set", "lab", "-", "--json", stdin=KEY.encode()).json == {
        "provider": "lab", "fingerprint": mark,
    }  # fmt: skip
    assert cli("credential", "list", "--json").json["credentials"][0] == {
        "provider": "lab",
        "fingerprint": mark,
    }
    assert cli("credential", "remove", "lab").out == "no API key is kept for lab any more\n"


@pytest.mark.parametrize(
    "words",
    [
        ("set", "openai", KEY), ("set", "openai", KEY, "more"), ("set", "openai", f"--secret={KEY}"),
        ("set", "openai", "--secret", KEY), ("set", KEY), ("set", "openai", "--json", "--", KEY),
        ("set", "openai", "-", KEY),
    ],
)  # fmt: skip
def test_a_key_that_was_typed_is_refused_and_not_repeated(cli: Cli, words: tuple[str, ...]) -> None:
    """Wherever it stands; nothing is kept, and a log of the error holds nothing of it."""
    done = cli("credential", *words, stdin=b"other-key\n", code=2)
    assert KEY not in done.out + done.err
    assert cli("credential", "list").out == "no API keys\n"


@pytest.mark.parametrize("stdin", [b"", b"\n", b"two words\n", b"\xff\xfe", b"a\nb\n", b"x" * 5000])
def test_what_is_no_key_is_refused(cli: Cli, stdin: bytes) -> None:
    """Nothing, blanks, other bytes than ASCII, several lines, too much."""
    done = cli("credential", "set", "openai", stdin=stdin, code=2)
    assert "xxxx" not in done.err
    assert cli("credential", "list").out == "no API keys\n"


def test_without_a_person_or_a_pipe_it_says_what_to_do(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never waits for an answer that nobody can give."""
    monkeypatch.setattr("muniment.surfaces.cli.app._piped", lambda: False)
    done = cli("credential", "set", "openai", code=2)
    assert "nobody is here to ask for the API key" in done.err


def test_the_secret_is_in_no_help() -> None:
    """Help offers no place for it."""
    shown = program("credential", "set", "--help").stdout.decode()
    assert "Usage: muniment credential set [OPTIONS] PROVIDER\n" in shown
    assert "SECRET" not in shown


def test_a_bug_on_the_way_prints_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even with its traceback."""
    code = (
        "import sys\n"
        "import muniment.credentials as c\n"
        "from muniment.surfaces.cli import main\n"
        "c.box = lambda *_: 1 // 0\n"
        "sys.exit(main(['credential', 'set', 'openai']))\n"
    )
    import subprocess
    import sys

    monkeypatch.setenv("MUNIMENT_DEBUG", "1")
    done = subprocess.run([sys.executable, "-c", code], input=KEY.encode(), capture_output=True, check=False)
    assert done.returncode == 70
    assert b"ZeroDivisionError" in done.stderr
    assert KEY.encode() not in done.stdout + done.stderr
