"""Many processes on one bank, and processes that are killed: nothing acknowledged is lost, nobody is locked out."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from muniment.base.errors import StoreBusy
from muniment.store.sqlite import SqliteStore
from muniment.testing.store_rows import Maker, World

PROGRAM = Path(__file__).with_name("store_program.py")


def start(*words: object, stdout: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
    """Run the program beside this file."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(PROGRAM), *map(str, words)]
    pipes = {"stdin": subprocess.PIPE, "stdout": stdout, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment, **pipes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A bank with its founding entry."""
    maker = Maker()
    World(SqliteStore.create(tmp_path / "bank.db", maker.bank), maker).store.close()
    return tmp_path / "bank.db"


def test_writers_at_once_lose_nothing(path: Path) -> None:
    """Three processes write and one reads; all is kept, in whole transactions, and nobody sees an error."""
    writers = [start("write", path, author, 60) for author in (1, 2, 3)]
    reader = SqliteStore.open(path, readonly=True)
    seen = [1]
    while any(writer.poll() is None for writer in writers):
        with reader.read():
            rows = list(reader.entries())
            assert len(rows) == 1 + reader.watermark().last_ord
        assert len(rows) >= seen[-1]
        seen.append(len(rows))
        time.sleep(0.01)
    kept = []
    for writer in writers:
        out, err = writer.communicate()
        assert (writer.returncode, err) == (0, "")
        kept += out.split()
    assert {row.id.hex() for row in reader.entries(after=1)} == set(kept)
    assert len(kept) == 180
    assert reader.check() == []
    for author in (1, 2, 3):
        assert len(reader.tips(Maker().key(author))) == 1
    reader.close()


def test_a_held_lock_gives_a_named_error_after_the_wait(path: Path) -> None:
    """Another process that holds the lock longer than the configured wait makes a write fail by name, not a read."""
    holder = start("hold", path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    store = SqliteStore.open(path, busy_ms=150)
    began = time.monotonic()
    with pytest.raises(StoreBusy, match="150 ms") as raised:
        store.write().__enter__()
    assert time.monotonic() - began >= 0.15
    assert raised.value.next_step
    assert len(list(store.entries())) == 1
    holder.communicate("\n")
    World(store, Maker()).say()
    assert store.check() == []
    store.close()


def test_a_short_lock_is_waited_for(path: Path) -> None:
    """A write begins as soon as the other process lets go."""
    holder = start("hold", path)
    assert holder.stdout is not None
    holder.stdout.readline()
    store = SqliteStore.open(path, busy_ms=60_000)
    assert holder.stdin is not None
    holder.stdin.write("\n")
    holder.stdin.flush()
    World(store, Maker()).say()
    holder.communicate()
    store.close()


def test_killed_writers_lose_nothing_acknowledged(
    path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Writers killed at random moments: every line that they printed is in the bank, which is clean."""
    dice = random.Random(3)
    said = tmp_path_factory.mktemp("said")
    acknowledged: set[str] = set()
    for round_ in range(8):
        writers = []
        for author in (1 + 2 * round_, 2 + 2 * round_):
            with (said / str(author)).open("w") as out:
                writers.append((said / str(author), start("write", path, author, 0, stdout=out)))
        while not all(file.stat().st_size for file, _ in writers):
            time.sleep(0.01)
        for file, writer in writers:
            time.sleep(dice.random() * 0.1)
            writer.kill()
            writer.communicate()
            # what stands behind the last line break was not acknowledged to anybody
            acknowledged.update(file.read_text("ascii").split("\n")[:-1])
        store = SqliteStore.open(path)
        assert store.check() == []
        held = {row.id.hex() for row in store.entries()}
        assert acknowledged <= held
        assert store.watermark().last_ord == len(held) - 1
        store.close()
    assert len(acknowledged) > 100
    world = World(SqliteStore.open(path), Maker())
    world.say(author=99)
    assert world.store.check() == []
    world.store.close()
    assert [file.name for file in path.parent.iterdir()] == ["bank.db"]
