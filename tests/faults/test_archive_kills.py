"""`kill -9` at any step of archiving, restoring and compacting: every text is whole, in the bank or in a pack."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import muniment

SAID = [f"text number {number}: " + "the harbour of Bergen sleeps " * 50 for number in range(6)]

# What a program does before it is killed at one of its steps; a step is a call that changes the disk.
PROGRAM = (
    (Path(__file__).parent / "kill_at.py").read_text("utf-8")
    + """
import os, sys
import muniment
from muniment.blobs import folder
from muniment.store.connection import Connections
from muniment.store.link import Link
from muniment.keyring.journal import Journal
from muniment.blobs.folder import FolderBlobs
what, home, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
steps = Steps(step)
with muniment.open(home) as peer:
    agent = peer.agent("ava")
    agent.recall("harbour")
    for owner, name in ((folder, "_write"), (folder, "_sync"), (folder.os, "fsync"), (Link, "commit"), (Link, "begin"),
                        (Journal, "record")):
        steps.hook(owner, name, after=name in ("commit", "_write"))
    steps.hook(FolderBlobs, "delete", after=True)
    real_run = Link.run
    def run(self, sql, *args):
        if sql == "VACUUM" or sql.startswith(("DELETE FROM bodies", "UPDATE bodies")):
            steps.take()
        return real_run(self, sql, *args)
    Link.run = run
    if what == "archive":
        agent.archive(larger_than=0, until=1 << 52)
    elif what == "restore":
        agent.restore("k0")
    elif what == "merge":
        assert peer.blobs.collect().merged >= 2
    else:
        agent._bank.store.compact()
print("done")
"""
)


@pytest.mark.parametrize("what", ["archive", "restore", "compact", "merge"])
def test_a_kill_at_any_step_loses_no_text(tmp_path: Path, what: str) -> None:
    """Afterwards all texts are whole, nothing is found wrong, and the same command ends what was begun."""
    first = tmp_path / "first"
    with muniment.open(first) as peer:
        agent = peer.agent("ava", create=True)
        for number, text in enumerate(SAID):
            agent.remember(text, key=f"k{number}")
        if what == "merge":
            for number in range(len(SAID)):
                agent.archive(f"k{number}")
        elif what != "archive":
            agent.archive(larger_than=0, until=1 << 52)
    ended = 0
    for step in range(1, 80):
        home = tmp_path / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(first, home)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, what, str(home), str(step)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        assert done.returncode in (0, -9), done.stderr
        with muniment.open(home) as peer:
            agent = peer.agent("ava")
            records = [agent.get(f"k{number}") for number in range(len(SAID))]
            assert [record.text for record in records] == SAID, step
            assert agent.check() == [], step
            assert len({record.state for record in records}) == 1 or what == "restore"
            if what == "archive":
                agent.archive(larger_than=0, until=1 << 52)
                assert {agent.get(f"k{number}").state for number in range(len(SAID))} == {"archived"}
            elif what == "restore":
                agent.restore("k0")
                assert agent.get("k0").state == "live"
            elif what == "merge":
                peer.blobs.collect()
                peer.blobs.collect()
                assert [pack.payloads for pack in peer.blobs.list()] == [len(SAID)], step
            else:
                agent._bank.store.scrub()
                assert agent.stats().archive["released"] == len(SAID)
            assert [agent.get(f"k{number}").text for number in range(len(SAID))] == SAID
            assert agent.check() == []
        if done.returncode == 0:
            ended = step
            break
    assert ended > 3, "it never came to its end, or nothing was killed"
