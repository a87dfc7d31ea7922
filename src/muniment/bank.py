"""The gate of one bank on this peer: what is shared by all callers, and a door for each key (design section 4).

A caller comes with a key of its own. The door asks authority for that key at each open, read and write;
no flag, name or index says otherwise.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.base.clock import Clock
from muniment.base.errors import StorageError, StoreBusy
from muniment.base.ids import BankId, EntryId, VersionId
from muniment.config import Settings
from muniment.corpus import BankCorpus
from muniment.epoch_keys import EpochKeys
from muniment.keyring.custody import Keyring
from muniment.keyring.journal import Journal
from muniment.ledger.authority import Authority
from muniment.opening import Opener, Seals
from muniment.platform.entropy import Entropy
from muniment.rulings import Rulings
from muniment.store.base import BankStore
from muniment.witness import Witness

if TYPE_CHECKING:
    from muniment.archive_room import ArchiveRoom
    from muniment.counted import Counted
    from muniment.meaning import Meaning
    from muniment.recall.lexical import WordIndex
    from muniment.recall.vectors import VectorIndex
    from muniment.reranking import Reranking

_TIDY_EVERY = 256  # writes between two looks at the indexes' tails


@dataclass(frozen=True, slots=True)
class Host:
    """What a peer gives to each of its banks; `meaning`, `reranking` and `witness` where they are configured.

    `archive` is where its packs lie.
    """

    keyring: Keyring
    journal: Journal
    clock: Clock
    entropy: Entropy
    settings: Settings
    meaning: Meaning | None = None
    reranking: Reranking | None = None
    witness: Witness | None = None
    archive: ArchiveRoom | None = None


class Bank:
    """One bank's store, authority and word index, shared by the doors of all callers of this process."""

    def __init__(
        self,
        store: BankStore,
        host: Host,
        index_folder: Path | None,
        enter: Callable[[], None] | None = None,
    ) -> None:
        self.store, self.host = store, host
        self._enter = enter  # refuses who comes to a bank that was taken off the list
        self.rulings = Rulings(store)
        self.seals = Seals(store)
        self._index_folder = index_folder
        self._index: WordIndex | None = None
        self._vectors: dict[tuple[str, int], VectorIndex] = {}
        self._keys: dict[bytes, EpochKeys] = {}
        self._counted: Counted | None = None
        self._writes = 0  # depth of `write`
        self._since_tidy = 0
        self.settled = (
            0  # by this process: 1, what erases ask was destroyed; 2, and what they lack was signed
        )
        self._traced: bool | None = None  # whether traces of erased words may be left; None: not known
        self._kept: dict[bytes, EntryId | None] = {}
        self._witnessed = host.witness is None  # compared with the witness by this process

    @property
    def id(self) -> BankId:
        """The CID of the founding entry."""
        return self.store.bank

    def enter(self) -> None:
        """Refuse everybody where the bank was deleted on this peer.

        Raises:
            UnknownBank: It was.
        """
        if self._enter is not None:
            self._enter()

    @property
    def authority(self) -> Authority:
        """As of all control entries stored by now."""
        self.rulings.refresh()
        return self.rulings.authority

    def epoch_keys(self, reader: bytes) -> EpochKeys:
        """The epoch keys that one key of this peer can open."""
        if reader not in self._keys:
            self._keys[reader] = EpochKeys(self.id, self.host.keyring, reader)
        return self._keys[reader]

    def opener(self, reader: bytes) -> Opener:
        """Opens bodies with the epoch keys of one reader."""
        return Opener(self.store, self.authority, self.epoch_keys(reader))

    def openers(self) -> list[Opener]:
        """One for each key of this peer, those that may read now first.

        Also those that may not, or not any more: they fill the peer's own tables, of which no caller sees
        what its own key does not open.
        """
        readers = self.authority.readers(self.host.clock.now_ms())
        return [
            self.opener(key) for key in sorted(self.host.keyring.keys(), key=lambda key: key not in readers)
        ]

    @contextmanager
    def write(self) -> Iterator[Authority]:
        """One durable transaction, with the authority as of its start."""
        with self._transaction() as authority:
            yield authority
        if not self._writes:
            self.sweep()
            if self.host.witness is not None and self._witnessed:
                self.host.witness.note(self.store, self.host.keyring.keys())

    def compare(self) -> None:
        """Once a process, compare the bank with what its witness has seen of it.

        Raises:
            RolledBack: It is older, or entries are gone.
        """
        if not self._witnessed and self.host.witness is not None:
            with self.store.read():
                self.host.witness.check(self.store)
            self._witnessed = True

    def accept(self) -> None:
        """Let the witness take the bank as it is."""
        if self.host.witness is not None:
            self.host.witness.renew(self.store, self.host.keyring.keys())
            self._witnessed = True

    def witness_gaps(self, known: Container[EntryId]) -> list[tuple[str, str, str]]:
        """Tips that the witness has seen and that are not `known`: (id, author DID, reason)."""
        return [] if self.host.witness is None else self.host.witness.gaps(self.store, known)

    def destroy(self, version: VersionId, place: tuple[int, int]) -> None:
        """Destroy a body now, and its traces in log and index once the transaction is on the disk."""
        self.store.erase_bodies([place])
        row = self.store.version_at(version)
        self.store.trace([0 if row is None else row.ord])
        self._traced = None

    def sweep(self) -> bool:
        """Leave nothing of what was erased in logs and indexes; what was to do is kept in the bank until it is done.

        Not inside a write or read.

        Returns:
            False where somebody still reads the past or looks after an index: the next write tries again.
        """
        if self._traced is None:
            self._traced = bool(self.store.traces())
        if not self._traced:
            return True
        traces = self.store.traces()
        try:
            self.store.scrub()
        except StoreBusy:
            return False
        if not self._purge([number for number in traces if number]):
            return False
        with self.store.write():
            self.store.untrace(traces)
        self._traced = False
        return True

    def _purge(self, ords: list[int]) -> bool:
        """Take rows out of the indexes' files; those of models that nobody asks for here are made anew when needed."""
        if not ords or self._index_folder is None:
            return True
        done = True
        if self._index_folder.exists():
            self.index.refresh()
            done = self.index.purge(ords)
        for vectors in self._vectors.values():
            vectors.refresh()
            done = vectors.purge(ords) and done
        if self._vector_folder.exists():
            known = {self._model_folder(*model) for model in self._vectors}
            for folder in set(self._vector_folder.iterdir()) - known:
                shutil.rmtree(folder, ignore_errors=True)
                done = done and not folder.exists()
        return done

    @property
    def _vector_folder(self) -> Path:
        assert self._index_folder is not None  # noqa: S101 - only a bank that is being founded has none
        return self._index_folder.with_name(self._index_folder.name + ".vectors")

    def _model_folder(self, model: str, dimension: int) -> Path:
        return self._vector_folder / hashlib.sha256(f"{dimension} {model}".encode()).hexdigest()[:16]

    @contextmanager
    def _transaction(self) -> Iterator[Authority]:
        self.enter()
        with self.store.write():
            self.rulings.refresh()
            seen = self.rulings.mark()
            if not self._writes:
                self._kept.clear()
            self._writes += 1
            try:
                yield self.rulings.authority
            except BaseException:
                self.rulings.rewind(seen)  # control entries of an undone transaction are not there
                raise
            finally:
                self._writes -= 1

    def kept_tip(self, key: bytes, tip: EntryId | None) -> EntryId | None:
        """The key's newest entry from before this transaction; `tip` is what its first entry here follows.

        A transaction of several entries is undone as a whole, so the journal has to remember this one.
        """
        return self._kept.setdefault(key, tip)

    @property
    def counted(self) -> Counted:
        """What counts in this bank, in the form that a sync compares."""
        if self._counted is None:
            from muniment.counted import Counted

            self._counted = Counted(self)
        return self._counted

    @property
    def index(self) -> WordIndex:
        """The word index; opened on first use, derived, and made anew where it is missing or unusable."""
        if self._index is None:
            assert self._index_folder is not None  # noqa: S101 - only a bank that is being founded has none
            from muniment.recall.analyzer import Analyzer  # numpy and stemmers: only for those who ask
            from muniment.recall.lexical import WordIndex

            settings = self.host.settings
            self._index = WordIndex(
                self._index_folder,
                BankCorpus(self),
                Analyzer(settings.language, settings.analyzer),
                k1=settings.k1,
                b=settings.b,
                context=settings.weights,
                favours=settings.favours,
            )
        return self._index

    def vectors(self, model: str, dimension: int) -> VectorIndex:
        """The vector index of one model; derived, as the word index is."""
        found = self._vectors.get((model, dimension))
        if found is None:
            from muniment.meaning import BankVectors
            from muniment.recall.vectors import VectorIndex

            folder = self._model_folder(model, dimension)
            found = VectorIndex(folder, BankVectors(self, model), dimension, model=model)
            self._vectors[model, dimension] = found
        return found

    def freshen(self, index: WordIndex | VectorIndex) -> None:
        """Let an index catch up before it is asked, and move its tail to disk where that has grown.

        Whoever wrote may have had no index open, and whoever asks may be the only one who ever comes by.
        """
        index.refresh()
        if index.grown:
            with suppress(StorageError):  # what can't be written is kept in memory
                index.maintain(index.SHORT_ROWS)

    def wrote(self) -> None:
        """Told of each write: now and then the indexes take in what came, so that no question waits for all of it."""
        self._since_tidy += 1
        if self._since_tidy >= _TIDY_EVERY:
            self._since_tidy = 0
            self.tidy()

    def tidy(self, *, force: bool = False) -> None:
        """Move the indexes' tails to disk where they have grown, or in any case."""
        if self._index is not None or force:
            self.index.refresh()
            self.index.maintain()
        for vectors in self._vectors.values():
            vectors.refresh()
            vectors.maintain()

    def close(self) -> None:
        """Let go of files."""
        if self._index is not None:
            self._index.close()
            self._index = None
        for vectors in self._vectors.values():
            vectors.close()
        self._vectors.clear()
        self.store.close()
