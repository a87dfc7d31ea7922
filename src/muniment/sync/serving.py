"""The server's end of a round: one answer to each question, and nothing for strangers (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from muniment.base.errors import BadMessage, LimitExceeded, StoreBusy
from muniment.base.ids import BankId
from muniment.base.limits import LIMITS
from muniment.sync import hello, messages, reconcile
from muniment.sync.frames import body_frame, frame
from muniment.sync.holder import Holder, Lobby, Stored
from muniment.sync.messages import (
    Answer,
    Bodies,
    Done,
    Entries,
    Failure,
    Follow,
    Greet,
    Greeted,
    Hello,
    Message,
    Ranges,
    Reconcile,
    Took,
    Want,
    Welcome,
)
from muniment.sync.report import RoundReport

ANSWER_BYTES = 256 * 1024  # ranges of one set in one answer
STRANGER_BYTES = 16 * 1024  # a question before the client has proved its key
SAID_MISSING = 1024  # ids and places that one answer to a `check` lists


class _State(Enum):
    NEW = 0
    GREETED = 1
    OPEN = 2
    FOLLOWING = 3
    CLOSED = 4


class ServerRound:
    """Answers the questions of one client. See `muniment.sync` for what a transport does with it.

    Args:
        lobby: What is served to whom.
        binding: What both ends know of the channel.
        nonce: 16 random bytes.
        round_id: 16 random bytes; every question after the first carries them.
    """

    def __init__(self, lobby: Lobby, binding: bytes, *, nonce: bytes, round_id: bytes) -> None:
        self._lobby, self._binding, self._nonce, self.id = lobby, binding, nonce, round_id
        self._state = _State.NEW
        self._client_nonce = b""
        self._holder: Holder | None = None
        self.report = RoundReport()
        self._mark: int | None = None

    @property
    def closed(self) -> bool:
        """Whether the round is over; the next question needs another one."""
        return self._state is _State.CLOSED

    @property
    def bank(self) -> BankId | None:
        """The bank, once the client was let in."""
        return None if self._holder is None else self._holder.bank

    @property
    def other(self) -> bytes:
        """The client's key, once it was let in; empty before."""
        return self.report.other

    @property
    def done(self) -> bool:
        """Whether the last check showed that both ends hold the same and nothing is missing here."""
        return self.report.done

    @property
    def holder(self) -> Holder | None:
        """The bank of this end, once the client was let in."""
        return self._holder

    def receive(self, question: bytes) -> list[bytes]:
        """The answer to a question, whatever its bytes are.

        Raises:
            StorageError: This end's disk is at fault.
        """
        if self._holder is None and len(question) > STRANGER_BYTES:
            self._state = _State.CLOSED
            return [messages.encode(Failure(messages.BAD))]
        try:
            said = messages.decode(question)
        except BadMessage:
            self._state = _State.CLOSED
            return [messages.encode(Failure(messages.BAD))]
        return self.reply(said)

    def reply(self, question: Message) -> list[bytes]:
        """The same for a question that was read already.

        Raises:
            StorageError: This end's disk is at fault.
        """
        try:
            answer = self._answer(question)
        except (BadMessage, LimitExceeded):
            self._state = _State.CLOSED
            answer = Failure(messages.BAD)
        except StoreBusy:
            answer = Failure(messages.LATER)
        if answer is None:
            return []
        if isinstance(answer, Failure) and answer.code == messages.REFUSED:
            self._state = _State.CLOSED
        return [messages.encode(answer)]

    def _answer(self, question: Message) -> Answer | None:
        if self._state is _State.NEW and isinstance(question, Greet):
            self._state, self._client_nonce = _State.GREETED, question.nonce
            return Greeted(self._nonce, self.id)
        if getattr(question, "round", None) != self.id:
            raise BadMessage("not due", "another round's")
        if self._state is _State.GREETED and isinstance(question, Hello):
            return self._let_in(question)
        if self._state not in (_State.OPEN, _State.FOLLOWING) or self._holder is None:
            raise BadMessage("not due")
        if not (self._holder.may_have(self.report.other) and self._holder.may_give()):
            return Failure(messages.REFUSED)  # its level was taken away meanwhile
        return self._serve(self._holder, question)

    def _let_in(self, said: Hello) -> Answer:
        nonces = (self._client_nonce, self._nonce)
        message = hello.proof(hello.CLIENT, said.bank, said.by, b"", nonces, self._binding)
        proven = hello.holds(said.by, said.sig, message)
        holder = self._lobby.open(said.bank, said.by, said.claim)  # asked in any case: the same work for all
        if not proven or holder is None or not holder.may_give():
            return Failure(messages.REFUSED)
        self._state, self._holder, self.report.other = _State.OPEN, holder, said.by
        message = hello.proof(hello.SERVER, said.bank, said.by, holder.key, nonces, self._binding)
        return Welcome(holder.key, holder.sign(message))

    def _serve(self, holder: Holder, question: Message) -> Answer | None:
        if isinstance(question, Reconcile):
            return self._ranges(holder, question)
        if isinstance(question, Want):
            return self._entries(holder, question)
        if isinstance(question, Entries):
            stored = holder.take(question.parcels, frozenset(holder.missing()))
            self._count(stored)
            return Took(stored.new + stored.filled)
        if isinstance(question, Bodies):
            stored = holder.fill(question.bodies)
            self._count(stored)
            return Took(stored.filled)
        if isinstance(question, Follow):
            self._state = _State.FOLLOWING
            self._mark, _ = holder.news(None)
            return None
        if isinstance(question, Done):
            self._state = _State.CLOSED
            return Done()
        raise BadMessage("not due")

    def _count(self, stored: Stored) -> None:
        report = self.report
        report.received += stored.new
        report.bodies_received += stored.filled
        report.refused += stored.refused
        report.void += stored.void

    def _ranges(self, holder: Holder, question: Reconcile) -> Ranges:
        said = {}
        for name, which in (("control", messages.CONTROL), ("data", messages.DATA)):
            asked = getattr(question, name)
            said[name] = tuple(reconcile.answer(holder.index(which), asked, ANSWER_BYTES)) if asked else ()
        if not question.check:
            return Ranges(said["control"], said["data"])
        tips = holder.tips()  # before the client's entries are here
        holder.witness(self.report.other, question.tips)
        missing, absent = holder.missing(), holder.absent()
        report = self.report
        report.control_agreed, report.data_agreed = not said["control"], not said["data"]
        report.missing, report.absent = len(missing), len(absent)
        report.done = not (said["control"] or said["data"] or missing or absent)
        lacking = (tuple(missing[:SAID_MISSING]), tuple(absent[:SAID_MISSING]))
        return Ranges(said["control"], said["data"], *lacking, tips)

    def _entries(self, holder: Holder, question: Want) -> Answer:
        if question.bodies:
            given = body_frame(holder, question.bodies)
            self.report.bodies_sent += len(given.bodies)
            return given
        ids, span = question.ids, question.span
        if span is None:
            parcels, used = frame(holder, ids)
            self.report.sent += len(parcels)
            return Entries(tuple(parcels), more=len(ids) - used)
        newest_first = question.which == messages.DATA
        keys = list(_some(holder.index(question.which).keys(*span, newest_first=newest_first)))
        parcels, used = frame(holder, [reconcile.id_of(key[8:]) for key in keys])
        self.report.sent += len(parcels)
        if used == len(keys) < LIMITS.sync_entries:
            return Entries(tuple(parcels))
        # Spans are emptied from their end that comes first: what is left is bounded by the last key sent.
        last = keys[used - 1]
        return Entries(tuple(parcels), left=last if newest_first else reconcile.after(last))

    def news(self) -> list[bytes]:
        """To a client that follows: messages with what has come to count since the last call."""
        if self._state is not _State.FOLLOWING or self._holder is None:
            return []
        holder = self._holder
        if not (holder.may_have(self.report.other) and holder.may_give()):
            self._state = _State.CLOSED
            return [messages.encode(Failure(messages.REFUSED))]
        self._mark, ids = holder.news(self._mark)
        out = []
        while ids:
            parcels, used = frame(holder, ids)
            out.append(messages.encode(Entries(tuple(parcels))))
            ids = ids[used:]
        return out


def _some(keys: Iterable[bytes]) -> Iterable[bytes]:
    for number, key in enumerate(keys):
        if number == LIMITS.sync_entries:
            return
        yield key
