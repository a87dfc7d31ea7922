"""Files of flat numpy arrays: written once, then only mapped.

Layout: 8 bytes magic, 4 bytes length of a JSON table, 4 bytes its CRC-32, the table, then each array at a multiple of
64 bytes. The table names type, offset and count of each array, and the size of the whole file: a torn or foreign file
is told from a good one before anything of it is used.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from muniment.base.errors import ForeignFile, StoreCorrupt

MAGIC = b"MNWORDS1"
ALIGN = 64
HEAD = struct.Struct("<8sII")
TYPES = frozenset({"uint8", "uint16", "uint32", "uint64", "int32", "int64", "float16", "float32"})

Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Parts:
    """An array too large to hold: its type, its length, and its pieces in order."""

    kind: str
    count: int
    pieces: Iterable[np.ndarray[Any, Any]]


def plan(shapes: Mapping[str, tuple[str, int]], meta: Mapping[str, Any]) -> tuple[bytes, dict[str, int], int]:
    """The head of a file that will hold arrays of these (type, count), their offsets, and the file's size."""
    # The table holds offsets that depend on its own length: a fixed, generous allowance settles that.
    room = ALIGN * ((HEAD.size + 256 + 120 * len(shapes) + len(json.dumps(dict(meta)))) // ALIGN + 1)
    offsets: dict[str, int] = {}
    at = room
    for name, (kind, count) in shapes.items():
        offsets[name] = at
        at += -(-np.dtype(kind).itemsize * count // ALIGN) * ALIGN
    table = {
        "size": at,
        "meta": dict(meta),
        "arrays": {name: [kind, offsets[name], count] for name, (kind, count) in shapes.items()},
    }
    body = json.dumps(table).encode()
    return (HEAD.pack(MAGIC, len(body), zlib.crc32(body)) + body).ljust(room, b"\0"), offsets, at


def write(path: Path, arrays: Mapping[str, np.ndarray[Any, Any] | Parts], meta: Mapping[str, Any]) -> int:
    """Writes the arrays, in their order, and syncs the file to disk.

    Returns:
        The size in bytes.

    Raises:
        OSError: As the disk says; the caller knows what to advise.
    """
    shapes = {
        name: (a.kind, a.count) if isinstance(a, Parts) else (a.dtype.name, len(a))
        for name, a in arrays.items()
    }
    head, offsets, size = plan(shapes, meta)
    # Never over an older file of that name: someone may have it mapped.
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as file:
        file.write(head)
        for name, array in arrays.items():
            file.seek(offsets[name])
            for piece in array.pieces if isinstance(array, Parts) else (array,):
                file.write(np.ascontiguousarray(piece).data)
        file.truncate(size)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return size


def read(path: Path) -> tuple[Arrays, dict[str, Any], int]:
    """Maps a file.

    Returns:
        Its arrays (read-only, backed by the mapping, which lives as long as they do), its meta data, its size.

    Raises:
        ForeignFile: Not such a file.
        StoreCorrupt: Cut short, or its table is damaged.
        OSError: It can't be opened.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < HEAD.size:
            raise StoreCorrupt(f"{path.name} is cut short")
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    magic, length, crc = HEAD.unpack_from(view, 0)
    if magic != MAGIC:
        raise ForeignFile(f"{path.name} is not an index file")
    body = view[HEAD.size : HEAD.size + length]
    if zlib.crc32(body) != crc:
        raise StoreCorrupt(f"{path.name} has a damaged head")
    table = json.loads(body)
    if table["size"] != size:
        raise StoreCorrupt(f"{path.name} has {size} bytes instead of {table['size']}")
    arrays: Arrays = {}
    for name, (kind, offset, count) in table["arrays"].items():
        if kind not in TYPES:
            raise StoreCorrupt(f"{path.name} holds an array of type {kind!r}")
        arrays[name] = np.frombuffer(view, dtype=kind, count=count, offset=offset)
    return arrays, table["meta"], size
