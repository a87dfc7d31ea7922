"""Syncing a bank: the two ends of a round over what is kept here (design section 8, docs/sync.md).

```python
client = syncing.connect(bank, key, binding)
server = syncing.serve(find, binding, entropy)
report = syncing.run(client, lambda question: server.receive(question)[0])
```
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from muniment.bank import Bank
from muniment.base import codec
from muniment.base.errors import RefusedBody
from muniment.base.ids import BankId, EntryId, VersionId
from muniment.base.limits import LIMITS
from muniment.heads import Book, MemoryBook, forked, rolled_back
from muniment.intake import Intake
from muniment.ledger import entry as entries
from muniment.ledger.authority import Authority
from muniment.ledger.levels import RELAY
from muniment.platform.entropy import Entropy
from muniment.store.base import Verdict
from muniment.sync.holder import Holder, Stored, Tips
from muniment.sync.messages import NONCE_BYTES, ROUND_BYTES
from muniment.sync.packing import Parcel, Place
from muniment.sync.reconcile import Index
from muniment.sync.report import RoundReport
from muniment.sync.round import ClientRound, ServerRound

_MOST_ABSENT = 65_536  # missing bodies looked at in one round


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did; see `RoundReport` for the figures.

    Attributes:
        round: The figures.
        rolled_back: Authors of whom the other end showed older entries than it, or they, once did.
        forked: Authors whose entries go two ways.
    """

    round: RoundReport
    rolled_back: tuple[bytes, ...] = ()
    forked: tuple[bytes, ...] = ()

    @property
    def done(self) -> bool:
        """Nothing is missing at either end."""
        return self.round.done


class Contacts(Protocol):
    """Where this peer is to be had, and what others say of themselves."""

    def addresses(self) -> tuple[str, ...]:
        """Where this peer is to be had."""
        ...

    def learn(self, bank: BankId, addresses: tuple[str, ...]) -> None:
        """Where another peer that holds a bank says that it is: unchecked."""
        ...


class BankHolder(Holder):
    """One bank at one end of a round, and the key of this peer that speaks there."""

    def __init__(
        self, bank: Bank, key: bytes, book: Book | None = None, contacts: Contacts | None = None
    ) -> None:
        self.bank, self.key, self._contacts = bank.id, key, contacts
        self._bank, self._store = bank, bank.store
        self._intake = Intake(bank)
        self._book = MemoryBook() if book is None else book
        self.rolled_back: tuple[bytes, ...] = ()

    def sign(self, message: bytes) -> bytes:
        return self._bank.host.keyring.sign(self.key, codec.HELLO, message)

    def may_have(self, other: bytes) -> bool:
        level = self._bank.authority.level(other, self._bank.host.clock.now_ms())
        return level is not None and level.allows(RELAY)

    def may_give(self) -> bool:
        return self.may_have(self.key)

    def index(self, which: int) -> Index:
        return self._bank.counted.index(which)

    def parcels(self, ids: Sequence[EntryId]) -> Iterator[tuple[EntryId, Parcel]]:
        held = self._store.held(ids)
        authority = self._bank.authority
        with self._store.read():
            found = self._store.parcels([held[one] for one in ids if one in held])
        for entry, envelope, bodies in found:
            yield entry, (envelope, _without_erased(authority, entry, bodies))

    def take(self, parcels: Sequence[Parcel], asked: Collection[EntryId]) -> Stored:
        taken = self._intake.take_many(parcels, asked)
        return Stored(len(taken.stored), taken.filled, len(taken.refused), len(taken.void))

    def missing(self) -> list[EntryId]:
        authority = self._bank.authority
        wanted = set(authority.lacking() | authority.gaps)
        for row in self._store.entries(verdict=Verdict.WAITING, control=False):
            if authority.leases_open(row.author):
                auth = entries.reload(row.envelope).header.auth
                wanted.update(set(auth) - self._store.held(auth).keys())
        return sorted(wanted)[: LIMITS.sync_ids]

    def absent(self) -> list[Place]:
        out: list[Place] = []
        erasures = self._bank.authority.erasures
        for seq, act, erased in self._store.absent():
            row = None if erased else self._store.entry_at(seq)
            if row is None or row.verdict is not Verdict.COUNTS or VersionId(row.id, act) in erasures:
                continue
            if not self._archived(VersionId(row.id, act)):
                out.append((row.id, act))
                if len(out) == _MOST_ABSENT:
                    break
        return out

    def _archived(self, version: VersionId) -> bool:
        """Whether a body is not here because its text lies in the archive, its stub standing for it."""
        row = self._store.version_at(version)
        shelf = None if row is None else self._store.shelves([row.ord]).get(row.ord)
        return shelf is not None and shelf.archived and shelf.stub

    def bodies(self, places: Sequence[Place]) -> Iterator[tuple[Place, bytes]]:
        held = self._store.held(list({entry for entry, _ in places}))
        erasures = self._bank.authority.erasures
        for entry, act in places:
            if entry in held and VersionId(entry, act) not in erasures:
                (body,) = self._store.bodies([(held[entry], act)])
                if body is not None:
                    yield (entry, act), body

    def fill(self, bodies: Sequence[tuple[Place, bytes]]) -> Stored:
        filled = refused = 0
        with self._bank.write():
            for (entry, act), sealed in bodies:
                try:
                    filled += self._intake.fill(entry, act, sealed)
                except RefusedBody:
                    refused += 1
        return Stored(0, filled, refused)

    def tips(self) -> Tips:
        keys = sorted(self._bank.authority.keys - {self.key})
        found = [(key, self._store.tips(key)) for key in [self.key, *keys][: LIMITS.sync_tips]]
        return tuple((key, tips[: LIMITS.tips_per_cut]) for key, tips in found if tips)

    def witness(self, other: bytes, tips: Tips) -> None:
        self.rolled_back = rolled_back(self._store, self._book, other, tips)

    def addresses(self) -> tuple[str, ...]:
        return () if self._contacts is None else self._contacts.addresses()[: LIMITS.ticket_peers]

    def learn(self, addresses: tuple[str, ...]) -> None:
        if self._contacts is not None and addresses:
            self._contacts.learn(self.bank, addresses)

    def news(self, since: int | None) -> tuple[int, list[EntryId]]:
        if since is None:
            return self._store.figures().entries, []
        found = sorted(
            (seq, entry)
            for control in (True, False)
            for seq, _, entry in self._store.ids(control=control, verdict=Verdict.COUNTS, after=since)
        )
        return (found[-1][0] if found else since), [entry for _, entry in found]

    def forked(self) -> tuple[bytes, ...]:
        """The authors whose entries go two ways here."""
        return forked(self._store, sorted(self._bank.authority.keys))


