"""Serving banks to other peers: which are shared, which key speaks, who is let in (design sections 4 and 8)."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from muniment.access import hear
from muniment.bank import Bank
from muniment.base.errors import MunimentError, StorageError
from muniment.base.ids import BankId, EntryId, cid_text
from muniment.base.limits import LIMITS
from muniment.store.routes import OddRow
from muniment.sync.serving import ServerRound
from muniment.sync.ticket import check_address
from muniment.syncing import serve

if TYPE_CHECKING:
    from muniment.peer import Peer

_SERVED = "served at "  # the names of meta values: where a transport of this peer listens
DEFAULT_ADDRESS = "http://127.0.0.1:8377"


def speakers(peer: Peer, bank: Bank) -> list[bytes]:
    """The keys of this peer that hold something in a bank now, the one that should speak for it first.

    That is the one that holds the most. Of two that hold the same it is the one that could give to the other, then
    the one that was let in first: a peer that has not heard of the younger grant yet would refuse that key.
    """
    authority, now = bank.authority, peer.host.clock.now_ms()
    mine = sorted(set(peer.host.keyring.keys()) & authority.keys)
    held = [leases[0] for key in mine if (leases := authority.leases_now(key, now))]
    return [lease.key for lease in sorted(held, key=lambda lease: (lease.grade, -lease.bit), reverse=True)]


def speaker(peer: Peer, bank: Bank) -> bytes | None:
    """The first of `speakers`; None if no key of this peer holds anything."""
    return next(iter(speakers(peer, bank)), None)


# Where this peer is to be had


def listens(peer: Peer, transport: str, addresses: Iterable[str]) -> None:
    """Note where a transport of this peer is to be had, for tickets made by other processes of the folder.

    Args:
        peer: This one.
        transport: Its name, such as `http`.
        addresses: All of them; none where it stopped for good.
    """
    found = [check_address(address) for address in addresses]
    peer.made_store().set_meta(_SERVED + transport, json.dumps(found) if found else None)


def addresses(peer: Peer) -> tuple[str, ...]:
    """Where this peer is to be had: as configured, else where its transports listened last; the best ones first."""
    block = peer.host.settings.serve or {}
    urls = block.get("public_url") or ()
    configured = [urls] if isinstance(urls, str) else list(urls)
    store = peer.standing_store()
    told: list[str] = []
    for transport in ("http", "iroh"):
        text = None if store is None else store.meta(_SERVED + transport)
        if text and not (transport == "http" and configured):
            told += json.loads(text)
    return tuple(dict.fromkeys([*map(check_address, configured), *told]))[: LIMITS.ticket_peers]


class Contacts:
    """What a round tells and hears about addresses.

    Args:
        peer: This one.
        by: The address by which the other end was reached; None where it came by itself.
    """

    def __init__(self, peer: Peer, by: str | None) -> None:
        self._peer, self._by = peer, by

    def addresses(self) -> tuple[str, ...]:
        """Where this peer is to be had."""
        return addresses(self._peer)

    def learn(self, bank: BankId, found: tuple[str, ...]) -> None:
        """Note where another peer says that it is, as far as that may be believed.

        A member could name an address inside of this machine's network, to have it knocked at: such ones are
        taken only from who was reached by one.
        """
        if self._by is None:
            return  # whoever dials in says what it likes, and need not be reachable
        store, now = self._peer.made_store(), self._peer.host.clock.now_ms()
        mine = set(self.addresses())
        for text in found:
            try:
                address = check_address(text)
            except MunimentError:
                continue
            if address not in mine and (not _inside(address) or _inside(self._by)):
                store.others.add_route(bank, address, "learnt", now)


def _inside(address: str) -> bool:
    """Whether an HTTP address leads into this machine or its own network, as far as its text says."""
    if not address.startswith("http"):
        return False
    host = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost", ".lan"))


class PeerBook:
    """Remembers in `peer.db` what other peers showed; see `heads.Book`."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def seen(self, bank: BankId, peer: bytes, author: bytes) -> tuple[EntryId, ...]:
        """The tips of an author that a peer showed last."""
        return self._peer.made_store().others.seen(bank, peer, author)

    def note(self, bank: BankId, peer: bytes, author: bytes, tips: tuple[EntryId, ...]) -> None:
        """Remember them."""
        self._peer.made_store().others.note(bank, peer, author, tips)

    def went_back(self, bank: BankId, peer: bytes, author: bytes) -> None:
        """Remember that a peer showed less of an author than before."""
        now = self._peer.host.clock.now_ms()
        self._peer.made_store().others.note_odd(OddRow(bank, author, "rolled back", peer, now))


# Serving


class Server:
    """The server's side of all transports of one peer."""

    def __init__(self, peer: Peer) -> None:
        self._peer, self._book = peer, PeerBook(peer)

    def round(self, binding: bytes) -> ServerRound:
        """The server's end of one round over a channel."""
        contacts = Contacts(self._peer, None)
        entropy = self._peer.host.entropy
        return serve(self.find, binding, entropy, book=self._book, contacts=contacts)

    def find(self, bank: BankId, by: bytes, claim: bytes) -> tuple[Bank, bytes] | None:
        """The bank, if it is shared, and the key that speaks; a claim or a request of a stranger is heard first.

        Raises:
            StorageError: Its file can't be read.
        """
        store = self._peer.standing_store()
        if store is None or not store.others.shared(bank):
            return None
        found = self._peer.bank(bank)
        key = speaker(self._peer, found)
        if key is None:
            return None
        if claim:
            try:
                hear(self._peer, found, by, claim)
            except StorageError:
                raise
            except MunimentError:
                pass  # a stranger is not told why
        return found, key

    def stamp(self, bank: BankId) -> Hashable:
        """Something that is another one after each write to a bank by any process."""
        return stamp(self._peer, bank)


def stamp(peer: Peer, bank: BankId) -> Hashable:
    """When and how long the files of a bank were written last: another value after each write by any process.

    Two writes within one tick of the file system's clock may look like one: whoever waits looks itself now and then.
    """
    path = peer.home / "banks" / f"{cid_text(bank)}.db"
    found = []
    for file in (path, path.with_suffix(".db-wal")):
        try:
            status = file.stat()
        except OSError:
            continue
        found.append((status.st_mtime_ns, status.st_size))
    return tuple(found)


def server(peer: Peer) -> Server:
    """What transports serve."""
    return Server(peer)
