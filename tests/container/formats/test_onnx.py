"""ONNX models: several inputs, tensors of any rank and type, cells that a cast would change, answers that are maps."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.container.helpers.served_models import answer, load
from torpor_container.errors import BadInput, LoadFailed, NotAcceptable
from torpor_container.invocation import Invocation


def save_sum(path: Path, shape: list[int | None], kind: int = TensorProto.FLOAT) -> None:
    """A graph that adds its two inputs."""
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name in ("a", "b")]
    outputs = [helper.make_tensor_value_info("sum", kind, shape)]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["sum"])], "sum", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.mark.parametrize("envelope", [lambda tensors: {"inputs": tensors}, lambda tensors: tensors])
def test_onnx_takes_named_tensors_of_any_rank(
    tmp_path: Path, envelope: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    save_sum(tmp_path / "model.onnx", [None, 2, 1])
    body = json.dumps(envelope({"a": [[[1], [2]]], "b": [[[10], [20]]]})).encode()
    assert answer(load(tmp_path), body, "application/json") == [[[11], [22]]]


def test_onnx_keeps_whole_numbers_whole(tmp_path: Path) -> None:
    save_sum(tmp_path / "model.onnx", [None, 1], TensorProto.INT64)
    body = b'{"a": [[9007199254740993]], "b": [[0]]}'
    assert answer(load(tmp_path), body, "application/json") == [[9007199254740993]]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"1,2", "text/csv"), (b"[[1]]", "application/json"), (b'{"a": [[1]]}', "application/json")],
)
def test_onnx_with_several_inputs_asks_for_each_by_name(tmp_path: Path, body: bytes, content_type: str) -> None:
    save_sum(tmp_path / "model.onnx", [None, 1])
    with pytest.raises(BadInput, match="a, b"):
        answer(load(tmp_path), body, content_type)


def test_onnx_refuses_tensors_that_do_not_go_together(tmp_path: Path) -> None:
    save_sum(tmp_path / "model.onnx", [None, 2, 1])
    with pytest.raises(BadInput, match="refuses"):
        answer(load(tmp_path), b'{"a": [[[1]]], "b": [[[1]]]}', "application/json")


TENSORS = {
    "digits as text": (TensorProto.STRING, "text/csv", b"1,2,3", [["1", "2", "3"]]),
    "text": (TensorProto.STRING, "text/csv", b"a,b,c", [["a", "b", "c"]]),
    "text in json": (TensorProto.STRING, "application/json", b'{"x": [["a", "b"]]}', [["a", "b"]]),
    "a large whole number": (TensorProto.INT64, "text/csv", b"9007199254740993", [[9007199254740993]]),
    "truths": (TensorProto.BOOL, "text/csv", b"true,0", [[True, False]]),
}


@pytest.mark.parametrize("name", TENSORS)
def test_onnx_gets_cells_as_they_were_written(tmp_path: Path, name: str) -> None:
    kind, content_type, body, expected = TENSORS[name]
    save_identity(tmp_path / "model.onnx", kind)
    assert answer(load(tmp_path), body, content_type) == expected


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        (TensorProto.STRING, b'[["a", null]]', "row 1, column 2: the model takes text only, and not null"),
        (TensorProto.INT64, b"[[1, null]]", "row 1, column 2: the model takes whole numbers only"),
        (TensorProto.BOOL, b"[[2]]", "row 1, column 1: the model takes true, false, 1 and 0 only, and not 2"),
    ],
)
def test_onnx_refuses_cells_that_would_become_others(tmp_path: Path, kind: int, body: bytes, said: str) -> None:
    save_identity(tmp_path / "model.onnx", kind)
    with pytest.raises(BadInput, match=said):
        answer(load(tmp_path), body, "application/json")


def test_the_error_of_an_unsupported_input_type_lists_the_supported_ones(tmp_path: Path) -> None:
    save_identity(tmp_path / "model.onnx", TensorProto.BFLOAT16)
    with pytest.raises(
        LoadFailed, match=r"input x is a tensor\(bfloat16\), and Torpor takes only these: tensor\(float\), "
    ):
        load(tmp_path)


def test_onnx_answers_maps_as_cells_of_json(tmp_path: Path) -> None:
    save_zip_map(tmp_path / "model.onnx")
    reply = load(tmp_path).invoke(Invocation(b"0.25,0.75", "text/csv", "text/csv"))
    assert reply.body == b'"{""cat"": 0.25, ""dog"": 0.75}"\n'


def save_zip_map(path: Path) -> None:
    """A graph that gives its two columns the names of classes."""
    before = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])
    numbered = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    after = helper.make_value_info("y", helper.make_sequence_type_proto(numbered))
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    graph = helper.make_graph([node], "maps", [before], [after])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def save_identity(path: Path, kind: int, shape: Sequence[int | None] = (None, None)) -> None:
    """A graph that answers its input."""
    before, after = (helper.make_tensor_value_info(name, kind, shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [before], [after])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.mark.parametrize(("rows", "shape"), [(1, [3]), (4, [3]), (1, [3, 1])])
def test_onnx_says_how_many_rows_a_model_of_a_fixed_number_takes(tmp_path: Path, rows: int, shape: list[int]) -> None:
    save_identity(tmp_path / "model.onnx", TensorProto.FLOAT, [rows, *shape])
    row: Any = [1, 2, 3] if len(shape) == 1 else [[1], [2], [3]]
    with pytest.raises(BadInput, match=f"input: x .* index: 0 Got: 2 Expected: {rows} Please fix"):
        answer(load(tmp_path), json.dumps([row, row]).encode(), "application/json")


@pytest.mark.parametrize(("kind", "number"), [(TensorProto.FLOAT16, b"70000"), (TensorProto.FLOAT, b"1e39")])
def test_onnx_refuses_a_number_that_would_become_infinite(tmp_path: Path, kind: int, number: bytes) -> None:
    save_identity(tmp_path / "model.onnx", kind)
    for content_type, body in (("text/csv", b"1,2,%b"), ("application/json", b"[[1, 2, %b]]")):
        with pytest.raises(BadInput, match=r"row 1, column 3: .* is beyond the range of float"):
            answer(load(tmp_path), body % number, content_type)
    tensor = {"name": "x", "shape": [3, 1], "datatype": "FP64", "data": [1, 2, float(number)]}
    with pytest.raises(BadInput, match="row 3, column 1: "):
        answer(load(tmp_path), json.dumps({"inputs": [tensor]}).encode(), "application/json")


def test_an_answer_that_the_accepted_type_cannot_hold_is_406_which_names_others(tmp_path: Path) -> None:
    save_identity(tmp_path / "model.onnx", TensorProto.FLOAT, [None, 1, 1])
    model = load(tmp_path)
    with pytest.raises(NotAcceptable, match=r"two dimensions .*: ask for application/json or application/x-npy"):
        model.invoke(Invocation(b"[[[1]]]", "application/json", "text/csv"))


def save_scaled_product(path: Path) -> None:
    """A product of a matrix and of rows that a number scales: ONNX Runtime, as it optimises by default, scales the
    product instead."""
    chance = np.random.default_rng(3)
    tensors = {"matrix": chance.normal(size=(8, 16)), "scale": np.array(0.3)}
    given, said = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, size]) for name, size in {"x": 8, "y": 16}.items()
    )
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["scaled"]),
        helper.make_node("MatMul", ["scaled", "matrix"], ["y"]),
    ]
    weights = [numpy_helper.from_array(one.astype(np.float32), name) for name, one in tensors.items()]
    graph = helper.make_graph(nodes, "g", [given], [said], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_onnx_answers_to_the_last_bit_what_a_session_by_default_does(tmp_path: Path) -> None:
    """A session that optimises less opens in half the time, and adds in another order."""
    save_scaled_product(tmp_path / "m.onnx")
    rows = np.random.default_rng(1).normal(size=(257, 8)).astype(np.float32)
    [expected] = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": rows})
    body = json.dumps(rows.tolist()).encode()
    answered = answer(load(tmp_path), body, "application/json")
    assert np.array_equal(np.array(answered, np.float32), expected)
