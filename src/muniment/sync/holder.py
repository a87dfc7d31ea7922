"""What a round asks of the place where a bank is kept; `muniment.syncing` answers it (design section 8)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from muniment.base.ids import BankId, EntryId
from muniment.sync.packing import Parcel, Place
from muniment.sync.reconcile import Index

Tips = tuple[tuple[bytes, tuple[EntryId, ...]], ...]


class Stored(NamedTuple):
    """What became of entries that came: how many were new, had missing bodies, were refused, or do not count."""

    new: int
    filled: int = 0
    refused: int = 0
    void: int = 0


class Holder(Protocol):
    """One bank at one end of a round, and the key that speaks for that end."""

    bank: BankId
    key: bytes

    def sign(self, message: bytes) -> bytes:
        """A signature by `key` over domain `hello` and a message."""
        ...

    def may_have(self, other: bytes) -> bool:
        """Whether the other end's key holds `relay` or more now: asked before each thing that is given to it."""
        ...

    def may_give(self) -> bool:
        """Whether `key` itself holds a lease now: a key that has expired serves and pushes nothing."""
        ...

    def index(self, which: int) -> Index:
        """What counts of the control or the data entries, as of now; control with the control past of those."""
        ...

    def parcels(self, ids: Sequence[EntryId]) -> Iterable[tuple[EntryId, Parcel]]:
        """Those of these entries that are here, in this order, one after the other; erased bodies are left out."""
        ...

    def take(self, parcels: Sequence[Parcel], asked: Collection[EntryId]) -> Stored:
        """The one door: verify, rule, store; void entries only if they were asked for. One transaction."""
        ...

    def missing(self) -> list[EntryId]:
        """Ids of the control past, and on the way to a cut, that are not here."""
        ...

    def absent(self) -> list[Place]:
        """Bodies that have not come and are not erased."""
        ...

    def bodies(self, places: Sequence[Place]) -> Iterable[tuple[Place, bytes]]:
        """Those of these bodies that are here and not erased."""
        ...

    def fill(self, bodies: Sequence[tuple[Place, bytes]]) -> Stored:
        """Store bodies that were missing, after comparing them with the signed hashes."""
        ...

    def tips(self) -> Tips:
        """The newest entries of some keys, `key` first."""
        ...

    def witness(self, other: bytes, tips: Tips) -> None:
        """Compare the tips that the other end offers with those seen before."""
        ...

    def news(self, since: int | None) -> tuple[int, list[EntryId]]:
        """A mark, and the ids of entries that came to count since an earlier one (None: none yet)."""
        ...


class Lobby(Protocol):
    """A server's choice of what to show to whom."""

    def open(self, bank: BankId, by: bytes, claim: bytes) -> Holder | None:
        """The bank, if it is here, served, and for this key or claim; else None, whatever the reason."""
        ...
