"""`kill -9` while the service's queue is full: what was acknowledged is there, and nothing is half done."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import muniment

PROGRAM = Path(__file__).parent / "service_program.py"
ROUNDS = 6


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs Linux")
def test_what_was_acknowledged_survives(tmp_path: Path) -> None:
    """Killed at random moments, over and over on one folder."""
    source = str(Path(muniment.__path__[0]).parent)
    path = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    dice, said = random.Random(3), set()
    for _ in range(ROUNDS):
        with subprocess.Popen(
            [sys.executable, str(PROGRAM), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(dice.random() * 0.5)
            process.kill()
            lines = process.stdout.read().splitlines(keepends=True)
        said |= {line.rstrip("\n") for line in lines if line.endswith("\n")}
        with muniment.open(tmp_path) as peer:
            agent = peer.choose_agent()
            assert agent.check() == []
            there = {record.text for at in range(0, 10_000, 1000)
                     for record in agent.list(limit=1000, offset=at)} if said else set()  # fmt: skip
            assert said <= there
    assert said
