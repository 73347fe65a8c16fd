"""The models that are measured on a device: networks with so many bytes of weights, and boosters."""

import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = 256
MIB = 1024**2


def network(path: Path, weight_bytes: int, seed: int = 7) -> Path:
    """An ONNX file: rows of COLUMNS, square layers between, one number. Its weights have about so many bytes."""
    from onnx import TensorProto, helper, numpy_helper

    width = max(64, int((weight_bytes / 4 / 4) ** 0.5))  # four square layers hold nearly all of them
    dice = np.random.default_rng(seed)
    sizes = [COLUMNS, *[width] * 5, 1]
    nodes, weights, came = [], [], "rows"
    for place, (before, after) in enumerate(pairwise(sizes)):
        matrix = dice.standard_normal((before, after), np.float32) / np.float32(before**0.5)
        weights += [
            numpy_helper.from_array(matrix, f"w{place}"),
            numpy_helper.from_array(np.zeros(after, np.float32), f"b{place}"),
        ]
        last = place == len(sizes) - 2
        sums = "said" if last else f"sums{place}"
        nodes.append(helper.make_node("Gemm", [came, f"w{place}", f"b{place}"], [sums]))
        if not last:
            nodes.append(helper.make_node("Relu", [sums], [f"hidden{place}"]))
            came = f"hidden{place}"
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, COLUMNS])],
        [helper.make_tensor_value_info("said", TensorProto.FLOAT, [None, 1])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path


def booster(path: Path, trees: int, depth: int, columns: int = 50) -> Path:
    """A booster of full trees, as `.ubj`."""
    import xgboost

    if path.exists():
        return path
    dice = np.random.default_rng(7)
    rows = dice.standard_normal((4000, columns), np.float32)
    target = rows @ dice.standard_normal(columns).astype(np.float32) + dice.standard_normal(4000).astype(np.float32)
    trained: Any = xgboost.train({"max_depth": depth, "nthread": 8}, xgboost.DMatrix(rows, target), trees)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(trained.save_raw("ubj")))
    return path


def artifact(path: Path, file: Path) -> Path:
    """The file alone in an archive, hardly compressed: weights are not."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        archive.add(file, "model" + file.suffix)
    return path
