"""What a peer gives to each of its banks, put together from its settings (design section 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from muniment.archive_room import ArchiveRoom
from muniment.bank import Host
from muniment.base.clock import Clock
from muniment.config import Settings
from muniment.keyring.custody import Keyring
from muniment.keyring.journal import Journal
from muniment.platform.entropy import Entropy, SystemEntropy
from muniment.reranking import configured
from muniment.witness import configured as witnessing

if TYPE_CHECKING:
    from muniment.embed.base import Embedder
    from muniment.embed.rerank import Reranker
    from muniment.meaning import Meaning


class Models:
    """The embedder and the reranker that are given in place of those that the settings describe.

    Args:
        embedder: Turns text into vectors, or None.
        reranker: Looks at the best records again, or None.
        credential: Gives the API key of a provider.
    """

    def __init__(
        self, embedder: Embedder | None, reranker: Reranker | None, credential: Callable[[str], str | None]
    ) -> None:
        self.embedder, self.reranker, self._credential = embedder, reranker, credential

    def meaning(self, settings: Settings) -> Meaning | None:
        """The embedder that is given, or that the settings describe; it is opened when it is needed."""
        block, embedder = settings.embedding, self.embedder
        if embedder is None and not block:
            return None
        from muniment.meaning import Meaning

        def opened() -> Embedder:
            from muniment.embed.factory import open_embedder

            return embedder or open_embedder(block or {}, self._credential)

        return Meaning(opened)


def host_of(
    archive: ArchiveRoom,
    settings: Settings,
    models: Models,
    *,
    passphrase: Callable[[], str] | None,
    clock: Clock,
    entropy: Entropy | None,
    busy_ms: int,
) -> Host:
    """Open the keyring and the journal of a peer folder, and bring what its banks need."""
    folder = archive.folder
    entropy = entropy or SystemEntropy()
    return Host(
        Keyring.open(folder, passphrase, entropy),
        Journal(folder),
        clock,
        entropy,
        settings,
        models.meaning(settings),
        configured(settings, models.reranker),
        witnessing(folder.path, settings.witness, busy_ms / 1000),
        archive,
    )
