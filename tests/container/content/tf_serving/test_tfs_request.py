"""JSON of TensorFlow Serving is read to tensors of the model's types, or refused in the server's own words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.content.tf_serving.tfs_request import read_request
from torpor_container.core.protocols.protocol_types import TF_SERVING
from torpor_container.errors import BadInput

TWO = {"age": "INT64", "city": "BYTES"}
ONE = {"x": "FP32"}


def read(document: Any, datatypes: dict[str, str], method: str = "predict") -> dict[str, Any]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    found = read_request(body, f"{TF_SERVING};method={method}", datatypes)
    return {name: (one.datatype, one.shape, one.nested) for name, one in found.tensors.items()}


@pytest.mark.parametrize(
    ("document", "datatypes", "expected"),
    [
        ({"instances": [[1, 2], [3, 4]]}, ONE, {"x": ("FP32", (2, 2), [[1, 2], [3, 4]])}),
        ({"instances": [1, 2.5]}, ONE, {"x": ("FP32", (2,), [1, 2.5])}),
        ({"inputs": [[1, 2]]}, ONE, {"x": ("FP32", (1, 2), [[1, 2]])}),
        ({"inputs": {"x": [[1, 2]]}, "signature_name": "serving_default"}, ONE, {"x": ("FP32", (1, 2), [[1, 2]])}),
        ({"instances": [{"age": 1, "city": "Oslo"}, {"age": 2, "city": {"b64": "Um9tZQ=="}}]}, TWO,
         {"age": ("INT64", (2,), [1, 2]), "city": ("BYTES", (2,), ["Oslo", "Rome"])}),
        ({"instances": [{"b64": "Um9tZQ=="}]}, {"s": "BYTES"}, {"s": ("BYTES", (1,), ["Rome"])}),
        ({"inputs": {"a": [True], "b": [1.5], "c": ["x"]}}, {},
         {"a": ("BOOL", (1,), [True]), "b": ("FP64", (1,), [1.5]), "c": ("BYTES", (1,), ["x"])}),
    ],
)  # fmt: skip
def test_rows_and_columns_are_tensors_of_the_models_types(document: Any, datatypes: Any, expected: Any) -> None:
    assert read(document, datatypes) == expected


def test_numbers_that_json_lacks_are_tokens() -> None:
    (_, _, values) = read(b'{"instances": [NaN, -Infinity]}', ONE)["x"]
    assert str(values) == "[nan, -inf]"


def test_features_of_examples_have_those_of_the_context_beside_them() -> None:
    document = {"context": {"city": "Oslo"}, "examples": [{"age": 1}, {"age": 2, "city": "Rome"}]}
    expected = {"city": ("BYTES", (2,), ["Oslo", "Rome"]), "age": ("INT64", (2,), [1, 2])}
    assert read(document, TWO, "classify") == expected


REFUSED = [
    (b"", ONE, "JSON Parse error: The document is empty"),
    (b"{", ONE, "JSON Parse error: .* at offset: 1"),
    ([], ONE, r"JSON Value: \[\] Is not object"),
    ({}, ONE, "Missing 'inputs' or 'instances' key"),
    ({"instances": [1], "inputs": [1]}, ONE, "expecting only one of 'inputs' or 'instances' keys to exist "),
    ({"instances": 1}, ONE, "Excepting 'instances' to be an list/array"),
    ({"instances": []}, ONE, "No values in 'instances' array"),
    ({"instances": [1]}, TWO, "instances is a plain list, but expecting list of objects as multiple"),
    ({"instances": [{"x": 1}, 2]}, ONE, "Expecting object but got list at item 1 of input list"),
    ({"instances": [[1], {"x": 2}]}, ONE, "Expecting value/list but got object at item 1 of input list"),
    ({"instances": [[1, 2], [3]]}, ONE, "Encountered list at unexpected size: 1 at level: 1 expected size: 2"),
    ({"instances": [["a"]]}, ONE, 'JSON Value: "a" Type: String is not of expected type: float'),
    ({"instances": [2**25]}, ONE, "Cannot convert JSON value: 33554432 to float without loss of precision."),
    ({"instances": [{"age": 1.5, "city": "x"}]}, TWO, "Type: Number is not of expected type: int64"),
    ({"instances": [1], "signature_name": "other"}, ONE, 'Serving signature key "other" not found.'),
    ({"instances": [1], "signature_name": 1}, ONE, "'signature_name' key must be a string value."),
]


@pytest.mark.parametrize(("document", "datatypes", "text"), REFUSED)
def test_a_refusal_has_the_servers_words(document: Any, datatypes: dict[str, str], text: str) -> None:
    with pytest.raises(BadInput, match=text):
        read(document, datatypes)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
VALUES = st.recursive(
    LEAVES | st.fixed_dictionaries({"b64": LEAVES}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "age", "city"]), inner),
)
DOCUMENTS = st.dictionaries(st.sampled_from(["instances", "inputs", "examples", "context", "signature_name"]), VALUES)


@given(
    DOCUMENTS.map(lambda one: json.dumps(one).encode()) | st.binary(max_size=40),
    st.sampled_from([ONE, TWO, {}]),
    st.sampled_from(["predict", "classify", "regress"]),
)
def test_no_body_is_anything_but_read_or_refused(body: bytes, datatypes: dict[str, str], method: str) -> None:
    try:
        read(body, datatypes, method)
    except BadInput as refused:
        str(refused).encode()
