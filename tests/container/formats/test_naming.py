"""Models with names for their inputs and outputs: XGBoost's features, and ONNX's inputs and outputs."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
import xgboost
from onnx import TensorProto, helper
from scipy import sparse

from torpor.calling.bodies import encode
from torpor_container.errors import BadInput, NotAcceptable
from torpor_container.formats import Conventions, ServableModel, detect
from torpor_container.formats.xgboost import boosters
from torpor_container.invocation import Invocation

JSON, CSV, HEADED = "application/json", "text/csv", "text/csv; header=present"
ROWS = np.random.default_rng(3).random((60, 3)).round(2)
FRAME = pd.DataFrame(ROWS, columns=["sqft", "beds", "age"])
PRICES = ROWS @ [3.0, 2.0, 1.0]


def answer(model: ServableModel, body: bytes, content_type: str, accept: str = JSON) -> Any:
    reply = model.invoke(Invocation(body, content_type, accept))
    return json.loads(reply.body) if reply.content_type == JSON else reply.body


# -- XGBoost -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("parameters", [{}, {"booster": "gblinear"}, {"booster": "dart"}], ids=str)
def test_a_frame_in_another_order_gets_the_answer_of_its_columns(parameters: dict[str, Any]) -> None:
    booster = xgboost.train({"nthread": 1, **parameters}, xgboost.DMatrix(FRAME, PRICES), 5)
    model = boosters.serve(booster, Conventions())
    expected = booster.predict(xgboost.DMatrix(FRAME[:4])).tolist()
    for content_type in (None, CSV, JSON, "application/jsonlines"):
        assert answer(model, *encode(FRAME[:4][["age", "sqft", "beds"]], content_type)) == expected
    assert answer(model, *encode(ROWS[:4])) == expected
    with pytest.raises(BadInput, match=r"unknown: bed \(did you mean beds\?\); missing: beds"):
        answer(model, *encode(FRAME.rename(columns={"beds": "bed"})))


@pytest.mark.parametrize("booster", ["gbtree", "gblinear"])
def test_an_absent_value_of_a_sparse_row_is_missing_to_xgboost_and_a_stored_zero_is_zero(booster: str) -> None:
    trained = xgboost.train({"nthread": 1, "booster": booster}, xgboost.DMatrix(FRAME, PRICES), 5)
    rows = sparse.csr_matrix(([0.9, 0.0, 0.7], ([0, 0, 1], [0, 1, 2])), shape=(5000, 3))
    stream = io.BytesIO()
    sparse.save_npz(stream, rows)
    expected = trained.predict(xgboost.DMatrix(rows), validate_features=False).tolist()
    assert answer(boosters.serve(trained, Conventions()), stream.getvalue(), "application/x-npz") == expected


# -- ONNX --------------------------------------------------------------------------------------------------------------
FLOAT, INT, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def save(path: Path, nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any]) -> ServableModel:
    told = [[helper.make_tensor_value_info(name, *kind) for name, kind in one.items()] for one in (inputs, outputs)]
    graph = helper.make_graph(nodes, "graph", told[0], told[1])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path / "model.onnx")
    known, found = detect(path)
    return known.load(found, Conventions())


@pytest.fixture
def classifier(tmp_path: Path) -> ServableModel:
    """The class, and how likely each is."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["probability"]),
        helper.make_node("ArgMax", ["probability"], ["label"], axis=1, keepdims=0),
    ]
    return save(tmp_path, nodes, {"x": (FLOAT, [None, 2])}, {"label": (INT, [None]), "probability": (FLOAT, [None, 2])})


@pytest.fixture
def columns(tmp_path: Path) -> ServableModel:
    """An input for each column, of three types."""
    nodes = [
        helper.make_node("Cast", ["rooms"], ["real"], to=FLOAT),
        helper.make_node("Add", ["real", "size"], ["sum"]),
        helper.make_node("Identity", ["city"], ["same"]),
    ]
    inputs = {"city": (TEXT, [None, 1]), "rooms": (INT, [None, 1]), "size": (FLOAT, [None, 1])}
    return save(tmp_path, nodes, inputs, {"sum": (FLOAT, [None, 1]), "same": (TEXT, [None, 1])})


LIKELY = [0.2689414322376251, 0.7310585975646973]


def test_all_outputs_of_a_classifier_are_answered(classifier: ServableModel) -> None:
    assert answer(classifier, b"0,1", CSV) == {"label": [1], "probability": [LIKELY]}
    assert answer(classifier, b"0,1\n1,0", CSV, CSV).splitlines()[0] == b"1,0.2689414322376251,0.7310585975646973"
    assert json.loads(answer(classifier, b"0,1", CSV, "application/jsonlines")) == {"label": 1, "probability": LIKELY}


def test_accept_names_one_output(classifier: ServableModel) -> None:
    assert answer(classifier, b"0,1", CSV, f"{JSON}; output=probability") == [LIKELY]
    assert answer(classifier, b"0,1", CSV, f'{CSV};q=0.5, {JSON}; output="label"') == [1]
    array = np.load(io.BytesIO(answer(classifier, b"0,1", CSV, "application/x-npy; output=probability")))
    assert array.tolist() == [LIKELY]
    with pytest.raises(BadInput, match="no output proba; its outputs are label, probability"):
        answer(classifier, b"0,1", CSV, f"{JSON}; output=proba")


