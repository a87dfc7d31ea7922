"""Questions and answers over one stream between two proven ends: for protocols beside sync (docs/custody.md, "iroh").

Whoever was not let in may ask one short thing: who it is. All else is read only after that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from muniment.sync.pipes import Pipe

T = TypeVar("T")
HELLO_BYTES = 512
HELLO_S, SILENT_S = 10.0, 60.0  # for the first question, and for each other one


class Talk(Protocol):
    """One conversation at a desk."""

    @property
    def inside(self) -> bool:
        """Whether the other end was let in."""
        ...

    def answer(self, question: bytes) -> bytes:
        """The answer to a question; the first one says who asks."""
        ...


class Desk(Protocol):
    """What answers over channels whose ends QUIC has proved."""

    @property
    def most(self) -> int:
        """Bytes that a question of somebody who was let in may have."""
        ...

    def talk(self, binding: bytes) -> Talk:
        """A conversation over a channel.

        Args:
            binding: What both ends know of it.
        """
        ...


async def converse(pipe: Pipe, desk: Desk, binding: bytes, work: Callable[..., Awaitable[bytes]]) -> None:
    """Answer one stream until its other end leaves, is silent too long, or has no business here.

    Args:
        pipe: The stream.
        desk: What answers.
        binding: What both ends know of the channel.
        work: Does something that takes time or files, elsewhere.

    Raises:
        Late: The other end is silent or takes nothing.
    """
    talk = desk.talk(binding)
    while True:
        question = await pipe.read(
            desk.most if talk.inside else HELLO_BYTES, SILENT_S if talk.inside else HELLO_S
        )
        if question is None:
            await pipe.refuse()
            return
        await pipe.write([await work(talk.answer, question)])
        if not talk.inside:
            await pipe.finish()
            await pipe.rest()  # until the answer was read: the connection is closed after it
            return
