"""API keys of embedding servers: sealed to this peer's owner, in `peer.db`, never synced (design section 6).

A key is sealed in a box that only the owner's private key opens, so it is as safe as the keyring: sealed by the
passphrase where there is one. The box names its provider, so that a row can't be moved under another name.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from muniment.base.errors import InvalidInput, LimitExceeded, NotFound, RefusedBody, UnknownKey
from muniment.base.limits import LIMITS
from muniment.identity.keys import SEED_BYTES, box
from muniment.views import CredentialInfo

if TYPE_CHECKING:
    from muniment.peer import Peer

_INSIDE = b"muniment/credential/1\0"  # in the box, before provider, a zero byte and the key
_SHOWN = b"muniment/credential-fingerprint/1\0"
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
_SET = "Set it with: muniment credential set"


class Credentials:
    """The API keys of one peer. Made by `Peer.credentials`."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def __repr__(self) -> str:
        return f"Credentials({str(self._peer.home)!r})"

    def set(self, provider: str, secret: str) -> CredentialInfo:
        """Keep a provider's API key, in place of any other; on the disk on return.

        Args:
            provider: As in the settings: `openai`, `ollama`, or a name of your own.
            secret: The key: printable ASCII without blanks.

        Raises:
            InvalidInput | LimitExceeded: The name or the key is not one; the key is not repeated.
            StorageError: It can't be written; what was there stands.
        """
        name = _checked(provider)
        if len(secret) > LIMITS.credential_chars:
            raise LimitExceeded("API key characters", LIMITS.credential_chars, len(secret))
        if not secret or not all("!" <= char <= "~" for char in secret):
            raise InvalidInput(
                "that is no API key" if secret else "the API key is empty",
                "It is printable ASCII without blanks or line ends. Nothing was changed.",
            )
        store = self._peer.made_store()
        entropy = self._peer.host.entropy
        inside = _INSIDE + name.encode() + b"\0" + secret.encode()
        store.set_credential(name, box(self._peer.owner(), inside, entropy.bytes(SEED_BYTES)))
        return CredentialInfo(name, _fingerprint(secret))

    def get(self, provider: str) -> str | None:
        """A provider's API key, opened; None if there is none.

        Raises:
            KeyringLocked | WrongPassphrase: The keyring does not open.
            RefusedBody: The box was made for another peer or provider, or altered.
        """
        from muniment.peer import OWNER

        name = _checked(provider)
        store = self._peer.standing_store()
        sealed = None if store is None else store.credential(name)
        if store is None or sealed is None:
            return None
        head = _INSIDE + name.encode() + b"\0"
        try:
            inside = self._peer.host.keyring.unbox(store.meta(OWNER) or b"", sealed)
        except (RefusedBody, UnknownKey):
            inside = b""
        if not inside.startswith(head):
            raise RefusedBody(f"the API key kept for {name} does not open here", f"{_SET} {name}")
        return inside[len(head) :].decode()

    def list(self) -> list[CredentialInfo]:
        """The providers that have a key, each with its fingerprint; None where it does not open.

        Raises:
            KeyringLocked | WrongPassphrase: The keyring does not open.
        """
        store = self._peer.standing_store()
        found = []
        for name in [] if store is None else store.credentials():
            try:
                secret = self.get(name)
            except RefusedBody:
                secret = None
            found.append(CredentialInfo(name, None if secret is None else _fingerprint(secret)))
        return found

    def remove(self, provider: str) -> CredentialInfo:
        """Forget a provider's API key.

        Raises:
            NotFound: There is none.
        """
        name = _checked(provider)
        store = self._peer.standing_store()
        if store is None or store.credential(name) is None:
            known = ", ".join([] if store is None else store.credentials()) or "none"
            raise NotFound(f"no API key is kept for {name} (there are: {known})", f"{_SET} {name}")
        store.set_credential(name, None)
        return CredentialInfo(name, None)


def _checked(provider: str) -> str:
    # What stands there may be a key in the wrong place: it is neither bent into a name nor repeated.
    if not _PROVIDER.fullmatch(provider) or provider.startswith("sk-"):
        raise InvalidInput(
            "that is not the name of a provider",
            "It is the one in the settings, as `openai`: a-z, 0-9, dot, dash and underscore, at most 32.",
        )
    return provider


def _fingerprint(secret: str) -> str:
    """32 bits of a hash: enough to tell one key from another, and no part of it."""
    return hashlib.sha256(_SHOWN + secret.encode()).hexdigest()[:8]
