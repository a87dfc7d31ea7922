"""All places for blobs under the public suite, and what only a folder has to keep."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from muniment.base.errors import BlobStoreUnavailable, StoreFull, StoreReadOnly
from muniment.base.ids import BlobName, blob_text
from muniment.blobs import folder as folder_module
from muniment.blobs.base import BlobStore, fan_out, name_of
from muniment.blobs.folder import FolderBlobs
from muniment.blobs.memory import MemoryBlobs
from muniment.testing.blobs import BlobSuite


class TestMemory(BlobSuite):
    def make(self, folder: Path) -> BlobStore:
        return MemoryBlobs()

    def damage(self, store: BlobStore, name: BlobName, data: bytes) -> None:
        assert isinstance(store, MemoryBlobs)
        store._blobs[name] = data, 0


class TestFolder(BlobSuite):
    def make(self, folder: Path) -> BlobStore:
        return FolderBlobs(folder / "blobs")

    def damage(self, store: BlobStore, name: BlobName, data: bytes) -> None:
        Path(store.place).joinpath(*fan_out(name)).write_bytes(data)


def test_looking_makes_no_folder(tmp_path: Path) -> None:
    """The folder is made by the first blob, for its user alone."""
    store = FolderBlobs(tmp_path / "peer" / "blobs")
    assert not store.has(name_of(b"x"))
    assert list(store.list()) == []
    assert not (tmp_path / "peer").exists()
    name = store.put(b"x")
    path = Path(store.place).joinpath(*fan_out(name))
    assert path.name == blob_text(name)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent)] == [0o600, 0o700]


def test_a_link_in_the_place_of_a_blob_is_not_followed(tmp_path: Path) -> None:
    """Somebody else's file is never read, nor written through."""
    store = FolderBlobs(tmp_path / "blobs")
    name = store.put(b"x")
    path = Path(store.place).joinpath(*fan_out(name))
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(BlobStoreUnavailable):
        store.get(name)


def test_a_full_or_read_only_disk_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever step fails, no blob and no draft is there afterwards, and the next try works."""
    store = FolderBlobs(tmp_path / "blobs")
    store.put(b"there before")
    for code, error in ((28, StoreFull), (30, StoreReadOnly), (5, BlobStoreUnavailable)):

        def fail(*_: object, code: int = code) -> int:
            raise OSError(code, os.strerror(code))

        for call in ("write", "fsync"):
            with monkeypatch.context() as patch:
                patch.setattr(folder_module.os, call, fail)
                with pytest.raises(error):
                    store.put(b"a new one")
            assert [info.name for info in store.list()] == [name_of(b"there before")]
            assert not list(tmp_path.rglob(".draft-*"))
    assert store.get(store.put(b"a new one")) == b"a new one"


def test_drafts_of_crashes_are_swept_after_a_day(tmp_path: Path) -> None:
    """One that somebody may still be writing stays; blobs stay in any case."""
    store = FolderBlobs(tmp_path / "blobs")
    name = store.put(b"x")
    place = Path(store.place).joinpath(*fan_out(name)).parent
    old, new = place / ".draft-old", place / ".draft-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    assert store.sweep() == 1
    assert not old.exists()
    assert new.exists()
    assert store.get(name) == b"x"


KILLED = """
import os, signal, sys
from pathlib import Path
from muniment.blobs import folder
step, calls = int(sys.argv[2]), 0
def hook(name):
    real = getattr(os, name)
    def call(*a, **k):
        global calls
        calls += 1
        if calls == step:
            if name == "write":
                real(a[0], bytes(a[1])[: len(a[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*a, **k)
    return call
for name in ("open", "write", "fsync", "close"):
    setattr(folder.os, name, hook(name))
folder.FolderBlobs(Path(sys.argv[1])).put(b"all of it or nothing" * 1000)
print("kept")
"""


def test_a_kill_at_any_system_call_leaves_all_or_nothing(tmp_path: Path) -> None:
    """After each one: the name leads to the whole blob or to nothing; what was acknowledged is there."""
    data = b"all of it or nothing" * 1000
    for step in range(1, 40):
        home = tmp_path / str(step)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(home), str(step)],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        store = FolderBlobs(home)
        if store.has(name_of(data)):
            assert store.get(name_of(data)) == data
        if done.stdout:
            assert done.returncode == 0
            assert store.get(name_of(data)) == data
            assert step > 8
            return
        assert done.returncode == -9, done.stderr
    raise AssertionError("it never came to its end")
