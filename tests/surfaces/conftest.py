"""Running the command line: in this process, as a program, and on a terminal."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muniment.surfaces.cli import main

PROGRAM = [sys.executable, "-m", "muniment"]


@dataclass
class Done:
    """How a run of the command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """Standard error as JSON."""
        return json.loads(self.err)


Cli = Callable[..., Done]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Call `main` with words, and perhaps bytes on standard input."""

    def call(*words: str, stdin: bytes = b"", code: int | None = 0) -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        given = main(words)
        done = Done(given, *capsys.readouterr())
        assert code is None or given == code, done
        return done

    return call


@pytest.fixture
def home() -> Path:
    """The peer folder that programs and `main` use in this test."""
    return Path(os.environ["MUNIMENT_HOME"])


def program(*words: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run it as a program."""
    return subprocess.run(
        [*PROGRAM, *words],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )
