"""The part of the store protocol that is about the archive (design section 9); `BankStore` takes it in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from muniment.store.base import NamingRow


class Shelf(NamedTuple):
    """What the archive means to a version.

    Attributes:
        archived: A standing archive act names it.
        stub: Its row was made from a stub, its body not being here.
    """

    archived: bool
    stub: bool


class ShelfStore(Protocol):
    """Bodies that may be let go, and versions that stand in the archive."""

    def release_bodies(self, places: Iterable[tuple[int, int]]) -> None:
        """Let go of bodies whose words lie in a blob by now; they are not missing, and may be put back."""
        ...

    def released(self, *, after: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, int]]:
        """Bodies that were let go, as (seq, act), in order."""
        ...

    def compact(self) -> None:
        """Give the room of bodies that are gone back to the file system; not inside a write or read.

        Raises:
            StorageError: As its subclasses name it; nothing is lost, do it again.
        """
        ...

    def shelve(self, ord: int, shelf: Shelf) -> None:
        """Note what the archive means to a version."""
        ...

    def shelves(self, ords: Sequence[int]) -> Mapping[int, Shelf]:
        """What the archive means to versions; those it means nothing to are left out."""
        ...

    def archive_acts(self) -> Iterator[NamingRow]:
        """All acts that archive something, whatever they are worth, in order of (seq, act)."""
        ...
