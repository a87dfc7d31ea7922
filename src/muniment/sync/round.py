"""The client's end of a round: a conversation written as one generator (docs/sync.md, sections 4 to 7).

A round is a loop: ask how both ends stand (a `check`: whole fingerprints of both sets, and what the server
lacks), and mend the first thing that is not in order, until nothing is left to mend or nothing helps:

1. control entries, both ways, until both ends agree;
2. entries that the control past, or a path to a cut, needs and that are not here, asked for by id;
3. all other entries, the newest first, frame by frame;
4. bodies that have not come.

Everything taken in is committed frame by frame, so a round that is cut anywhere leaves less for the next one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from muniment.base.errors import BadMessage, SyncError, SyncRefused
from muniment.base.ids import EntryId
from muniment.base.limits import LIMITS
from muniment.sync import hello, messages, reconcile
from muniment.sync.frames import body_frame, frame
from muniment.sync.holder import Holder, Stored
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
    Question,
    Ranges,
    Reconcile,
    Took,
    Want,
    Welcome,
)
from muniment.sync.packing import Place
from muniment.sync.reconcile import Difference, Range
from muniment.sync.report import RoundReport
from muniment.sync.serving import ServerRound

__all__ = ["ClientRound", "RoundReport", "ServerRound"]
QUESTION_BYTES = 256 * 1024  # ranges of one question
CHECKS = 32  # after so many a round ends, whatever is left
STEPS = 4096  # questions about ranges between two checks: 100,000 differences take some hundred
Talk = Generator[Question, Answer, None]


@dataclass(slots=True)
class _Asked:
    """What was tried in this round: nothing is asked for, or given, twice."""

    past: set[EntryId] = field(default_factory=set)
    bodies: set[Place] = field(default_factory=set)
    given: set[EntryId] = field(default_factory=set)
    given_past: set[EntryId] = field(default_factory=set)
    given_bodies: set[Place] = field(default_factory=set)
    wanted: set[EntryId] = field(default_factory=set)


class ClientRound:
    """Asks one server until both ends hold the same. See `muniment.sync` for what a transport does with it.

    Args:
        holder: The bank, maybe empty, and the key that asks.
        binding: What both ends know of the channel.
        nonce: 16 random bytes.
        claim: Proof of an invite, where the key holds nothing yet.
        push: Give too; else only take.
        follow: Once all is done, be told what is new, in place of saying goodbye.
    """

    def __init__(
        self,
        holder: Holder,
        binding: bytes,
        *,
        nonce: bytes,
        claim: bytes = b"",
        push: bool = True,
        follow: bool = False,
    ) -> None:
        self._holder, self._binding = holder, binding
        self._nonce, self._claim = nonce, claim
        self._push, self._follow = push, follow
        self._round = b""
        self._asked = _Asked()
        self._talk: Talk = self._conversation()
        self._over = self._following = self._witnessed = False
        self.report = RoundReport()

    @property
    def done(self) -> bool:
        """Whether the round is over and nothing is missing at either end."""
        return self.report.done

    @property
    def holder(self) -> Holder:
        """The bank of this end."""
        return self._holder

    @property
    def over(self) -> bool:
        """Whether the round is over, however it went."""
        return self._over

    def start(self) -> list[bytes]:
        """The first message."""
        return [self._ask(next(self._talk))]

    def receive(self, answer: bytes) -> list[bytes]:
        """The next message after an answer; none when the round is over.

        Raises:
            SyncRefused: The server turned the round down.
            BadMessage: The bytes are no message, or not the one that is due.
            SyncError: The server is busy, or did not understand.
            StorageError: This end's disk is at fault; what was committed before stays.
        """
        said = messages.decode(answer)
        if isinstance(said, Failure):
            self._over = True
            raise _failed(said)
        if self._following:
            self._news(said)
            return []
        if self._over:
            raise BadMessage("not due", "the round is over")
        try:
            return [self._ask(self._talk.send(said))]  # type: ignore[arg-type]
        except StopIteration:
            self._over = True
            return []
        except Exception:
            self._over = True
            raise

    @property
    def following(self) -> bool:
        """Whether the server was asked to tell what is new: whatever comes goes to `receive`, unasked."""
        return self._following

    def _ask(self, question: Question) -> bytes:
        self.report.questions += 1
        self._following = isinstance(question, Follow)
        return messages.encode(question)

    def _news(self, said: object) -> None:
        if not isinstance(said, Entries):
            raise BadMessage("not due")
        self._count(self._holder.take(said.parcels, frozenset(self._holder.missing())))

    # The conversation

    def _conversation(self) -> Talk:
        yield from self._introduce()
        for _ in range(CHECKS):
            before = self._progress()
            state = yield self._check()
            if not isinstance(state, Ranges):
                raise BadMessage("not due")
            self._look(state)
            if self.report.done:
                break
            yield from self._mend(state)
            if self._progress() == before:
                break
        if self._follow and self.report.done:
            yield Follow(self._round)
        said = yield Done(self._round)
        if not isinstance(said, Done):
            raise BadMessage("not due")

    def _progress(self) -> tuple[int, ...]:
        report, asked = self.report, self._asked
        places = len(asked.bodies) + len(asked.given_bodies)
        tried = (len(asked.past), len(asked.given), len(asked.given_past), places)
        return (report.received, report.sent, report.bodies_received, report.bodies_sent, *tried)

    def _introduce(self) -> Talk:
        greeted = yield Greet(self._nonce)
        if not isinstance(greeted, Greeted):
            raise BadMessage("not due")
        holder, nonces = self._holder, (self._nonce, greeted.nonce)
        self._round = greeted.round
        message = hello.proof(hello.CLIENT, holder.bank, holder.key, b"", nonces, self._binding)
        welcome = yield Hello(self._round, holder.bank, holder.key, holder.sign(message), self._claim)
        if not isinstance(welcome, Welcome):
            raise BadMessage("not due")
        message = hello.proof(hello.SERVER, holder.bank, holder.key, welcome.by, nonces, self._binding)
        if not hello.holds(welcome.by, welcome.sig, message):
            raise SyncRefused(
                "the other end did not prove the key that it names",
                "Look at the address: something may stand between the two of you.",
            )
        self.report.other = welcome.by

    def _check(self) -> Reconcile:
        control, data = (self._holder.index(which) for which in messages.SETS)
        whole = (reconcile.START, reconcile.END)
        tips = self._holder.tips() if self._gives() else ()
        return Reconcile(self._round, (control.range(*whole),), (data.range(*whole),), check=True, tips=tips)

    def _look(self, state: Ranges) -> None:
        """Note how both ends stand."""
        report = self.report
        if not self._witnessed:  # what it offers before it was filled up
            self._witnessed = True
            self._holder.witness(report.other, state.tips)
        report.control_agreed, report.data_agreed = not state.control, not state.data
        report.missing, report.absent = len(self._holder.missing()), len(self._holder.absent())
        report.lacking = len(state.missing) + len(state.absent)
        agreed = report.control_agreed and report.data_agreed
        report.done = agreed and not report.missing and not report.absent and not report.lacking

    def _mend(self, state: Ranges) -> Talk:
        if state.control:
            yield from self._exchange(messages.CONTROL, state.control)
        yield from self._past()
        yield from self._give_past(state.missing)
        if state.control:
            return  # what counts is known only once both ends agree about it: ask again
        if state.data:
            yield from self._exchange(messages.DATA, state.data)
            yield from self._past()
        yield from self._take_bodies()
        yield from self._give_bodies([one for one in state.absent if one not in self._asked.given_bodies])

    def _gives(self) -> bool:
        """Whether anything may be given: the server's key may have it, and the own key still holds a lease."""
        return self._push and self._holder.may_have(self.report.other) and self._holder.may_give()

    # Sets

    def _exchange(self, which: int, said: Sequence[Range]) -> Talk:
        """Find what differs in a set, take what is not here and give what is not there."""
        found = Difference()
        index = self._holder.index(which)
        left = reconcile.compare(index, said, found)
        for _ in range(STEPS):
            if not left:
                break
            ranges, left = reconcile.question(left, QUESTION_BYTES)
            control = which == messages.CONTROL
            asked = (tuple(ranges), ()) if control else ((), tuple(ranges))
            answer = yield Reconcile(self._round, *asked)
            if not isinstance(answer, Ranges):
                raise BadMessage("not due")
            left = reconcile.compare(index, answer.control if control else answer.data, found) + left
        # The newest first, so that each entry of a key that was cut is reached from what came before it.
        need = sorted(found.need, reverse=which == messages.DATA)
        fresh = [one for _, _, one in need if one not in self._asked.wanted]
        self._asked.wanted.update(fresh)
        yield from self._take_ids(fresh, frozenset())
        for lo, hi in found.spans:
            yield from self._take_span(which, lo, hi)
        order = sorted(found.have, reverse=which == messages.DATA)
        yield from self._give_ids([reconcile.id_of(key[8:]) for key in order])

    def _take_span(self, which: int, lo: bytes, hi: bytes) -> Talk:
        while lo < hi:
            answer = yield Want(self._round, which=which, span=(lo, hi))
            if not isinstance(answer, Entries):
                raise BadMessage("not due")
            self._count(self._holder.take(answer.parcels, frozenset()))
            if not answer.left:
                return
            if not answer.parcels:
                raise BadMessage("not due", "a span goes on without entries")
            if not lo < answer.left < hi:
                raise BadMessage("bad order", "a span goes on outside of itself")
            lo, hi = (lo, answer.left) if which == messages.DATA else (answer.left, hi)

    def _past(self) -> Talk:
        """Ask by id for what the control past, or a path to a cut, needs: level by level, since one names the next."""
        while fresh := [one for one in self._holder.missing() if one not in self._asked.past]:
            self._asked.past.update(fresh)
            before = self.report.received
            yield from self._take_ids(fresh, frozenset(fresh))
            if self.report.received == before:
                return

    def _take_ids(self, ids: Sequence[EntryId], asked: frozenset[EntryId]) -> Talk:
        for start in range(0, len(ids), LIMITS.sync_ids):
            part = list(ids[start : start + LIMITS.sync_ids])
            while part:
                answer = yield Want(self._round, ids=tuple(part))
                if not isinstance(answer, Entries) or answer.more >= len(part):
                    raise BadMessage("not due")
                self._count(self._holder.take(answer.parcels, asked))
                part = part[len(part) - answer.more :] if answer.more else []

    def _give_past(self, missing: Iterable[EntryId]) -> Talk:
        """What the server needs by id, also if it did not keep it when it came as one of a set: it was void then."""
        fresh = [one for one in missing if one not in self._asked.given_past]
        self._asked.given_past.update(fresh)
        yield from self._give(fresh)

    def _give_ids(self, ids: Iterable[EntryId]) -> Talk:
        fresh = [one for one in ids if one not in self._asked.given]
        self._asked.given.update(fresh)
        yield from self._give(fresh)

    def _give(self, left: Sequence[EntryId]) -> Talk:
        while left and self._gives():
            parcels, used = frame(self._holder, left)
            left = left[used:]
            if parcels:
                self.report.sent += yield from self._push_one(Entries(tuple(parcels), self._round))

    def _push_one(self, question: Question) -> Generator[Question, Answer, int]:
        answer = yield question
        if not isinstance(answer, Took):
            raise BadMessage("not due")
        return answer.stored

    def _count(self, stored: Stored) -> None:
        report = self.report
        report.received += stored.new
        report.bodies_received += stored.filled
        report.refused += stored.refused
        report.void += stored.void

    # Bodies

    def _take_bodies(self) -> Talk:
        places = [one for one in self._holder.absent() if one not in self._asked.bodies]
        self._asked.bodies.update(places)
        for start in range(0, len(places), LIMITS.sync_ids):
            part = places[start : start + LIMITS.sync_ids]
            while part:
                answer = yield Want(self._round, bodies=tuple(part))
                if not isinstance(answer, Bodies) or answer.more >= len(part):
                    raise BadMessage("not due")
                self._count(self._holder.fill(answer.bodies))
                part = part[len(part) - answer.more :] if answer.more else []

    def _give_bodies(self, places: Sequence[Place]) -> Talk:
        self._asked.given_bodies.update(places)
        left = list(places)
        while left and self._gives():
            said = body_frame(self._holder, left, self._round)
            left = left[len(left) - said.more :] if said.more else []
            if said.bodies:
                self.report.bodies_sent += yield from self._push_one(said)


def _failed(said: Failure) -> SyncError:
    if said.code == messages.REFUSED:
        return SyncRefused(
            "the other end does not serve this bank to this key",
            "Ask a member to share the bank and to grant your key relay or more; check the address and the bank's id.",
        )
    if said.code == messages.LATER:
        return SyncError("the other end is busy with another writer", "Sync again in a moment.")
    return SyncError("the other end did not understand a message", "Update muniment at both ends.")


def conversation(client: ClientRound, server: ServerRound) -> Iterator[bytes]:
    """Let two ends in one process talk; yields every message, questions and answers."""
    asked = client.start()
    while asked:
        yield from asked
        answers = server.receive(asked[0])
        yield from answers
        asked = list(chain.from_iterable(client.receive(answer) for answer in answers))
