"""Files that are refused, made, upgraded and shared: what stands around the rows of the SQLite stores."""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from muniment.base.errors import (
    ForeignFile,
    FutureFormat,
    InvalidInput,
    MunimentError,
    NotFound,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreReadOnly,
)
from muniment.base.ids import BankId, EntryId, VersionId, cid_of
from muniment.store.base import Naming, NamingRow
from muniment.store.looking import format_of
from muniment.store.migrate import BANK, PEER, Kind
from muniment.store.peer import PeerStore
from muniment.store.sqlite import SqliteStore
from muniment.testing.older import as_format_2
from muniment.testing.store_rows import Maker, World, everything

BANK_FILE = "bank.db"
MARK = b"\xf7\x00body\x00\xf7"


def make(folder: Path) -> World:
    """A new bank file with its founding entry."""
    maker = Maker()
    return World(SqliteStore.create(folder / BANK_FILE, maker.bank), maker)


def sqlite(path: Path, *statements: str) -> Path:
    """A file made by another program."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def foreign(path: Path) -> None:
    """Another program's file."""
    sqlite(path, "CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('mine')")


def of_the_peer(path: Path) -> None:
    """A file of ours of another kind."""
    PeerStore.open(path, create=True).close()


def posing(path: Path) -> None:
    """Our number on another program's tables."""
    sqlite(
        path,
        "CREATE TABLE notes (text)",
        f"PRAGMA application_id = {BANK.application_id}",
        "PRAGMA user_version = 1",
    )


def newer(path: Path) -> None:
    """Written by a later version."""
    make(path.parent).store.close()
    sqlite(path, "PRAGMA journal_mode = WAL", f"PRAGMA user_version = {BANK.latest + 1}")


def newer_in_the_log(path: Path) -> None:
    """Its version stands in the log alone, as after a kill."""
    make(path.parent).store.close()
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {BANK.latest + 1}")
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{path}.copy{suffix}")
    connection.close()
    for suffix in ("", "-wal"):
        Path(f"{path}.copy{suffix}").replace(f"{path}{suffix}")


def cut_header(path: Path) -> None:
    """Shorter than a header."""
    make(path.parent).store.close()
    os.truncate(path, 60)


def cut_pages(path: Path) -> None:
    """Shorter than its header says."""
    make(path.parent).store.close()
    os.truncate(path, path.stat().st_size - 5000)


REFUSED = [
    (lambda path: path.write_bytes(b""), ForeignFile),
    (lambda path: path.write_bytes(b"# notes\n" * 100), ForeignFile),
    (lambda path: path.write_bytes(b"short"), ForeignFile),
    (Path.mkdir, ForeignFile),
    (foreign, ForeignFile),
    (of_the_peer, ForeignFile),
    (posing, StoreCorrupt),
    (newer, FutureFormat),
    (newer_in_the_log, FutureFormat),
    (cut_header, StoreCorrupt),
    (cut_pages, StoreCorrupt),
]


@pytest.mark.parametrize(
    ("prepare", "error"), REFUSED, ids=[f"{p.__name__}-{n}" for n, (p, _) in enumerate(REFUSED)]
)
def test_a_refused_file_is_left_as_it_is(
    prepare: Callable[[Path], object], error: type[MunimentError], tmp_path: Path
) -> None:
    """A file that is no bank, damaged or newer is refused with a next step, and not a byte of it changes."""
    path = tmp_path / BANK_FILE
    prepare(path)
    before = picture(tmp_path)
    with pytest.raises(error) as raised:
        SqliteStore.open(path)
    assert raised.value.next_step
    assert str(path) in raised.value.message
    assert picture(tmp_path) == before


