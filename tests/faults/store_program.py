"""A program that uses one bank file as its first argument says; the fault tests run and kill it.

It prints a line for each thing that it has done, so that the test knows what was acknowledged.
"""

import os
import resource
import sys
from pathlib import Path

from muniment.base.errors import StorageError, StoreFull
from muniment.store.sqlite import SqliteStore
from muniment.testing.store_rows import Maker, World, version


def say(*words: object) -> None:
    """Print a line and hand it over at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def attach(path: Path) -> World:
    """The bank that the test made."""
    maker = Maker()
    return World(SqliteStore.open(path, bank=maker.bank), maker)


def one_write(world: World, author: int) -> str:
    """An entry with two bodies, a version and its facets, in one transaction; the entry's id."""
    store, maker = world.store, world.maker
    with store.write():
        made = maker.entry(author, store.tips(maker.key(author)), acts=2, body_bytes=700)
        seq = store.add_entry(made.row, made.bodies)
        row = version(store.entry_at(seq), session=store.session_number("talk", create=True))
        store.add_versions([row], [[1, author, seq]])
        for older in store.of_record(row.record)[:-1]:
            store.set_state(older.ord, older.state, None)
    return made.id.hex()


def write(path: Path, author: int, count: int) -> None:
    """Acknowledge `count` writes, or go on for ever if it is 0."""
    world = attach(path)
    done = 0
    while not count or done < count:
        say(one_write(world, author))
        done += 1
    world.store.close()


def hold(path: Path) -> None:
    """Hold the write lock until a line comes in."""
    world = attach(path)
    with world.store.write():
        say("held")
        sys.stdin.readline()


def fill(path: Path, most_bytes: int) -> None:
    """Write until files can't grow any more, then with room again."""
    world = attach(path)
    world.store.seq_of(world.maker.bank)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        for _ in range(10_000):
            say("kept", one_write(world, 1))
    except StoreFull as error:
        say("full", bool(error.next_step))
    try:
        say("kept", one_write(world, 1))
    except StoreFull:
        say("still full", len(list(world.store.entries())))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    say("kept", one_write(world, 1))
    say("problems", len(world.store.check()))
    world.store.close()


def drop_privileges() -> None:
    """Be nobody from here on, so that a folder can be closed to a test that runs as root."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def look(path: Path) -> None:
    """Read, wait for a line, read again, and try to write; say how each went."""
    drop_privileges()
    try:
        world = attach(path)
        say("read", len(list(world.store.entries())))
        sys.stdin.readline()
        say("read", len(list(world.store.entries())), len(world.store.check()))
        one_write(world, 3)
    except StorageError as error:
        say(error.name, error.message.replace("\n", " "))


def make(path: Path) -> None:
    """Try to make a bank."""
    drop_privileges()
    try:
        SqliteStore.create(path, Maker().bank)
    except StorageError as error:
        say(error.name, error.message)


if __name__ == "__main__":
    command, file, *numbers = sys.argv[1:]
    globals()[command](Path(file), *map(int, numbers))
