"""Files and their versions: recognise one without touching it, make one, and bring an older one up to date.

`schema/NNN.sql` leads from version NNN - 1 to NNN; a new file runs them all. The version stands in SQLite's
`user_version`, the kind of file in its `application_id`.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from muniment.base.errors import (
    ForeignFile,
    FutureFormat,
    InvalidInput,
    MunimentError,
    NotFound,
    StorageError,
    StoreCorrupt,
    StoreReadOnly,
)
from muniment.store.connection import Connections
from muniment.store.link import Link, translate

_MAGIC = b"SQLite format 3\0"


class Kind(NamedTuple):
    """A kind of file: its name for people, SQLite's `application_id`, and the folder of its schema."""

    name: str
    application_id: int
    schema: Path

    @property
    def latest(self) -> int:
        """The newest schema version that this code can write."""
        return max(numbered(self.schema), default=0)


BANK = Kind("bank", int.from_bytes(b"MUNB"), Path(__file__).parent / "schema")
PEER = Kind("peer file", int.from_bytes(b"MUNP"), Path(__file__).parent / "schema" / "peer")


def numbered(folder: Path) -> dict[int, Path]:
    """The schema files of a folder by their number."""
    return {int(path.stem): path for path in sorted(folder.glob("[0-9][0-9][0-9].sql"))}


def recognise(path: Path, kind: Kind) -> None:
    """Look at a file's header, without opening it as a database, and refuse what is not ours.

    Raises:
        NotFound: There is no such file.
        StoreReadOnly: It can't be read.
        ForeignFile: It is empty, no SQLite file, or another program's.
        FutureFormat: A newer version wrote it.
        StoreCorrupt: It is shorter than its header says.
    """
    leave = "Name another file; this one is left as it is."
    try:
        with path.open("rb") as file:
            head = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise NotFound(
            f"there is no file {path}", "Check the folder (`--home`), or make a new one."
        ) from None
    except IsADirectoryError:
        raise ForeignFile(f"{path} is a folder", leave) from None
    except OSError as error:
        raise StoreReadOnly(f"{path} can't be read: {error.strerror}", "Check who owns it.") from None
    if not head:
        raise ForeignFile(f"{path} is empty", "Restore it from a backup, or delete it; it is left as it is.")
    if len(head) < 100 and _MAGIC.startswith(head[:16]):
        raise StoreCorrupt(f"{path} is cut off after {len(head)} bytes", "Restore it from a backup.")
    if not head.startswith(_MAGIC):
        raise ForeignFile(f"{path} is not a {kind.name}", leave)
    pages, version, application_id = (struct.unpack_from(">I", head, at)[0] for at in (28, 60, 68))
    if application_id != kind.application_id:
        raise ForeignFile(f"{path} is an SQLite file, but not a {kind.name}", leave)
    _refuse_future(path, kind, version)
    log = path.with_name(path.name + "-wal")
    page_bytes = struct.unpack_from(">H", head, 16)[0] or 1
    page_bytes = 65536 if page_bytes == 1 else page_bytes
    # With a log beside it the rest of the pages may stand there; SQLite sorts that out.
    if size < pages * page_bytes and not (log.exists() and log.stat().st_size):
        found = f"{path} is cut off: {size} bytes, of {pages * page_bytes}"
        raise StoreCorrupt(found, "Restore it from a backup or fetch the bank from another peer.")


def _refuse_future(path: Path, kind: Kind, version: int) -> None:
    if version > kind.latest:
        found = f"{path} has format {version}, this version knows up to {kind.latest}"
        raise FutureFormat(found, "Update muniment; the file is left as it is.")


def create(path: Path, kind: Kind, fill: Callable[[Link], None]) -> None:
    """Make a new file, whole or not at all: it is written beside its place, synced, and then put there.

    Raises:
        InvalidInput: A file is there already.
        StorageError: As its subclasses name it.
    """
    if path.exists():
        raise InvalidInput(f"{path} is there already", "Open it, or choose another name.")
    draft = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _write_draft(draft, kind, fill)
        _sync(draft, os.O_RDWR)
        _put(draft, path)
        if hasattr(os, "O_DIRECTORY"):  # where folders can be synced
            _sync(path.parent, os.O_RDONLY)
    except OSError as error:
        raise _os_error(error, path) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                draft.with_name(draft.name + suffix).unlink()


