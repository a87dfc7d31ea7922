"""Ways from an owner of blobs to a holder: over HTTP, iroh, or a peer folder on a disk that is at hand (section 9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput, Overloaded, UnknownBlob, Unreachable
from muniment.base.ids import BlobName

if TYPE_CHECKING:
    from muniment.archive.source import BlobSource, Chunk, Outline
    from muniment.bank import Bank
    from muniment.peer import Peer

PATH, MEDIA_TYPE = "/custody/1", "application/vnd.muniment.custody"
Ask = Callable[[bytes], bytes]  # a question's bytes -> the answer's
_TRIES = 8  # while the other end says that it is asked too much
_WAIT_S = 5.0


def check_holder(address: str) -> str:
    """An address in the form in which it is kept: a URL, or the whole path of a peer folder.

    Raises:
        InvalidInput: It is neither, or no peer's folder.
    """
    if address.startswith(("http://", "https://", "iroh:")):
        from muniment.sync.ticket import check_address

        return check_address(address)
    folder = Path(address).expanduser().absolute()
    if "://" in address or not (folder / "peer.db").exists():
        raise InvalidInput(
            f"no holder is at {address[:120]!r}",
            "Give the address of its `muniment serve` (https://… or iroh:…), or another peer's folder.",
        )
    return str(folder)


@contextmanager
def link_to(peer: Peer, address: str, key: bytes | None = None) -> Iterator[Ask]:
    """A way to ask the holder at an address, by a key of this peer: its owner's unless another is given.

    Raises:
        InvalidInput: The address is of no use here.
        Unreachable: Nobody is there; over HTTP the first question says so.
    """
    me = peer.owner() if key is None else key
    if address.startswith("iroh:"):
        from muniment.custody_channel import channel

        with channel(peer, address, me) as ask:
            yield ask
        return
    if "://" not in address:
        with _folder(peer, address) as ask:
            yield ask
        return
    from muniment.rounds import caller
    from muniment.sync.http import HttpLink

    with HttpLink(address, caller(peer, me), PATH, MEDIA_TYPE) as link:
        yield lambda question: _patiently(link.ask, question)


@contextmanager
def _folder(peer: Peer, address: str) -> Iterator[Ask]:
    from muniment.custody_desk import CustodyDesk
    from muniment.peer import Peer as Other

    if not (Path(address) / "peer.db").exists():
        raise Unreachable(f"there is no peer's folder at {address}", "Mount the disk it is on.")
    with Other(Path(address), clock=peer.host.clock) as other:
        desk, key = CustodyDesk(other), peer.owner()
        yield lambda question: desk.answer(key, question)


def _patiently(ask: Ask, question: bytes) -> bytes:
    for _ in range(_TRIES):
        try:
            return ask(question)
        except Overloaded as error:
            time.sleep(min(max(error.retry_after, 0.1), _WAIT_S))
    return ask(question)


def asked(ask: Ask, kind: str, due: Sequence[str], **fields: Any) -> tuple[str, dict[str, Any]]:
    """Ask, and read an answer of one of the kinds that are due.

    Raises:
        UnknownBlob: The holder says no; with its reason.
        BadMessage: What came is no answer.
    """
    from muniment.archive.custody_messages import read, write
    from muniment.base.errors import BadMessage

    found, said = read(ask(write(kind, **fields)))
    if found == "no":
        why = "".join(sign for sign in said["why"][:200] if sign.isprintable())
        raise UnknownBlob(f"the holder says no: {why}", "Ask its owner; see `muniment custody accept`.")
    if found not in due:
        raise BadMessage("malformed", f"{found} answers {kind}")
    return found, said


class HolderSource:
    """A holder as somebody whom blobs may be fetched from, over one link; see `BlobSource`."""

    def __init__(self, peer: Peer, address: str, key: bytes | None = None) -> None:
        self.name, self._peer, self._key = address, peer, key
        self._open = ExitStack()
        self._ask: Ask | None = None

    def outline(self, blob: BlobName) -> Outline | None:
        """See `BlobSource`."""
        from muniment.archive.source import Outline

        _, said = asked(self._link(), "outline", ["described"], blob=blob)
        return Outline(said["size"], said["root"])

    def chunk(self, blob: BlobName, number: int) -> Chunk:
        """See `BlobSource`."""
        from muniment.archive.source import Chunk

        _, said = asked(self._link(), "get", ["chunk"], blob=blob, number=number)
        return Chunk(said["data"], said["path"])

    def close(self) -> None:
        """See `BlobSource`."""
        self._ask = None
        self._open.close()

    def _link(self) -> Ask:
        if self._ask is None:
            self._ask = self._open.enter_context(link_to(self._peer, self.name, self._key))
        return self._ask


def alarms(peer: Peer) -> int:
    """How many receipts of a peer's holders do not count."""
    store, now = peer.standing_store(), peer.host.clock.now_ms()
    rows = [] if store is None else store.custody.given()
    return sum(row.alarm is not None or row.until <= now for row in rows)


def wire(peer: Peer) -> None:
    """Let the archive of a peer know who keeps its blobs, and whose blobs it keeps."""

    def receipts(pointer: bytes) -> int:
        store = peer.standing_store()
        return 0 if store is None else store.custody.holders_of(pointer, peer.host.clock.now_ms())

    def held(blob: bytes) -> bool:
        store = peer.standing_store()
        return store is not None and store.custody.holds(blob, peer.host.clock.now_ms())

    def lent() -> frozenset[bytes]:
        store = peer.standing_store()
        now = peer.host.clock.now_ms()
        return frozenset(
            () if store is None else (row.blob for row in store.custody.given() if row.until > now)
        )

    def holders() -> list[BlobSource]:
        store = peer.standing_store()
        rows = [] if store is None else store.custody.given()
        rows.sort(key=lambda row: row.alarm is not None)  # those that are in order are asked first
        return [HolderSource(peer, address) for address in dict.fromkeys(row.address for row in rows)]

    def members(bank: Bank) -> list[BlobSource]:
        from muniment.sharing import speakers

        store = peer.standing_store()
        routes = [] if store is None else store.others.routes(bank.id)
        found = speakers(peer, bank) if routes else []
        return [HolderSource(peer, route.address, key) for route in routes for key in found]

    peer.archive.members = members
    peer.archive.receipts, peer.archive.held, peer.archive.holders = receipts, held, holders
    peer.archive.lent = lent
