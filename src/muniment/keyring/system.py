"""The sealing key in the system's own keyring: the only file that imports the extra `keyring`."""

from __future__ import annotations

import binascii
from types import ModuleType

from muniment.base.errors import KeyringError, KeyringLocked, MissingExtra
from muniment.identity.keys import KEY_BYTES
from muniment.keyring.secret import Secret

_SERVICE = "muniment"
_UNLOCK = "Unlock the system keyring (log in to the desktop), or restore a keyring sealed with a passphrase."


def _module() -> ModuleType:
    try:
        import keyring
    except ImportError:
        raise MissingExtra("keyring", "sealing keys with the system keyring") from None
    module: ModuleType = keyring
    return module


def put(name: str, key: Secret) -> None:
    """Keep a sealing key under a name.

    Raises:
        MissingExtra: The extra is not installed.
        KeyringError: The system keyring does not take it.
    """
    module = _module()
    try:
        module.set_password(_SERVICE, name, Secret(binascii.hexlify(key)).decode())
    except module.errors.KeyringError as error:
        raise KeyringError(f"the system keyring refused the key: {type(error).__name__}", _UNLOCK) from None


def get(name: str) -> Secret:
    """The sealing key of that name.

    Raises:
        MissingExtra: The extra is not installed.
        KeyringLocked: The system keyring is locked or does not hold it.
    """
    module = _module()
    try:
        text = module.get_password(_SERVICE, name)
    except module.errors.KeyringError as error:
        raise KeyringLocked(f"the system keyring does not open: {type(error).__name__}", _UNLOCK) from None
    try:
        key = Secret(binascii.unhexlify(text or ""))
    except ValueError:
        key = Secret()
    if len(key) != KEY_BYTES:
        raise KeyringLocked("the system keyring does not hold the key that seals this keyring", _UNLOCK)
    return key


def drop(name: str) -> None:
    """Forget a sealing key that is of no use any more; it is no error if that fails."""
    try:
        module = _module()
    except MissingExtra:
        return
    try:
        module.delete_password(_SERVICE, name)
    except module.errors.KeyringError:
        return
