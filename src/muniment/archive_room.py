"""The archive of one peer: its packs, who else may have blobs, and what was recalled when (design section 9)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from muniment.archive.options import DAY_MS, FOLDER, Options
from muniment.base.clock import Clock
from muniment.base.errors import MunimentError
from muniment.base.ids import VersionId
from muniment.platform.folders import PeerFolder

if TYPE_CHECKING:
    from muniment.archive.room import PackRoom
    from muniment.archive.source import BlobSource
    from muniment.bank import Bank
    from muniment.blobs.base import BlobStore

INDEX, BLOBS = "packs.db", "blobs"
_USES_KEPT = 256  # versions recalled by one process before they are written down


class ArchiveRoom:
    """Opened on first use; looking makes nothing.

    Attributes:
        folder: The peer's.
        options: The `archive:` block of the settings.
        sources: Who may have blobs that are not here; filled by whoever connects peers.
        holders: Who has signed that it keeps blobs of this peer, as sources; asked after `sources`.
        members: Whom a bank is synced with, as sources; asked last.
        receipts: How many other holders have signed that they keep a payload.
        lent: Names of packs that others have signed for, so that they are not written anew.
        held: Whether a pack is kept for somebody else, so that it is never collected.
    """

    def __init__(
        self, folder: PeerFolder, options: Options, clock: Clock, *, blobs: BlobStore | None = None
    ) -> None:
        self.options = options
        self.sources: list[BlobSource] = []
        self.holders: Callable[[], Sequence[BlobSource]] = tuple
        self.members: Callable[[Bank], Sequence[BlobSource]] = lambda _: ()
        self.receipts: Callable[[bytes], int] = lambda _: 0
        self.lent: Callable[[], frozenset[bytes]] = frozenset
        self.held: Callable[[bytes], bool] = lambda _: False
        self.folder, self._clock, self._blobs = folder, clock, blobs
        self._packs: PackRoom | None = None
        self._lock = threading.RLock()
        self._days: dict[VersionId, int] = {}

    @property
    def packs(self) -> PackRoom:
        """The packs; the first use makes the index.

        Raises:
            MissingExtra | InvalidInput | StorageError: The settings name a store that can't be opened.
        """
        with self._lock:
            if self._packs is None:
                from muniment.archive.room import PackRoom  # only for those who archive
                from muniment.store.packs import PackIndex

                self.folder.make()
                path = self.folder.path / INDEX
                fresh = not path.exists()
                self._packs = PackRoom(self.open_blobs(), PackIndex.open(path), self._clock.now_ms)
                if fresh:
                    self._packs.follow()
            return self._packs

    def open_blobs(self) -> BlobStore:
        """The place of the packs, without the index that `packs` makes.

        Raises:
            MissingExtra | InvalidInput | StorageError: The settings name a store that can't be opened.
        """
        if self._blobs is not None:
            return self._blobs
        if self.options.store == FOLDER:
            from muniment.blobs.folder import FolderBlobs

            return FolderBlobs(self.folder.path / BLOBS)
        from muniment.blobs.object_store import ObjectBlobs

        return ObjectBlobs(self.options.store, self.options.options)

    @property
    def begun(self) -> bool:
        """Whether anything was ever kept here, so that looking is worth while."""
        with self._lock:
            folder = self.folder.path
            return self._packs is not None or (folder / INDEX).exists() or (folder / BLOBS).exists()

    def used(self, versions: Iterable[VersionId]) -> None:
        """Note that versions were recalled today; written down many at a time, and only if a policy asks for it."""
        if self.options.unused_for is None:
            return
        day = self._clock.now_ms() // DAY_MS
        with self._lock:
            self._days.update(dict.fromkeys(versions, day))
            if len(self._days) >= _USES_KEPT:
                self.flush()

    def flush(self) -> None:
        """Write down what was recalled; a recall never fails for want of it."""
        with self._lock:
            days, self._days = self._days, {}
            if days:
                try:
                    self.packs.index.use(days)
                except MunimentError:
                    self._days = {}

    def close(self) -> None:
        """Let go of files and connections."""
        with self._lock:
            self.flush()
            if self._packs is not None:
                self._packs.close()
                self._packs = None
