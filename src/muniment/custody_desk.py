"""The holder's side of custody: keeps blobs for owners that were accepted, and proves it when asked (section 9)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from muniment.archive import custody, tree
from muniment.archive.custody import Receipt, Sign
from muniment.archive.custody_messages import read, write
from muniment.archive.options import DAY_MS
from muniment.archive.pack import pointer_of
from muniment.archive.room import RoomSource
from muniment.base.errors import BlobDamaged, InputError, NotFound, Refused, SyncError, UnknownBlob
from muniment.base.ids import BlobName
from muniment.base.limits import LIMITS
from muniment.payload_desk import Payloads, is_let_in
from muniment.store.custody import Kept

if TYPE_CHECKING:
    from muniment.peer import Peer


def signer(peer: Peer, key: bytes) -> Sign:
    """Signs with a key of a peer."""
    return lambda domain, message: peer.host.keyring.sign(key, domain, message)


def knows(peer: Peer, key: bytes) -> bool:
    """Whether a peer keeps, or kept, blobs for a key; looking makes nothing."""
    store = peer.standing_store()
    return store is not None and any(row.owner == key for row in store.custody.allowed())


def admits(peer: Peer, key: bytes) -> bool:
    """Whether a key has anything to ask: an owner's, or that of a member of a shared bank."""
    return knows(peer, key) or is_let_in(peer, key)


class SharedDesk:
    """A desk of a serving peer, for all who ask at one door: one pack in memory at a time.

    It is made for the first who is let in: looking makes nothing.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer, self._lock = peer, threading.Lock()
        self._desk: CustodyDesk | None = None

    def answer(self, key: bytes, question: bytes) -> bytes:
        """The answer to a question of a key that was let in; see `CustodyDesk.answer`."""
        with self._lock:
            if self._desk is None:
                self._desk = CustodyDesk(self._peer)
            return self._desk.answer(key, question)


class CustodyDesk:
    """Answers owners, and members of shared banks. Whoever calls it has made sure that `key` asks."""

    def __init__(self, peer: Peer) -> None:
        self._peer, self._room = peer, peer.archive
        self._store = peer.made_store().custody
        self._key, self._payloads = peer.owner(), Payloads(peer)

    def answer(self, key: bytes, question: bytes) -> bytes:
        """The answer to a question of a key; what is wrong with it is said, and nothing is kept then."""
        try:
            kind, said = read(question)
            if kind in {"outline", "get"}:
                return self._serve(kind, key, BlobName(said["blob"]), said.get("number"))
            if not knows(self._peer, key):
                return write("no", why="this peer keeps nothing for that key")
            return self._answer(kind, key, said)
        except (NotFound, BlobDamaged):  # their messages say where things lie here
            return write("no", why="that blob is not here, or damaged here")
        except (InputError, Refused, SyncError) as error:
            return write("no", why=error.message[:200])

    def _answer(self, kind: str, key: bytes, said: dict[str, Any]) -> bytes:
        if kind == "keep":
            return self._keep(key, **said)
        if kind == "give":
            return self._give(key, **said)
        if kind == "prove":
            return self._prove(key, said["said"])
        return write("no", why="that is no question")

    def _keep(self, key: bytes, blob: bytes, size: int, root: bytes, until: int) -> bytes:
        now, name = self._peer.host.clock.now_ms(), BlobName(blob)
        allowed = next(row for row in self._store.allowed() if row.owner == key)
        if not 0 < size <= LIMITS.pack_bytes:
            return write("no", why=f"a blob has at most {LIMITS.pack_bytes} bytes")
        if not now < until <= now + allowed.days * DAY_MS:
            return write("no", why=f"it is kept for at most {allowed.days} days")
        row = Kept(key, name, size, root, until, None)
        if not self._store.expect(row, now, allowed.bytes, LIMITS.custody_blobs):
            return write("no", why=f"no room is left of {allowed.bytes} bytes")
        if not self._is_here(row):
            count = tree.chunk_count(size)
            missing = sorted(set(range(count)) - self._store.parts(key, blob))
            if missing:
                return write("wants", chunks=missing)
            data = self._store.joined(key, blob)
            if pointer_of(data) != name:
                self._store.drop_parts(key, blob)
                return write("no", why="what came is not that blob")
            self._room.packs.keep(data)
        receipt = Receipt(self._key, key, name, size, root, now, until)
        said = custody.to_bytes(custody.signed(receipt, signer(self._peer, self._key)))
        self._store.receipt(key, blob, said)
        return write("receipt", said=said)

    def _is_here(self, row: Kept) -> bool:
        """Whether the whole blob is here, and is what the owner says of it."""
        try:
            data = self._room.packs.blobs.get(row.blob)
        except (UnknownBlob, BlobDamaged):
            return False
        if len(data) != row.size or tree.root_of(tree.leaves_of(data)) != row.root:
            return False
        self._room.packs.keep(data)
        return True

    def _give(self, key: bytes, blob: bytes, number: int, data: bytes, path: list[bytes]) -> bytes:
        row = self._store.kept_one(key, blob)
        if row is None:
            return write("no", why="say first what is to be kept")
        if not custody.chunk_fits(row.size, row.root, number, data, path):
            return write("no", why=f"chunk {number} is not in the blob")
        self._store.add_part(key, blob, number, data)
        return write("done")

    def _prove(self, key: bytes, said: bytes) -> bytes:
        now, challenge = self._peer.host.clock.now_ms(), custody.read_challenge(said)
        row = self._store.kept_one(key, challenge.blob)
        if row is None or row.receipt is None:
            return write("no", why="that blob is not kept here")
        custody.check_challenge(challenge, custody.read_receipt(row.receipt), now)
        data = self._room.packs.blobs.get(challenge.blob)
        proof = custody.make_proof(challenge, data, self._key, now, signer(self._peer, self._key))
        return write("proof", said=custody.to_bytes(proof))

    def _serve(self, kind: str, key: bytes, blob: BlobName, number: int | None) -> bytes:
        """A blob, or a payload of one, goes to the owner for whom it is kept; a payload also to members of its bank."""
        places = self._room.packs.index.places(blob)
        packs = [blob, *(place.pack for place in places)]
        rows = [self._store.kept_one(key, pack) for pack in packs]
        kept = knows(self._peer, key) and any(row is not None and row.receipt is not None for row in rows)
        if not kept and not (places and self._payloads.may_have(key, blob)):
            return write("no", why="that blob is not kept here for that key")
        source = RoomSource("this peer", self._room.packs)
        if kind == "get" and number is not None:
            chunk = source.chunk(blob, number)
            return write("chunk", data=chunk.data, path=chunk.path)
        said = source.outline(blob)
        if said is None:
            return write("no", why="that blob is damaged here")
        return write("described", size=said.size, root=said.root)
