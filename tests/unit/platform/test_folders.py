"""The peer folder and the small files in it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from muniment.base.errors import (
    ForeignFile,
    InvalidInput,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
)
from muniment.platform import files
from muniment.platform.clock import SystemClock
from muniment.platform.entropy import SystemEntropy
from muniment.platform.folders import PeerFolder, home_path, peer_folder


def mode_of(path: Path) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_an_explicit_home_wins_over_the_variable_and_the_default(tmp_path: Path) -> None:
    """--home comes before MUNIMENT_HOME, and that before the user's data folder."""
    environ = {"MUNIMENT_HOME": str(tmp_path / "env")}
    assert home_path(tmp_path / "told", environ) == tmp_path / "told"
    assert home_path(None, environ) == tmp_path / "env"
    default = home_path(None, {"MUNIMENT_HOME": ""})
    assert default.name == "muniment"
    assert default.is_absolute()


def test_looking_makes_nothing(tmp_path: Path) -> None:
    """Resolving a folder, reading and stamping in it leave no trace on the disk."""
    folder = peer_folder(tmp_path / "a" / "b", {})
    assert not folder.exists()
    assert folder.read("keyring", 10) is None
    assert folder.stamp("keyring") is None
    assert folder.open_existing("keyring") is None
    assert folder.tighten("keyring") is False
    assert folder.problems() == []
    assert list(tmp_path.iterdir()) == []


def test_a_relative_or_tilde_home_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A later change of the working folder does not move the peer folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert home_path("~/m", {}) == tmp_path / "m"
    assert home_path("m", {}) == tmp_path / "m"


@pytest.mark.parametrize("bad", ["", "a\0b", "~nobody-of-that-name/x"])
def test_a_home_that_is_no_path_is_a_named_error(bad: str) -> None:
    """A NUL, nothing at all or an unknown user is the caller's mistake, said so."""
    with pytest.raises(InvalidInput):
        home_path(bad, {})


def test_folders_and_files_are_for_their_user_alone(tmp_path: Path) -> None:
    """Made folders have mode 0700 and files 0600, whatever the umask."""
    old = os.umask(0)
    try:
        folder = PeerFolder(tmp_path / "a" / "b")
        folder.replace("x", b"1")
        os.close(folder.open("y"))
        with folder.lock("x"):
            pass
    finally:
        os.umask(old)
    assert mode_of(tmp_path / "a") == 0o700
    assert mode_of(tmp_path / "a" / "b") == 0o700
    assert {mode_of(path) for path in (tmp_path / "a" / "b").iterdir()} == {0o600}


def test_replace_puts_all_of_the_new_bytes(tmp_path: Path) -> None:
    """What is read after a replace is what was given, and nothing else is left in the folder."""
    folder = PeerFolder(tmp_path)
    folder.replace("x", b"one")
    (tmp_path / ".x.new").write_bytes(b"left by a crash")
    folder.replace("x", b"two" * 100_000)
    assert folder.read("x", 1 << 20) == b"two" * 100_000
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_replaced_file_has_another_stamp(tmp_path: Path) -> None:
    """A replace by bytes of the same length, in the same tick, is still noticed."""
    folder = PeerFolder(tmp_path)
    folder.replace("x", b"one")
    before = folder.stamp("x")
    folder.replace("x", b"two")
    assert folder.stamp("x") != before


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\0"])
def test_names_do_not_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    """A file name with a folder in it is refused before the disk is touched."""
    with pytest.raises(InvalidInput):
        PeerFolder(tmp_path).read(name, 10)


