"""A sync whose process is killed at any moment has stored whole frames and nothing else; the next one goes on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from muniment import check
from muniment.store.sqlite import SqliteStore
from muniment.testing.sync_world import World

ENTRIES = 120
BODY = "x" * 20_000  # some twenty entries a frame
DELAYS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)


def entries_in(path: Path, world: World) -> int:
    """How many entries a file holds; it is checked too."""
    store = SqliteStore.open(path, bank=world.replicas.bank)
    try:
        assert store.check() == []
        return sum(1 for _ in store.entries())
    finally:
        store.close()


def sync_in_a_child(world: World, path: Path) -> int:
    """Start a process that syncs into a file, and return its id; it says so by ending with 0."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        world.replicas.fresh("vera", SqliteStore.open(path, bank=world.replicas.bank))
        code = 0 if world.sync("vera", "carol").done else 2
    finally:
        os._exit(code)


def test_a_killed_sync_goes_on_where_it_was(tmp_path: Path) -> None:
    """SIGKILL after one delay after the other: each time the file is whole and holds no less than before."""
    world = World(tmp_path / "world")
    for number in range(ENTRIES):
        world.at("carol").remember(f"{number} {BODY}")
    path = tmp_path / "vera.db"
    SqliteStore.create(path, world.replicas.bank).close()
    held = 0
    for delay in DELAYS:
        child = sync_in_a_child(world, path)
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        now = entries_in(path, world)
        assert now >= held
        held = now
    child = sync_in_a_child(world, path)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    vera = world.replicas.fresh("vera", SqliteStore.open(path, bank=world.replicas.bank))
    assert vera.shown()["verdicts"] == world.at("carol").shown()["verdicts"]
    assert len(vera.shown()["records"]) == ENTRIES
    assert check.check(vera.bank) == []
    world.close()
