"""Writes `overlap.onnx`, a cross-encoder for tests: python3 overlap.py FILE (needs the package `onnx`).

It has the inputs and the output of published ones, and reads query and text together: its score is the number of pairs
of equal tokens of the query and of the text, special tokens apart. So a test can say in advance how it orders texts.
"""

import sys

import onnx
from onnx import TensorProto, helper

node = helper.make_node
LAST_SPECIAL = 103  # [PAD], [UNK], [CLS], [SEP] and [MASK] of BERT's vocabulary are not above it

graph = helper.make_graph(
    [
        node("Greater", ["input_ids", "last_special"], ["is_word"]),
        node("Equal", ["token_type_ids", "one"], ["is_second"]),
        node("Not", ["is_second"], ["is_first"]),
        node("And", ["is_word", "is_first"], ["in_query"]),
        node("And", ["is_word", "is_second"], ["in_text"]),
        node("Unsqueeze", ["input_ids", "axis_2"], ["rows"]),
        node("Unsqueeze", ["input_ids", "axis_1"], ["columns"]),
        node("Equal", ["rows", "columns"], ["same"]),
        node("Unsqueeze", ["in_query", "axis_2"], ["query_rows"]),
        node("Unsqueeze", ["in_text", "axis_1"], ["text_columns"]),
        node("And", ["query_rows", "text_columns"], ["pairs"]),
        node("And", ["same", "pairs"], ["hits"]),
        node("Cast", ["hits"], ["counts"], to=TensorProto.FLOAT),
        node("ReduceSum", ["counts", "axes"], ["sums"], keepdims=0),
        node("Unsqueeze", ["sums", "axis_1"], ["logits"]),
    ],
    "overlap",
    [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])],
    [
        helper.make_tensor("last_special", TensorProto.INT64, [1], [LAST_SPECIAL]),
        helper.make_tensor("one", TensorProto.INT64, [1], [1]),
        helper.make_tensor("axis_1", TensorProto.INT64, [1], [1]),
        helper.make_tensor("axis_2", TensorProto.INT64, [1], [2]),
        helper.make_tensor("axes", TensorProto.INT64, [2], [1, 2]),
    ],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, sys.argv[1])
