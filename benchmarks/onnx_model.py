"""A small neural network as an ONNX model: 6 columns, one hidden layer of 32, one number."""

from pathlib import Path

import numpy as np

import torpor
from benchmarks.scene import COLUMNS, ROW

HIDDEN = 32


def make(folder: Path) -> dict[str, float]:
    """Its artifact, and what it says to `scene.ROW`."""
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(7)
    shapes = {"w1": (COLUMNS, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, 1), "b2": (1,)}
    weights = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["rows", "w1", "b1"], ["sums"]),
            helper.make_node("Relu", ["sums"], ["hidden"]),
            helper.make_node("Gemm", ["hidden", "w2", "b2"], ["said"]),
        ],
        "network",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, COLUMNS])],
        [helper.make_tensor_value_info("said", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    torpor.bundle(model, folder / "network.tar.gz")
    row = np.array(ROW.split(b","), np.float32).reshape(1, -1)
    hidden = np.maximum(row @ weights["w1"] + weights["b1"], 0)
    return {"network.tar.gz": (hidden @ weights["w2"] + weights["b2"]).item()}
