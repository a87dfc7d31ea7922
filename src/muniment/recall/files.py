"""The files of an index folder: opening, writing, sweeping up."""

from __future__ import annotations

import errno
from pathlib import Path

from muniment.base.errors import StorageError, StoreFull, StoreReadOnly
from muniment.recall import packing
from muniment.recall.columns import Columns
from muniment.recall.manifest import Manifest
from muniment.recall.segments import Segment

MAX_DELTAS = 24  # files of changed rows; then all rows are written anew
REWRITE_ROWS = 16384  # or when they hold this many rows, and an eighth of all
SUFFIX = ".words"


def open_index(folder: Path, analyzer: str) -> tuple[Manifest, list[Segment], Columns] | None:
    """What the manifest names, mapped; None if any of it is missing, damaged, or made with another analyser."""
    try:
        manifest = Manifest.load(folder)
        if manifest.analyzer != analyzer:
            return None
        segments = [Segment.open(folder / name) for name in manifest.segments]
        opened = [packing.read(folder / name) for name in [manifest.base, *manifest.deltas]]
        sizes = {segment.name: segment.size for segment in segments}
        sizes |= {name: o[2] for name, o in zip([manifest.base, *manifest.deltas], opened, strict=True)}
        if sizes != manifest.sizes:
            return None
        columns = Columns.load(opened[0][0], [arrays for arrays, _, _ in opened[1:]])
        return manifest, segments, columns
    except (StorageError, OSError, ValueError, KeyError, IndexError, TypeError):
        return None  # derived data: made again from the corpus


def write_segments(folder: Path, segments: list[Segment], manifest: Manifest) -> list[Segment]:
    """Writes those that are only in memory, maps them, and names all in the manifest."""
    placed: list[Segment] = []
    for number, segment in enumerate(segments):
        if not segment.name:
            kind = "past" if segment.past else "live"
            path = folder / f"{kind}-{manifest.serial}-{number}{SUFFIX}"
            packing.write(path, segment.arrays, {"past": segment.past})
            segment = Segment.open(path)  # noqa: PLW2901 - the mapping takes the place of the arrays in memory
        placed.append(segment)
        manifest.segments.append(segment.name)
        manifest.sizes[segment.name] = segment.size
    return placed


def write_columns(folder: Path, columns: Columns, old: Manifest, new: Manifest) -> None:
    """Writes changed rows, or all of them where the changes have become many."""
    rows = columns.dirty()
    changed = sum(old.sizes[name] for name in old.deltas) // 25 + len(rows)
    if old.base and len(old.deltas) < MAX_DELTAS and changed < max(REWRITE_ROWS, columns.last // 8):
        new.base, new.deltas = old.base, list(old.deltas)
        new.sizes |= {name: old.sizes[name] for name in [old.base, *old.deltas]}
        if len(rows):
            name = f"rows-{new.serial}-changed{SUFFIX}"
            new.sizes[name] = packing.write(folder / name, columns.delta(rows), {})
            new.deltas.append(name)
        return
    new.base = f"rows-{new.serial}{SUFFIX}"
    new.sizes[new.base] = packing.write(folder / new.base, columns.base(), {})


def sweep(folder: Path, manifest: Manifest, suffix: str = SUFFIX) -> None:
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
