"""Messages over one stream of a connection: a length in four bytes, big-endian, and the bytes (docs/sync.md, "iroh").

The stream is iroh's or one like it. A read that is cancelled loses bytes that were taken off the stream already, so
nothing is cancelled here: whoever is silent too long has the connection closed, which ends the read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

STALL_S = 20.0  # for the next piece of a message
PIECE = 256 * 1024  # bytes of one write or read: the price is per call
_HEAD = 4
TOO_SLOW = 1  # the code with which a connection is closed


class Late(Exception):
    """Nothing came in time; the connection is closed."""


class Closes(Protocol):
    """A connection, as far as it is needed here."""

    def close(self, error_code: int, reason: bytes) -> None:
        """End it and all that waits for it."""
        ...


async def within(seconds: float, connection: Closes, work: Awaitable[T]) -> T:
    """What comes of something that reads or writes.

    Raises:
        Late: It took too long. The connection was closed, so that it has come to its end.
    """
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    try:
        if not done:
            connection.close(TOO_SLOW, b"too slow")
            await asyncio.wait({task})
            task.exception()  # seen
            raise Late
        return task.result()
    finally:
        done.clear()
        del task  # an error leads to its task: a circle would hold the connection, and with it the port


class Pipe:
    """One stream in both directions, in messages; used by one task at a time.

    Args:
        connection: Closed when the other end is silent too long; kept, as one that nothing refers to closes itself.
        stream: With `send()` and `recv()`.
    """

    def __init__(self, connection: Closes, stream: Any) -> None:
        self.connection, self._send, self._recv = connection, stream.send(), stream.recv()

    async def write(self, said: Sequence[bytes]) -> None:
        """Send messages, or a length of zero where there are none.

        Raises:
            Late: The other end takes nothing.
        """
        data = b"".join(len(one).to_bytes(_HEAD, "big") + one for one in said) or bytes(_HEAD)
        for start in range(0, len(data), PIECE):
            part = data[start : start + PIECE]
            await within(STALL_S, self.connection, self._send.write_all(part))

    async def read(self, most: int, wait_s: float) -> bytes | None:
        """The next message; None if it is longer than `most`.

        Args:
            most: Bytes.
            wait_s: Seconds until it begins.

        Raises:
            Late: Nothing, or nothing more, came in time.
        """
        head = await within(wait_s, self.connection, self._recv.read_exact(_HEAD))
        left = int.from_bytes(head, "big")
        if left > most:
            return None
        parts = []
        while left:  # memory is taken as bytes come, whatever the length says
            part = await within(STALL_S, self.connection, self._recv.read_exact(min(left, PIECE)))
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    async def finish(self) -> None:
        """Say that nothing more is sent."""
        await within(STALL_S, self.connection, self._send.finish())

    async def refuse(self) -> None:
        """Take nothing more: what the other end still writes comes to an error there."""
        await within(STALL_S, self.connection, self._recv.stop(TOO_SLOW))

    async def rest(self) -> None:
        """Wait until the other end has ended the stream or the connection, whatever it sends before."""
        while await self._recv.read(_HEAD):
            pass
