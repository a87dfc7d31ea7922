"""`check` finds what is wrong with a bank, says where, and what to do about it."""

from pathlib import Path

import pytest

from muniment.base.errors import StoreCorrupt
from muniment.base.ids import BankId, EntryId, VersionId, cid_of
from muniment.store.base import Naming, NamingRow, ValueRow
from muniment.store.memory import MemoryStore
from muniment.store.sqlite import SqliteStore
from muniment.testing.store_rows import Maker, World, version

# A statement that spoils a good bank, and the problem that must be found (where it is, words that say what).
SPOILED = [
    ("UPDATE entries SET envelope = x'00' WHERE seq = 2", "entries", "do not have the entry's id"),
    ("UPDATE entries SET at = at + 1 WHERE seq = 2", "entries", "columns differ"),
    ("UPDATE entries SET author = 1 WHERE seq = 2", "entries", "columns differ"),
    ("UPDATE entries SET control = 1 WHERE seq = 2", "entries", "columns differ"),
    ("UPDATE entries SET prev = x'' WHERE seq = 4", "entries", "columns differ"),
    ("UPDATE entries SET epoch = NULL WHERE seq = 2", "entries", "columns differ"),
    (
        "UPDATE bodies SET sealed = zeroblob(length(sealed)) WHERE place = 512",
        "bodies",
        "differ from the hash",
    ),
    (
        "UPDATE bodies SET sealed = CAST(sealed || x'00' AS BLOB) WHERE place = 512",
        "bodies",
        "differ from the hash",
    ),
    ("DELETE FROM entries WHERE seq = 2", "entries", "gone before these"),
    ("DELETE FROM bodies WHERE place = 512", "bodies", "without being listed"),
    ("UPDATE bodies SET gone = 1 WHERE place = 512", "bodies", "without being listed"),
    ("INSERT INTO bodies VALUES (25600, 0, x'00')", "bodies", "entries that are not here"),
    ("INSERT INTO absent VALUES (512, 0)", "bodies", "and are here"),
    ("DELETE FROM tips", "tips", "newest entries"),
    ("INSERT INTO tips VALUES (2, 2)", "tips", "newest entries"),
    ("DELETE FROM wanted", "wanted", "asked for"),
    ("INSERT INTO wanted VALUES (zeroblob(32), 1)", "wanted", "asked for"),
    ("UPDATE versions SET place = 25600 WHERE ord = 1", "versions", "entries that are not here"),
    ("UPDATE versions SET at = 5 WHERE ord = 1", "versions", "differ from their entry"),
    ("UPDATE versions SET session = 9 WHERE ord = 1", "versions", "has no name"),
    ("DELETE FROM versions WHERE ord = 2", "versions", "gaps"),
    ("DELETE FROM versions WHERE ord = 1", "counts", "number of versions"),
    ("INSERT INTO facets VALUES (1, 77)", "facets", "not here"),
    ("UPDATE namings SET place = 77 << 8", "namings", "entries that are not here"),
    ("UPDATE namings SET target = 77 << 8", "namings", "neither here nor listed"),
    (
        "INSERT INTO strangers SELECT -9, id FROM entries LIMIT 1",
        "namings",
        "listed as strangers, and are here",
    ),
    ("UPDATE named_values SET seq = 77", "named_values", "not here"),
    ("INSERT INTO changes VALUES (1, 77, 0)", "changes", "not here"),
    ("PRAGMA foreign_keys = 0; UPDATE versions SET author = 77 WHERE ord = 1", "file", "points to nothing"),
]


def good(folder: Path) -> World:
    """A clean bank: a fork, a wanted parent, a missing and an erased body, versions and what names them."""
    maker = Maker()
    world = World(SqliteStore.create(folder / "bank.db", maker.bank), maker)
    world.say(author=1, facets=(5,))
    world.say(author=1, facets=(5, 6))
    made = maker.entry(1, [cid_of(b"elsewhere"), world.store.tips(maker.key(1))[0]], acts=3, here=[False])
    row = world.add(made)
    with world.store.write():
        session = world.store.session_number("talk", create=True)
        world.store.erase_bodies([(row.seq, 1)])
        world.store.add_versions([version(row, 2, session=session)], [[]])
        world.store.add_namings([NamingRow(VersionId(EntryId(cid_of(b"x")), 0), Naming.OVER, row.seq, 2)])
        world.store.add_values([ValueRow("ref", "name", row.seq, 2)])
    assert world.store.check() == []
    return world


@pytest.mark.parametrize(("statement", "where", "what"), SPOILED, ids=[sql[:50] for sql, *_ in SPOILED])
def test_check_names_what_is_wrong(statement: str, where: str, what: str, tmp_path: Path) -> None:
    """One wrong row or column is found, with its place and a next step."""
    world = good(tmp_path)
    world.store._connections.link().run(statement)
    problems = world.store.check()
    assert [p for p in problems if p.where == where and what in p.what], problems
    assert all(problem.next_step for problem in problems)
    world.store.close()


def test_check_names_the_rows(tmp_path: Path) -> None:
    """A problem of many rows is one problem with their numbers."""
    world = good(tmp_path)
    world.store._connections.link().run("DELETE FROM bodies")
    (problem,) = world.store.check()
    assert (problem.where, problem.rows) == ("bodies", [2, 3, 4])
    world.store.close()


def test_an_altered_entry_is_never_handed_out(tmp_path: Path) -> None:
    """Reading an entry whose bytes do not have its id raises, whichever way it is asked for."""
    world = good(tmp_path)
    made = world.store.entry_at(2)
    world.store._connections.link().run(
        "UPDATE entries SET envelope = CAST(envelope || x'00' AS BLOB) WHERE seq = 2"
    )
    for call in (
        lambda: world.store.entry_at(2),
        lambda: world.store.entry(made.id),
        lambda: list(world.store.entries()),
        lambda: world.store.twins(made.author, made.at),
    ):
        with pytest.raises(StoreCorrupt):
            call()
    world.store.close()


def test_check_knows_its_bank() -> None:
    """Entries of another bank, and rows that point nowhere, are found in memory too."""
    maker = Maker()
    store = MemoryStore(BankId(cid_of(b"other")))
    world = World(store, maker)
    world.say()
    assert {problem.what for problem in store.check()} == {"the entry is of another bank"}
    store = MemoryStore(maker.bank)
    world = World(store, maker)
    row = world.store.entry_at(1)
    with store.write():
        store.add_versions([version(row), version(row, seq=9, session=4)], [[], []])
        store.add_namings([NamingRow(VersionId(row.id, 0), Naming.OVER, 9, 0)])
        store.add_values([ValueRow("ref", "name", 9, 0)])
    assert {problem.where for problem in store.check()} == {"versions", "namings", "named_values"}
