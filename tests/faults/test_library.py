"""A peer on a bad day: full disk, read-only folder, damaged and mixed files, held locks, kills at work."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import muniment
from muniment.agent import Agent
from muniment.base.errors import (
    ForeignFile,
    FutureFormat,
    KeyUsedElsewhere,
    MunimentError,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
)
from muniment.remembering import Draft

WORKERS = Path(__file__).parent / "workers.py"
SOURCE = str(Path(muniment.__path__[0]).parent)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A peer folder whose agent remembers forty things, all of them closed and on the disk."""
    with muniment.open(tmp_path / "peer") as peer:
        agent = peer.agent("ava", create=True)
        for number in range(40):
            agent.remember(f"old note {number} about tea", key=f"k{number % 10}" if number % 2 else None)
    return tmp_path / "peer"


def bank_file(home: Path) -> Path:
    """The one bank's file."""
    (path,) = (home / "banks").glob("*.db")
    return path


def prints(home: Path) -> dict[str, str]:
    """What each file of a folder holds."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def live(home: Path) -> list[str]:
    """What the agent of a folder remembers."""
    with muniment.open(home) as peer:
        agent = peer.agent("ava")
        assert agent.check() == []
        return sorted(record.text for record in agent.list(limit=1000))


def environment() -> dict[str, str]:
    """For a Python that a test starts."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")])}


