"""`kill -9` at any step of a repair: the next run goes on, and no key and no memory is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import muniment
from muniment.doctor import mend
from muniment.store.routes import WantedRow

# A step is a call that changes the disk.
PROGRAM = (
    (Path(__file__).parent / "kill_at.py").read_text("utf-8")
    + """
import os, sys
from pathlib import Path
import muniment
from muniment.doctor import mend
from muniment.recall import follow, manifest, packing
from muniment.store.link import Link
follow.TAIL_ROWS = 1
steps = Steps(int(sys.argv[2]))
with muniment.open(sys.argv[1]) as peer:
    findings = peer.doctor()
    for owner, name in ((Link, "commit"), (Link, "checkpoint"), (packing, "write"), (manifest.Manifest, "save"),
                        (Path, "chmod"), (Path, "unlink"), (os, "fsync")):
        steps.hook(owner, name)
    mend(peer, findings)
print("done")
"""
)


def _broken(home: Path) -> None:
    """An installation with several faults at once."""
    with muniment.open(home) as peer:
        agent = peer.agent("ava", create=True)
        for number in range(3):
            agent.remember(f"tea number {number}")
        bank = agent._bank
        bank.tidy(force=True)
        with bank.store.write():
            bank.store.trace([0])
        peer.made_store().others.want(WantedRow(bank.id, b"k" * 32, "read", b"", 1, 2))
    (manifest,) = (home / "index").glob("*/manifest")
    manifest.write_bytes(manifest.read_bytes()[:20])
    draft = home / ".keyring.new"
    draft.write_bytes(b"half")
    os.utime(draft, (1, 1))
    home.chmod(0o755)


def test_a_repair_that_is_killed_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of its steps; then nothing is left to mend, and the keyring and all memories are as they were."""
    monkeypatch.setattr("muniment.recall.follow.TAIL_ROWS", 1)
    first = tmp_path / "first"
    _broken(first)
    keyring = (first / "keyring").read_bytes()
    killed = 0
    for step in range(1, 80):
        home = tmp_path / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(first, home)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(home), str(step)], capture_output=True, text=True, check=False
        )
        killed += done.returncode == -9
        assert done.returncode in {0, -9}, done.stderr
        with muniment.open(home) as peer:
            assert all(one.done for one in mend(peer, peer.doctor()))
            assert [one.name for one in peer.doctor() if one.mends or one.status == "fail"] == []
            agent = peer.agent("ava")
            assert (agent.check(), len(agent.recall("tea"))) == ([], 3)
        assert (home / "keyring").read_bytes() == keyring
        if done.returncode == 0:
            break
    assert killed > 5, "the program was hardly ever killed"
