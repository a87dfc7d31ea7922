"""The packs of one peer: payloads go in many at a time, and come out one by one (design section 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from muniment.archive import pack as packs
from muniment.archive import tree
from muniment.archive.pack import Slot
from muniment.archive.source import Chunk, Outline, chunk_of
from muniment.base.errors import BlobDamaged, LimitExceeded, MunimentError, RefusedPack, UnknownBlob
from muniment.base.ids import BlobName, blob_text
from muniment.base.limits import LIMITS
from muniment.blobs.base import BlobStore
from muniment.store.packs import PackIndex, PackRow


class PackRoom:
    """Payloads in packs, packs in a blob store, and an index that says which is where.

    Args:
        blobs: Where packs are kept.
        index: Which payload lies where; made again from the packs where it is missing.
        now_ms: The time of day, Unix ms.
    """

    def __init__(self, blobs: BlobStore, index: PackIndex, now_ms: Callable[[], int]) -> None:
        self.blobs, self.index, self._now = blobs, index, now_ms
        self._trees: dict[
            BlobName, tuple[int, list[bytes]]
        ] = {}  # size and leaves of packs that are asked for

    def store(self, payloads: Sequence[tuple[BlobName, bytes]]) -> BlobName:
        """Put sealed payloads into one pack; it is on the disk, whole and indexed, when this returns.

        Raises:
            LimitExceeded | StorageError: As their names say; nothing refers to what may have been written.
        """
        data = packs.pack(payloads)
        name = self.blobs.put(data)
        self._note(name, data, packs.directory_of(data), ours=True)
        return name

    def keep(self, data: bytes) -> BlobName:
        """Keep a whole pack that came from elsewhere; on the disk and indexed when this returns.

        Raises:
            RefusedPack: It is no pack.
            StorageError: As its subclasses name it.
        """
        slots = packs.directory_of(data)
        name = self.blobs.put(data)
        self._note(name, data, slots, ours=True)
        return name

    def _note(self, name: BlobName, data: bytes, slots: Sequence[Slot], *, ours: bool) -> None:
        row = PackRow(name, len(data), tree.root_of(tree.leaves_of(data)), self._now(), None, ours)
        self.index.add(row, [(slot.pointer, slot.offset, slot.length) for slot in slots])

    def has(self, pointer: bytes) -> bool:
        """Whether a pack of this peer should hold a payload; its bytes are not looked at."""
        return bool(self.index.places(pointer))

    def payload(self, pointer: BlobName, *, without: BlobName | None = None) -> bytes:
        """A sealed payload, found to be what its pointer names, from whichever pack has it whole.

        Args:
            pointer: Its name.
            without: A pack that is not looked into.

        Raises:
            UnknownBlob: No pack here has it.
            BlobDamaged: Those that should have it have something else.
            StorageError: As its other subclasses name it.
        """
        fault: MunimentError | None = None
        tried: set[BlobName | None] = {without}
        while places := [place for place in self.index.places(pointer) if place.pack not in tried]:
            place = places[0]
            tried.add(place.pack)  # and then what the index says by now: packs are put together meanwhile
            try:
                sealed = self.blobs.read(place.pack, place.start, place.length)
                packs.check_pointer(pointer, sealed)
            except RefusedPack as error:
                fault = BlobDamaged(
                    f"{blob_text(pointer)} in the pack {blob_text(place.pack)} is damaged: {error.message}",
                    "Fetch another copy from a peer; `muniment check` lists what is damaged.",
                )
            except (UnknownBlob, BlobDamaged) as error:
                fault = error
            else:
                return sealed
        if fault is not None:
            raise fault
        raise UnknownBlob(
            f"the payload {blob_text(pointer)} is in no pack of this peer",
            "Fetch it from a peer that holds it: muniment fetch",
        )

    def delete(self, name: BlobName) -> bool:
        """Take a pack away: first from the index, so that nothing leads to it any more."""
        self.index.drop(name)
        return self.blobs.delete(name)

    def follow(self, *, ours: bool = False) -> int:
        """Take packs into the index that are kept and not in it; how many those were.

        Blobs that are no packs are left alone. A pack that is gone stays in the index, so that it is missed.

        Args:
            ours: Nobody else puts packs there, so they may be collected.
        """
        known = {row.name for row in self.index.packs()}
        found = 0
        for name in {info.name for info in self.blobs.list()} - known:
            try:
                data = self.blobs.get(name)
                slots = packs.directory_of(data)
            except (RefusedPack, BlobDamaged, UnknownBlob):
                continue
            self._note(name, data, slots, ours=ours)
            found += 1
        return found

    def examine(self) -> Iterator[tuple[BlobName, str]]:
        """Read every pack whole, and say what is wrong with each that is not as it was."""
        for row in self.index.packs():
            try:
                data = self.blobs.get(row.name)
                for slot in packs.directory_of(data):
                    packs.payload_at(data, slot)
            except UnknownBlob:
                yield row.name, "is missing"
            except (BlobDamaged, RefusedPack):
                yield row.name, "is damaged"

    def bytes_of(self, name: BlobName) -> bytes | None:
        """A pack or a payload by its name, verified; None where it is not here or damaged."""
        try:
            if self.index.pack(name) is not None:
                return self.blobs.get(name)
            return self.payload(name) if self.has(name) else None
        except (UnknownBlob, BlobDamaged):
            return None

    def outline(self, name: BlobName) -> Outline | None:
        """What is to be said of a pack or payload, read whole and verified; None where it is not here or damaged."""
        self._trees.pop(name, None)
        data = self.bytes_of(name)
        if data is None:
            return None
        leaves = tree.leaves_of(data)
        if self.index.pack(name) is not None:
            for old in list(self._trees)[: 1 - LIMITS.pack_trees]:
                self._trees.pop(old, None)
            self._trees[name] = len(data), leaves
        return Outline(len(data), tree.root_of(leaves))

    def chunk(self, name: BlobName, number: int) -> Chunk | None:
        """One chunk of a pack; None where that is not here or damaged, and for payloads.

        Once the pack was read whole, only the chunk is read, and checked against the leaves that were verified:
        no change of the file since then goes unseen.

        Raises:
            LimitExceeded: There is no such chunk.
            UnknownBlob | BlobDamaged | StorageError: As their names say.
        """
        if name not in self._trees and self.index.pack(name) is not None:
            self.outline(name)
        known = self._trees.get(name)
        if known is None:
            return None
        size, leaves = known
        if not 0 <= number < len(leaves):
            raise LimitExceeded("chunk", max(0, len(leaves) - 1), number)
        data = self.blobs.read(name, number * tree.CHUNK, tree.chunk_length(size, number))
        if tree.leaf_hash(data) != leaves[number]:
            self._trees.pop(name, None)
            raise BlobDamaged(
                f"chunk {number} of the pack {blob_text(name)} is damaged",
                "Fetch another copy from a peer; `muniment check` lists what is damaged.",
            )
        return Chunk(data, tree.path_of(leaves, number))

    def close(self) -> None:
        """Let go of files and connections."""
        self.index.close()
        self.blobs.close()


class RoomSource:
    """A room as others see it: what a transport serves.

    The caller has to see to it that who asks may have the blob.
    """

    def __init__(self, name: str, room: PackRoom) -> None:
        self.name, self._room = name, room
        self._last: tuple[BlobName, bytes] | None = None  # chunks of one blob are asked for in a row

    def outline(self, blob: BlobName) -> Outline | None:
        """See `BlobSource`."""
        return self._room.outline(blob)

    def chunk(self, blob: BlobName, number: int) -> Chunk:
        """See `BlobSource`."""
        if (found := self._room.chunk(blob, number)) is not None:
            return found
        data = self._data(blob)
        if data is None:
            raise UnknownBlob(f"{self.name} has no blob {blob_text(blob)}", "Ask somebody else.")
        return chunk_of(data, number)

    def close(self) -> None:
        """Forget the blob that was asked for last."""
        self._last = None

    def _data(self, blob: BlobName) -> bytes | None:
        if self._last is None or self._last[0] != blob:
            data = self._room.bytes_of(blob)
            self._last = None if data is None else (blob, data)
        return None if self._last is None else self._last[1]
