"""The files of an index folder: opening, writing, sweeping up."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from muniment.base.errors import StorageError, StoreFull, StoreReadOnly
from muniment.recall import packing
from muniment.recall.columns import Columns
from muniment.recall.manifest import Manifest
from muniment.recall.segments import Array

MAX_DELTAS = 24  # files of changed rows; then all rows are written anew
REWRITE_ROWS = 16384  # or when they hold this many rows, and an eighth of all


class Piece(Protocol):
    """A segment, mapped or in memory.

    Attributes:
        ords: Its rows, ascending.
        past: Whether it holds rows of the past alone: merged only with its like.
        name: File name; empty while only in memory.
        size: Bytes of the file.
        arrays: What its file holds.
    """

    ords: Array
    past: bool
    name: str
    size: int
    arrays: packing.Arrays

    @property
    def kind(self) -> str:
        """What its file name begins with."""
        ...

    @property
    def meta(self) -> Mapping[str, Any]:
        """What stands beside the arrays in its file."""
        ...


class HasLast(Protocol):
    """Columns by row number, up to the last known."""

    last: int


PieceOf = TypeVar("PieceOf", bound=Piece)
ColumnsOf = TypeVar("ColumnsOf", bound=HasLast)


def open_index(
    folder: Path,
    fingerprint: str,
    map_segment: Callable[[Path], PieceOf],
    load_columns: Callable[[list[packing.Arrays]], ColumnsOf],
) -> tuple[Manifest, list[PieceOf], ColumnsOf] | None:
    """What the manifest names, mapped; None if any of it is missing, damaged, or made under other settings."""
    try:
        manifest = Manifest.load(folder)
        if manifest.analyzer != fingerprint:
            return None
        segments = [map_segment(folder / name) for name in manifest.segments]
        names = [manifest.base, *manifest.deltas]
        opened = [packing.read(folder / name) for name in names]
        sizes = {segment.name: segment.size for segment in segments}
        sizes |= {name: size for name, (_, _, size) in zip(names, opened, strict=True)}
        columns = load_columns([arrays for arrays, _, _ in opened])
        past_end = any(len(s.ords) and int(s.ords[-1]) > columns.last for s in segments)
        return None if sizes != manifest.sizes or past_end else (manifest, segments, columns)
    except (StorageError, OSError, ValueError, KeyError, IndexError, TypeError):
        return None  # derived data: made again from the corpus


def write_columns(folder: Path, columns: Columns, old: Manifest, new: Manifest, suffix: str) -> None:
    """Writes changed rows, or all of them where the changes have become many."""
    rows = columns.dirty()
    changed = sum(old.sizes[name] for name in old.deltas) // 25 + len(rows)
    if old.base and len(old.deltas) < MAX_DELTAS and changed < max(REWRITE_ROWS, columns.last // 8):
        new.base, new.deltas = old.base, list(old.deltas)
        new.sizes |= {name: old.sizes[name] for name in [old.base, *old.deltas]}
        if len(rows):
            name = f"rows-{new.serial}-changed{suffix}"
            new.sizes[name] = packing.write(folder / name, columns.delta(rows), {})
            new.deltas.append(name)
        return
    new.base = f"rows-{new.serial}{suffix}"
    new.sizes[new.base] = packing.write(folder / new.base, columns.base(), {})


def sweep(folder: Path, manifest: Manifest, suffix: str) -> None:
    """Removes files that no manifest names any more: replaced ones, and what a broken-off maintenance left."""
    for path in folder.glob(f"*{suffix}*"):
        if path.name not in manifest.sizes:
            path.unlink(missing_ok=True)


def wrapped(error: OSError, what: str) -> StorageError:
    """An error of the disk as one of ours; `what` can't be written."""
    text = f"{what} can't be written: {error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(text, "Free some space; the index is made again from the bank by itself.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly(text, "Make the folder writable; until then recall works from memory.")
    return StorageError(text, "Look at the disk; the folder may be deleted, it is made again from the bank.")
