"""A network in memory with a clock of its own: it loses, repeats, delays, reorders and cuts, as its seed says.

```python
link = Link(lambda binding: server_round, binding=b"memory", faults=Faults(lose=0.1), seed=7)
with link.connect() as channel:
    answers = channel.exchange(question)
```
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from muniment.sync.round import ServerRound

Make = Callable[[bytes], ServerRound]
"""Makes the server's end of one round, given the binding of its channel."""


class Broken(Exception):
    """The channel is gone: a message was lost, or the link was cut or parted."""


class Channel(Protocol):
    """One conversation with a server, over whatever carries it."""

    binding: bytes

    def exchange(self, question: bytes) -> list[bytes]:
        """The answers to a question. Raises whatever the carrier raises when it breaks."""
        ...


@dataclass(slots=True)
class VirtualClock:
    """Milliseconds that pass only when something says so."""

    ms: int = 1_800_000_000_000

    def now_ms(self) -> int:
        """The time, which stands still."""
        return self.ms

    def sleep(self, ms: int) -> None:
        """Let time pass."""
        self.ms += ms


@dataclass(slots=True)
class Faults:
    """What a link does to messages; chances are from 0 to 1 for each message.

    Attributes:
        lose: A message does not arrive, so its conversation ends.
        repeat: The server gets a question twice, and the client the second answer.
        late: The server gets an older question once more, before the one that is due.
        flip: One bit of a message changes.
        delay_ms: How long each message is under way at most.
        cut_at: After so many bytes in either direction the link is cut, in the middle of a message.
        parted: Nothing passes.
    """

    lose: float = 0.0
    repeat: float = 0.0
    late: float = 0.0
    flip: float = 0.0
    delay_ms: int = 0
    cut_at: int | None = None
    parted: bool = False


@dataclass(slots=True)
class Link:
    """Leads to one server.

    Attributes:
        make: Makes the server's end of each conversation.
        binding: What both ends know of the channel; `binding_there` what the server knows, where a middleman stands.
        carried: Bytes that passed in both directions.
        messages: Questions and answers that passed.
    """

    make: Make
    binding: bytes = b"memory"
    binding_there: bytes | None = None
    faults: Faults = field(default_factory=Faults)
    clock: VirtualClock = field(default_factory=VirtualClock)
    seed: int = 0
    carried: int = 0
    messages: int = 0

    @contextmanager
    def connect(self) -> Iterator[LinkChannel]:
        """One conversation."""
        there = self.binding if self.binding_there is None else self.binding_there
        self.seed += 1
        yield LinkChannel(self, self.make(there), random.Random(self.seed))


class LinkChannel:
    """A conversation over a link; once it broke, it stays broken."""

    def __init__(self, link: Link, server: ServerRound, chance: random.Random) -> None:
        self.binding, self.server = link.binding, server
        self._link, self._chance = link, chance
        self._broken = False
        self._last: bytes | None = None

    def exchange(self, question: bytes) -> list[bytes]:
        """The answers to a question.

        Raises:
            Broken: Something was lost, or the link was cut.
        """
        faults = self._link.faults
        arrived = self._carry(question)
        if self._last is not None and self._chance.random() < faults.late:
            self.server.receive(self._last)
        if self._chance.random() < faults.repeat:
            self.server.receive(arrived)
        self._last = arrived
        return [self._carry(answer) for answer in self.server.receive(arrived)]

    def _carry(self, message: bytes) -> bytes:
        link, faults = self._link, self._link.faults
        link.clock.sleep(self._chance.randint(0, faults.delay_ms))
        link.messages += 1
        link.carried += len(message)
        cut = faults.cut_at is not None and link.carried > faults.cut_at
        if self._broken or faults.parted or cut or self._chance.random() < faults.lose:
            self._broken = True
            raise Broken("nothing came back")
        if message and self._chance.random() < faults.flip:
            place = self._chance.randrange(len(message))
            return (
                message[:place]
                + bytes([message[place] ^ 1 << self._chance.randrange(8)])
                + message[place + 1 :]
            )
        return message
