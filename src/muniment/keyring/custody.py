"""Private keys in custody: they sign and unseal in here and never leave (design sections 2, 3 and 6)."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, NoReturn

from nacl import bindings as sodium
from nacl import exceptions

from muniment.base import codec
from muniment.base.clock import Clock
from muniment.base.errors import (
    InvalidInput,
    LimitExceeded,
    MunimentError,
    RefusedBody,
    StoreCorrupt,
    UnknownKey,
)
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.identity.keys import KEY_BYTES, NONCE_BYTES, SEED_BYTES, KeyPair
from muniment.keyring import file, system
from muniment.keyring.file import FILE, FILE_MODE, PASSPHRASE, SYSTEM, Contents, Guard, Listed
from muniment.keyring.needs import Entropy, Folder
from muniment.keyring.sealing import MODERATE, Cost, Passphrase, ask, derive, pair_of, text_of, unseal
from muniment.keyring.secret import Secret

_DOMAINS = frozenset(codec.DOMAINS)


class Keyring:
    """The private keys of one peer folder.

    Nothing is read before the first question and no file is made before the first key. Several processes may
    use one folder: each sees the others' changes at its next call. A key in memory goes on signing, without
    the passphrase, as long as the file still lists it.
    """

    def __init__(
        self,
        folder: Folder,
        passphrase: Passphrase | None,
        entropy: Entropy,
        clock: Clock | None = None,
        *,
        first: Passphrase | None = None,
        use_system: bool = False,
        cost: Cost = MODERATE,
    ) -> None:
        self._folder, self._passphrase, self._entropy, self._clock = folder, passphrase, entropy, clock
        self._place = folder.place(FILE)  # for messages
        self._first, self._use_system, self._cost = first, use_system, cost
        self._lock = threading.RLock()
        self._stamp: object | None = None
        self._contents: Contents | None = None
        self._seeds: Secret | None = None  # of `_contents`, once they are open
        self._opener: tuple[Guard, Secret] | None = None  # the sealing key, and what it is for
        self._at: dict[bytes, int] = {}  # where each key stands in `_contents`
        self._pairs: dict[bytes, KeyPair] = {}
        self._boxes: dict[bytes, tuple[bytes, Secret]] = {}
        self._was_open_to_others = False

    @classmethod
    def open(
        cls,
        folder: Folder,
        passphrase: Passphrase | None,
        entropy: Entropy,
        clock: Clock | None = None,
        *,
        first: Passphrase | None = None,
        use_system: bool = False,
        cost: Cost = MODERATE,
    ) -> Keyring:
        """The keyring of a peer folder; no file is touched yet.

        Args:
            folder: The peer folder, as `muniment.platform.folders.PeerFolder`.
            passphrase: Asked once, when the secrets of a sealed file are needed; never if it is not sealed.
            entropy: For keys and nonces.
            clock: For the time at which keys were made.
            first: Asked when the first key is made and nothing was chosen by `set_passphrase`. Without it, or if
                it answers "", a new file is guarded by its mode alone.
            use_system: Seal such a new file under a key in the system keyring, if there is no passphrase.
            cost: Of deriving the sealing key from a passphrase, for new files.
        """
        return cls(folder, passphrase, entropy, clock, first=first, use_system=use_system, cost=cost)

    def __repr__(self) -> str:
        return f"Keyring({self._place!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a keyring is not pickled or copied")

    # What is here

    def keys(self) -> list[bytes]:
        """Public keys (32 bytes each) in custody, in the order in which they came; needs no passphrase."""
        contents = self._current()
        return [key.public for key in contents.keys] if contents else []

    def has(self, public: bytes) -> bool:
        """Whether the private key of `public` is in custody; needs no passphrase."""
        return self._current() is not None and public in self._at

    def label(self, public: bytes) -> str:
        """The label of a key.

        Raises:
            UnknownKey: It is not in custody.
        """
        contents, at = self._listed(public)
        return contents.keys[at].label

    @property
    def protection(self) -> str | None:
        """`passphrase`, `system` or `file mode`; None as long as there is no file."""
        contents = self._current()
        return contents.guard.kind if contents else None

    @property
    def needs_passphrase(self) -> bool:
        """Whether a passphrase will be asked for before the next key that was not used yet signs."""
        contents = self._current()
        return bool(contents and contents.guard.kind == PASSPHRASE and self._seeds is None)

    def problems(self) -> list[str]:
        """Plain warnings for `doctor`, each with its next step; a file that can't be read is one of them."""
        place = self._place
        try:
            contents = self._current()
        except MunimentError as error:
            return [str(error)]
        found = []
        if contents and contents.guard.kind == FILE_MODE and contents.keys:
            found.append(
                f"The private keys in {place} are not sealed: whoever can read that file, or a backup of it, "
                "can sign and read as you. Give the keyring a passphrase."
            )
        if self._was_open_to_others:
            found.append(
                f"Other users of this computer could read {place} until now. It is closed to them; "
                "rotate the keys if you don't trust everybody there."
            )
        return found

    # Using keys

    def sign(self, public: bytes, domain: bytes, message: bytes) -> bytes:
        """A signature (64 bytes) by a key in custody over `domain + message`.

        Raises:
            UnknownKey: The private key is not here.
            KeyringLocked | WrongPassphrase: It is sealed and does not open.
            InvalidInput: The domain is not in the table of `codec`.
        """
        if domain not in _DOMAINS:
            raise InvalidInput(f"not a domain of signatures: {domain[:40]!r}")
        return keys.sign(self._pair(public).secret, domain, message)

    def unbox(self, public: bytes, sealed_box: bytes) -> bytes:
        """What a sealed box for a key in custody holds.

        Raises:
            UnknownKey | KeyringLocked | WrongPassphrase: As for `sign`.
            RefusedBody: The box was made for another key, or altered.
        """
        pair = self._pair(public)
        found = self._boxes.get(public)
        if found is None:
            secret = Secret(sodium.crypto_sign_ed25519_sk_to_curve25519(pair.secret))
            found = sodium.crypto_sign_ed25519_pk_to_curve25519(pair.public), secret
            self._boxes[public] = found
        try:
            message: bytes = sodium.crypto_box_seal_open(sealed_box, *found)
        except (exceptions.CryptoError, exceptions.TypeError, exceptions.ValueError):
            raise RefusedBody("a sealed box does not open with this key") from None
        return message

    # Changing what is here

    def create(self, seed: bytes | None = None, label: str = "") -> bytes:
        """Take a key into custody and return its public half (32 bytes); on the disk on return.

        Args:
            seed: 32 bytes, from a recovery; a new key is drawn if it is left out. A key that is here already
                stays as it is.
            label: At most `Limits.name_chars` characters.

        Raises:
            InvalidInput | LimitExceeded: The seed or the label is not one.
            KeyringLocked | WrongPassphrase: The file is sealed and does not open.
            StorageError: It can't be written; nothing was kept.
        """
        kept = Secret(self._entropy.bytes(SEED_BYTES) if seed is None else seed)
        seed = None  # the plain form is in no frame of ours any more
        _check_label(label)
        if len(kept) != SEED_BYTES:
            raise InvalidInput(f"a seed has {SEED_BYTES} bytes, not {len(kept)}")
        pair = pair_of(kept)
        with self._lock, self._folder.lock(FILE):
            contents = self._current()
            if pair.public in self._at:
                return pair.public
            made = self._clock.now_ms() if self._clock else 0
            listed = Listed(pair.public, label, made)
            if contents is None:
                self._save(*self._first_guard(), (listed,), kept)
                self._passphrase = self._passphrase or self._first
            else:
                seeds = Secret(self._open(contents) + kept)
                self._save_again(contents, (*contents.keys, listed), seeds)
        return pair.public

    def relabel(self, public: bytes, label: str) -> None:
        """Give a key another label.

        Raises:
            UnknownKey | KeyringLocked | WrongPassphrase | StorageError: As for `create`.
        """
        _check_label(label)
        with self._lock, self._folder.lock(FILE):
            contents, at = self._listed(public)
            fresh = replace(contents.keys[at], label=label)
            listed = (*contents.keys[:at], fresh, *contents.keys[at + 1 :])
            self._save_again(contents, listed, self._open(contents))

    def remove(self, public: bytes) -> None:
        """Destroy a private key. What only this key opens or may do is lost with it.

        Raises:
            UnknownKey | KeyringLocked | WrongPassphrase | StorageError: As for `create`.
        """
        with self._lock, self._folder.lock(FILE):
            contents, at = self._listed(public)
            seeds = self._open(contents)
            left = Secret(seeds[: at * SEED_BYTES] + seeds[(at + 1) * SEED_BYTES :])
            self._save_again(contents, contents.keys[:at] + contents.keys[at + 1 :], left)

    def set_passphrase(self, old: Passphrase | None, new: Passphrase | None) -> None:
        """Seal under another passphrase, the first one, or none (`new` None or answering "").

        Makes the file if there is none yet, so that the choice holds for the first key.

        Raises:
            KeyringLocked: There is a passphrase and `old` does not give one.
            WrongPassphrase: `old` is another one.
            StorageError: The file can't be written; the old one stands.
        """
        with self._lock, self._folder.lock(FILE):
            contents, seeds = self._for_change(old)
            text = text_of(new)
            self._save(*self._guard_under(text), contents.keys if contents else (), seeds)
            self._passphrase = new
            _drop_system(contents)

    def use_system_keyring(self, old: Passphrase | None = None) -> None:
        """Seal under a random key that the system's keyring holds.

        Raises:
            MissingExtra | KeyringError: There is no system keyring to use.
            KeyringLocked | WrongPassphrase | StorageError: As for `set_passphrase`.
        """
        with self._lock, self._folder.lock(FILE):
            contents, seeds = self._for_change(old)
            self._save(*self._guard_by_system(), contents.keys if contents else (), seeds)
            _drop_system(contents)

    # Inside

    def _current(self) -> Contents | None:
        """The file as it is now; read again only if it changed."""
        if self._folder.stamp(FILE) != self._stamp:
            with self._lock:
                self._load()
        return self._contents

    def _load(self) -> None:
        seen = self._folder.stamp(FILE)  # before reading: a change meanwhile shows at the next look
        if seen is not None and self._folder.tighten(FILE):
            self._was_open_to_others = True
            seen = self._folder.stamp(FILE)
        data = _hidden(self._folder.read(FILE, file.MAX_BYTES))
        if data is None:
            if self._contents is not None:
                raise StoreCorrupt(
                    f"{self._place} is gone while it is in use",
                    "Put the keyring of your latest backup in its place.",
                )
            return
        self._take(file.parse(data, self._place), seen)

    def _take(self, contents: Contents, stamp: object | None, seeds: Secret | None = None) -> None:
        """Make `contents` the current ones; keys that are not listed any more stop signing."""
        listed = {key.public: at for at, key in enumerate(contents.keys)}
        self._pairs = {public: pair for public, pair in self._pairs.items() if public in listed}
        self._boxes = {public: pair for public, pair in self._boxes.items() if public in listed}
        self._contents, self._stamp, self._seeds, self._at = contents, stamp, seeds, listed

    def _listed(self, public: bytes) -> tuple[Contents, int]:
        """The current contents and where a key stands in them."""
        contents = self._current()
        at = self._at.get(public)
        if contents is None or at is None:
            raise UnknownKey(
                f"the private key of {public.hex()[:64]} is not in {self._place}",
                "Use the installation that holds it, or grant a key of this one.",
            )
        return contents, at

    def _pair(self, public: bytes) -> KeyPair:
        self._current()
        pair = self._pairs.get(public)
        if pair is not None:
            return pair
        with self._lock:
            contents, at = self._listed(public)
            pair = pair_of(self._open(contents)[at * SEED_BYTES : (at + 1) * SEED_BYTES])
            if pair.public != public:
                raise StoreCorrupt(
                    f"{self._place}: a private key does not belong to its public key",
                    "Put the keyring of your latest backup in its place.",
                )
            self._pairs[public] = pair
        return pair

    def _open(self, contents: Contents) -> Secret:
        """The seeds of all listed keys, one after the other."""
        if self._seeds is not None and contents is self._contents:
            return self._seeds
        key = self._sealing_key(contents.guard)
        seeds = contents.secrets if key is None else unseal(contents, key, self._place)
        if key is not None:  # it proved to be the right one
            self._opener = (contents.guard, key)
        if contents is self._contents:
            self._seeds = seeds
        return seeds

    def _sealing_key(self, guard: Guard) -> Secret | None:
        """The key of a guard, asked for only if it is not at hand; None if nothing is sealed."""
        if guard.kind == FILE_MODE:
            return None
        if self._opener and self._opener[0] == guard:
            return self._opener[1]
        if guard.kind == SYSTEM:
            return system.get(guard.name)
        return ask(guard, self._passphrase, self._place)

    def _for_change(self, old: Passphrase | None) -> tuple[Contents | None, Secret]:
        """The contents and their seeds, opened by `old` even if they are open already."""
        contents = self._current()
        if contents is None:
            return None, Secret()
        if contents.guard.kind != PASSPHRASE:
            return contents, self._open(contents)
        return contents, unseal(contents, ask(contents.guard, old, self._place), self._place)

    def _first_guard(self) -> tuple[Guard, Secret | None]:
        text = text_of(self._first)
        if text or not self._use_system:
            return self._guard_under(text)
        return self._guard_by_system()

    def _guard_under(self, text: Secret) -> tuple[Guard, Secret | None]:
        """A guard by a passphrase and the key it gives; by the file mode if the passphrase is empty."""
        if not text:
            return Guard(FILE_MODE), None
        salt = self._entropy.bytes(file.SALT_BYTES)
        guard = Guard(PASSPHRASE, salt, self._cost.operations, self._cost.memory)
        return guard, derive(guard, text)

    def _guard_by_system(self) -> tuple[Guard, Secret]:
        guard = Guard(SYSTEM, name=self._entropy.bytes(16).hex())
        key = Secret(self._entropy.bytes(KEY_BYTES))
        system.put(guard.name, key)
        return guard, key

    def _save(self, guard: Guard, key: Secret | None, listed: tuple[Listed, ...], seeds: Secret) -> None:
        """Write the file; only then is memory changed. The file lock is held."""
        contents = Contents(guard, listed, file.clear_part(guard, listed), seeds)
        if key is not None:
            nonce = self._entropy.bytes(NONCE_BYTES)
            contents = replace(contents, secrets=Secret(keys.seal(key, nonce, seeds, contents.bound_to)))
        self._folder.replace(FILE, file.build(contents.clear, contents.secrets))
        self._opener = None if key is None else (guard, key)
        self._take(contents, self._folder.stamp(FILE), seeds)

    def _save_again(self, contents: Contents, listed: tuple[Listed, ...], seeds: Secret) -> None:
        """Write other keys under the same guard, whose key is at hand since `_open`."""
        self._save(contents.guard, self._sealing_key(contents.guard), listed, seeds)


def _hidden(data: bytes | None) -> Secret | None:
    return None if data is None else Secret(data)


def _check_label(label: str) -> None:
    if len(label) > LIMITS.name_chars:
        raise LimitExceeded("label characters", LIMITS.name_chars, len(label))
    try:
        label.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"not a label: {label!r}", "Use characters that can be written as UTF-8."
        ) from None


def _drop_system(contents: Contents | None) -> None:
    if contents is not None and contents.guard.kind == SYSTEM:
        system.drop(contents.guard.name)