def in_child(work: Callable[[], Any]) -> Any:
    """Do something in a forked process, and give back what it returned as JSON; its own error if it raised."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            out = {"done": work()}
        except BaseException as error:
            out = {"error": f"{type(error).__name__}: {error}"}
        os.write(writing, json.dumps(out).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    said = json.loads(answer)
    assert "done" in said, said
    return said["done"]


def error_of(work: Callable[[], Any]) -> dict[str, str] | None:
    """The named error that a call ends with."""
    try:
        work()
    except MunimentError as error:
        return {"name": error.name, "message": error.message, "next": error.next_step}
    return None


# A full disk


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_full_disk_loses_nothing_and_works_again(home: Path) -> None:
    """Writes that do not fit raise StoreFull, keep nothing, and everything goes on once there is room."""
    before = live(home)

    def work() -> dict[str, Any]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        errors, kept = [], []
        with muniment.open(home) as peer:
            agent = peer.agent("ava")
            agent.remember("warm")
            sizes = [path.stat().st_size for path in (home / "banks").iterdir()]
            resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes) + 40_000, resource.RLIM_INFINITY))
            for number in range(20):
                try:
                    if number % 5 == 4:
                        agent.remember_many(
                            [Draft(f"many {number} " + "x" * 8000), Draft(f"more {number}")] * 2
                        )
                        kept += [f"many {number} " + "x" * 8000, f"more {number}"]
                    else:
                        text = f"new {number} " + "y" * 6000
                        agent.remember(text)
                        kept.append(text)
                except MunimentError as error:
                    errors.append([error.name, error.next_step])
            found = len(agent.recall("tea"))
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            agent.remember("room again")
            assert agent.check() == []
        return {"errors": errors, "kept": kept, "found": found}

    said = in_child(work)
    assert said["errors"]
    assert {name for name, _ in said["errors"]} == {"StoreFull"}
    assert all(step for _, step in said["errors"])
    assert said["found"]
    assert live(home) == sorted([*before, *said["kept"], "warm", "room again"])


# A folder that can't be written


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_read_only_folder_can_be_recalled_from(home: Path) -> None:
    """With the folder and its files made read-only, recall, get and list work; remember says what to do."""
    with muniment.open(home) as peer:
        peer.agent("ava").check()
    for path in [home, *home.rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)
        if os.geteuid() == 0:  # root may write anywhere, so it becomes somebody else below
            os.chown(path, 65534, 65534)
    for folder in home.parents:
        if folder != Path("/") and folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    before = prints(home)

    def work() -> dict[str, Any]:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        with muniment.open(home) as peer:
            agent = peer.agent("ava")
            hits = [hit.record.text for hit in agent.recall("note about tea", limit=100)]
            got = agent.get("k1").text
            listed = len(agent.list(limit=100))
            told = [error_of(lambda: agent.remember("no")), error_of(lambda: agent.forget("k1"))]
            problems = [problem.what for problem in agent.check()]
        return {"hits": len(hits), "got": got, "listed": listed, "errors": told, "problems": problems}

    said = in_child(work)
    assert said["hits"] == said["listed"] == 25
    assert said["got"] == "old note 31 about tea"
    assert said["problems"] == []
    for error in said["errors"]:
        assert error["name"] == "StoreReadOnly"
        assert error["next"]
    assert prints(home) == before
    assert issubclass(StoreReadOnly, StorageError)


# Files that are damaged, foreign, newer, cut short or of another peer


def test_a_damaged_page_is_named_and_the_rest_is_read(home: Path) -> None:
    """Noise over a page gives StoreCorrupt or a problem of `check`, with the next step, and no other error."""
    path = bank_file(home)
    size = path.stat().st_size
    clean = path.read_bytes()
    chance = random.Random(7)
    seen = set()
    for page in range(1, size // 4096):
        damaged = bytearray(clean)
        at = page * 4096 + chance.randrange(0, 4000)
        damaged[at : at + 64] = chance.randbytes(64)
        path.write_bytes(damaged)
        shutil.rmtree(home / "index", ignore_errors=True)
        try:
            with muniment.open(home) as peer:
                agent = peer.agent("ava")
                problems = agent.check()
                seen |= {problem.where for problem in problems}
                agent.recall("tea")
                agent.list(limit=100)
        except (StoreCorrupt, ForeignFile) as error:
            seen.add(error.next_step and error.name)
        for rest in path.parent.glob("*.db-*"):
            rest.unlink()
    assert seen
    assert "" not in seen
    path.write_bytes(clean)
    shutil.rmtree(home / "index", ignore_errors=True)
    assert len(live(home)) == 25


FILES: dict[str, tuple[Callable[[Path], None], type[StorageError]]] = {
    "not a database": (
        lambda path: path.write_bytes(b"hello, I am a text file\n" * 50) and None,
        ForeignFile,
    ),
    "cut short": (
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]) and None,
        StoreCorrupt,
    ),
    "cut to its first bytes": (lambda path: path.write_bytes(path.read_bytes()[:60]) and None, StoreCorrupt),
    "empty": (lambda path: path.write_bytes(b"") and None, ForeignFile),
}


def foreign(path: Path) -> None:
    """Somebody else's SQLite file in the bank's place."""
    path.unlink()
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')")
    db.close()


def newer(path: Path) -> None:
    """The bank, as a later version would mark it."""
    db = apsw.Connection(str(path))
    (version,) = db.execute("PRAGMA user_version").fetchone() or (0,)
    db.execute(f"PRAGMA user_version = {int(version) + 1}")
    db.close()


FILES["a foreign database"] = (foreign, ForeignFile)
FILES["a newer bank"] = (newer, FutureFormat)


def used(home: Path, ask: Callable[[Agent], Any]) -> None:
    """Ask something of an agent; `check` tells rather than raises."""
    with muniment.open(home) as peer:
        outcome = ask(peer.agent("ava"))
        if outcome and hasattr(outcome[0], "what"):
            raise StoreCorrupt(outcome[0].what, outcome[0].next_step)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_bank_of_ours_is_left_as_it_is(home: Path, name: str) -> None:
    """Opening it is a named error with what to do; asking ten times alters no byte of it."""
    change, wanted = FILES[name]
    path = bank_file(home)
    change(path)
    for rest in path.parent.glob("*.db-*"):
        rest.unlink()
    before = path.read_bytes()
    for ask in (
        lambda a: a.recall("tea"),
        lambda a: a.remember("x"),
        lambda a: a.check(),
        lambda a: a.list(),
    ) * 2:
        with pytest.raises(StorageError) as caught:
            used(home, ask)
        assert isinstance(caught.value, wanted)
        assert caught.value.next_step
    assert path.read_bytes() == before


def test_the_file_of_another_bank_is_refused(home: Path, tmp_path: Path) -> None:
    """A bank's file put under another bank's name is told, and both stay."""
    with muniment.open(tmp_path / "other") as peer:
        peer.agent("ava", create=True).remember("theirs")
    mine, theirs = bank_file(home), bank_file(tmp_path / "other")
    kept = mine.read_bytes()
    shutil.copy(theirs, mine)
    with muniment.open(home) as peer, pytest.raises(ForeignFile) as caught:
        peer.agent("ava").recall("tea")
    assert caught.value.next_step
    assert mine.read_bytes() == theirs.read_bytes()
    mine.write_bytes(kept)
    assert len(live(home)) == 25


@pytest.mark.parametrize("name", ["peer.db", "keyring", "journal", "index", "banks"])
def test_a_second_peer_folder_copied_over_this_one(home: Path, tmp_path: Path, name: str) -> None:
    """Parts of another folder copied over: named errors, and opening destroys nothing of the bank that was here."""
    other = tmp_path / "other"
    with muniment.open(other) as peer:
        agent = peer.agent("ava", create=True)
        agent.remember("theirs")
        agent._bank.tidy(force=True)
    with muniment.open(home) as peer:
        peer.agent("ava")._bank.tidy(force=True)
    original, mine = tmp_path / "backup", bank_file(home)
    shutil.copytree(home, original)
    content = mine.read_bytes()
    if (other / name).is_dir():
        shutil.copytree(other / name, home / name, dirs_exist_ok=True)
    else:
        shutil.copy(other / name, home / name)
    for ask in (
        lambda a: a.recall("note"),
        lambda a: a.remember("new"),
        lambda a: a.check(),
        lambda a: a.list(),
    ):
        try:
            with muniment.open(home) as peer:
                ask(peer.agent("ava"))
        except MunimentError:  # by name; which one depends on what was copied
            continue
    assert mine.exists()
    if name in {"peer.db", "keyring"}:
        assert mine.read_bytes() == content
    for part in ("peer.db", "keyring"):
        shutil.copy(original / part, home / part)
    texts = set(live(home))
    assert {f"old note {number} about tea" for number in range(0, 40, 2)} <= texts


def test_a_whole_second_folder_over_this_one_keeps_both_banks(home: Path, tmp_path: Path) -> None:
    """With every file of another peer copied over, the other is what opens, and this one's bank lies untouched."""
    other = tmp_path / "other"
    with muniment.open(other) as peer:
        peer.agent("ava", create=True).remember("theirs")
    original, mine = tmp_path / "backup", bank_file(home)
    shutil.copytree(home, original)
    content = mine.read_bytes()
    shutil.copytree(other, home, dirs_exist_ok=True)
    with muniment.open(home) as peer:
        assert [record.text for record in peer.agent("ava").list()] == ["theirs"]
        peer.agent("ava").remember("more of theirs")
    assert mine.read_bytes() == content
    for part in ("peer.db", "keyring"):
        shutil.copy(original / part, home / part)
    assert len(live(home)) == 25


