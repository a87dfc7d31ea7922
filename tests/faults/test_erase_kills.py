"""`kill -9` at any step of an erase: afterwards it was not begun, or it is ended by whoever comes next."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import muniment

WORD = b"quetzalcoatlus"

# What a program does before it is killed at one of its steps; a step is a call that changes the disk.
PROGRAM = (
    (Path(__file__).parent / "kill_at.py").read_text("utf-8")
    + """
import os, sys
import muniment
from muniment.keyring.journal import Journal
from muniment.recall import follow, manifest, packing
from muniment.store.connection import Connections
from muniment.store.link import Link
home, step = sys.argv[1], int(sys.argv[2])
follow.TAIL_ROWS = 1
steps = Steps(step)
with muniment.open(home) as peer:
    agent = peer.agent("ava")
    agent.recall("harbour")
    for owner, name in ((Link, "commit"), (Link, "begin"), (Link, "checkpoint"), (Journal, "record"),
                        (Connections, "scrub"), (packing, "write"), (manifest.Manifest, "save"), (os, "fsync")):
        steps.hook(owner, name, after=name in ("commit", "write"))
    agent.erase("k")
print("done")
"""
)


def test_a_kill_at_any_step_leaves_nothing_half_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is whole, or it is hidden and the next process leaves no byte of it."""
    monkeypatch.setattr("muniment.recall.follow.TAIL_ROWS", 1)
    first = tmp_path / "first"
    with muniment.open(first) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember("bystanders of the harbour", key="other")
        agent.remember("the quetzalcoatlus sleeps", key="k")
        agent.remember("the quetzalcoatlus wakes", key="k")
        agent.archive("k")
        agent.recall("quetzalcoatlus")
        agent._bank.tidy(force=True)
    assert _holding(first)
    whole = gone = 0
    for step in range(1, 120):
        home = tmp_path / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(first, home)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(home), str(step)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        assert done.returncode in (0, -9), done.stderr
        with muniment.open(home) as peer:
            agent = peer.agent("ava")
            found = [hit.record.text for hit in agent.recall("quetzalcoatlus", mode="text")]
            assert agent.get("other").text == "bystanders of the harbour"
            if found:
                assert found == ["the quetzalcoatlus wakes"]
                whole += 1
                agent.erase("k")
            else:
                gone += 1
            assert _holding(home) == [], step
            assert agent.check() == [], step
            assert agent.verify().ok
        if done.returncode == 0:
            break
    else:
        raise AssertionError("it never came to its end")
    assert whole > 1, "no kill came before the erase"
    assert gone > 1, "no kill came after it"


def _holding(home: Path) -> list[str]:
    return [str(path) for path in home.rglob("*") if path.is_file() and WORD in path.read_bytes()]
