"""Vectors that a host makes itself, in the place of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muniment.base.errors import EmbedderUnavailable, InvalidInput
from muniment.embed.base import Shape, Shaped

if TYPE_CHECKING:
    from muniment.embed.base import Vectors


class GivenVectors(Shaped):
    """An embedder that answers with the vector it was handed, once.

    Args:
        model: `<provider>/<model>`; `<provider>:<model>` is taken too.

    Raises:
        InvalidInput: It is no name of a model.
    """

    def __init__(self, model: str) -> None:
        provider, sign, name = model.partition("/" if "/" in model else ":")
        if not provider or not sign or not name or not model.isprintable():
            raise InvalidInput(f"not the name of a model: {model[:80]!r}", "Write `<provider>/<model>`.")
        self._shape = Shape(f"{provider}/{name}")
        self._next: Vectors | None = None

    def hand(self, vector: Sequence[float]) -> None:
        """The vector of the text or question that comes next.

        Raises:
            EmbedderMismatch: It has another dimension than those before, or no direction.
        """
        self._next = self._shape.take([vector], 1)

    def documents(self, texts: Sequence[str]) -> Vectors:
        """The vector that was handed over, for the one text that it is of.

        Raises:
            EmbedderUnavailable: None was.
        """
        if self._next is None or len(texts) != 1:
            raise EmbedderUnavailable("no vector was given for this text", "It is found by words.")
        rows, self._next = self._next, None
        return rows

    def query(self, text: str) -> Vectors:
        """The vector that was handed over.

        Raises:
            EmbedderUnavailable: None was.
        """
        row: Vectors = self.documents([text])[0]
        return row

    def close(self) -> None:
        """Nothing is held."""
        self._next = None