# Locks


def test_a_held_lock_is_waited_for_and_then_named(home: Path) -> None:
    """A write waits as long as it was told and no less, then says StoreBusy; reading never waits."""
    holder = apsw.Connection(str(bank_file(home)))
    holder.execute("BEGIN IMMEDIATE")
    with muniment.open(home, busy_ms=300) as peer:
        agent = peer.agent("ava")
        start = time.monotonic()
        with pytest.raises(StoreBusy) as caught:
            agent.remember("late")
        assert time.monotonic() - start >= 0.3
        assert "300 ms" in caught.value.message
        assert caught.value.next_step
        assert len(agent.recall("tea", limit=100)) == 25
        assert agent.get("k1").text == "old note 31 about tea"
        holder.execute("COMMIT")
        assert agent.remember("late").created
    holder.close()


def test_a_lock_that_is_let_go_in_time_is_no_error(home: Path) -> None:
    """A write that waits for another process goes on when that one is done."""
    holder = apsw.Connection(str(bank_file(home)))
    holder.execute("BEGIN IMMEDIATE")
    with muniment.open(home, busy_ms=60_000) as peer:
        agent = peer.agent("ava")
        release = threading.Timer(0.2, lambda: holder.execute("COMMIT"))
        release.start()
        assert agent.remember("patient").created
        release.join()
    holder.close()


# Kills at other work


