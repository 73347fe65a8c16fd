"""Two sessions of an ONNX model are compared by answers to rows that are made up."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from torpor_container.formats.onnx_proof import FURTHEST, FarApart, distance


def session(weight: float, kind: int = TensorProto.FLOAT, tail: str = "Identity") -> Any:
    """One number a row: the sum of its three cells times the weight."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["s"]), _last(tail, kind)],
        "sum",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])],
        [helper.make_tensor_value_info("y", kind, [None, 1])],
        [numpy_helper.from_array(np.full((3, 1), weight, np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def _last(tail: str, kind: int) -> Any:
    return helper.make_node(tail, ["s"], ["y"], to=kind) if tail == "Cast" else helper.make_node(tail, ["s"], ["y"])


@pytest.mark.parametrize("rows", [1, 33])
def test_the_same_model_is_close_and_last_bits_count_little(rows: int) -> None:
    assert distance(session(1.0), session(1.0), rows) == 0.0
    assert 0 < distance(session(1.0), session(1.0 + FURTHEST / 4), rows) <= FURTHEST


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (session(1.0), session(1.001), "the output y differs by"),
        (session(1.0), session(float("nan")), "infinite or missing values elsewhere"),
        (session(10.0, TensorProto.INT64, "Cast"), session(11.0, TensorProto.INT64, "Cast"), "the output y has other"),
        (session(1.0, TensorProto.STRING, "Cast"), session(1.0, TensorProto.STRING, "Cast"), "no tensor of numbers"),
    ],
    ids=["numbers", "missing", "whole numbers", "texts"],
)
def test_models_that_differ_or_cannot_be_compared_are_far_apart(one: Any, other: Any, why: str) -> None:
    with pytest.raises(FarApart, match=why):
        distance(one, other, 33)


def test_a_failed_proof_refuses_the_form(tmp_path: Path) -> None:
    """The form in the file is that of another model."""
    from tests.container.formats.test_onnx_weights import NAME, network, parted
    from torpor_container.formats.onnx_proof import prove

    own, other = network(), network()
    other.graph.initializer[0].raw_data = own.graph.initializer[1].raw_data
    file = parted(own.SerializeToString(), tmp_path / NAME)
    for name, model in (("own", own), ("other", other)):
        onnx.save(model, tmp_path / f"{name}.onnx")
    assert "answers differ by at most" in prove({"path": str(tmp_path / "own.onnx"), "file": str(file)}, [])["note"]
    assert "differs by" in prove({"path": str(tmp_path / "other.onnx"), "file": str(file)}, [])["refused"]
