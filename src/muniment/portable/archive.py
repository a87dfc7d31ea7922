"""Zip archives, as the exports of chat applications come: each file in it read as it is unpacked, nothing is extracted.

A name in an archive is only a name: nothing is written under it. What an archive may unpack to is capped, whatever it
claims, and archives in archives are not opened.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.platform.files import explain
from muniment.portable.base import BadLine, LeftOut

MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
# What the exports name their conversations; whatever else is in such an archive is about the account.
CONVERSATIONS = "conversations"
_JSON = ".json"


class Member(NamedTuple):
    """A file of an archive.

    Attributes:
        name: Only a name: it leads nowhere.
        open: Gives its bytes from the beginning.
        done: How many bytes of the archive lie behind it when it is read.
    """

    name: str
    open: Callable[[], IO[bytes]]
    done: int


class _Capped(io.RawIOBase):
    """A member's bytes, until the archive has unpacked to more than it may."""

    def __init__(self, raw: IO[bytes], budget: list[int]) -> None:
        self._raw, self._budget = raw, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._raw.read(min(len(buffer), 256 * 1024))
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
            raise zlib.error(str(error)) from None  # which the reader takes for damage
        self._budget[0] -= len(data)
        if self._budget[0] < 0:
            raise zlib.error("over the cap")
        buffer[: len(data)] = data
        return len(data)


def is_archive(head: bytes) -> bool:
    """Whether a file that begins like this is a zip archive."""
    return head.startswith(MAGICS)


def members(path: Path) -> Iterator[Member | BadLine | LeftOut]:
    """The files of an archive in the order of their names; of an export only the conversations.

    Raises:
        InvalidInput: There is no such file, it is damaged, or it holds more files than `Limits.archive_members`.
        StorageError: It can't be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield from _members(archive)
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {path}", "Check the path.") from None
    except OSError as error:
        raise explain(error, path) from error
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise InvalidInput(f"{path.name} is a damaged archive: {error}", "Get the file again.") from None


def _members(archive: zipfile.ZipFile) -> Iterator[Member | BadLine | LeftOut]:
    files = [info for info in archive.infolist() if not info.is_dir()]
    if len(files) > LIMITS.archive_members:
        raise InvalidInput(f"an archive of {len(files)} files", f"The limit is {LIMITS.archive_members}.")
    talks = [info for info in files if _is_conversations(info.filename)]
    budget, done = [LIMITS.archive_bytes], 0
    for info in sorted(files, key=lambda info: info.filename):
        done += info.compress_size
        name = "".join(char if char.isprintable() else "?" for char in info.filename)[:200]
        if talks and info not in talks:
            yield LeftOut(name, "not a file of conversations")
        elif info.flag_bits & 1:
            yield BadLine(name, "encrypted")
        else:
            yield Member(name, partial(_open, archive, info, budget), done)


def _open(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: list[int]) -> IO[bytes]:
    """A member's bytes.

    Raises:
        InvalidInput: It is packed in a way that is not known here, or damaged.
    """
    try:
        raw = archive.open(info)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise InvalidInput(f"can't be unpacked: {error}") from None
    return io.BufferedReader(_Capped(raw, budget), 256 * 1024)


def _is_conversations(name: str) -> bool:
    base = name.rsplit("/", 1)[-1].lower()
    return base.startswith(CONVERSATIONS) and base.endswith(_JSON)
