"""`kill -9` at any step of custody, of the owner and of the holder: nothing half done stays, no given word is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import muniment
from muniment.archive import custody as words
from muniment.base.ids import parse_blob
from muniment.custody import Custody
from muniment.identity.did import to_did
from muniment.testing.entropy import SeededEntropy

TEXT = SeededEntropy(b"a long text").bytes(100_000).hex()  # four chunks

# What a program does before it is killed at one of its steps; a step is a call that changes a disk. The holder is a
# folder on a disk at hand, so both ends die at once, at each step of either.
PROGRAM = (
    (Path(__file__).parent / "kill_at.py").read_text("utf-8")
    + """
import os, sys
import muniment
from muniment.blobs import folder
from muniment.custody import Custody
from muniment.custody_keeper import Keeper
from muniment.store.link import Link
from muniment.testing.clock import FixedClock
what, top, step, now = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
steps = Steps(step)
with muniment.open(top + "/owner", clock=FixedClock(now)) as peer:
    agent = peer.agent("ava")
    custody = Custody(peer)
    custody.status()
    for owner, name in ((folder, "_write"), (folder, "_sync"), (folder.os, "fsync"), (Link, "commit"), (Link, "begin")):
        steps.hook(owner, name, after=name in ("commit", "_write"))
    if what in ("offer", "renew"):
        custody.offer(top + "/one")
    elif what == "challenge":
        custody.challenge()
    elif what == "fetch":
        agent.fetch("report")
    else:
        while Keeper(peer).step() is not None:
            pass
print("done")
"""
)
NOW = 1_800_000_000_000


def made(top: Path, what: str) -> str:
    """An owner with a pack and two holders, as they are before the step; gives the pack's name."""
    from muniment.testing.clock import FixedClock

    clock = FixedClock(NOW)
    with muniment.open(top / "owner", clock=clock) as owner:
        agent = owner.agent("ava", create=True)
        agent.remember(TEXT, key="report")
        agent.archive("report")
        for name in ("one", "two"):
            with muniment.open(top / name, clock=clock) as peer:
                Custody(peer).accept(to_did(owner.owner()))
        blob = Custody(owner).status().blobs[0].blob
        if what != "offer":
            Custody(owner).offer(str(top / "one"))
        if what == "mend":
            agent.remember("other words " * 200, key="other")
            agent.archive("other")
            other = next(row.blob for row in Custody(owner).status().blobs if row.blob != blob)
            Custody(owner).offer(str(top / "two"), other)
            shutil.rmtree(top / "one" / "blobs")
        if what == "fetch":
            shutil.rmtree(top / "owner" / "blobs")
    return blob


def checked(top: Path, blob: str, now: int) -> int:
    """Receipts that the owner counts on; each is true: its holder has the whole pack, and signed for it."""
    from muniment.testing.clock import FixedClock

    clock = FixedClock(now)
    with muniment.open(top / "owner", clock=clock) as owner:
        given = [row for row in owner.made_store().custody.given() if row.blob == parse_blob(blob)]
        for row in given:
            receipt = words.read_receipt(row.receipt)
            with muniment.open(Path(row.address), clock=clock) as peer:
                kept = peer.made_store().custody.kept_one(owner.owner(), row.blob)
                assert kept is not None
                assert kept.receipt is not None
                assert peer.archive.held(row.blob)
                if row.alarm is None:
                    assert len(peer.archive.packs.blobs.get(row.blob)) == receipt.size
                assert not peer.made_store().custody.parts(owner.owner(), row.blob)
        return owner.archive.receipts(parse_blob(blob))


@pytest.mark.parametrize("what", ["offer", "renew", "challenge", "mend", "fetch"])
def test_a_kill_at_any_step_leaves_nothing_half_done(tmp_path: Path, what: str) -> None:
    """What is counted on is true after each kill, what counted before counts still, and going on ends it."""
    from muniment.testing.clock import FixedClock

    first, top = tmp_path / "top", tmp_path / "kept"
    blob = made(first, what)
    shutil.copytree(first, top)
    later = NOW + (8 * 86_400_000 if what == "mend" else 1000)
    sure = 0 if what in ("offer", "mend") else 1
    ended = 0
    for step in range(1, 200):
        shutil.rmtree(first)
        shutil.copytree(top, first)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, what, str(first), str(step), str(later)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        assert done.returncode in (0, -9), done.stderr
        if what != "mend":  # there the first holder lies from the start
            assert checked(first, blob, later) >= sure, step
        with muniment.open(first / "owner", clock=FixedClock(later)) as owner:
            if what == "mend":
                Custody(owner).challenge()
                assert owner.archive.receipts(parse_blob(blob)) == 1, step
            elif what in ("offer", "renew"):
                Custody(owner).offer(str(first / "one"))
            assert owner.agent("ava").fetch("report").text == TEXT
            assert owner.agent("ava").check() == []
            if what != "mend":
                assert Custody(owner).challenge().well
        if done.returncode == 0:
            ended = step
            break
    assert ended > 2, "it never came to its end, or nothing was killed"
