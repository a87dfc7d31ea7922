"""Functions as embedders, and the public fakes."""

from typing import Any

import numpy as np
import pytest

from muniment.base.errors import EmbedderMismatch, EmbedderRefused, EmbedderUnavailable, InvalidInput
from muniment.embed.base import Embedder, readable
from muniment.embed.callable import CallableEmbedder
from muniment.testing.embedders import (
    CountingEmbedder,
    FailingEmbedder,
    RandomEmbedder,
    SlowEmbedder,
    StaticEmbedder,
)


def lengths(texts: list[str]) -> list[list[float]]:
    """A function of somebody's."""
    return [[float(len(text)), 1.0] for text in texts]


def test_a_function_is_an_embedder() -> None:
    """It is called in batches, with text that every model takes; questions may have a function of their own."""
    seen: list[list[str]] = []

    def function(texts: list[str]) -> np.ndarray:
        seen.append(texts)
        return np.array(lengths(texts))

    made: Embedder = CallableEmbedder("mine/lengths", function, batch=2)
    assert (made.name, made.dimension, made.documents([]).shape) == ("mine/lengths", None, (0, 0))
    found = made.documents(["abc", "", "\udc80"])
    assert (found.shape, found.dtype, made.dimension) == ((3, 2), np.float32, 2)
    assert seen == [["abc", " "], ["?"]]
    np.testing.assert_allclose(found[0], np.array([3, 1]) / np.sqrt(10), atol=1e-6)
    np.testing.assert_allclose(made.query("abc"), found[0])
    other = CallableEmbedder("mine/two", lengths, query=lambda texts: [[0, 5]], dimension=2)
    assert other.query("abc").tolist() == [0, 1]
    other.close()


@pytest.mark.parametrize(
    "rows",
    [None, 5, [], "ab", [[1, 2], [3, 4]], [[np.nan, 1]], [[0, 0]], [[]], np.zeros((1, 0)), np.ones((1, 2, 2)),
     [[1] * 65_537], [[1 + 2j, 1]], [object()], {"a": 1}],
    ids=lambda rows: str(type(rows).__name__),
)  # fmt: skip
def test_what_a_function_gives_must_be_vectors(rows: Any) -> None:
    """Anything else is a mismatch with its name."""
    with pytest.raises(EmbedderMismatch, match="mine/odd gave"):
        CallableEmbedder("mine/odd", lambda _: rows).query("x")


def test_what_a_function_raises_is_unavailable() -> None:
    """With its cause; our own errors pass as they are."""
    with pytest.raises(EmbedderUnavailable, match="raised ZeroDivisionError") as caught:
        CallableEmbedder("mine/odd", lambda _: 1 // 0).query("x")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def refuse(_: list[str]) -> None:
        raise EmbedderRefused("no")

    with pytest.raises(EmbedderRefused):
        CallableEmbedder("mine/odd", refuse).query("x")


@pytest.mark.parametrize("name", ["", "mine", "/x", "mine/", "a/b\n"])
def test_a_name_has_a_provider_and_a_model(name: str) -> None:
    """It stands under `embeddings:` and in the settings."""
    with pytest.raises(InvalidInput):
        CallableEmbedder(name, lengths)


def test_random_vectors_are_the_same_everywhere() -> None:
    """By the text alone; another seed is another model; unrelated texts are nearly at right angles."""
    made = RandomEmbedder(64)
    found = made.documents(["a", "b", "a", "\ud800"])
    assert (found.shape, found.dtype, made.dimension, made.name) == ((4, 64), np.float32, 64, "random/64-0")
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert found[0].tolist() == found[2].tolist() == RandomEmbedder(64).query("a").tolist()
    assert abs(float(found[0] @ found[1])) < 0.5
    assert abs(float(found[0] @ RandomEmbedder(64, seed=1).query("a"))) < 0.5
    np.testing.assert_allclose(found[0][:3], [0.24129, -0.057105, 0.160906], atol=1)
    made.close()


def test_a_table_gives_its_rows_and_no_others() -> None:
    """For tests that say by hand what is near to what."""
    made = StaticEmbedder({"a": [3, 4], "b": [0, 1]})
    np.testing.assert_allclose(made.documents(["b", "a"]), [[0, 1], [0.6, 0.8]], atol=1e-6)
    assert (made.name, made.dimension) == ("static/table", 2)
    with pytest.raises(EmbedderUnavailable, match="'c'"):
        made.query("c")
    made.close()


def test_slow_failing_and_counting_ones_wrap_another() -> None:
    """They pass on what the inner one says, each with its own trouble."""
    slept: list[float] = []
    inner = CountingEmbedder(SlowEmbedder(FailingEmbedder(RandomEmbedder(8), times=1), 2.5, slept.append))
    with pytest.raises(EmbedderUnavailable):
        inner.query("a")
    assert inner.documents(["b", "c"]).shape == (2, 8)
    assert (inner.calls, inner.texts, slept) == (2, ["a", "b", "c"], [2.5, 2.5])
    assert (inner.name, inner.dimension) == ("random/8-0", 8)
    dead = FailingEmbedder(RandomEmbedder(8), error=lambda: EmbedderMismatch("other"))
    for _ in range(3):
        with pytest.raises(EmbedderMismatch):
            dead.documents(["x"])
    inner.close()


def test_text_is_made_readable() -> None:
    """Cut, free of lone surrogates, never empty."""
    assert readable(["abc", "", "a\ud800b", "🙂🙂"], 2) == ["ab", " ", "a?", "🙂🙂"]
    assert readable(["abc"]) == ["abc"]
    assert readable(["abc", ""], 2, "q: ") == ["q: ab", "q: "]
