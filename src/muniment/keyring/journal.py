"""What this installation signed last, per bank and key, kept outside the bank (design section 3).

An entry by an own key that is not in the journal's chain was signed elsewhere: by a thief, by a copy of the
folder, or before a backup was put back. The journal is written inside each write, before the bank commits and
without a sync of its own, so it may be one entry ahead of the bank (the crash came between the two), and after
a power cut it may be behind it. `JournalSlot` therefore names two ids: the bank's newest own entry may be either.

One file per bank and key holds two slots, each in a disk block of its own, written in turn. A torn write spoils
the older of the two at most; each slot has a counter and a checksum.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from muniment.base.errors import FutureFormat, StorageError
from muniment.base.ids import CID_BYTES, BankId, EntryId

FOLDER = "journal"
SLOT_BYTES = 256
STRIDE = 4096  # two slots never share a block of the disk
OPEN_FILES = 64
_MAGIC = b"muniment/journal/"
_VERSION = b"1\n"
_START = _MAGIC + _VERSION
_CHECK = 16
_SLOT = struct.Struct(f">19sQ?{CID_BYTES}s{CID_BYTES}s{CID_BYTES}s32s")


@dataclass(frozen=True, slots=True)
class JournalSlot:
    """The newest two ids signed by one key in one bank, and how many were recorded (from 1).

    `latest` may not have reached the bank; then its newest own entry is `previous` (None: it has none).
    """

    previous: EntryId | None
    latest: EntryId
    count: int


class Folder(Protocol):
    """What the journal needs of its folder."""

    def open(self, name: str) -> int:
        """A descriptor to read and write, made if missing."""
        ...

    def open_existing(self, name: str) -> int | None:
        """A descriptor to read, or None."""
        ...

    def explain(self, error: OSError, name: str) -> StorageError:
        """The error to raise for a failed system call."""
        ...


class PeerFolder(Protocol):
    """The peer folder, as `muniment.platform.folders.PeerFolder`."""

    def sub(self, name: str) -> Folder:
        """A folder in it."""
        ...


class Journal:
    """The journal of one peer folder. Callers hold the bank's write lock: one writer per bank at a time.

    Args:
        folder: The peer folder; the files lie in `journal/` there, which the first record makes.
    """

    def __init__(self, folder: PeerFolder) -> None:
        self._folder = folder.sub(FOLDER)
        self._handles: OrderedDict[str, int] = OrderedDict()
        self._process = os.getpid()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Journal({self._folder!r})"

    def read(self, bank: BankId, key: bytes) -> JournalSlot | None:
        """What was recorded last, or None if nothing whole is there.

        Raises:
            FutureFormat: A newer version wrote it.
            StorageError: It can't be read.
        """
        name = _name(bank, key)
        with self._lock:
            handle = self._open_handle(name)
            if handle is not None:
                return self._newest(handle, name, bank, key)
            # Not kept open: the folder may be one that can only be read.
            handle = self._folder.open_existing(name)
            if handle is None:
                return None
            try:
                return self._newest(handle, name, bank, key)
            finally:
                os.close(handle)

    def record(self, bank: BankId, key: bytes, previous: EntryId | None, latest: EntryId) -> None:
        """Note, before the bank commits, that `latest` follows `previous` (the bank's own tip, None at first).

        Not synced: the bank's commit alone makes a write durable.

        Raises:
            FutureFormat: A newer version wrote the file.
            StoreFull | StoreReadOnly | StorageError: Nothing was noted; don't commit.
        """
        name = _name(bank, key)
        with self._lock:
            handle = self._open_handle(name)
            if handle is None:
                handle = self._keep(name, self._folder.open(name))
            newest = self._newest(handle, name, bank, key)
            count = newest.count + 1 if newest else 1
            packed = _SLOT.pack(_START, count, previous is not None, previous or b"", latest, bank, key)
            slot = (packed + _check(packed)).ljust(SLOT_BYTES, b"\0")
            try:
                written = os.pwrite(handle, slot, count % 2 * STRIDE)
            except OSError as error:
                raise self._folder.explain(error, name) from error
            if written != SLOT_BYTES:
                raise StorageError(
                    f"only {written} bytes of the journal were written",
                    "Check the disk, then repeat the command.",
                )

    def close(self) -> None:
        """Let go of all files; harmless when done twice."""
        with self._lock:
            self._drop_all()

    def _drop_all(self) -> None:
        while self._handles:
            os.close(self._handles.popitem()[1])

    def _open_handle(self, name: str) -> int | None:
        """The descriptor at hand; one whose file was taken away or replaced is let go."""
        if os.getpid() != self._process:  # a fork: the descriptors are shared, this table is not
            self._drop_all()
            self._process = os.getpid()
        handle = self._handles.get(name)
        if handle is not None:
            if os.fstat(handle).st_nlink:
                self._handles.move_to_end(name)
                return handle
            os.close(self._handles.pop(name))
        return None

    def _keep(self, name: str, handle: int) -> int:
        self._handles[name] = handle
        if len(self._handles) > OPEN_FILES:
            os.close(self._handles.popitem(last=False)[1])
        return handle

    def _newest(self, handle: int, name: str, bank: BankId, key: bytes) -> JournalSlot | None:
        try:
            data = os.pread(handle, STRIDE + SLOT_BYTES, 0)
        except OSError as error:
            raise self._folder.explain(error, name) from error
        even, odd = data[:SLOT_BYTES], data[STRIDE:]
        is_even, is_odd = _is_ours(even), _is_ours(odd)
        # The one that says it is newer is read first; the other only if that one is not whole.
        turn = (odd, even) if is_odd and (not is_even or _count(odd) > _count(even)) else (even, odd)
        return _parse(turn[0], bank, key) or _parse(turn[1], bank, key)


def _name(bank: BankId, key: bytes) -> str:
    return hashlib.blake2b(bank + key, digest_size=16).hexdigest()


def _check(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_CHECK).digest()


def _is_ours(slot: bytes) -> bool:
    """Whether it begins as a slot of this version does."""
    if slot.startswith(_START):
        return True
    version = slot[len(_MAGIC) : len(_START)]
    if slot.startswith(_MAGIC) and version[:1] in b"23456789" and version[1:] == b"\n":
        raise FutureFormat("the journal was written by a newer version", "Update muniment.")
    return False


def _count(slot: bytes) -> int:
    return int.from_bytes(slot[len(_START) : len(_START) + 8], "big")


def _parse(slot: bytes, bank: BankId, key: bytes) -> JournalSlot | None:
    """The slot, or None if it is empty, torn or of another bank or key."""
    if len(slot) != SLOT_BYTES or not _is_ours(slot):
        return None
    packed = slot[: _SLOT.size]
    if _check(packed) != slot[_SLOT.size : _SLOT.size + _CHECK]:
        return None
    _, count, follows, previous, latest, its_bank, its_key = _SLOT.unpack(packed)
    if (its_bank, its_key) != (bank, key):
        return None
    return JournalSlot(EntryId(previous) if follows else None, EntryId(latest), count)
