"""The one embedder that downloads: only for who asks for it, and its library behind one door."""

import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from muniment.base.errors import EmbedderMismatch, EmbedderUnavailable, MissingExtra
from muniment.embed.factory import open_embedder

MADE: list[dict[str, Any]] = []
ASKED: list[tuple[str, list[str]]] = []


class TextEmbedding:
    """Stands for the class of that name: the same calls, no network."""

    def __init__(self, model_name: str, threads: int) -> None:
        MADE.append({"model_name": model_name, "threads": threads})
        if "missing" in model_name:
            raise ValueError("Could not load model from any source.")

    def passage_embed(self, texts: list[str], batch_size: int) -> Iterator[np.ndarray]:
        """Two numbers a text."""
        ASKED.append((f"passages by {batch_size}", texts))
        return (np.array([3.0, 4.0 * len(text)], np.float32) for text in texts)

    def query_embed(self, query: list[str], batch_size: int) -> Iterator[np.ndarray]:
        """The same for questions."""
        ASKED.append((f"query by {batch_size}", query))
        return (np.array([3.0, 4.0], np.float32) for _ in query)


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("fastembed")
    module.TextEmbedding = TextEmbedding  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastembed", module)
    MADE.clear()
    ASKED.clear()


def test_it_is_fetched_when_it_is_first_used() -> None:
    """Opening fetches nothing; vectors are of length 1; questions get the prefix that the model was trained with."""
    made = open_embedder({"backend": "fastembed", "threads": 1, "batch": 8}, lambda _: None)
    assert (MADE, made.name, made.dimension) == ([], "fastembed/BAAI/bge-small-en-v1.5", None)
    np.testing.assert_allclose(made.documents(["a", ""]), [[0.6, 0.8]] * 2, atol=1e-6)
    np.testing.assert_allclose(made.query("q"), [0.6, 0.8], atol=1e-6)
    assert made.dimension == 2
    assert MADE == [{"model_name": "BAAI/bge-small-en-v1.5", "threads": 1}]
    question = "Represent this sentence for searching relevant passages: q"
    assert [("passages by 8", ["a", " "]), ("query by 8", [question])] == ASKED
    made.close()
    made.query("q")
    assert len(MADE) == 2


def test_other_models_and_the_settings_have_their_own_prefix() -> None:
    """None where nothing is known, and what the settings say before all."""
    open_embedder({"backend": "fastembed", "model": "x/y"}, lambda _: None).query("q")
    block = {"backend": "fastembed", "query_prefix": "", "document_prefix": "d: "}
    made = open_embedder(block, lambda _: None)
    made.query("q")
    made.documents(["t"])
    assert [texts for _, texts in ASKED] == [["q"], ["q"], ["d: t"]]


def test_what_goes_wrong_there_is_unavailable() -> None:
    """A model that can't be fetched, with its cause; another dimension than the settings say is a mismatch."""
    with pytest.raises(EmbedderUnavailable, match="can't be used: ValueError: Could not load") as caught:
        open_embedder({"backend": "fastembed", "model": "missing"}, lambda _: None).query("q")
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(EmbedderMismatch):
        open_embedder({"backend": "fastembed", "dimensions": 384}, lambda _: None).query("q")


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is opened, not in the middle of a recall."""
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingExtra, match="extra `fastembed`"):
        open_embedder({"backend": "fastembed"}, lambda _: None)


def test_the_real_library_has_these_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the stand-in takes, the library takes."""
    monkeypatch.delitem(sys.modules, "fastembed")
    real = pytest.importorskip("fastembed", reason="needs the extra fastembed").TextEmbedding
    for name in ("__init__", "passage_embed", "query_embed"):
        ours, theirs = (inspect.signature(getattr(kind, name)).parameters for kind in (TextEmbedding, real))
        assert set(ours) - {"batch_size"} <= set(theirs)
        assert "batch_size" not in ours or "kwargs" in theirs