def picture(folder: Path) -> dict[str, object]:
    """Names, bytes and times of all files in a folder, but for the shared memory of a log that was there."""
    found: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        if not path.name.endswith("-shm"):
            found[path.name] = (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
    return found


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    """Opening what is not there makes nothing."""
    for store in (SqliteStore, PeerStore):
        with pytest.raises(NotFound):
            store.open(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_a_bank_stays_in_its_file(tmp_path: Path) -> None:
    """Opening a file for another bank than it holds is refused."""
    world = make(tmp_path)
    world.store.close()
    before = picture(tmp_path)
    with pytest.raises(ForeignFile):
        SqliteStore.open(tmp_path / BANK_FILE, bank=BankId(cid_of(b"other")))
    assert picture(tmp_path) == before
    SqliteStore.open(tmp_path / BANK_FILE, bank=world.maker.bank).close()


def test_a_file_is_never_made_over_another(tmp_path: Path) -> None:
    """`create` refuses a name in use, and leaves nothing behind; a closed bank is one file."""
    make(tmp_path).store.close()
    before = picture(tmp_path)
    with pytest.raises(InvalidInput):
        SqliteStore.create(tmp_path / BANK_FILE, BankId(cid_of(b"other")))
    assert picture(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == [BANK_FILE]
    assert (tmp_path / BANK_FILE).stat().st_mode & 0o777 == 0o600


def test_a_failed_creation_leaves_nothing(tmp_path: Path) -> None:
    """No folder, or a schema that is wrong: an error, and no file."""
    bank = BankId(cid_of(b"bank"))
    with pytest.raises(StoreReadOnly):
        SqliteStore.create(tmp_path / "none" / "bank.db", bank)
    schema = tmp_path / "schema"
    schema.mkdir()
    (schema / "001.sql").write_text("CREATE TABLE meta (name TEXT, value ANY); CREATE NONSENSE;", "utf-8")
    with pytest.raises(StorageError):
        SqliteStore.create(tmp_path / "bank.db", bank, kind=Kind("bank", BANK.application_id, schema))
    assert [path.name for path in tmp_path.iterdir()] == ["schema"]


def test_the_kinds_of_file_differ(tmp_path: Path) -> None:
    """A bank is no peer file, and a peer file no bank; both say so in SQLite's own header."""
    make(tmp_path).store.close()
    with pytest.raises(ForeignFile):
        PeerStore.open(tmp_path / BANK_FILE)
    head = (tmp_path / BANK_FILE).read_bytes()[:100]
    assert head[68:72] == b"MUNB" != PEER.application_id.to_bytes(4)
    assert int.from_bytes(head[60:64]) == BANK.latest


# Pragmas and syncs


def test_what_is_set_on_each_connection(tmp_path: Path) -> None:
    """WAL, FULL, foreign keys and secure delete hold in every thread."""
    store = make(tmp_path).store
    said: list[object] = []

    def ask() -> None:
        link = store._connections.link()
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "temp_store", "mmap_size")
        said.append([link.run(f"PRAGMA {name}")[0][0] for name in names])

    ask()
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert said == [["wal", 2, 1, 1, 2, 0]] * 2
    store.close()


def test_a_copy_in_another_mode_becomes_wal_again(tmp_path: Path) -> None:
    """A copy made by SQLite's `VACUUM INTO` has no log; it is given one when it is opened."""
    world = make(tmp_path)
    world.say()
    before = everything(world.store, world.maker)
    world.store._connections.link().run("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    world.store.close()
    copy = SqliteStore.open(tmp_path / "copy.db", bank=world.maker.bank)
    assert copy._connections.link().run("PRAGMA journal_mode") == [("wal",)]
    assert everything(copy, world.maker) == before
    assert copy.figures().file_bytes > 50_000
    copy.close()


def test_the_log_is_copied_now_and_then(tmp_path: Path) -> None:
    """Long writing copies the log into the file by itself, so that it does not grow without end."""
    world = make(tmp_path)
    for _ in range(12):
        world.add(world.maker.entry(acts=256, body_bytes=8000))
    assert world.store.checkpoints >= 1
    assert (tmp_path / f"{BANK_FILE}-wal").stat().st_size < 24 << 20
    assert world.store.check() == []
    world.store.close()


def test_a_reader_that_lingers_costs_no_copy_at_each_write(tmp_path: Path) -> None:
    """While a reader keeps the log from beginning anew, it is copied as seldom as ever."""
    world = make(tmp_path)
    reader = SqliteStore.open(tmp_path / BANK_FILE)
    with reader.read():
        reader.last_at(1 << 62)
        for _ in range(14):
            world.add(world.maker.entry(acts=250, body_bytes=8000))
    assert world.store.checkpoints == 1
    world.add(world.maker.entry())
    reader.close()
    world.store.close()


def test_erased_bodies_leave_the_file(tmp_path: Path) -> None:
    """After an erasure and `scrub` no byte of an erased body is in the file or its log, and the others stay.

    Bodies come in and out of order and in all sizes, which makes SQLite move rows between pages.
    """
    world = make(tmp_path)
    store, dice = world.store, random.Random(7)
    bodies: dict[tuple[int, int], bytes] = {}
    late = []
    for _ in range(8):
        sizes = [dice.choice([300, 300, 320, 800, 1500, 5000]) for _ in range(250)]
        made = [MARK + dice.randbytes(size) + MARK + dice.randbytes(16) for size in sizes]
        here = [dice.random() < 0.4 for _ in made]
        row = world.maker.entry(acts=1).row
        with store.write():
            seq = store.add_entry(
                row, [body if there else None for body, there in zip(made, here, strict=True)]
            )
        bodies.update({(seq, act): body for act, body in enumerate(made)})
        late += [(seq, act) for act, there in enumerate(here) if not there]
    dice.shuffle(late)
    for chunk in (late[::2], late[1::2]):
        with store.write():
            for place in chunk:
                store.put_body(*place, bodies[place])
    places = sorted(bodies)
    dice.shuffle(places)
    erased, kept = places[:1500], places[1500:]
    for chunk in (erased[::2], erased[1::2]):
        with store.write():
            store.erase_bodies(chunk)
    store.scrub()
    left = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert store.bodies(kept) == [bodies[place] for place in kept]
    assert store.bodies(erased) == [None] * len(erased)
    # Large bodies are split over pages, so that their ends are looked for.
    found = {left[at : at + 16] for at in (match.end() for match in re.finditer(re.escape(MARK), left))}
    heads, tails = ({bodies[place][cut] for place in erased} for cut in (slice(8, 24), slice(-16, None)))
    assert found.isdisjoint(heads)
    assert found.isdisjoint(tails)
    assert {bodies[place][8:24] for place in kept} <= found
    store.close()


def test_scrub_waits_for_readers(tmp_path: Path) -> None:
    """While somebody reads the past, `scrub` gives a named error, and works afterwards."""
    world = make(tmp_path)
    store = SqliteStore.open(tmp_path / BANK_FILE, busy_ms=20)
    with world.store.read():
        list(world.store.entries())
        World(store, world.maker).add(world.maker.entry())
        with pytest.raises(StoreBusy):
            store.scrub()
        with pytest.raises(StorageError), store.write():
            store.scrub()
    store.scrub()
    assert (tmp_path / f"{BANK_FILE}-wal").stat().st_size == 0
    store.close()
    world.store.close()


# Upgrades


def older_and_newer(tmp_path: Path, second: str) -> tuple[Kind, Kind]:
    """Today's schema as format 1, and the same with a second step."""
    kinds = []
    for name in ("old", "new"):
        folder = tmp_path / name
        folder.mkdir()
        today = [file.read_text("utf-8") for file in sorted(BANK.schema.glob("[0-9][0-9][0-9].sql"))]
        (folder / "001.sql").write_text("\n".join(today), "utf-8")
        kinds.append(Kind("bank", BANK.application_id, folder))
    (tmp_path / "new" / "002.sql").write_text(second, "utf-8")
    return kinds[0], kinds[1]


def test_an_older_file_is_backed_up_and_upgraded(tmp_path: Path) -> None:
    """Nothing is lost, the backup opens as the older format, and an older backup is not written over."""
    old, new = older_and_newer(tmp_path, "ALTER TABLE entries ADD COLUMN note TEXT; CREATE TABLE extra (x) STRICT;"
                               .replace("(x)", "(x ANY)"))  # fmt: skip
    path = tmp_path / "bank.db"
    maker = Maker()
    world = World(SqliteStore.create(path, maker.bank, kind=old), maker)
    world.say()
    before = everything(world.store, maker)
    world.store.close()
    (tmp_path / "bank.db.v1.bak").write_bytes(b"from another day")
    upgraded = SqliteStore.open(path, kind=new)
    assert everything(upgraded, maker) == before
    assert upgraded._connections.link().run("PRAGMA user_version") == [(2,)]
    upgraded.close()
    assert (tmp_path / "bank.db.v1.bak").read_bytes() == b"from another day"
    backup = SqliteStore.open(tmp_path / "bank.db.v1-2.bak", kind=old)
    assert everything(backup, maker) == before
    backup.close()
    with pytest.raises(FutureFormat):
        SqliteStore.open(path, kind=old)
    SqliteStore.open(path, kind=new).close()
    assert len(list(tmp_path.glob("*.bak"))) == 2


@pytest.mark.parametrize(
    "second",
    [
        "CREATE TABLE extra (x ANY) STRICT; CREATE NONSENSE",
        "INSERT INTO tips VALUES (1, 1), (1, 1)",
        "PRAGMA defer_foreign_keys = 1; UPDATE entries SET author = 99",
    ],
)
def test_a_failed_upgrade_leaves_the_original(second: str, tmp_path: Path) -> None:
    """A step that can't be done, or ends in rows that contradict each other, changes nothing."""
    old, new = older_and_newer(tmp_path, second)
    path = tmp_path / "bank.db"
    maker = Maker()
    world = World(SqliteStore.create(path, maker.bank, kind=old), maker)
    before = everything(world.store, maker)
    world.store.close()
    with pytest.raises(StorageError) as raised:
        SqliteStore.open(path, kind=new)
    assert raised.value.next_step
    assert list(tmp_path.glob("*.bak")) == []
    store = SqliteStore.open(path, kind=old)
    assert everything(store, maker) == before
    store.close()


def test_an_older_file_is_not_upgraded_to_be_read(tmp_path: Path) -> None:
    """`readonly` on an older format is a named error, and the file stays."""
    old, new = older_and_newer(tmp_path, "CREATE TABLE extra (x ANY) STRICT")
    maker = Maker()
    SqliteStore.create(tmp_path / "bank.db", maker.bank, kind=old).close()
    with pytest.raises(StoreReadOnly):
        SqliteStore.open(tmp_path / "bank.db", kind=new, readonly=True)
    SqliteStore.open(tmp_path / "bank.db", kind=old).close()


def test_what_named_versions_by_whole_ids_does_so_by_numbers(tmp_path: Path) -> None:
    """A bank of format 2 opens with every naming that it had, also those of entries that are not here."""
    world = make(tmp_path)
    world.say()
    entry = next(iter(world.store.entries(control=False)))
    away = VersionId(EntryId(cid_of(b"not here yet")), 3)
    again = VersionId(EntryId(cid_of(b"another")), 0)
    rows = [NamingRow(away, Naming.OVER, entry.seq, 0), NamingRow(again, Naming.ARCHIVE, entry.seq, 1),
            NamingRow(VersionId(entry.id, 0), Naming.VECTOR, entry.seq, 1)]  # fmt: skip
    with world.store.write():
        world.store.add_namings(rows)
    before = everything(world.store, world.maker)
    named = world.store.namings_by(entry.seq)
    world.store.close()
    as_format_2(tmp_path / BANK_FILE)
    store = SqliteStore.open(tmp_path / BANK_FILE)
    assert format_of(tmp_path / BANK_FILE) == BANK.latest  # in the file itself, while it is open
    assert everything(store, world.maker) == before
    assert store.namings_by(entry.seq) == named
    assert store.namings([away, again]) == rows[:2]
    assert [row.target for row in store.archive_acts()] == [again]
    assert store.check() == []
    store.close()


# Threads, processes and forks


def test_readonly_reads_and_never_writes(tmp_path: Path) -> None:
    """A store opened to be read sees what others write, and refuses to write."""
    world = make(tmp_path)
    reader = SqliteStore.open(tmp_path / BANK_FILE, readonly=True)
    row = world.say()
    assert reader.versions([row.ord]) == [row]
    for call in (reader.write().__enter__, reader.scrub):
        with pytest.raises(StoreReadOnly):
            call()
    reader.close()
    world.store.close()


def test_close_closes_the_connections_of_all_threads(tmp_path: Path) -> None:
    """A thread that goes on after `close` gets a named error; no file but the bank is left."""
    world = make(tmp_path)
    opened, closed = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def work() -> None:
        world.store.last_at(1 << 62)
        opened.set()
        closed.wait()
        try:
            world.store.last_at(1 << 62)
        except StorageError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    opened.wait()
    world.store.close()
    closed.set()
    thread.join()
    assert len(errors) == 1
    assert [path.name for path in tmp_path.iterdir()] == [BANK_FILE]


def in_child(work: Callable[[], None]) -> int:
    """Fork, do `work` in the child, and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is what is tested
        child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_fork_opens_its_own_connection(tmp_path: Path) -> None:
    """Parent and child go on writing after a fork, and neither takes the other's log away."""
    world = make(tmp_path)
    first, second = world.maker.entry(), world.maker.entry()

    def work() -> None:
        world.add(first)
        world.store.close()

    assert in_child(work) == 0
    row = world.add(second)
    assert row.seq == 3
    assert world.store.seq_of(first.id) == 2
    assert world.store.check() == []
    world.store.close()


def test_a_fork_beside_a_thread_that_reads_is_refused(tmp_path: Path) -> None:
    """With another thread's connection open the child gets a named error; the parent goes on."""
    world = make(tmp_path)
    opened, done = threading.Event(), threading.Event()

    def read() -> None:
        with world.store.read():
            world.store.last_at(1 << 62)
            opened.set()
            done.wait()

    thread = threading.Thread(target=read)
    thread.start()
    opened.wait()

    def work() -> None:
        with pytest.raises(StorageError, match="forked"):
            world.store.last_at(1 << 62)
        with pytest.raises(StorageError, match="forked"):
            SqliteStore.open(tmp_path / BANK_FILE)

    assert in_child(work) == 0
    done.set()
    thread.join()
    world.say()
    assert world.store.check() == []
    world.store.close()


def test_importing_the_store_loads_no_other_room() -> None:
    """`apsw` comes with the store alone, and the store with nothing above it."""
    code = (
        "import sys, muniment.store.sqlite\n"
        "rooms = {name.split('.')[1] for name in sys.modules if name.startswith('muniment.')}\n"
        "assert rooms == {'base', 'identity', 'ledger', 'store'}, rooms\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_error_of_the_store_is_ours(tmp_path: Path) -> None:
    """A statement that fails inside SQLite leaves as an error of the tree, with the file's name."""
    store = make(tmp_path).store
    with pytest.raises(MunimentError, match=r"bank\.db"):
        store._connections.link().run("SELECT nothing FROM nowhere")
    store.close()


def test_text_that_is_none_is_damage(tmp_path: Path) -> None:
    """Bytes that a damaged row calls text, and that are none, are named as damage, not as a fault of ours."""
    world = World(SqliteStore.create(tmp_path / "bank.db", Maker().bank), Maker())
    link = world.store._connections.link()  # type: ignore[attr-defined]
    for read in (link.run, link.column):
        with pytest.raises(StoreCorrupt) as caught:
            read("SELECT CAST(x'b5ff' AS TEXT)")
        assert "check" in caught.value.next_step
    world.store.close()