def test_an_array_of_several_outputs_asks_for_one_of_them(classifier: ServableModel) -> None:
    with pytest.raises(NotAcceptable, match="the outputs label, probability: name one in Accept"):
        answer(classifier, b"0,1", CSV, "application/x-npy")


def test_the_protocol_names_inputs_and_outputs(classifier: ServableModel) -> None:
    tensor = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [0, 1]}

    def asked(*names: str, **other: Any) -> Any:
        request = {"inputs": [{**tensor, **other}], "outputs": [{"name": name} for name in names]}
        return answer(classifier, json.dumps(request).encode(), JSON)

    assert asked() == asked("label", "probability") == {"label": [1], "probability": [LIKELY]}
    assert asked("probability") == [LIKELY]
    for other, said in (
        ({"name": "y"}, r"unknown: y; missing: x \(the model's are x\)"),
        ({"shape": [2]}, r"input x is rows by columns, and the tensor has the shape \[2\]"),
        ({"shape": [2, 1]}, "tensor x: the model takes 2 columns, and the rows have 1"),
        ({"datatype": "BYTES", "data": ["0", "1"]}, "numbers only, and the tensor is of datatype BYTES"),
    ):
        with pytest.raises(BadInput, match=said):
            asked(**other)
    with pytest.raises(BadInput, match="no output other"):
        asked("other")


TWO_ROWS = pd.DataFrame({"size": [0.5, 2.5], "city": ["Oslo", "Rome"], "rooms": [2**53 + 1, 4]})
TENSORS = [
    {"name": name, "shape": [2, 1], "datatype": datatype, "data": TWO_ROWS[name].tolist()}
    for name, datatype in (("rooms", "INT64"), ("size", "FP32"), ("city", "BYTES"))
]
COLUMNS = {
    "a frame": encode(TWO_ROWS),
    "csv": encode(TWO_ROWS, CSV),
    "records": (TWO_ROWS.to_json(orient="records").encode(), JSON),
    "instances": (b'{"instances": %b}' % TWO_ROWS.to_json(orient="records").encode(), JSON),
    "tensors": (json.dumps({"inputs": TENSORS}).encode(), JSON),
    "columns": (TWO_ROWS.to_json(orient="columns").encode(), JSON),
    "lists of cells": (json.dumps(TWO_ROWS.to_dict("list")).encode(), JSON),
    "arrays": (json.dumps({name: [[cell] for cell in TWO_ROWS[name]] for name in TWO_ROWS}).encode(), JSON),
}


@pytest.mark.parametrize("way", COLUMNS)
def test_a_column_for_each_input_goes_by_its_name_and_type(columns: ServableModel, way: str) -> None:
    assert answer(columns, *COLUMNS[way]) == {"sum": [[2.0**53 + 0.5], [6.5]], "same": [["Oslo"], ["Rome"]]}


def test_one_record_is_a_row_of_the_inputs(columns: ServableModel) -> None:
    body = b'{"size": 0.5, "city": "Oslo", "rooms": 3}'
    for content_type in (JSON, "application/jsonlines"):
        assert answer(columns, body, content_type) == {"sum": [[3.5]], "same": [["Oslo"]]}


@pytest.mark.parametrize(
    ("body", "content_type", "said"),
    [
        (b"Oslo,3,0.5", CSV, "several inputs; .* or CSV with a header: city, rooms, size"),
        (b"city,rooms,size\nOslo,3.5,1", HEADED, "row 1, column 1: the model takes whole numbers only"),
        (b"city,rooms,size\nOslo,three,1", HEADED, "row 1, column rooms: .* and not 'three'"),
        (b"city,room,size\nOslo,3,1", HEADED, r"unknown: room \(did you mean rooms\?\); missing: rooms"),
        (b'{"city": [["a"]], "rooms": [[1]], "size": [[1]], "more": [[1]]}', JSON, "unknown: more"),
        (b'{"city": ["a"], "rooms": [1, 2], "size": [1]}', JSON, "the columns differ in length"),
        (b'{"city": {"0": "a"}, "rooms": {"1": 1}, "size": {"0": 1}}', JSON, "columns do not have the same rows"),
    ],
)
def test_columns_that_are_not_the_inputs_are_refused(
    columns: ServableModel, body: bytes, content_type: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        answer(columns, body, content_type)


def test_maps_of_probabilities_stand_beside_the_label(tmp_path: Path) -> None:
    node = helper.make_node("ZipMap", ["x"], ["chances"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog"])
    numbered = helper.make_map_type_proto(TEXT, helper.make_tensor_type_proto(FLOAT, []))
    outputs = [
        helper.make_tensor_value_info("best", INT, [None]),
        helper.make_value_info("chances", helper.make_sequence_type_proto(numbered)),
    ]
    inputs = [helper.make_tensor_value_info("x", FLOAT, [None, 2])]
    graph = helper.make_graph(
        [helper.make_node("ArgMax", ["x"], ["best"], axis=1, keepdims=0), node], "g", inputs, outputs
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "model.onnx")
    known, found = detect(tmp_path)
    model = known.load(found, Conventions())
    assert answer(model, b"0.25,0.75", CSV) == {"best": [1], "chances": [{"cat": 0.25, "dog": 0.75}]}
    assert answer(model, b"0.25,0.75", CSV, CSV) == b"1,0.25,0.75\n"
