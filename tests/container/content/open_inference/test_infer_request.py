"""A request of the Open Inference Protocol is read to tensors that fit their shapes, or is its caller's fault."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.content.open_inference.infer_request import read_request
from torpor_container.content.open_inference.tensor_bytes import bytes_of, of_objects
from torpor_container.content.reading.tensors import DATATYPES
from torpor_container.core.protocols.protocol_types import TENSORS
from torpor_container.errors import BadInput

ROWS = np.array([[1.5, -2.0], [3.0, 4.0]], np.float32)
FLAT = [1.5, -2.0, 3.0, 4.0]


def tensor(name: str = "x", **members: Any) -> dict[str, Any]:
    return {"name": name, "shape": [2, 2], "datatype": "FP32", **members}


def binary(document: Any, *pieces: bytes) -> tuple[bytes, str]:
    head = json.dumps(document).encode()
    return b"".join((head, *pieces)), f"{TENSORS};json-header-size={len(head)};model-name=a%2Fb"


def test_a_tensor_in_binary_is_the_array_that_the_client_had() -> None:
    inputs = [tensor(parameters={"binary_data_size": 16}), tensor("y", data=FLAT)]
    read = read_request(*binary({"inputs": inputs, "id": "7"}, ROWS.tobytes()))
    assert (read.model_name, read.request_id) == ("a/b", "7")
    np.testing.assert_array_equal(read.tensors["x"].array, ROWS)
    assert read.tensors["y"].nested == ROWS.tolist()


@pytest.mark.parametrize("datatype", [name for name in DATATYPES if name != "BYTES"])
def test_each_datatype_keeps_its_values(datatype: str) -> None:
    values = np.array([0, 1, 1, 0], DATATYPES[datatype])
    one = {"name": "x", "shape": [4], "datatype": datatype, "parameters": {"binary_data_size": values.nbytes}}
    read = read_request(*binary({"inputs": [one]}, bytes_of(values)))
    np.testing.assert_array_equal(read.tensors["x"].array, values)
    assert read.tensors["x"].array.dtype == values.dtype


def test_elements_of_bytes_have_their_lengths() -> None:
    data = bytes_of(of_objects(["Oslo", b"", "Zürich"]))
    one = {"name": "city", "shape": [3, 1], "datatype": "BYTES", "parameters": {"binary_data_size": len(data)}}
    assert read_request(*binary({"inputs": [one]}, data)).tensors["city"].nested == [["Oslo"], [""], ["Zürich"]]


def test_what_is_wanted_in_binary_is_said_for_each_output_or_for_all() -> None:
    inputs = [tensor(data=FLAT)]
    outputs = [{"name": "a", "parameters": {"binary_data": True}}, {"name": "b"}]
    assert read_request(*binary({"inputs": inputs, "outputs": outputs})).outputs == {"a": True, "b": False}
    asked = {"inputs": inputs, "parameters": {"binary_data_output": True}}
    assert read_request(*binary(asked)).binary
    assert read_request(*binary({**asked, "outputs": [{"name": "a"}]})).outputs == {"a": True}


def test_the_answer_of_the_container_before_is_read_as_a_request() -> None:
    answer = {"model_name": "m", "id": "7", "outputs": [tensor("predict", parameters={"binary_data_size": 16})]}
    read = read_request(*binary(answer, ROWS.tobytes()))
    assert read.binary
    assert read.request_id == "7"
    np.testing.assert_array_equal(read.tensors["predict"].array, ROWS)


REFUSED = [
    ({"inputs": []}, b"", "inputs is a list of tensors"),
    ({"inputs": [tensor(parameters={"binary_data_size": 12})]}, ROWS.tobytes()[:12], "12 bytes of data"),
    ({"inputs": [tensor(parameters={"binary_data_size": 16})]}, b"", "0 bytes are left"),
    ({"inputs": [tensor(data=FLAT)]}, b"more", "4 bytes follow the last tensor"),
    ({"inputs": [tensor(parameters={"binary_data_size": -1})]}, b"", "it is a number of bytes"),
    ({"inputs": [tensor(parameters={"binary_data_size": 16}, data=[])]}, ROWS.tobytes(), "no data beside it"),
    ({"inputs": [tensor(shape=[2**40, 2], parameters={"binary_data_size": 16})]}, ROWS.tobytes(), "which is too large"),
    ({"inputs": [tensor(datatype="BF16", parameters={"binary_data_size": 8})]}, bytes(8), "these are known"),
    ({"inputs": [tensor(data=FLAT), tensor(data=FLAT)]}, b"", "there twice"),
    ({"inputs": [tensor(data=FLAT)], "parameters": {"sequence_id": 7}}, b"", "sequence_id of the request"),
    ({"inputs": [tensor(data=FLAT)], "outputs": [{}]}, b"", "each with the name"),
    ({"inputs": [tensor(data=FLAT)], "instances": []}, b"", "no member instances"),
    ([], b"", "is a JSON object"),
]


@pytest.mark.parametrize(("document", "data", "text"), REFUSED)
def test_a_refusal_names_the_fault(document: Any, data: bytes, text: str) -> None:
    with pytest.raises(BadInput, match=text):
        read_request(*binary(document, data))


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))
MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["x", "y", ""]) | VALUES,
        "shape": st.lists(st.integers(-1, 2**33), max_size=4) | VALUES,
        "datatype": st.sampled_from([*DATATYPES, "BF16"]) | VALUES,
        "data": st.lists(LEAVES, max_size=4) | VALUES,
        "parameters": st.fixed_dictionaries({}, optional={"binary_data_size": st.integers(-1, 40) | LEAVES}) | VALUES,
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "inputs": st.lists(MEMBERS, max_size=3) | VALUES,
        "outputs": st.lists(MEMBERS, max_size=2) | VALUES,
        "id": VALUES,
        "parameters": st.fixed_dictionaries({}, optional={"binary_data_output": LEAVES}) | VALUES,
    },
)
SIZES = st.none() | st.integers(0, 400).map(str) | st.text(max_size=4)


@given(st.binary(max_size=80) | DOCUMENTS.map(lambda one: json.dumps(one).encode()), st.binary(max_size=60), SIZES)
def test_no_body_is_anything_but_read_or_refused(head: bytes, data: bytes, size: str | None) -> None:
    sizes = "" if size is None else f";json-header-size={size}"
    for content_type in (f"{TENSORS}{sizes}", f"{TENSORS};json-header-size={len(head)}"):
        try:
            read = read_request(head + data, content_type)
        except BadInput:
            continue
        for one in read.tensors.values():
            assert np.prod(one.shape) == (len(one.flat) if one.values is not None else one.array.size)


@pytest.mark.parametrize("datatype", ["FP32", "BYTES"])
def test_an_empty_tensor_of_a_shape_that_no_array_has_is_its_callers_fault(datatype: str) -> None:
    one = {"name": "x", "shape": [2**30] * 5 + [0], "datatype": datatype, "parameters": {"binary_data_size": 0}}
    with pytest.raises(BadInput, match="which is too large"):
        read_request(*binary({"inputs": [one]}))
