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
PAIRS = Path(__file__).parent / "tiny_pairs"
WEIGHTS = [100.0, 0.0, 0.0, 0.0, 1.0, 2.0, 4.0, 8.0]  # of the words; that of `[PAD]` shows if it counts


def table() -> np.ndarray:
    """A row for each word: shape (8, 8), float32. That of `[PAD]` is large, so that it shows if it counts."""
    rows = np.eye(8, dtype=np.float32)
    rows[0] = 100.0
    rows[1] = [1, 1, 0, 0, 0, 0, 0, 0]
    rows[2] = 0.0
    return rows


def write(name: str, graph: onnx.GraphProto, folder: Path = FOLDER) -> None:
    """Write one model."""
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())


def write_pairs(inputs: list[onnx.ValueInfoProto]) -> None:
    """Models that score pairs: the weights of the words of the second text, as one number or as two; and no score."""
    PAIRS.mkdir(exist_ok=True)
    constants = [numpy_helper.from_array(np.array(WEIGHTS, np.float32), "weights"),
                 numpy_helper.from_array(np.array([1], np.int64), "along"),
                 numpy_helper.from_array(np.array([[-1.0, 1.0]], np.float32), "both")]  # fmt: skip
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["each"], axis=0),
        helper.make_node("Mul", ["token_type_ids", "attention_mask"], ["second"]),
        helper.make_node("Cast", ["second"], ["which"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "which"], ["held"]),
        helper.make_node("ReduceSum", ["held", "along"], ["score"], keepdims=1),
    ]
    one = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["n", 1])
    write("model", helper.make_graph(nodes, "pairs", inputs, [one], constants[:2]), PAIRS)
    two = helper.make_node("MatMul", ["score", "both"], ["logits"])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 2])
    write("two", helper.make_graph([*nodes, two], "two", inputs, [logits], constants), PAIRS)
    tokens = helper.make_tensor_value_info("held", TensorProto.FLOAT, ["n", "t"])
    write("tokens", helper.make_graph(nodes[:4], "tokens", inputs, [tokens], constants[:1]), PAIRS)


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
    write_pairs(inputs)
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
    second = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    processor = {**tokenizer["post_processor"], "pair": [*piece, *second]}
    paired = {**tokenizer, "post_processor": processor}
    (PAIRS / "tokenizer.json").write_text(json.dumps(paired, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
