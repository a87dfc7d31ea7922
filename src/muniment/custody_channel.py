"""Custody over channels that prove their ends but not who asks: over iroh (design section 9; docs/custody.md, "iroh").

The dialling endpoint has a key of its own, which is nobody's. So the owner's key signs the channel's binding, in which
both endpoints' keys stand: what was signed for one channel is worth nothing in another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from muniment.archive.custody_messages import read, write
from muniment.base import codec
from muniment.base.errors import Malformed, MunimentError, RefusedKey, SyncError
from muniment.base.limits import LIMITS
from muniment.custody_desk import SharedDesk, admits, signer
from muniment.identity import keys

if TYPE_CHECKING:
    from muniment.custody_links import Ask
    from muniment.peer import Peer

PROTOCOL = b"muniment/custody/1"
_STRANGER = write("no", why="this peer keeps nothing for that key")


class ChannelDesk:
    """Answers owners over iroh.

    Args:
        peer: An open peer.
    """

    most = LIMITS.custody_message_bytes

    def __init__(self, peer: Peer) -> None:
        self.peer, self.desk = peer, SharedDesk(peer)

    def talk(self, binding: bytes) -> ChannelTalk:
        """A conversation over the channel of that binding."""
        return ChannelTalk(self, binding)


class ChannelTalk:
    """One conversation; see `muniment.sync.questions.Talk`."""

    def __init__(self, desk: ChannelDesk, binding: bytes) -> None:
        self._desk, self._binding, self._key = desk, binding, b""

    @property
    def inside(self) -> bool:
        """Whether somebody who was accepted is at the other end."""
        return bool(self._key)

    def answer(self, question: bytes) -> bytes:
        """The answer; trouble of this peer is told without its words."""
        try:
            if not self._key:
                return self._let_in(question)
            return self._desk.desk.answer(self._key, question)
        except MunimentError:
            return write("no", why="this peer has trouble of its own")

    def _let_in(self, question: bytes) -> bytes:
        try:
            kind, said = read(question)
            if kind != "hello":
                return write("no", why="say first who asks")
            keys.check_public(said["by"])
        except (Malformed, SyncError, RefusedKey):
            return write("no", why="that is no key")
        if not keys.verify(said["by"], said["sig"], codec.CALL, self._binding):
            return write("no", why="that key did not sign")
        if not admits(self._desk.peer, said["by"]):
            return _STRANGER
        self._key = said["by"]
        return write("welcome")


@contextmanager
def channel(peer: Peer, address: str, me: bytes) -> Iterator[Ask]:
    """A way for a key of this peer to ask the holder at an address of iroh's.

    Raises:
        MissingExtra: The extra `p2p` is not installed.
        Unreachable: Nobody is there.
        UnknownBlob: The holder keeps nothing for this peer.
    """
    from muniment.custody_links import asked
    from muniment.rounds import caller
    from muniment.sync.iroh import dial

    with dial(address, caller(peer, me), PROTOCOL) as link:

        def ask(question: bytes) -> bytes:
            (answer,) = link.exchange(question) or [b""]
            return answer

        asked(ask, "hello", ["welcome"], by=me, sig=signer(peer, me)(codec.CALL, link.binding))
        yield ask
