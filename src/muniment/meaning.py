"""Meaning: the configured embedder as a bank uses it (design section 7, "Embedders").

A memory is never lost and a question never fails for want of a vector: what can't be embedded is kept without
one, and found later by `reindex`; a question is then answered by words, and the answer says so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from muniment.base.errors import EmbedderError, KeyringError, MissingExtra
from muniment.corpus import GONE, Followed
from muniment.ledger.acts import Remember
from muniment.opening import Opener
from muniment.project import own_keys
from muniment.recall.vector_corpus import VectorRow
from muniment.store.base import State, VectorPlace, VersionRow
from muniment.waiting import Waiting

if TYPE_CHECKING:
    from muniment.bank import Bank
    from muniment.embed.base import Embedder, Vectors

# What keeps an embedder from answering: it, its extra, or a keyring that does not give its API key.
_HARMLESS = (EmbedderError, MissingExtra, KeyringError)
_LOG = logging.getLogger("muniment")
_CHUNK = 512  # rows looked at together


def words_of(act: Remember) -> str:
    """What is embedded of a memory: its key, a space, and its text."""
    return act.text if act.key is None else f"{act.key} {act.text}"


class Meaning:
    """An embedder that is opened on first use, and whose failures cost a vector and nothing else.

    Args:
        open_embedder: Makes the embedder; called once.
    """

    def __init__(self, open_embedder: Callable[[], Embedder]) -> None:
        self._open = open_embedder
        self._embedder: Embedder | None = None
        self._lock = threading.Lock()
        self._waiting = Waiting("embedder", "muniment-query")

    @property
    def embedder(self) -> Embedder:
        """The embedder itself.

        Raises:
            InvalidInput | MissingExtra: The settings describe none, or its extra is not installed.
        """
        with self._lock:
            if self._embedder is None:
                self._embedder = self._open()
            return self._embedder

    @property
    def model(self) -> str:
        """`<provider>/<model>`: under which its vectors are kept."""
        return self.embedder.name

    def documents(self, texts: Sequence[str]) -> tuple[list[bytes | None], str | None]:
        """Vectors as acts carry them (little-endian float16), and why there are none, if so."""
        if not texts:
            return [], None
        try:
            rows = self.embedder.documents(texts)
        except _HARMLESS as error:
            _LOG.warning("%d memories were kept without a vector: %s", len(texts), error.message)
            return [None] * len(texts), error.message
        return [row.astype("<f2").tobytes() for row in rows], None

    def query(self, text: str) -> tuple[Vectors | None, str | None]:
        """The vector of a question, or why there is none."""
        try:
            return self.embedder.query(text), None
        except _HARMLESS as error:
            _LOG.warning("a question was answered by words alone: %s", error.message)
            return None, error.message

    def query_within(self, text: str, seconds: float) -> tuple[Vectors | None, str | None]:
        """The vector of a question if it comes in time, or why there is none; a late one is let go.

        Args:
            text: The question.
            seconds: How long to wait.
        """
        found = self._waiting.within(lambda: self.query(text), seconds)
        return (None, found) if isinstance(found, str) else found

    def close(self) -> None:
        """Let go of the model or the connection."""
        with self._lock:
            if self._embedder is not None:
                self._embedder.close()
                self._embedder = None


class BankVectors(Followed):
    """The vectors of one model in a bank, as the vector index reads them.

    Of several vectors of a version the newest counts that was signed by the version's author, the bank's agent or
    controller, or a key of this peer; a stranger's vector moves nobody's memory.
    """

    def __init__(self, bank: Bank, model: str) -> None:
        super().__init__(bank)
        self._model = model

    def rows(self, after: int, upto: int) -> Iterator[VectorRow]:
        """Rows with `after < ord <= upto` that have a vector, in order."""
        while after < upto:
            end = min(after + _CHUNK, upto)
            places = list(self._bank.store.vectors(self._model, after, end))
            yield from self._placed(list(self._bank.store.versions_after(after, end)), places, every=False)
            after = end

    def pick(self, ords: Sequence[int]) -> list[VectorRow]:
        """The rows of these numbers."""
        places = self._bank.store.vectors_of(self._model, ords)
        return list(self._placed(self._bank.store.versions(ords), places, every=True))

    def _placed(
        self, rows: Sequence[VersionRow], places: Sequence[VectorPlace], *, every: bool
    ) -> Iterator[VectorRow]:
        data = self._open(self._chosen(places))
        for row in rows:
            if every or row.ord in data:
                yield VectorRow(row.ord, row.state is State.LIVE, row.state in GONE, data.get(row.ord))

    def _chosen(self, places: Sequence[VectorPlace]) -> dict[int, VectorPlace]:
        trusted = own_keys(self._bank.authority) or frozenset()
        trusted |= frozenset(self._bank.host.keyring.keys())
        # They come by their clock, so the last one stays.
        return {p.ord: p for p in places if p.author == p.owner or p.author in trusted}

    def _open(self, chosen: dict[int, VectorPlace]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        openers: list[Opener] = self._bank.openers() if chosen else []
        for opener in openers:
            shut = [place for ord, place in chosen.items() if ord not in found]
            if not shut:
                break
            for place, act in zip(shut, opener.vectors(shut), strict=True):
                if act is not None and act.model == self._model:
                    found[place.ord] = act.data
        return found
