"""Rerankers: a tiny cross-encoder that weighs the words of the second text, and functions of somebody else's."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muniment.base.errors import EmbedderMismatch, EmbedderUnavailable, InvalidInput, LimitExceeded
from muniment.embed.rerank import CallableReranker, LocalReranker
from muniment.embed.rerank_options import RerankOptions, rerank_options

PAIRS = Path(__file__).parent / "tiny_pairs"
TEXTS = ["kim", "deploy friday", "boats boats boats", "nothing known"]
WEIGHTS = [8.0, 3.0, 12.0, 0.0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the tiny model."""
    return Path(shutil.copytree(PAIRS, tmp_path / "pairs"))


def local(folder: Path, **more: Any) -> LocalReranker:
    """The reranker of a folder."""
    pytest.importorskip("onnxruntime", reason="needs the extra local")
    pytest.importorskip("tokenizers", reason="needs the extra local")
    return LocalReranker(RerankOptions(folder=str(folder), **more))


def test_question_and_text_are_read_as_a_pair(folder: Path) -> None:
    """The text is the second of the two, the words of the question don't count, and the order is kept."""
    made = local(folder, batch=2)
    found = made.scores("kim kim friday", TEXTS)
    np.testing.assert_allclose(found, WEIGHTS)
    np.testing.assert_allclose(made.scores("", TEXTS), WEIGHTS)
    assert made.scores("kim", []).shape == (0,)
    made.close()
    np.testing.assert_allclose(made.scores("boats", TEXTS[:1]), WEIGHTS[:1])


def test_two_numbers_a_pair_speak_against_and_for_it(folder: Path) -> None:
    """Of two classes the second is the relevant one: what counts is how far it leads."""
    (folder / "two.onnx").replace(folder / "model.onnx")
    np.testing.assert_allclose(local(folder).scores("kim", TEXTS), [2 * weight for weight in WEIGHTS])


def test_a_model_that_scores_no_pairs_is_told_by_name(folder: Path) -> None:
    """One that gives a number for each token."""
    (folder / "tokens.onnx").replace(folder / "model.onnx")
    with pytest.raises(EmbedderMismatch, match=r"local/reranker gave .* numbers for 4 pairs"):
        local(folder).scores("kim", TEXTS)


def test_what_is_too_long_is_cut(folder: Path) -> None:
    """By characters before it is read, and by tokens of both together."""
    assert local(folder, max_chars=11).scores("kim", ["boats boats boats"]).tolist() == [8.0]
    long = local(folder, max_tokens=16, max_chars=100_000).scores("kim", ["kim " * 20_000])
    assert long.tolist() == [8.0 * (16 - 4)]  # three of them are marks, one is the question


@pytest.mark.parametrize("text", ["", "\ud800", "\x00", "🙂" * 50])
def test_any_text_has_a_score(folder: Path, text: str) -> None:
    """Empty text, lone surrogates, control characters."""
    assert local(folder).scores(text, [text]).tolist() == [0.0]


def test_a_pinned_folder_takes_no_other_model(folder: Path) -> None:
    """With `sha256` set, what is run is what was hashed."""
    sha256 = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    assert local(folder, sha256=sha256).scores("kim", ["kim"]).tolist() == [8.0]
    with pytest.raises(EmbedderMismatch, match="sha-256"):
        local(folder, sha256="0" * 64).scores("kim", ["kim"])


def test_a_folder_without_a_model_is_unavailable(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(EmbedderUnavailable, match=r"model\.onnx"):
        local(tmp_path).scores("kim", ["kim"])


def test_it_stops_when_nobody_waits_any_more(folder: Path) -> None:
    """After the run in which its time is over, the rest is not begun."""
    looks: list[float] = []

    def timer() -> float:
        looks.append(0.0)
        return float(len(looks))

    pytest.importorskip("onnxruntime", reason="needs the extra local")
    made = LocalReranker(RerankOptions(folder=str(folder), batch=1, timeout=1.5), timer)
    with pytest.raises(EmbedderUnavailable, match="took too long"):
        made.scores("kim", TEXTS)
    assert len(looks) == 3  # at the start, within the time, and past it: of four runs two were made


def test_a_function_gives_the_scores() -> None:
    """It is called once, with readable text, and its numbers come back as they are."""
    seen = []

    def longest(query: str, texts: list[str]) -> list[int]:
        seen.append((query, texts))
        return [len(text) for text in texts]

    made = CallableReranker("mine", longest)
    assert made.scores("a\ud800", ["ab", ""]).tolist() == [2.0, 1.0]
    assert seen == [("a?", ["ab", " "])]
    assert repr(made) == "CallableReranker('mine')"


@pytest.mark.parametrize(
    "given", [None, [1.0], [[1.0], [2.0]], [1.0, float("nan")], [1.0, float("inf")], "ab", [1, "x"]]
)
def test_what_is_no_number_for_each_text_is_a_mismatch(given: Any) -> None:
    """Too few, too deep, NaN, infinite, or no numbers at all."""
    with pytest.raises(EmbedderMismatch, match="mine gave no number for each of 2 texts"):
        CallableReranker("mine", lambda *_: given).scores("q", ["a", "b"])


def test_a_function_that_raises_is_unavailable_and_our_own_errors_pass() -> None:
    """A stranger's exception comes out as ours, by name."""

    def breaks(*_: Any) -> Any:
        raise RuntimeError("no model")

    def ours(*_: Any) -> Any:
        raise LimitExceeded("texts", 1, 2)

    with pytest.raises(EmbedderUnavailable, match="mine raised RuntimeError: no model"):
        CallableReranker("mine", breaks).scores("q", ["a"])
    with pytest.raises(LimitExceeded):
        CallableReranker("mine", ours).scores("q", ["a"])


@pytest.mark.parametrize("name", ["", "  ", "a\nb"])
def test_a_name_has_to_be_one(name: str) -> None:
    """It is shown in messages."""
    with pytest.raises(InvalidInput):
        CallableReranker(name, lambda *_: [])


def test_the_block_has_defaults() -> None:
    """A folder is enough."""
    found = rerank_options({"backend": "local", "folder": "there"})
    assert found == RerankOptions(folder="there")
    assert (found.top, found.timeout, found.always) == (50, 2.0, True)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ([], "not a block"), ({}, "rerank.backend is missing"), ({"backend": "local"}, "rerank.folder is missing"),
        ({"backend": "cohere", "folder": "x"}, "rerank.backend"),
        ({"backend": "local", "folder": "x", "key": 1}, "unknown"),
        *(({"backend": "local", "folder": "x", name: value}, f"rerank.{name} has a value")
          for name, value in [("top", 1), ("top", 201), ("top", True), ("timeout", 0), ("sha256", "ABC"),
                              ("max_tokens", 513), ("batch", 0), ("threads", 65), ("always", "yes"), ("model", ""),
                              ("max_chars", 0), ("folder", 3)]),
    ],
)  # fmt: skip
def test_a_block_without_meaning_is_refused_by_name(block: Any, words: str) -> None:
    """The message says which name, and what it takes."""
    with pytest.raises(InvalidInput, match=words):
        rerank_options(block)


def test_nothing_is_loaded_before_it_is_used(tmp_path: Path) -> None:
    """A folder that is not there is no error until somebody asks, so opening costs nothing."""
    made = local(tmp_path / "nowhere")
    assert made.name == "local/reranker"
