"""The keyring under `kill -9` and many writers."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import muniment
from muniment.base import codec
from muniment.identity import keys
from muniment.keyring.custody import Keyring
from muniment.platform.entropy import SystemEntropy
from muniment.platform.folders import PeerFolder

WRITER = """
import sys
from muniment.keyring.custody import Keyring
from muniment.keyring.sealing import LOWEST
from muniment.platform.entropy import SystemEntropy
from muniment.platform.folders import PeerFolder
words = sys.argv[2] or None
ask = (lambda: words) if words else None
ring = Keyring.open(PeerFolder(sys.argv[1], lock_wait=30), ask, SystemEntropy(), first=ask, cost=LOWEST)
print("ready", flush=True)
for number in range(int(sys.argv[3])):
    print(ring.create(label=str(number)).hex(), flush=True)
"""


def start(home: Path, words: str, count: int) -> subprocess.Popen[str]:
    """A process that makes keys and prints each one that it was told is safe."""
    paths = [str(Path(muniment.__path__[0]).parent), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(home), words, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
    )


def acknowledged(printed: str) -> list[bytes]:
    """The keys that a writer printed whole."""
    return [bytes.fromhex(line) for line in printed.split("\n")[:-1] if len(line) == 64]


def check(home: Path, words: str, wanted: set[bytes]) -> None:
    """Every acknowledged key is there and signs."""
    ring = Keyring.open(PeerFolder(home), (lambda: words) if words else None, SystemEntropy())
    held = ring.keys()
    assert wanted <= set(held)
    assert len(set(held)) == len(held)
    for public in held:
        assert keys.verify(public, ring.sign(public, codec.ENTRY, b"m"), codec.ENTRY, b"m")


def test_a_kill_while_saving_loses_no_key(tmp_path: Path) -> None:
    """After each of at least 24 kills at random moments all acknowledged keys sign, and the next writer goes on."""
    chance = random.Random(20)
    for words in ("", "a passphrase"):
        home = tmp_path / (words or "plain")
        wanted: set[bytes] = set()
        kills = 0
        while kills < 12 or (
            len(wanted) <= 12 and kills < 200
        ):  # a busy machine gets to write less between two
            kills += 1
            writer = start(home, words, 100_000)
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, 0.06))
            writer.kill()
            wanted |= set(acknowledged(writer.communicate()[0]))
            check(home, words, wanted)
        assert len(wanted) > 12, "the kills came before anything was written"
        names = {path.name for path in home.iterdir()}
        assert names <= {"keyring", "keyring.lock", ".keyring.new"}


def test_many_writers_lose_no_key(tmp_path: Path) -> None:
    """Four processes that make keys in one folder at once keep all of them."""
    writers = [start(tmp_path, "", 15) for _ in range(4)]
    wanted: set[bytes] = set()
    for writer in writers:
        printed, _ = writer.communicate(timeout=60)
        assert writer.returncode == 0
        wanted |= set(acknowledged(printed))
    assert len(wanted) == 60
    check(tmp_path, "", wanted)
