"""The part of the store protocol about bodies that come late, go, or lie in the archive; `BankStore` takes it in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from muniment.base.ids import EntryId

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
    """Bodies that may be let go or destroyed, and versions that stand in the archive."""

    def put_body(self, seq: int, act: int, sealed: bytes) -> None:
        """Store a body that was missing, or let go."""
        ...

    def absent(self, *, after: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, int, bool]]:
        """Bodies that are not here, as (seq, act, erased): erased ones, and those that have not come yet."""
        ...

    def erase_bodies(self, places: Iterable[tuple[int, int]]) -> None:
        """Destroy bodies for good; the file keeps no copy of them in free pages."""
        ...

    def trace(self, ords: Iterable[int]) -> None:
        """Note that words of erased versions may still stand in logs and indexes; 0 for one without a number."""
        ...

    def traces(self) -> list[int]:
        """What was noted and not taken back, ascending."""
        ...

    def untrace(self, ords: Iterable[int]) -> None:
        """Nothing of them is left."""
        ...

    def note_orders(self, seen: Mapping[EntryId, int]) -> None:
        """Note when erases were first known here, Unix ms; what stands already is kept."""
        ...

    def orders(self) -> Mapping[EntryId, int]:
        """When the erases that were noted were first known here, Unix ms."""
        ...

    def remains(self) -> Iterator[str]:
        """Where bytes that are gone could still be read in the store's own files: what, and where."""
        ...

    def scrub(self) -> None:
        """After erased bodies are committed: leave no copy of them in a log either.

        Raises:
            StoreBusy: Somebody still reads the past; nothing is lost, do it again.
        """
        ...

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
