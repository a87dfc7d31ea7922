"""`kill -9` while a batch is applied, accepted or evicted: all of it is there, or nothing (design section 6)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import muniment
from muniment.agent import Agent
from muniment.playbook_ops import Add, batch_of

DIES = """
import os, signal, sys
import muniment
from muniment.store.link import Link
from muniment.playbook_ops import batch_of

home, line, after = sys.argv[1], sys.argv[2], int(sys.argv[3])
with muniment.open(home) as peer:
    book = peer.agent("ava").playbook
    book.show()
    plain = {name: getattr(Link, name) for name in ("run", "run_many")}
    left = [after]

    def counting(name):
        def wrapped(self, *args, **more):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain[name](self, *args, **more)
        return wrapped

    for name in plain:
        setattr(Link, name, counting(name))
    exec(line)
"""
KEPT, GONE, WORSE = Add("kept as it is"), Add("to be merged away"), Add("to be deleted")
WORK = {
    "id": "run-1",
    "operations": [
        {"op": "ADD", "text": "new in this batch"},
        {"op": "UPDATE", "id": KEPT.id, "judgement": "helpful"},
        {"op": "MERGE", "ids": [KEPT.id, GONE.id], "text": "kept, in other words"},
        {"op": "DELETE", "id": WORSE.id},
    ],
}


def filled(home: Path) -> None:
    """A playbook with something to change, and a batch that waits."""
    with muniment.open(home) as peer:
        book = peer.agent("ava", create=True).playbook
        book.apply([KEPT, GONE, WORSE])
        for _ in range(2):
            book.judge(WORSE.id, "harmful")
        book.configure(policy="review")
        book.apply(WORK)
        book.configure(policy="auto")


def killed(home: Path, line: str, after: int) -> bool:
    """Run a line in another process, that is killed at its so many-th statement; False if it came to its end before."""
    source = str(Path(muniment.__path__[0]).parent)
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(home), line, str(after)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
    return done.returncode != 0


def look(agent: Agent) -> tuple[str, int]:
    """What is shown, and what waits."""
    return agent.playbook.show().text, len(agent.playbook.proposals())


@pytest.mark.parametrize(
    "line",
    [f"book.apply(batch_of({WORK!r}))", "book.accept('run-1')", "book.evict()"],
    ids=["apply", "accept", "evict"],
)
def test_a_kill_leaves_all_or_nothing(tmp_path: Path, line: str) -> None:
    """At statements all along the way; done again afterwards, it ends as if nothing had happened."""
    first = tmp_path / "whole"
    filled(first)
    with muniment.open(first) as peer:
        agent = peer.agent("ava")
        book = agent.playbook
        before = look(agent)
        exec(line, {"book": book, "batch_of": batch_of})
        whole = look(agent)
    assert before != whole
    deaths, after = 0, 3
    while True:
        home = tmp_path / f"killed {after}"
        filled(home)
        dead = killed(home, line, after)
        with muniment.open(home) as peer:
            agent = peer.agent("ava")
            assert agent.check() == []
            found = look(agent)
            assert found in ((before, whole) if dead else (whole,))
            if found == before:
                exec(line, {"book": agent.playbook, "batch_of": batch_of})
            assert look(agent) == whole
        if not dead:
            break
        deaths += 1
        after += max(2, after // 3)
    assert deaths > 4
