"""The keys that seal bodies, as far as one key of this peer can open them (design section 4, "Epochs").

An epoch's key comes in a box for a reader; it also opens the keys of the epochs before it. A key that does
not match the commitment its epoch was started with is refused: two readers can't be given two keys.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from muniment.base import codec
from muniment.base.errors import RefusedBody
from muniment.base.ids import BankId
from muniment.identity import keys
from muniment.keyring.custody import Keyring
from muniment.ledger.authority import Authority
from muniment.ledger.control import Epoch, EpochId


def commitment(bank: BankId, salt: bytes, key: bytes) -> bytes:
    """What an epoch says of its key: sha-256 over domain, bank, salt and key (32 bytes)."""
    return hashlib.sha256(codec.EPOCH + bank + salt + key).digest()


def _link_bound_to(bank: BankId, older: EpochId) -> bytes:
    return codec.LINK + codec.encode([bank, list(older)])


def start(
    bank: BankId,
    key: bytes,
    salt: bytes,
    readers: Iterable[bytes],
    older: Mapping[EpochId, bytes],
    *,
    ephemeral: Mapping[bytes, bytes],
    nonces: Mapping[EpochId, bytes],
) -> Epoch:
    """The control act that starts an epoch under `key`.

    Args:
        bank: The bank.
        key: The new key, 32 random bytes.
        salt: 16 random bytes.
        readers: The public keys that get it.
        older: The keys of the epoch heads so far, to be opened by the new one.
        ephemeral: A random 32-byte seed for each reader's box.
        nonces: A random 24-byte nonce for each older epoch.
    """
    boxes = tuple((reader, keys.box(reader, key, ephemeral[reader])) for reader in sorted(readers))
    links = tuple(
        (epoch, keys.seal(key, nonces[epoch], old, _link_bound_to(bank, epoch)))
        for epoch, old in sorted(older.items())
    )
    return Epoch(commitment(bank, salt, key), salt, boxes, links)


class EpochKeys:
    """The epoch keys that `reader`, a key in custody here, can open; each is opened once."""

    def __init__(self, bank: BankId, keyring: Keyring, reader: bytes) -> None:
        self._bank, self._keyring, self._reader = bank, keyring, reader
        self._open: dict[EpochId, bytes] = {}
        self._tried: set[tuple[EpochId, bytes]] = set()
        self._early: set[tuple[EpochId, bytes]] = set()  # keys that came before the entry they belong to

    def get(self, authority: Authority, epoch: EpochId) -> bytes | None:
        """The 32-byte key of `epoch`, or None where none of the reader's boxes leads to it."""
        if (key := self._open.get(epoch)) is not None:
            return key
        for early in list(self._early):
            self._early.discard(early)
            self._admit(authority, *early)
        boxes = authority.boxes_for(self._reader, epoch)
        for boxed in sorted(boxes, key=lambda pair: pair[0] != epoch):  # its own box first
            if self._try(authority, *boxed) and epoch in self._open:
                break
        return self._open.get(epoch)

    def _try(self, authority: Authority, epoch: EpochId, box: bytes) -> bool:
        if (epoch, box) in self._tried:
            return epoch in self._open
        self._tried.add((epoch, box))
        try:
            key = self._keyring.unbox(self._reader, box)
        except RefusedBody:
            return False
        self._admit(authority, epoch, key)
        return epoch in self._open

    def _admit(self, authority: Authority, epoch: EpochId, key: bytes) -> None:
        """Take a key if it matches its commitment, and open what it opens."""
        stack = [(epoch, key)]
        while stack:
            epoch, key = stack.pop()
            act = authority.epoch_act(epoch)  # also of one that is void by now: its bodies stay readable
            if act is None:
                self._early.add((epoch, key))
                continue
            if epoch in self._open:
                continue
            if not hmac.compare_digest(commitment(self._bank, act.salt, key), act.commitment):
                continue
            self._open[epoch] = key
            for older, link in act.older:
                try:
                    stack.append((older, keys.unseal(key, link, _link_bound_to(self._bank, older))))
                except RefusedBody:
                    continue