def _os_error(error: OSError, path: Path) -> StorageError | InvalidInput:
    if isinstance(error, FileExistsError):
        return InvalidInput(f"{path} is there already", "Open it, or choose another name.")
    stand_in = apsw.IOError(f"{error.strerror}")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return StoreReadOnly(f"the folder of {path} is not there", "Make the folder first.")
    return translate(stand_in, path, system_errno=error.errno or 0)


def _write_draft(draft: Path, kind: Kind, fill: Callable[[Link], None]) -> None:
    link = Link(draft, "rw", 1000)
    try:
        link.accept()
        link.run("PRAGMA journal_mode = WAL")
        link.begin()
        for number, file in numbered(kind.schema).items():
            link.run(file.read_text("utf-8"))
            link.run(f"PRAGMA user_version = {number}")
        link.run(f"PRAGMA application_id = {kind.application_id}")
        fill(link)
        link.commit()
        link.run("PRAGMA wal_checkpoint(TRUNCATE)")
    except BaseException:
        link.rollback()
        raise
    finally:
        link.close()


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _put(draft: Path, path: Path) -> None:
    """Give `draft` its name without ever replacing a file."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError from None
        draft.rename(path)


def upgrade(connections: Connections, kind: Kind) -> None:
    """Bring an open file to the newest schema, with a backup of the older one beside it.

    Raises:
        FutureFormat: A newer version wrote it.
        StoreReadOnly: It is older and can't be written.
        StorageError: The upgrade failed; the file is as it was.
    """
    link = connections.link()
    version = int(link.run("PRAGMA user_version")[0][0])
    _refuse_future(connections.path, kind, version)
    if version == kind.latest:
        return
    with connections.write() as link:  # the lock first: another process may be at it
        version = int(link.run("PRAGMA user_version")[0][0])
        if version >= kind.latest:
            return
        saved = _back_up(connections, version)
        try:
            for number, file in numbered(kind.schema).items():
                if number > version:
                    link.run(file.read_text("utf-8"))
                    link.run(f"PRAGMA user_version = {number}")
            _check(link)
        except MunimentError as error:
            saved.unlink()
            found = f"{connections.path} could not be brought from format {version} to {kind.latest}"
            kept = type(error) if isinstance(error, StorageError) else StorageError
            step = "It is as it was. Run `muniment check` with the version that wrote it."
            raise kept(f"{found}: {error.message}", step) from error
    with contextlib.suppress(StorageError):  # a reader of the past may hold it up: then it is done later
        connections.link().run(
            "PRAGMA wal_checkpoint(TRUNCATE)"
        )  # who looks at the file alone sees its version


def opened(path: Path, kind: Kind, *, busy_ms: int, make: bool) -> Connections:
    """Connections to a file of its kind, brought up to date, or made first if it is not there.

    Raises:
        NotFound: There is no file, and `make` is False.
        StorageError: As its subclasses name it.
    """
    if make and not path.exists():
        with contextlib.suppress(InvalidInput):  # another process was faster
            create(path, kind, lambda _: None)
    recognise(path, kind)
    connections = Connections(path, busy_ms=busy_ms)
    try:
        upgrade(connections, kind)
        connections.accept()
    except BaseException:
        connections.close()
        raise
    return connections


def _check(link: Link) -> None:
    said = link.run("PRAGMA integrity_check")
    if said != [("ok",)] or link.run("PRAGMA foreign_key_check"):
        raise StoreCorrupt(f"the check after the upgrade says {said[:3]}")


def _back_up(connections: Connections, version: int) -> Path:
    """Copy the file as it is now to the first free name; an older backup is never written over."""
    path = connections.path
    for number in range(1, 1000):
        more = "" if number == 1 else f"-{number}"
        place = path.with_name(f"{path.name}.v{version}{more}.bak")
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        except OSError as error:
            raise _os_error(error, place) from error
        break
    else:
        raise StorageError(f"{path} has too many backups beside it", "Move the `.bak` files elsewhere.")
    source = Link(path, "ro", connections.busy_ms)
    try:
        target = apsw.Connection(str(place))
        try:
            with target.backup("main", source.connection, "main") as backup:
                backup.step(-1)
        finally:
            target.close()
        _sync(place, os.O_RDWR)
    except (apsw.Error, OSError) as error:
        place.unlink()
        if isinstance(error, OSError):
            raise _os_error(error, place) from error
        raise translate(error, place) from error
    finally:
        source.close()
    return place