def start(role: str, home: Path, *more: str) -> subprocess.Popen[bytes]:
    """A worker that has opened the folder."""
    command = [sys.executable, "-W", "error", str(WORKERS), role, str(home), *more]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())
    assert worker.stdout is not None
    assert worker.stdout.readline().startswith(b"ready")
    return worker


def end(worker: subprocess.Popen[bytes]) -> list[str]:
    """Kill it; what it said."""
    worker.kill()
    out, _ = worker.communicate()
    return out.decode().split("\n")[:-1]


@pytest.mark.parametrize("role", ["rebuild", "tidy"])
def test_a_kill_while_derived_things_are_made_loses_nothing(home: Path, role: str) -> None:
    """After each kill in a rebuild or in index maintenance the bank is clean and everything is found."""
    chance = random.Random(os.urandom(8))
    texts = live(home)
    for _ in range(10):
        worker = start(role, home)
        time.sleep(chance.uniform(0, 0.15))
        texts += ["tidy " + line.split()[1] for line in end(worker) if line.startswith("one ")]
        with muniment.open(home) as peer:
            agent = peer.agent("ava")
            assert agent.check() == []
            kept = {record.text for record in agent.list(limit=1000)}
            assert kept >= set(texts)
            for text in texts[-3:]:
                assert text in [hit.record.text for hit in agent.recall(text, context=False)]


def test_a_killed_import_goes_on_where_it_was(home: Path, tmp_path: Path) -> None:
    """However often it dies, importing again brings every line once."""
    lines = [
        json.dumps({"text": f"imported line{number} of many", "source_ref": str(number)})
        for number in range(4000)
    ]
    source = tmp_path / "many.jsonl"
    source.write_text("\n".join(lines), "utf-8")
    chance = random.Random(os.urandom(8))
    for _ in range(6):
        worker = start("import", home, str(source))
        time.sleep(chance.uniform(0.02, 0.3))
        end(worker)
        with muniment.open(home) as peer:
            assert peer.agent("ava").check() == []
    with muniment.open(home) as peer:
        agent = peer.agent("ava")
        report = agent.import_from(source)
        assert (report.read, report.bad_count) == (4000, 0)
        assert agent.import_from(source).created == 0
        assert agent.stats().records == 4025
        assert agent.recall("line3999")[0].record.text == "imported line3999 of many"
        assert agent.check() == []


# Syncs


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_write_is_one_sync(home: Path, tmp_path: Path) -> None:
    """Twenty memories, written one by one after warming up, cost twenty fdatasync calls and no other sync."""
    program = (
        "import muniment, os, sys\n"
        "with muniment.open(sys.argv[1]) as peer:\n"
        "    ava = peer.agent('ava')\n"
        "    for n in range(3): ava.remember(f'warm {n}')\n"
        "    os.write(2, b'START\\n')\n"
        "    for n in range(20): ava.remember(f'note {n}', key=f'k{n % 4}', tags=['t'])\n"
        "    os.write(2, b'STOP\\n')\n"
    )
    trace = tmp_path / "trace"
    calls = "fsync,fdatasync,sync_file_range,msync,sync,syncfs,write"
    command = [
        "strace",
        "-f",
        "-o",
        str(trace),
        "-e",
        f"trace={calls}",
        sys.executable,
        "-c",
        program,
        str(home),
    ]
    done = subprocess.run(command, env=environment(), capture_output=True, check=False)
    if done.returncode and b"ptrace" in done.stderr.lower():
        pytest.skip("needs ptrace permission")
    assert done.returncode == 0, done.stderr
    lines = trace.read_text("utf-8", "replace").splitlines()
    first = next(n for n, line in enumerate(lines) if '"START' in line)
    last = next(n for n, line in enumerate(lines) if '"STOP' in line)
    found = [
        match[1] for line in lines[first:last] if (match := re.search(r"\b(f?datasync|\w*sync\w*)\(", line))
    ]
    assert found == ["fdatasync"] * 20


def test_the_errors_are_those_of_the_tree() -> None:
    """What these tests name are storage errors, and a key used elsewhere is a refusal of authority."""
    for error in (StoreFull, StoreBusy, StoreReadOnly, StoreCorrupt, ForeignFile, FutureFormat):
        assert issubclass(error, StorageError)
    assert KeyUsedElsewhere.exit_code == 4
