"""From a passphrase to the key that seals, and the sealing itself; no file is touched here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nacl import bindings as sodium
from nacl import exceptions

from muniment.base.errors import KeyringLocked, RefusedBody, StoreCorrupt, WrongPassphrase
from muniment.identity import keys
from muniment.identity.keys import KEY_BYTES, SEED_BYTES, KeyPair
from muniment.keyring.file import PASSPHRASE, Contents, Guard
from muniment.keyring.secret import Secret

Passphrase = Callable[[], str]
_GIVE = "Set MUNIMENT_PASSPHRASE, or run the command in a terminal to be asked for it."


class Cost(NamedTuple):
    """What deriving a key from a passphrase costs: passes over the memory, and its bytes (Argon2id)."""

    operations: int
    memory: int


MODERATE = Cost(
    sodium.crypto_pwhash_argon2id_OPSLIMIT_MODERATE, sodium.crypto_pwhash_argon2id_MEMLIMIT_MODERATE
)  # about half a second and 256 MiB
LOWEST = Cost(
    sodium.crypto_pwhash_argon2id_OPSLIMIT_MIN, sodium.crypto_pwhash_argon2id_MEMLIMIT_MIN
)  # for tests


def pair_of(seed: Secret) -> KeyPair:
    """The key pair of a seed; its secret half does not print itself, in libsodium's frames either."""
    public, secret = map(Secret, sodium.crypto_sign_seed_keypair(seed))
    return KeyPair(bytes(public), secret)


def derive(guard: Guard, text: Secret) -> Secret:
    """The sealing key (32 bytes) of a passphrase."""
    try:
        return Secret(
            sodium.crypto_pwhash_alg(
                KEY_BYTES,
                text,
                guard.salt,
                guard.operations,
                guard.memory,
                sodium.crypto_pwhash_ALG_ARGON2ID13,
            )
        )
    except exceptions.RuntimeError:
        raise KeyringLocked(
            f"opening the keyring takes {guard.memory >> 20} MiB of memory, which the system does not give",
            "End other programs, then try again.",
        ) from None


def text_of(passphrase: Passphrase | None) -> Secret:
    """What a passphrase callable answers; empty without one."""
    return Secret.of_text(passphrase()) if passphrase else Secret()


def ask(guard: Guard, passphrase: Passphrase | None, place: str) -> Secret:
    """The sealing key of a file that is sealed with a passphrase.

    Raises:
        KeyringLocked: No passphrase is given.
    """
    text = text_of(passphrase)
    if not text:
        raise KeyringLocked(f"{place} is sealed with a passphrase", _GIVE)
    return derive(guard, text)


def unseal(contents: Contents, key: Secret, place: str) -> Secret:
    """The seeds of all listed keys, one after the other.

    Raises:
        WrongPassphrase: Another key sealed them.
        StoreCorrupt: There are more or fewer than the file lists.
    """
    try:
        seeds = Secret(keys.unseal(key, contents.secrets, contents.bound_to))
    except RefusedBody:
        seeds = None
    if seeds is None:  # outside of the handler: no other error hangs on this one
        raise WrongPassphrase(
            f"that passphrase does not open {place}"
            if contents.guard.kind == PASSPHRASE
            else f"the key in the system keyring does not open {place}",
            "Try again; without it the keys are lost, and the owner has to grant new ones.",
        )
    if len(seeds) != SEED_BYTES * len(contents.keys):
        raise StoreCorrupt(f"{place} lists other keys than it holds")
    return seeds
