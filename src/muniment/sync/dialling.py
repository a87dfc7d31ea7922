"""From an address to a link over which rounds are held: one small table of schemes (design section 8).

A transport is one module of this room with a function `dial(address, caller) -> Dialled`; its line below is all that
the rest needs to know of it. What stands there is imported when an address of that scheme is first dialled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from muniment.base.clock import Clock
from muniment.keyring.custody import Keyring
from muniment.platform.entropy import Entropy
from muniment.sync.ticket import check_address

# Scheme -> module and function.
DIALLERS: dict[str, str] = {
    "http": "muniment.sync.http:dial",
    "https": "muniment.sync.http:dial",
    "iroh": "muniment.sync.iroh:dial",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who dials, and with what.

    Attributes:
        key: The key that speaks in the round, in custody of `keyring`.
        home: The peer folder.
        plain: Whether addresses beyond this machine may be dialled without encryption.
        timeout_s: How long to wait for a connection, and for each answer.
        relays: Relays of iroh's, for peers that can't be reached otherwise.
    """

    key: bytes
    keyring: Keyring
    clock: Clock
    entropy: Entropy
    home: Path
    plain: bool = False
    timeout_s: float = 30.0
    relays: tuple[str, ...] = ()


class Dialled(Protocol):
    """A way to one server. One thread uses it at a time; it may be closed from any.

    Attributes:
        binding: What both ends know of the channel.
    """

    binding: bytes

    def exchange(self, question: bytes) -> list[bytes]:
        """The answers to a question.

        Raises:
            Unreachable: Nobody answers, or not in time.
            SyncError: As its subclasses say: what came is no answer of the protocol.
        """
        ...

    def tail(self, question: bytes) -> Iterator[bytes]:
        """What a server has to tell once it was asked to: messages, as they come, and empty bytes now and then.

        Raises:
            Unreachable | SyncError: As for `exchange`; also when the server stops telling.
        """
        ...

    def close(self) -> None:
        """Let go of it; harmless when done twice. A thread that waits in it is told `Unreachable`."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def dial(address: str, caller: Caller) -> Dialled:
    """A link to an address.

    Raises:
        RefusedTicket: It is no address.
        InvalidInput: It may not be dialled: nothing would be encrypted.
        MissingExtra: Its transport is not installed.
        Unreachable: Nobody is there. A transport without connections says so at the first question.
    """
    address = check_address(address)
    module, _, function = DIALLERS[address.partition(":")[0]].partition(":")
    made: Callable[[str, Caller], Dialled] = getattr(importlib.import_module(module), function)
    return made(address, caller)