def _without_erased(
    authority: Authority, entry: EntryId, bodies: Sequence[bytes | None]
) -> Sequence[bytes | None]:
    erasures = authority.erasures
    if not erasures:
        return bodies
    return [None if VersionId(entry, act) in erasures else body for act, body in enumerate(bodies)]


def connect(
    bank: Bank,
    key: bytes,
    binding: bytes,
    *,
    claim: bytes = b"",
    push: bool = True,
    follow: bool = False,
    book: Book | None = None,
    contacts: Contacts | None = None,
) -> ClientRound:
    """The client's end of a round about a bank that is here, maybe still empty.

    Args:
        bank: The bank.
        key: The key of this peer that asks; in custody here.
        binding: What both ends know of the channel.
        claim: Proof of an invite.
        push: Give too; else only take.
        follow: Once all is done, be told what is new.
        book: Where the tips that others showed are remembered.
        contacts: Where this peer is to be had, and who hears where the other one is.
    """
    holder = BankHolder(bank, key, book, contacts)
    nonce = bank.host.entropy.bytes(NONCE_BYTES)
    return ClientRound(holder, binding, nonce=nonce, claim=claim, push=push, follow=follow)


Find = Callable[[BankId, bytes, bytes], tuple[Bank, bytes] | None]
"""The bank that is served by that id to a key (with a claim, or an empty one), and the key that speaks here; or None.

It need not ask for the key's level: that is done here, at each request. Whoever answers an invite's claim at once
signs the grant before it returns the bank.
"""


class _Lobby:
    def __init__(self, find: Find, book: Book | None, contacts: Contacts | None) -> None:
        self._find, self._book, self._contacts = find, book, contacts

    def open(self, bank: BankId, by: bytes, claim: bytes) -> Holder | None:
        found = self._find(bank, by, claim)
        if found is None:
            return None
        holder = BankHolder(*found, self._book, self._contacts)
        return holder if holder.may_have(by) else None


def serve(
    find: Find,
    binding: bytes,
    entropy: Entropy,
    *,
    book: Book | None = None,
    contacts: Contacts | None = None,
) -> ServerRound:
    """The server's end of one round.

    Args:
        find: Which bank is served to whom.
        binding: What both ends know of the channel.
        entropy: Where nonces come from.
        book: Where the tips that others showed are remembered.
        contacts: As for `connect`.
    """
    lobby = _Lobby(find, book, contacts)
    return ServerRound(lobby, binding, nonce=entropy.bytes(NONCE_BYTES), round_id=entropy.bytes(ROUND_BYTES))


def run(client: ClientRound, exchange: Callable[[bytes], Iterable[bytes]]) -> SyncReport:
    """Hold a whole round: `exchange` carries a question to the server and returns its answers.

    Raises:
        SyncRefused | BadMessage | SyncError: As `ClientRound.receive`.
        Exception: Whatever `exchange` raises: the round is cut, and what was committed stays.
    """
    asked = client.start()
    while asked:
        answers, asked = exchange(asked[0]), []
        for answer in answers:
            asked = client.receive(answer)
    return report_of(client)


def report_of(end: ClientRound | ServerRound) -> SyncReport:
    """What a round has done so far, at either end."""
    holder = end.holder
    if not isinstance(holder, BankHolder):  # nobody was let in
        return SyncReport(replace(end.report))
    return SyncReport(replace(end.report), holder.rolled_back, holder.forked())