def test_links_pipes_and_folders_are_not_read_as_files(tmp_path: Path) -> None:
    """A link in place of a file is refused, so nobody can lead a key elsewhere; a pipe does not hang."""
    folder = PeerFolder(tmp_path)
    (tmp_path / "real").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dir").mkdir()
    for name in ("link", "pipe", "dir"):
        with pytest.raises(ForeignFile):
            folder.read(name, 100)
    with pytest.raises(ForeignFile):
        folder.open("link")
    with pytest.raises(ForeignFile):
        folder.tighten("link")
    (tmp_path / "x.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ForeignFile), folder.lock("x"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_replacing_a_link_leaves_its_target_alone(tmp_path: Path) -> None:
    """A link that stands where a file is written is replaced itself, not followed."""
    (tmp_path / "real").write_bytes(b"mine")
    (tmp_path / "x").symlink_to(tmp_path / "real")
    PeerFolder(tmp_path).replace("x", b"new")
    assert (tmp_path / "real").read_bytes() == b"mine"
    assert (tmp_path / "x").read_bytes() == b"new"


def test_a_file_over_its_limit_is_not_read(tmp_path: Path) -> None:
    """A small file that grew without bounds is refused before memory is spent on it."""
    (tmp_path / "x").write_bytes(b"12345")
    folder = PeerFolder(tmp_path)
    assert folder.read("x", 5) == b"12345"
    with pytest.raises(StoreCorrupt):
        folder.read("x", 4)


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    """A home that is a file gives an error that says so."""
    (tmp_path / "home").write_bytes(b"")
    with pytest.raises(StorageError):
        PeerFolder(tmp_path / "home").make()
    with pytest.raises(ForeignFile):
        PeerFolder(tmp_path / "home").read("x", 10)


def test_tighten_takes_away_what_others_may_do(tmp_path: Path) -> None:
    """A file that others could read is closed to them, and the caller is told that it was open."""
    (tmp_path / "x").write_bytes(b"")
    (tmp_path / "x").chmod(0o644)
    folder = PeerFolder(tmp_path)
    assert folder.tighten("x") is True
    assert mode_of(tmp_path / "x") == 0o600
    assert folder.tighten("x") is False


def test_a_folder_open_to_others_is_a_problem(tmp_path: Path) -> None:
    """`problems` says that others can write, and how to stop it."""
    folder = PeerFolder(tmp_path / "home").make()
    assert folder.problems() == []
    (tmp_path / "home").chmod(0o777)
    (problem,) = folder.problems()
    assert "chmod 700" in problem


def test_a_lock_lets_one_in_at_a_time(tmp_path: Path) -> None:
    """While one holds the lock another waits its time and then gets a named error; after that it is free."""
    folder = PeerFolder(tmp_path)
    with folder.lock("x"):
        with pytest.raises(StoreBusy, match=r"0\.05 s"), folder.lock("x", 0.05):
            pass
        with folder.lock("y", 0):
            pass
    with folder.lock("x", 0):
        pass


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    """A lock that comes free within the wait is taken."""
    folder = PeerFolder(tmp_path)
    held, got = threading.Event(), threading.Event()

    def other() -> None:
        held.wait(5)
        with folder.lock("x", 5):
            got.set()

    thread = threading.Thread(target=other)
    thread.start()
    with folder.lock("x"):
        held.set()
        assert not got.wait(0.05)
    assert got.wait(5)
    thread.join()


def test_a_killed_holder_lets_go_of_its_lock(tmp_path: Path) -> None:
    """Locks end with the process that holds them."""
    code = (
        "import sys, time; from muniment.platform.folders import PeerFolder\n"
        "with PeerFolder(sys.argv[1]).lock('x'):\n    print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, **_python_path()},
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreBusy), PeerFolder(tmp_path).lock("x", 0):
            pass
        holder.kill()
        holder.wait()
    with PeerFolder(tmp_path).lock("x", 1):
        pass


def _python_path() -> dict[str, str]:
    import muniment

    paths = [str(Path(muniment.__path__[0]).parent), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """When the system refuses more bytes the error says so, and the old bytes stand."""
    code = (
        "import resource, signal, sys\n"
        "from muniment.base.errors import StoreFull\n"
        "from muniment.platform.folders import PeerFolder\n"
        "folder = PeerFolder(sys.argv[1]); folder.replace('x', b'old')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: folder.replace('x', b'n' * 9999)\n"
        "except StoreFull as error: print(error.next_step)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **_python_path()},
    )
    assert "Free some space" in done.stdout
    assert (tmp_path / "x").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (28, StoreFull),
        (122, StoreFull),
        (30, StoreReadOnly),
        (13, StoreReadOnly),
        (40, ForeignFile),
        (20, ForeignFile),
        (5, StorageError),
    ],
)
def test_system_errors_get_our_names_and_a_next_step(number: int, wanted: type[StorageError]) -> None:
    """A full disk, a read-only one, a link and a broken disk are told apart."""
    explained = files.explain(OSError(number, os.strerror(number)), "p")
    assert type(explained) is wanted
    assert explained.next_step
    assert "p" in explained.message


def test_the_system_clock_and_entropy_are_what_they_say() -> None:
    """The clock is in Unix milliseconds of this century, and entropy has the length asked for, never twice equal."""
    assert 1_700_000_000_000 < SystemClock().now_ms() < 4_102_444_800_000
    assert len(SystemEntropy().bytes(7)) == 7
    assert SystemEntropy().bytes(32) != SystemEntropy().bytes(32)
