"""A pack on its way back from its holders, kept in `peer.db` chunk by chunk: a cut costs one chunk (section 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.archive import custody
from muniment.archive.source import Download, Outline
from muniment.base.ids import BlobName

if TYPE_CHECKING:
    from muniment.peer import Peer
    from muniment.store.custody import CustodyStore


class SavedChunks(dict[int, bytes]):
    """Verified chunks, each on the disk before it counts."""

    def __init__(self, store: CustodyStore, owner: bytes, blob: BlobName) -> None:
        super().__init__(store.chunks(owner, blob))
        self._store, self._owner, self._blob = store, owner, blob

    def __setitem__(self, number: int, data: bytes) -> None:
        self._store.add_part(self._owner, self._blob, number, data)
        super().__setitem__(number, data)

    def clear(self) -> None:
        """Forget them all: the pack is whole elsewhere, or they were another one's."""
        self._store.drop_parts(self._owner, self._blob)
        super().clear()


def resumed(peer: Peer, blob: BlobName) -> Download:
    """The download of a pack that was given away: new, or where an earlier process was cut off.

    Its outline is that of a receipt, which this peer checked against the pack itself, so no holder can lead it astray.
    """
    store, me = peer.made_store().custody, peer.owner()
    row = next((row for row in store.given() if row.blob == blob), None)
    if row is None:
        return Download(blob)
    receipt = custody.read_receipt(row.receipt)
    outline = Outline(receipt.size, receipt.root)
    return Download(blob, "this peer's receipt", outline, SavedChunks(store, me, blob))
