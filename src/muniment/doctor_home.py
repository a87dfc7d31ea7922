"""What `doctor` says of a folder, its files and its keys; by looking alone (design section 6)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from muniment.archive.options import FOLDER
from muniment.base.errors import FutureFormat, MunimentError
from muniment.base.limits import LIMITS
from muniment.config import Settings, load
from muniment.diagnosis import FAIL, OK, WARN, Finding
from muniment.keyring import file as keyfile
from muniment.keyring.file import FILE_MODE, SYSTEM, Contents
from muniment.keyring.secret import Secret
from muniment.platform.files import read_small
from muniment.platform.folders import PeerFolder
from muniment.store.looking import format_of
from muniment.store.migrate import BANK, PEER, Kind, recognise

REPAIR = "Run `muniment doctor --repair`."
_STALE_S = 3600  # no write takes an hour
_DRAFT = re.compile(r"\..+\.(?P<pid>\d+)-[0-9a-f]{8}\.new(-wal|-shm|-journal)?")
_NEW = re.compile(r"\..+\.new|manifest\.new")


def look_at_home(home: Path) -> list[Finding]:
    """Whatever can be said without opening anything, also where the settings are not understood."""
    found = [*_settings(home), *_folder(home)]
    if home.is_dir():
        found += [*_permissions(home), *_disk(home), *_leftovers(home), *_logs(home)]
    return found


def _settings(home: Path) -> Iterator[Finding]:
    try:
        settings = load(home)
    except MunimentError as error:
        yield Finding("settings", FAIL, error.message, error.next_step)
        return
    yield from _extras(settings)


def _extras(settings: Settings) -> Iterator[Finding]:
    """Parts that the settings need and that are not installed."""
    for extra, modules, who in _needed(settings):
        missing = [name for name in modules if not _installed(name)]
        if missing:
            said = f"{who} needs {', '.join(missing)}, which is not installed"
            yield Finding("extra", FAIL, said, f'pip install "muniment[{extra}]"', extra)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _needed(settings: Settings) -> Iterator[tuple[str, tuple[str, ...], str]]:
    block = _mapping(settings.embedding)
    if block.get("backend") == "local":
        yield "local", ("onnxruntime", "tokenizers"), "embedding"
    if block.get("backend") == "fastembed":
        yield "fastembed", ("fastembed",), "embedding"
    if settings.rerank:
        yield "local", ("onnxruntime", "tokenizers"), "rerank"
    if _mapping(settings.archive).get("store", FOLDER) != FOLDER:
        yield "objects", ("obstore",), "archive"
    if any(name.startswith("iroh") for name in _mapping(settings.serve)):
        yield "p2p", ("iroh",), "serve"


def _mapping(block: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return block or {}


def _folder(home: Path) -> Iterator[Finding]:
    if not (home / "peer.db").exists():
        yield Finding("folder", OK, f"{home} is empty", 'Start with: muniment remember "…"')
        return
    quoted = shlex.quote(str(home))
    owner = home.stat().st_uid
    if owner not in {os.geteuid(), 0}:
        step = f"sudo chown -R {os.geteuid()} {quoted}"
        yield Finding("folder", WARN, f"{home} belongs to user {owner}", step)
    elif not os.access(home, os.W_OK | os.X_OK):
        yield Finding("folder", FAIL, f"{home} can't be written", f"chmod u+rwx {quoted}")
    else:
        yield Finding("folder", OK, f"{home}")


def loose(home: Path) -> list[tuple[Path, int]]:
    """Files and folders of ours that others may use, with the mode that they should have."""
    found = []
    places = [home, home / "keyring", home / "config.yaml", home / "banks", home / "journal", home / "blobs"]
    for place in [*places, *home.glob("*.db*"), *(home / "banks").glob("*.db*")]:
        try:
            status = place.lstat()
        except OSError:
            continue
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode) or not mode & _forbidden(place, home):
            continue
        found.append((place, mode & 0o700))
    return found


def _forbidden(place: Path, home: Path) -> int:
    """What others may not have: of the folder and the keys anything, of what lies within only to write."""
    if place.name == "keyring" or place == home:
        return 0o077
    return 0o022


def _permissions(home: Path) -> Iterator[Finding]:
    for place, mode in loose(home):
        now = stat.S_IMODE(place.lstat().st_mode)
        said = f"{place} is open to other users (mode {now:04o})"
        yield Finding(
            "permissions", WARN, said, f"chmod {mode:o} {shlex.quote(str(place))}", place.name, True
        )


def _disk(home: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(home).free
    said = f"{free / 1e9:.1f} GB are free where {home} is"
    step = f"Free some space, or move the folder: du -sh {shlex.quote(str(home))}"
    if free < LIMITS.disk_full_bytes:
        yield Finding("disk", FAIL, said, step)
    elif free < LIMITS.disk_low_bytes:
        yield Finding("disk", WARN, said, step)
    else:
        yield Finding("disk", OK, said)


def leftovers(home: Path, now_s: float | None = None) -> list[Path]:
    """Drafts of writes that ended long ago, or whose process is gone."""
    now = time.time() if now_s is None else now_s
    folders = [
        home,
        home / "banks",
        home / "journal",
        *(home / "index").glob("*"),
        *(home / "index").glob("*.vectors/*"),
    ]
    found = []
    for folder in folders:
        for place in folder.iterdir() if folder.is_dir() else ():
            draft = _DRAFT.fullmatch(place.name)
            if draft is None and _NEW.fullmatch(place.name) is None:
                continue
            if (draft is not None and not _alive(int(draft["pid"]))) or _older(place, now):
                found.append(place)
    return sorted(found)


def _older(place: Path, now: float) -> bool:
    try:
        return place.lstat().st_mtime < now - _STALE_S
    except OSError:
        return False  # its writer ended just now


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's
    return True


def _leftovers(home: Path) -> Iterator[Finding]:
    found = leftovers(home)
    if found:
        size = sum(place.lstat().st_size for place in found)
        said = f"{len(found)} drafts of writes that were killed, {size / 1e6:.1f} MB, as {found[0]}"
        yield Finding("leftover", WARN, said, REPAIR, mends=True)


def _databases(home: Path) -> list[tuple[Path, Kind]]:
    """The files that SQLite keeps, as far as they should be there, and what each is."""
    return [(home / "peer.db", PEER), *((path, BANK) for path in sorted((home / "banks").glob("*.db")))]


def long_logs(home: Path) -> list[tuple[Path, Kind]]:
    """Database files with a log beside them that is longer than it should be."""
    found = []
    for place, kind in _databases(home):
        try:
            size = place.with_name(place.name + "-wal").stat().st_size
        except OSError:
            continue
        if size > LIMITS.log_long_bytes:
            found.append((place, kind))
    return found


def _logs(home: Path) -> Iterator[Finding]:
    for place, _ in long_logs(home):
        size = place.with_name(place.name + "-wal").stat().st_size
        yield Finding("log", WARN, f"the log of {place} has {size / 1e6:.0f} MB", REPAIR, place.name, True)


def formats(home: Path) -> Iterator[Finding]:
    """Files of an older schema, which a repair brings up to date, and of a newer one."""
    for place, kind in _databases(home):
        if not place.exists():
            continue
        try:
            recognise(place, kind)
        except FutureFormat as error:
            yield Finding("format", FAIL, error.message, error.next_step, place.name)
        except MunimentError:
            continue  # said of the bank
        else:
            if (version := format_of(place)) < kind.latest:
                said = f"{place} has format {version}, this version writes {kind.latest}; a copy is kept"
                yield Finding("format", WARN, said, REPAIR, place.name, True)


def keyring_of(folder: PeerFolder) -> Contents | None:
    """The keyring's file as it lies there; its mode is left as it is.

    Raises:
        StorageError: As its subclasses name it.
    """
    data = read_small(folder.place(keyfile.FILE), keyfile.MAX_BYTES)
    return None if data is None else keyfile.parse(Secret(data), folder.place(keyfile.FILE))


def keys(contents: Contents | None, needed: Mapping[bytes, str], home: Path) -> Iterator[Finding]:
    """Whether the private keys of the owner and all agents are here, and how they are kept."""
    held = {} if contents is None else {key.public: key for key in contents.keys}
    missing = [name for key, name in needed.items() if key not in held]
    if missing:
        said = f"no private key of {', '.join(sorted(missing))} is in {home / 'keyring'}"
        yield Finding("keys", FAIL, said, "Put the keyring of your latest backup in its place.")
        return
    if contents is None:
        yield Finding("keys", OK, "none yet")
    elif contents.guard.kind == FILE_MODE:
        said = f"{len(held)} private keys, not sealed: who reads {home / 'keyring'}, or a backup, can sign as you"
        yield Finding("keys", WARN, said, "Seal them: muniment init --passphrase")
    elif contents.guard.kind == SYSTEM and not _installed("keyring"):
        said = "the private keys are sealed by the system keyring, for which `keyring` is not installed"
        yield Finding("extra", FAIL, said, 'pip install "muniment[keyring]"', "keyring")
    else:
        yield Finding("keys", OK, f"{len(held)} private keys, sealed by {contents.guard.kind}")
