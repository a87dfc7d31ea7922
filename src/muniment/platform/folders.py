"""The peer folder: where one installation keeps everything (design section 6)."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from muniment.base.errors import InvalidInput, StorageError
from muniment.platform import files
from muniment.platform.files import FILE_MODE, FOLDER_MODE, Stamp

HOME_VARIABLE = "MUNIMENT_HOME"
LOCK_WAIT = 5.0  # seconds
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def home_path(home: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """Where the peer folder is: `home`, else `MUNIMENT_HOME`, else the user's data folder. Makes nothing.

    Raises:
        InvalidInput: `~` that can't be resolved, or a path with a NUL in it.
    """
    chosen = (
        home if home is not None else (os.environ if environ is None else environ).get(HOME_VARIABLE) or None
    )
    if chosen is None:
        from platformdirs import user_data_path

        return user_data_path("muniment", appauthor=False)
    if "\0" in str(chosen) or not str(chosen):
        raise InvalidInput(f"not a folder name: {str(chosen)!r}", "Give --home the path of a folder.")
    try:
        return Path(chosen).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInput(f"{chosen}: {error}", "Write the path out in full.") from None


def peer_folder(home: str | Path | None = None, environ: Mapping[str, str] | None = None) -> PeerFolder:
    """The peer folder that `home_path` finds; it may not exist yet."""
    return PeerFolder(home_path(home, environ))


class PeerFolder:
    """A folder that belongs to its user alone, with safe reading and writing of small files in it.

    Looking makes nothing; `make`, `replace`, `lock` and `open` make the folder, with mode 0700.
    All methods raise `StorageError`s in place of `OSError`s.
    """

    __slots__ = ("_text", "lock_wait", "path")

    def __init__(self, path: str | Path, lock_wait: float = LOCK_WAIT) -> None:
        self.path = Path(path)
        self.lock_wait = lock_wait
        self._text = str(self.path)

    def __repr__(self) -> str:
        return f"PeerFolder({self._text!r})"

    def exists(self) -> bool:
        """Whether the folder is there."""
        return os.path.isdir(self._text)  # noqa: PTH112 - unlike `Path`, False where looking is forbidden

    def make(self) -> PeerFolder:
        """Make the folder and those above it that are missing, each with mode 0700.

        Raises:
            StoreFull | StoreReadOnly | ForeignFile: As their names say.
        """
        if self.exists():
            return self
        try:
            missing = [self.path, *(parent for parent in self.path.parents if not parent.exists())]
            for folder in reversed(missing):
                folder.mkdir(FOLDER_MODE, exist_ok=True)
            files.sync_folder(str(self.path.parent))
        except OSError as error:
            raise files.explain(error, self._text) from error
        return self

    def sub(self, name: str) -> PeerFolder:
        """A folder inside this one; not made yet."""
        return PeerFolder(self.place(name), self.lock_wait)

    def place(self, name: str) -> str:
        """The path of a file directly in this folder.

        Raises:
            InvalidInput: The name has a folder in it, or leads out of here.
        """
        if name in {"", ".", ".."} or "/" in name or "\0" in name or os.sep in name:
            raise InvalidInput(f"not a file name: {name[:80]!r}")
        return f"{self._text}{os.sep}{name}"

    def stamp(self, name: str) -> Stamp | None:
        """What changes when the file does, or None where there is none; about a microsecond."""
        return files.stamp(f"{self._text}{os.sep}{name}")

    def read(self, name: str, limit: int) -> bytes | None:
        """The whole of a small plain file, or None where there is none; links are refused.

        Raises:
            ForeignFile | StoreCorrupt | StoreReadOnly: A link or a folder; over `limit` bytes; not readable.
        """
        return files.read_small(self.place(name), limit)

    def replace(self, name: str, data: bytes) -> None:
        """Put `data` in the place of a file, whole or not at all, on the disk on return. Hold `lock` meanwhile."""
        self.make()
        files.replace(self.place(name), data)

    def lock(self, name: str, wait: float | None = None) -> AbstractContextManager[None]:
        """An exclusive lock, named after a file, that all processes honour; `wait` seconds, else `lock_wait`.

        Raises:
            StoreBusy: On entering, if another holds it all that time.
        """
        self.make()
        return files.locked(self.place(f"{name}.lock"), self.lock_wait if wait is None else wait)

    def open(self, name: str) -> int:
        """A descriptor to read and write a file in place, made if missing (mode 0600); links are refused."""
        self.make()
        try:
            return os.open(self.place(name), os.O_RDWR | os.O_CREAT | _SAFELY, FILE_MODE)
        except OSError as error:
            raise files.explain(error, self.place(name)) from error

    def open_existing(self, name: str) -> int | None:
        """The same for a file that is there, to read; None where there is none."""
        try:
            return os.open(self.place(name), os.O_RDONLY | _SAFELY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise files.explain(error, self.place(name)) from error

    def tighten(self, name: str) -> bool:
        """Take away what others may do with a file. True if they could do something until now.

        Raises:
            StoreReadOnly: They can, and it can't be changed.
        """
        place = self.place(name)
        handle = None
        try:
            handle = os.open(place, os.O_RDONLY | _SAFELY)
            mode = stat.S_IMODE(os.fstat(handle).st_mode)
            if mode & 0o077:
                os.fchmod(handle, mode & 0o700)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise files.explain(error, place) from error
        finally:
            if handle is not None:
                os.close(handle)
        return bool(mode & 0o077)

    def explain(self, error: OSError, name: str) -> StorageError:
        """The error to raise for a failed system call on a file of this folder."""
        return files.explain(error, self.place(name))

    def problems(self) -> list[str]:
        """Plain warnings about the folder itself: who else may write into it."""
        try:
            found = os.stat(self.path)  # noqa: PTH116
        except OSError:
            return []
        mode = stat.S_IMODE(found.st_mode)
        warnings = []
        if mode & 0o022:
            warnings.append(
                f"{self._text} can be written by others (mode {mode:04o}). Run: chmod 700 {self._text}"
            )
        if found.st_uid not in {os.geteuid(), 0}:
            warnings.append(f"{self._text} belongs to another user. Make your own with --home.")
        return warnings
