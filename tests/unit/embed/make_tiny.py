"""Makes the tiny models beside it again; needs the package `onnx`, which no test does.

Six words, eight numbers each; what the model gives is the row of each token, so that a test can say by hand
what comes of a text.
"""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "deploy", "friday", "boats", "kim"]
FOLDER = Path(__file__).parent / "tiny"


def table() -> np.ndarray:
    """A row for each word: shape (8, 8), float32. That of `[PAD]` is large, so that it shows if it counts."""
    rows = np.eye(8, dtype=np.float32)
    rows[0] = 100.0
    rows[1] = [1, 1, 0, 0, 0, 0, 0, 0]
    rows[2] = 0.0
    return rows


def write(name: str, graph: onnx.GraphProto) -> None:
    """Write one model."""
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


def main() -> None:
    """Write model and tokenizer."""
    FOLDER.mkdir(exist_ok=True)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in names]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", 8])
    node = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"], axis=0)
    rows = [numpy_helper.from_array(table(), "table")]
    write("model", helper.make_graph([node], "tiny", inputs, [output], rows))
    pooled = helper.make_node("ReduceMean", ["last_hidden_state"], ["pooled"], axes=[1], keepdims=0)
    one = helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["n", 8])
    write("pooled", helper.make_graph([node, pooled], "pooled", inputs, [one], rows))
    pixels = helper.make_tensor_value_info("pixels", TensorProto.INT64, ["n", "t"])
    seen = helper.make_node("Gather", ["table", "pixels"], ["last_hidden_state"], axis=0)
    write("pixels", helper.make_graph([seen], "pixels", [pixels], [output], rows))
    few = [numpy_helper.from_array(table()[:4], "table")]  # most words are beyond its end
    write("short", helper.make_graph([node], "short", inputs, [output], few))
    special = {
        name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
    }
    piece = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]  # fmt: skip
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {"type": "TemplateProcessing", "single": piece, "pair": piece, "special_tokens": special},
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: at for at, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }  # fmt: skip
    (FOLDER / "tokenizer.json").write_text(json.dumps(tokenizer, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
