"""Head witness: whether a peer shows less than it once showed, or a key goes two ways (design section 8).

No verdict depends on it: what it finds is shown to people.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from muniment.base.ids import BankId, EntryId
from muniment.store.base import BankStore, Verdict

_WALK = 4096  # entries looked at on the way from one tip to another


class Book(Protocol):
    """Where the tips that other peers showed are remembered."""

    def seen(self, bank: BankId, peer: bytes, author: bytes) -> tuple[EntryId, ...]:
        """The tips of an author that a peer showed last; empty if none."""
        ...

    def note(self, bank: BankId, peer: bytes, author: bytes, tips: tuple[EntryId, ...]) -> None:
        """Remember them."""
        ...


@dataclass(slots=True)
class MemoryBook:
    """Remembers for the life of a process."""

    rows: dict[tuple[BankId, bytes, bytes], tuple[EntryId, ...]] = field(default_factory=dict)

    def seen(self, bank: BankId, peer: bytes, author: bytes) -> tuple[EntryId, ...]:
        """The tips of an author that a peer showed last; empty if none."""
        return self.rows.get((bank, peer, author), ())

    def note(self, bank: BankId, peer: bytes, author: bytes, tips: tuple[EntryId, ...]) -> None:
        """Remember them."""
        self.rows[bank, peer, author] = tips


def is_older(store: BankStore, offered: Iterable[EntryId], known: Iterable[EntryId]) -> bool:
    """Whether all tips offered lie strictly before tips known: their branch goes on without them.

    A walk through `prev` from the known ones; ids that are not here lead nowhere.
    """
    wanted, seen = set(offered), set(known)
    if not wanted or not seen or wanted & seen:
        return False
    stack = list(seen)
    while stack and wanted and len(seen) < _WALK:
        row = store.entry(stack.pop())
        for parent in row.prev if row is not None else ():
            wanted.discard(parent)
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return not wanted


def rolled_back(
    store: BankStore, book: Book, peer: bytes, tips: Iterable[tuple[bytes, tuple[EntryId, ...]]]
) -> tuple[bytes, ...]:
    """The authors of whom a peer offers older tips than it once did, or, of its own key, than are here.

    What it offers is remembered.
    """
    found = []
    for author, offered in tips:
        last = book.seen(store.bank, peer, author)
        known = store.tips(author) if author == peer else last
        if is_older(store, offered, known) or (author != peer and is_older(store, offered, last)):
            found.append(author)
        elif offered:
            book.note(store.bank, peer, author, offered)
    return tuple(found)


def forked(store: BankStore, authors: Iterable[bytes]) -> tuple[bytes, ...]:
    """The authors with two newest entries that count and that no later entry of theirs joins."""
    wanted = store.wanted()
    found = []
    for author in authors:
        rows = [store.entry(tip) for tip in store.tips(author)]
        ends = [row for row in rows if row is not None and row.verdict is Verdict.COUNTS]
        if len(ends) > 1 and not any(parent in wanted for row in ends for parent in row.prev):
            found.append(author)
    return tuple(found)
