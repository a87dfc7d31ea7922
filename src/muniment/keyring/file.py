"""The bytes of the keyring file; pure, so that every malformed file can be tried without a disk.

```
muniment keyring 1\\n   magic and version
32 bytes               sha-256 of all that follows
4 bytes                length of the clear part, big-endian
clear part             canonical DAG-CBOR: {"guard": {...}, "keys": [{"pub", "label", "made"}, ...]}
secrets                the 32-byte seeds in the order of `keys`, one after the other; sealed unless guard is "file mode"
```

The secrets stand outside the map so that no decoder ever holds them in a structure that prints itself. When
they are sealed, the clear part is the associated data: keys and labels can't be exchanged without the passphrase.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from muniment.base import codec
from muniment.base.errors import ForeignFile, FutureFormat, Malformed, RefusedKey, StoreCorrupt
from muniment.identity.keys import PUBLIC_BYTES, SEED_BYTES, check_public
from muniment.keyring.secret import Secret

FILE = "keyring"
MAX_BYTES = 64 * 1024 * 1024
DOMAIN = b"muniment/keyring/1\0"  # in front of the associated data of the sealed secrets
PASSPHRASE, SYSTEM, FILE_MODE = "passphrase", "system", "file mode"
SALT_BYTES = 16
_MAGIC = b"muniment keyring "
_VERSION = b"1\n"
_DIGEST = 32
_START = len(_MAGIC) + len(_VERSION)
_CLEAR = _START + _DIGEST + 4
# More than this is not a keyring of ours but an attempt to exhaust the machine that opens it.
_MAX_OPERATIONS, _MAX_MEMORY = 64, 4 * 1024**3
_RESTORE = "Put the keyring of your latest backup in its place; this file is left as it is."


@dataclass(frozen=True, slots=True)
class Guard:
    """What the secrets are sealed under.

    Attributes:
        kind: `passphrase`, `system` or `file mode` (not sealed).
        salt, operations, memory: Of Argon2id, with a passphrase; memory in bytes.
        name: Of the sealing key in the system keyring.
    """

    kind: str
    salt: bytes = b""
    operations: int = 0
    memory: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A key in custody, in clear: its public half, a label, when it was made (Unix ms, 0 if not known)."""

    public: bytes
    label: str
    made: int


@dataclass(frozen=True, slots=True)
class Contents:
    """A parsed file. `clear` is the exact bytes that `secrets` are bound to."""

    guard: Guard
    keys: tuple[Listed, ...]
    clear: bytes
    secrets: Secret

    @property
    def bound_to(self) -> bytes:
        """The associated data of the sealed secrets."""
        return DOMAIN + self.clear


def clear_part(guard: Guard, keys: tuple[Listed, ...]) -> bytes:
    """The clear part of a file."""
    fields: dict[str, Any] = {"kind": guard.kind}
    if guard.kind == PASSPHRASE:
        fields |= {"salt": guard.salt, "ops": guard.operations, "mem": guard.memory}
    elif guard.kind == SYSTEM:
        fields["name"] = guard.name
    listed = [{"pub": key.public, "label": key.label, "made": key.made} for key in keys]
    return codec.encode({"guard": fields, "keys": listed})


def build(clear: bytes, secrets: bytes) -> Secret:
    """The whole file."""
    rest = Secret(b"".join([len(clear).to_bytes(4, "big"), clear, secrets]))
    return Secret(b"".join([_MAGIC, _VERSION, hashlib.sha256(rest).digest(), rest]))


def parse(data: Secret, path: str) -> Contents:
    """Read a file.

    Raises:
        ForeignFile: It is something else.
        FutureFormat: A newer version wrote it.
        StoreCorrupt: It was cut short or altered.
    """
    if not data.startswith(_MAGIC):
        if _MAGIC.startswith(data):
            raise StoreCorrupt(f"{path} was cut short", _RESTORE)
        raise ForeignFile(f"{path} is not a keyring of muniment", "Move it away; it is left as it is.")
    if not data.startswith(_MAGIC + _VERSION):
        line = bytes(data[len(_MAGIC) : len(_MAGIC) + 12]).split(b"\n")[0]
        if line.isdigit() and int(line) > 1:
            raise FutureFormat(
                f"{path} was written by a newer version", "Update muniment; it is left as it is."
            )
        raise StoreCorrupt(f"{path} was cut short or altered", _RESTORE)
    rest = data[_START + _DIGEST :]
    if len(data) < _CLEAR or hashlib.sha256(rest).digest() != data[_START : _START + _DIGEST]:
        raise StoreCorrupt(f"{path} was cut short or altered", _RESTORE)
    end = _CLEAR + int.from_bytes(data[_CLEAR - 4 : _CLEAR], "big")
    clear = bytes(data[_CLEAR:end])
    try:
        guard, keys = _read_clear(codec.decode(clear, MAX_BYTES), path)
    except (Malformed, RefusedKey, KeyError, TypeError) as error:
        raise StoreCorrupt(f"{path} holds what a keyring can't: {error}", _RESTORE) from None
    secrets = data[end:]
    if guard.kind == FILE_MODE and len(secrets) != SEED_BYTES * len(keys):
        raise StoreCorrupt(f"{path} lists {len(keys)} keys and holds {len(secrets)} bytes of them", _RESTORE)
    return Contents(guard, keys, clear, secrets)


def _read_clear(fields: Any, path: str) -> tuple[Guard, tuple[Listed, ...]]:
    raw, listed = fields["guard"], fields["keys"]
    kind = raw["kind"]
    if kind == PASSPHRASE:
        guard = Guard(kind, raw["salt"], raw["ops"], raw["mem"])
        sane = (
            type(guard.salt) is bytes
            and len(guard.salt) == SALT_BYTES
            and type(guard.operations) is int
            and 0 < guard.operations <= _MAX_OPERATIONS
            and type(guard.memory) is int
            and 0 < guard.memory <= _MAX_MEMORY
        )
        if not sane:
            raise Malformed("settings of Argon2id out of bounds")
    elif kind == SYSTEM:
        guard = Guard(kind, name=str(raw["name"]))
    elif kind == FILE_MODE:
        guard = Guard(kind)
    else:
        raise FutureFormat(f"{path} is guarded in a way unknown here: {kind!r}", "Update muniment.")
    return guard, tuple(_read_listed(item) for item in listed)


def _read_listed(item: Any) -> Listed:
    public, label, made = item["pub"], item["label"], item["made"]
    if (
        type(public) is not bytes
        or len(public) != PUBLIC_BYTES
        or type(label) is not str
        or type(made) is not int
    ):
        raise Malformed("a listed key is malformed")
    return Listed(check_public(public), label, made)
