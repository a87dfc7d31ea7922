"""The truth about an installation: what is well, what is not, and what to do (design section 10)."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import metadata
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from muniment.base.errors import MunimentError
from muniment.diagnosis import FAIL, OK, WARN, Finding, Mended, spelled
from muniment.doctor_banks import Ward, attached, look_at_bank_of, look_into
from muniment.doctor_home import formats, keyring_of, keys, look_at_home
from muniment.doctor_peers import archive, others, requests, seen
from muniment.doctor_repair import repair
from muniment.store.looking import look_at_peer
from muniment.store.peer import PeerStore

if TYPE_CHECKING:
    from pathlib import Path

    from muniment.embed.options import Options
    from muniment.peer import Peer

_LIBRARIES = ("apsw", "pynacl", "libipld", "numpy", "orjson", "PyStemmer")
_ANSWER_S = 1.0  # within which a server takes a connection
_OWNER = "owner"

__all__ = ["FAIL", "OK", "WARN", "Finding", "Mended", "examine", "examine_home", "mend"]


def examine(peer: Peer, *, deep: bool = False) -> list[Finding]:
    """Look at the program, the folder, the keys, each bank, other installations, the archive and the embedder.

    Nothing is changed, not even a file of an older version. Nobody is asked over a network, but whether the
    embedder's server takes a connection.

    Args:
        peer: The installation.
        deep: Read each bank through, as `check` does; takes minutes where banks are large.
    """
    found = [_program(), *look_at_home(peer.home), *formats(peer.home)]
    with ExitStack() as opened:
        store = _store(peer, found, opened)
        wards = [] if store is None else _wards(peer, store, found, opened)
        now = peer.host.clock.now_ms()
        for ward in wards:
            found += look_into(ward, now, deep=deep)
        if store is not None:
            agents = store.agents()
            found += attached(store, agents, wards, now)
            found += others(store, wards, now)
            found += requests(store, agents, now)
        found += seen(peer.host.witness, store, wards)
        found += archive(peer.archive, store, wards, now)
        found += _embedder(peer, store)
    return spelled(found, peer.home)


def examine_home(home: Path) -> list[Finding]:
    """What can be said of a folder whose settings are not understood."""
    return spelled([_program(), *look_at_home(home), *formats(home)], home)


def mend(peer: Peer, findings: list[Finding]) -> list[Mended]:
    """Do what is safe about findings; see `repair`."""
    return repair(peer, findings)


def _program() -> Finding:
    import apsw

    parts = [f"muniment {_version('muniment')}", f"Python {sys.version.split()[0]}"]
    parts += [f"SQLite {apsw.sqlite_lib_version()}", *(f"{name} {_version(name)}" for name in _LIBRARIES)]
    return Finding("program", OK, ", ".join(parts))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed as a package"


def _store(peer: Peer, found: list[Finding], opened: ExitStack) -> PeerStore | None:
    if not peer.exists:
        return None
    try:
        store = look_at_peer(peer.home / "peer.db", peer.host.settings.busy_ms)
        opened.callback(store.close)
        needed = {row.key: f"the agent {row.name}" for row in store.agents()}
        if (owner := store.meta(_OWNER)) is not None:
            needed[owner] = "the owner"
        if store.meta("rotating") is not None:
            said = "a change of keys was cut off; the next command ends it"
            found.append(Finding("rotation", WARN, said, "muniment key list"))
    except MunimentError as error:
        if not any(one.name == "format" and one.about == "peer.db" for one in found):
            found.append(Finding("agents", FAIL, error.message, error.next_step))
        return None
    try:
        found += keys(keyring_of(peer.folder), needed, peer.home)
    except MunimentError as error:
        found.append(Finding("keys", FAIL, error.message, error.next_step))
    found.append(Finding("agents", OK, ", ".join(row.name for row in store.agents()) or "none yet"))
    return store


def _wards(peer: Peer, store: PeerStore, found: list[Finding], opened: ExitStack) -> list[Ward]:
    """The banks that are listed, opened to be looked at; why others can't be is found."""
    try:
        contents = keyring_of(peer.folder)
    except MunimentError:
        contents = None  # said of the keys
    own = frozenset(() if contents is None else (key.public for key in contents.keys))
    agents = store.agents()
    old = {one.about for one in found if one.name == "format"}
    wards = []
    for row in store.banks():
        ward = look_at_bank_of(row, agents, own, peer.host, peer.home)
        if isinstance(ward, Ward):
            opened.callback(ward.bank.close)
            wards.append(ward)
        elif row.file not in old:
            found.append(ward)
    return wards


def _embedder(peer: Peer, store: PeerStore | None) -> Iterator[Finding]:
    """A model on this machine is tried out; of a server, whether it takes a connection and there is a key for it."""
    block = peer.host.settings.embedding
    if block is None:
        return
    from muniment.embed.factory import open_embedder
    from muniment.embed.options import REMOTE, options

    chosen = options(block)
    if chosen.backend in REMOTE:
        yield _server(chosen, kept=store is not None and chosen.provider in store.credentials())
        return
    try:
        embedder = open_embedder(block, lambda _: None)
        if chosen.backend == "local":
            said = f"{embedder.name}, {len(embedder.query('a question'))} numbers a vector"
        else:
            said = f"{embedder.name} (not loaded: it may have to be downloaded)"
        embedder.close()
    except MunimentError as error:
        yield Finding("embedder", FAIL, error.message, error.next_step)
    else:
        yield Finding("embedder", OK, said)


def _server(chosen: Options, *, kept: bool) -> Finding:
    from muniment.embed.options import DEFAULT_BASE

    base = chosen.api_base or DEFAULT_BASE[chosen.backend]
    said = f"{chosen.name} at {base} (not asked); {'an' if kept else 'no'} API key is kept"
    if base == DEFAULT_BASE["openai"] and not kept:
        return Finding("embedder", WARN, said, f"muniment credential set {chosen.provider}")
    place = urlsplit(base)
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        socket.create_connection((place.hostname or "", port), _ANSWER_S).close()
    except OSError as error:
        return Finding("embedder", WARN, f"{said}; it takes no connection: {error}", f"curl {base}")
    return Finding("embedder", OK, said)
