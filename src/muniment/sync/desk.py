"""Rounds of a stateless transport: each question is a request of its own and carries its round's id."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from muniment.base.errors import BadMessage
from muniment.base.limits import LIMITS
from muniment.sync import messages
from muniment.sync.messages import Failure, Greet
from muniment.sync.serving import ServerRound


@dataclass(slots=True)
class _Place:
    """A round, the channel it belongs to, and when it was last asked."""

    round: ServerRound
    binding: bytes
    asked_ms: int
    lock: threading.Lock = field(default_factory=threading.Lock)


class Desk:
    """Keeps the rounds of many clients between their questions.

    At most `Limits.sync_rounds`; where there are more, the one that was silent the longest goes. A round that was
    forgotten is answered like one that never was: the client begins anew and loses nothing.

    Args:
        make: Makes a round, given the binding of its channel.
    """

    def __init__(self, make: Callable[[bytes], ServerRound]) -> None:
        self._make = make
        self._rounds: OrderedDict[bytes, _Place] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._rounds)

    def answer(self, question: bytes, binding: bytes, now_ms: int) -> list[bytes]:
        """The answer to one question.

        Args:
            question: Any bytes.
            binding: What both ends know of the channel that this question came by.
            now_ms: Unix milliseconds, to forget rounds that are silent.

        Raises:
            StorageError: This end's disk is at fault.
        """
        try:
            said = messages.decode(question)
        except BadMessage:
            return [messages.encode(Failure(messages.BAD))]
        place = self._place(said, binding, now_ms)
        if place is None:
            return [messages.encode(Failure(messages.BAD))]
        with place.lock:
            answers = place.round.reply(said)
        if place.round.closed:
            with self._lock:
                self._rounds.pop(place.round.id, None)
        return answers

    def _place(self, said: messages.Message, binding: bytes, now_ms: int) -> _Place | None:
        with self._lock:
            while self._rounds:
                oldest = next(iter(self._rounds.values()))
                if oldest.asked_ms > now_ms - LIMITS.sync_round_ms and len(self._rounds) < LIMITS.sync_rounds:
                    break
                self._rounds.popitem(last=False)
            if isinstance(said, Greet):
                fresh = self._make(binding)
                self._rounds[fresh.id] = _Place(fresh, binding, now_ms)
                return self._rounds[fresh.id]
            place = self._rounds.get(getattr(said, "round", b""))
            if place is None or place.binding != binding:
                return None
            place.asked_ms = now_ms
            self._rounds.move_to_end(place.round.id)
            return place
