"""Which files make up the index: one small file, replaced atomically, and the lock of those who replace it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from muniment.base.errors import StoreCorrupt

try:
    import fcntl
except ImportError:  # a system without flock: one process maintains at a time by agreement
    fcntl = None  # type: ignore[assignment]

NAME = "manifest"
LOCK = "lock"
FORMAT = 1
TAIL_ROWS = 512  # from here on maintenance turns the tail into a segment
BACKLOG = 4096  # more rows than this to catch up with go straight into segments

Signature = tuple[int, int, int]


@dataclass(slots=True)
class Manifest:
    """What a reader needs to open the index.

    Attributes:
        analyzer: Fingerprint of what made it: the text analysis, or the model and its dimension.
        generation: Which making of the corpus it follows.
        last_ord: The last row that is in it.
        last_change: The last change of liveness that is in it.
        serial: Counts replacements; new files carry it in their names.
        sizes: Bytes by file name: every file the index is made of.
        segments: Names of segment files.
        base: Name of the file of per-row columns; empty before the first.
        deltas: Names of files with later changes to them, in order.
    """

    analyzer: str
    generation: int
    last_ord: int = 0
    last_change: int = 0
    serial: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    segments: list[str] = field(default_factory=list)
    base: str = ""
    deltas: list[str] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Replaces the manifest on disk; on return the new one survives a loss of power."""
        body = json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True)
        temporary = folder / f"{NAME}.new"
        with temporary.open("w", encoding="utf-8") as file:
            file.write(f"{body}\n{_digest(body)}\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / NAME)
        sync_folder(folder)

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Reads it.

        Raises:
            FileNotFoundError: There is none.
            StoreCorrupt: It is damaged, or made by another version.
        """
        try:
            body, digest = (folder / NAME).read_text("utf-8").split("\n")[:2]
            table = json.loads(body) if digest == _digest(body) else None
            if not table or table.pop("format") != FORMAT:
                raise StoreCorrupt("the manifest of the index is damaged")
            return cls(**table)
        except (ValueError, TypeError, KeyError) as error:
            raise StoreCorrupt("the manifest of the index is damaged") from error


def signature(folder: Path) -> Signature | None:
    """Changes whenever the manifest is replaced; None if there is none."""
    try:
        found = os.stat(folder / NAME)  # noqa: PTH116 - called before every search
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def sync_folder(folder: Path) -> None:
    """Makes renames and new names in a folder durable, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def lock(folder: Path) -> Iterator[bool]:
    """Holds the folder's maintenance lock; yields False at once if another process has it."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
        yield True
    finally:
        os.close(handle)


def _digest(body: str) -> str:
    return hashlib.blake2b(body.encode(), digest_size=16).hexdigest()
