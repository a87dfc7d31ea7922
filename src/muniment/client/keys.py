"""With whose key requests are signed: one in the local keyring, or a seed in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.base.errors import InvalidInput, UnknownAgent
from muniment.identity.did import parse_did
from muniment.identity.http_signatures import Key, key_of, keyid_of
from muniment.identity.keys import SEED_BYTES, keypair
from muniment.platform.files import explain

if TYPE_CHECKING:
    from muniment.peer import Peer

_FILE_BYTES = 256


def key_from_file(path: str | Path) -> Key:
    """The key of a seed file: 32 bytes as 64 hex digits.

    Raises:
        InvalidInput: It holds something else, or others may read it.
        StorageError: It can't be read.
    """
    place = Path(path).expanduser()
    try:
        with place.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(_FILE_BYTES)
    except OSError as error:
        raise explain(error, place) from error
    if os.name == "posix" and mode & 0o077:
        raise InvalidInput(f"{place} can be read by others", f"Close it to them: chmod 600 {place}")
    try:
        seed = bytes.fromhex(data.decode("ascii").strip())
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise InvalidInput(f"{place} holds no seed", "It is 64 hex digits on one line.")
    return key_of(seed)


def new_key_file(path: str | Path) -> str:
    """Make a new seed file, for its owner alone; returns the did:key to name as controller.

    Raises:
        StorageError: It is there already, or can't be written.
    """
    place = Path(path).expanduser()
    seed = os.urandom(SEED_BYTES)
    try:
        handle = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(seed.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise explain(error, place) from error
    return keyid_of(keypair(seed).public).partition("#")[0]


def key_from_peer(peer: Peer, agent: str | None = None) -> tuple[Key, bool]:
    """A key of the local keyring: the agent's of that name, or the only agent's, else the owner's.

    Returns:
        The key, and whether it is an agent's own.

    Raises:
        UnknownAgent: There is no key in this home yet.
        KeyringLocked | WrongPassphrase: When it signs.
    """
    infos = {info.name.casefold(): info for info in peer.agents()}
    found = infos.get(agent.casefold()) if agent else next(iter(infos.values())) if len(infos) == 1 else None
    if found is not None:
        public = parse_did(found.did)
    elif infos:
        public = peer.owner()
    else:
        raise UnknownAgent(
            f"there is no key in {peer.home} to sign with",
            "Name a seed file with --key-file, or make keys here: muniment init",
        )
    ring = peer.host.keyring
    return Key(keyid_of(public), lambda domain, rest: ring.sign(public, domain, rest)), found is not None
