"""A script answers named tensors by its `infer_fn`, or by JSON in its other functions."""

import json
from typing import Any

import numpy as np
import pytest

from torpor_container.core.protocols.protocol_types import METADATA, TENSORS
from torpor_container.errors import BadInput, NotAcceptable
from torpor_container.formats.script.script_tensors import answered, are_for_script
from torpor_container.invocation import Invocation, Reply

FROM_A_FACE = f"{TENSORS};model-name=m"
ROWS = {"name": "rows", "shape": [2, 2], "datatype": "INT64", "data": [1, 2, 3, 4]}
CITY = {"name": "city", "shape": [2, 1], "datatype": "BYTES", "data": ["Oslo", "Rome"]}


def call(*inputs: dict[str, Any], **members: Any) -> Invocation:
    return Invocation(json.dumps({"inputs": inputs, **members}).encode(), FROM_A_FACE, TENSORS)


def outputs(reply: Reply) -> dict[str, tuple[str, list[int], Any]]:
    document = json.loads(reply.body)
    assert document["model_name"] == "m"
    return {one["name"]: (one["datatype"], one["shape"], one["data"]) for one in document["outputs"]}


def unasked(inner: Invocation) -> Reply:
    raise AssertionError(inner)


def test_infer_fn_takes_and_returns_arrays_by_name() -> None:
    def infer_fn(inputs: dict[str, Any], model: int) -> dict[str, Any]:
        assert inputs["city"].tolist() == [[b"Oslo"], [b"Rome"]]
        return {"sum": inputs["rows"].sum(axis=1) * model, "city": inputs["city"]}

    found = outputs(answered(call(ROWS, CITY), 10, infer_fn, unasked))
    assert found == {"sum": ("INT64", [2], [30, 70]), "city": ("BYTES", [2, 1], ["Oslo", "Rome"])}
    wanted = answered(call(ROWS, CITY, outputs=[{"name": "sum"}]), 1, infer_fn, unasked)
    assert list(outputs(wanted)) == ["sum"]
    with pytest.raises(BadInput, match="returned no output other, but sum, city"):
        answered(call(ROWS, CITY, outputs=[{"name": "other"}]), 1, infer_fn, unasked)


@pytest.mark.parametrize(
    ("inputs", "body", "said", "expected"),
    [
        ((ROWS,), [[1, 2], [3, 4]], [0.5, 1.5], {"predict": ("FP64", [2], [0.5, 1.5])}),
        ((ROWS, CITY), {"rows": [[1, 2], [3, 4]], "city": [["Oslo"], ["Rome"]]}, {"a": [1], "b": ["x"]},
         {"a": ("INT64", [1], [1]), "b": ("BYTES", [1], ["x"])}),
        ((CITY,), [["Oslo"], ["Rome"]], [{"x": 1}, None], {"predict": ("BYTES", [2], ['{"x": 1}', "null"])}),
    ],
)  # fmt: skip
def test_other_functions_get_and_give_json(
    inputs: tuple[dict[str, Any], ...], body: Any, said: Any, expected: dict[str, Any]
) -> None:
    def by_json(inner: Invocation) -> Reply:
        assert (inner.content_type, inner.accept) == ("application/json", "application/json")
        assert json.loads(inner.body) == body
        return Reply(json.dumps(said).encode(), "application/json")

    assert outputs(answered(call(*inputs), None, None, by_json)) == expected


def test_an_answer_that_is_no_json_is_one_text() -> None:
    reply = answered(call(ROWS), None, None, lambda inner: Reply(b"a,b\n", "text/csv"))
    assert outputs(reply) == {"predict": ("BYTES", [1], ["a,b\n"])}


def test_a_status_of_the_scripts_own_stays() -> None:
    refused = Reply(b"no", "text/plain", 422)
    assert answered(call(ROWS), None, None, lambda inner: refused) == refused


def test_what_json_does_not_have_must_be_asked_for_in_binary() -> None:
    with pytest.raises(NotAcceptable, match="ask for it in binary"):
        answered(call(ROWS), None, lambda inputs, model: np.array([np.nan]), unasked)


def test_its_metadata_name_no_tensors() -> None:
    asked = Invocation(b"", f"{METADATA};model-name=m;model-version=1")
    document = json.loads(answered(asked, None, None, unasked).body)
    assert document == {"name": "m", "versions": ["1"], "platform": "script", "inputs": [], "outputs": []}


def test_a_script_without_infer_fn_gets_the_body_of_who_calls_it_directly_as_it_was_sent() -> None:
    assert are_for_script(FROM_A_FACE, None)
    assert not are_for_script(f"{TENSORS};json-header-size=3", None)
    assert are_for_script(f"{TENSORS};json-header-size=3", unasked)
    assert not are_for_script("application/vnd.other", unasked)
