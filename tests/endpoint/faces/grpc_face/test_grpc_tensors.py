"""Tensors over gRPC become tensors in binary over REST, and the answer's come back."""

import json
import struct
from typing import Any

import pytest

from torpor_endpoint.faces.grpc_face.grpc_messages import message
from torpor_endpoint.faces.grpc_face.grpc_tensors import BadAnswer, BadTensor, body_of, response_of


def request(datatype: str, raw: tuple[bytes, ...] = (), shape: tuple[int, ...] = (2,), **contents: Any) -> Any:
    tensor = {"name": "x", "shape": shape, "datatype": datatype, **({"contents": contents} if contents else {})}
    return message("ModelInferRequest")(model_name="m", inputs=[tensor], raw_input_contents=raw)


def data(asked: Any) -> bytes:
    length, body = body_of(asked)
    (one,) = json.loads(body[:length])["inputs"]
    assert one["parameters"]["binary_data_size"] == len(body) - length
    return body[length:]


@pytest.mark.parametrize(
    ("datatype", "member", "values", "written"),
    [
        ("BOOL", "bool_contents", [True, False], b"\1\0"),
        ("INT8", "int_contents", [-1, 2], b"\xff\2"),
        ("UINT16", "uint_contents", [1, 2], b"\1\0\2\0"),
        ("INT64", "int64_contents", [-(2**63), 2**63 - 1], struct.pack("<2q", -(2**63), 2**63 - 1)),
        ("FP32", "fp32_contents", [0.5, 2.0], struct.pack("<2f", 0.5, 2.0)),
        ("BYTES", "bytes_contents", [b"a", b""], b"\1\0\0\0a\0\0\0\0"),
    ],
)
def test_the_list_of_each_datatype_is_written_in_binary(
    datatype: str, member: str, values: list[Any], written: bytes
) -> None:
    contents: Any = {member: values}
    assert data(request(datatype, **contents)) == written


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (request("INT8", int_contents=[128]), "tensor x"),
        (request("FP16", fp32_contents=[1.0]), "has no list of contents: send raw_input_contents"),
        (request("FP32", fp64_contents=[1.0]), "belongs into fp32_contents, not fp64_contents"),
        (request("FP32", (b"abcd",), fp32_contents=[1.0]), "has contents, and the request has raw_input_contents"),
        (request("FP32", (b"abcd", b"abcd")), "2 elements, and the request 1 inputs"),
    ],
)
def test_what_no_body_stands_for_is_refused_by_the_tensors_name(asked: Any, text: str) -> None:
    with pytest.raises(BadTensor, match=text):
        body_of(asked)


def test_empty_contents_beside_raw_ones_are_none() -> None:
    asked = request("INT8", (b"ab",))
    asked.inputs[0].contents.SetInParent()  # as MLServer's client sends it
    assert asked.inputs[0].HasField("contents")
    length, body = body_of(asked)
    assert body[length:] == b"ab"


def test_names_ids_and_parameters_go_along() -> None:
    asked = request("INT8", (b"ab",))
    asked.id = "7"
    asked.parameters["priority"].int64_param = 3
    asked.outputs.add(name="y")
    length, body = body_of(asked)
    document = json.loads(body[:length])
    assert (document["id"], document["parameters"]) == ("7", {"priority": 3, "binary_data_output": True})
    assert document["outputs"] == [{"name": "y", "parameters": {"binary_data": True}}]


def test_an_answer_has_its_outputs_raw() -> None:
    outputs = [
        {"name": name, "datatype": "INT8", "shape": [size], "parameters": {"binary_data_size": size}}
        for name, size in (("a", 2), ("b", 1))
    ]
    head = json.dumps({"model_name": "m", "id": "7", "outputs": outputs}).encode()
    found = response_of(head + b"xyz", len(head))
    assert ([one.name for one in found.outputs], list(found.raw_output_contents)) == (["a", "b"], [b"xy", b"z"])
    assert (found.model_name, found.id) == ("m", "7")


def answer_with(**output: Any) -> bytes:
    return json.dumps({"model_name": "m", "outputs": [{"name": "y", "shape": [2], **output}]}).encode()


@pytest.mark.parametrize(
    ("datatype", "elements", "written"),
    [
        ("FP32", [[0.5], [2.0]], struct.pack("<2f", 0.5, 2.0)),
        ("FP16", [0.5, 2.0], struct.pack("<2e", 0.5, 2.0)),
        ("BOOL", [True, False], b"\1\0"),
        ("BYTES", ["a", "é"], b"\1\0\0\0a\2\0\0\0" + "é".encode()),
    ],
)
def test_tensors_that_a_container_answers_in_json_are_written_in_binary(
    datatype: str, elements: list[Any], written: bytes
) -> None:
    response = response_of(answer_with(datatype=datatype, data=elements), None)
    assert list(response.raw_output_contents) == [written]


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{}",
        b"no JSON",
        b'{"outputs": 1}',
        answer_with(datatype="FP32"),
        answer_with(datatype="INT8", data=[1000]),
        answer_with(datatype="BF16", data=[1.0, 2.0]),
        answer_with(datatype="FP32", data=["a", "b"]),
    ],
)
def test_an_answer_that_is_no_response_of_the_protocol_is_refused(body: bytes) -> None:
    with pytest.raises(BadAnswer, match="no response of the Open Inference Protocol"):
        response_of(body, None)


def test_an_answer_whose_data_are_cut_short_is_refused() -> None:
    head = answer_with(datatype="FP32", parameters={"binary_data_size": 8})
    with pytest.raises(BadAnswer, match="output y has 4 bytes left of 8"):
        response_of(head + b"abcd", len(head))
