"""Models of every format answer named tensors as they answer other bodies: the same rows, the same numbers."""

import json
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.container.helpers.format_models import ARTIFACTS, COLUMNS, Trained
from tests.container.helpers.served_models import load
from tests.helpers.counted_calls import calls_of
from torpor_container.core.protocols.protocol_types import METADATA, TENSORS
from torpor_container.errors import BadInput, CallerFault, ContainerError, NotAcceptable, UnsupportedContentType
from torpor_container.formats.served import ServedModel
from torpor_container.invocation import Invocation, Reply


def request(inputs: list[dict[str, Any]], *data: bytes, **members: Any) -> Invocation:
    head = json.dumps({"inputs": inputs, **members}).encode()
    return Invocation(b"".join((head, *data)), f"{TENSORS};json-header-size={len(head)};model-name=m", TENSORS)


def in_binary(name: str, array: Any, datatype: str = "FP32") -> tuple[dict[str, Any], bytes]:
    data = array.tobytes()
    shape, size = list(array.shape), {"binary_data_size": len(data)}
    return {"name": name, "shape": shape, "datatype": datatype, "parameters": size}, data


def output(reply: Reply, place: int = 0) -> Any:
    """One output of an answer, in binary or in JSON."""
    size = reply.content_type.partition("json-header-size=")[2]
    head = json.loads(reply.body[: int(size)] if size else reply.body)
    one = head["outputs"][place]
    if "data" in one:
        return np.array(one["data"]).reshape(one["shape"])
    dtype = {"FP32": np.float32, "FP64": np.float64, "INT64": np.int64}[one["datatype"]]
    before = sum(other["parameters"]["binary_data_size"] for other in head["outputs"][:place])
    data = reply.body[int(size) + before :][: one["parameters"]["binary_data_size"]]
    return np.frombuffer(data, dtype).reshape(one["shape"])


@pytest.fixture(params=ARTIFACTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(name: str, artifact: Callable[..., Path]) -> Iterator[ServedModel[Any]]:
    model = load(artifact(name))
    assert isinstance(model, ServedModel)
    yield model
    model.close()


def described(model: ServedModel[Any]) -> Any:
    return json.loads(model.invoke(Invocation(b"", f"{METADATA};model-name=a%2Fb;model-version=1")).body)


def test_the_same_rows_have_the_same_answer_by_every_way(model: ServedModel[Any], name: str, trained: Trained) -> None:
    rows = trained.rows[:3].astype(np.float32)
    metadata = described(model)
    (source,) = metadata["inputs"]
    assert (metadata["name"], metadata["versions"], source["shape"][-1]) == ("a/b", ["1"], COLUMNS)
    dtype = {"FP32": np.float32, "FP64": np.float64}[source["datatype"]]
    one, data = in_binary(source["name"], rows.astype(dtype), source["datatype"])
    plain = {**one, "data": rows.astype(dtype).ravel().tolist()}
    del plain["parameters"]
    by_csv = np.array(json.loads(model.invoke(Invocation(csv_of(rows), "text/csv", "application/json")).body))
    by_tensor = output(model.invoke(request([one], data, parameters={"binary_data_output": True})))
    np.testing.assert_array_equal(by_tensor.ravel(), by_csv.astype(by_tensor.dtype).ravel())
    np.testing.assert_array_equal(output(model.invoke(request([plain]))).ravel(), by_tensor.ravel())
    assert [-1, *by_tensor.shape[1:]] == metadata["outputs"][0]["shape"]


def csv_of(rows: Any) -> bytes:
    return "\n".join(",".join(map(repr, row)) for row in rows.astype(float).tolist()).encode()


@pytest.fixture(scope="module")
def booster(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> ServedModel[Any]:
    folder = tmp_path_factory.mktemp("booster")
    trained.booster.save_model(folder / "model.ubj")
    model = load(folder)
    assert isinstance(model, ServedModel)
    return model


ROW = np.array([[1, 2, 3, 4]], np.float32)
MORE_CALLS = 46
"""What was counted. Raise it only with the reason in the changelog."""


def test_a_body_without_json_is_the_only_input(booster: ServedModel[Any]) -> None:
    reply = booster.invoke(Invocation(ROW.tobytes(), f"{TENSORS};json-header-size=0"))
    expected = booster.invoke(Invocation(b"1,2,3,4", "text/csv", "application/json"))
    np.testing.assert_array_equal(output(reply), np.float32(json.loads(expected.body)))


def test_requests_of_tensors_share_a_prediction_with_others(booster: ServedModel[Any]) -> None:
    one, data = in_binary("x", ROW)
    together = booster.invoke_together([request([one], data), Invocation(b"1,2,3,4", "text/csv"), request([], b"")])
    assert [type(reply) for reply in together] == [Reply, Reply, BadInput]
    alone = booster.invoke_together([request([one], data), Invocation(b"1,2,3,4", "text/csv")])
    assert isinstance(alone[0], Reply)
    assert output(alone[0]).shape == (1,)
    assert alone == together[:2]


def test_a_request_in_binary_makes_few_calls_more_than_csv(booster: ServedModel[Any]) -> None:
    """Since its JSON says what that of the request before said, but for the id."""
    one, data = in_binary("x", ROW)
    calls = [request([one], data, id=str(number), parameters={"binary_data_output": True}) for number in range(2)]
    assert output(booster.invoke(calls[0])) == output(booster.invoke(copy(calls[1])))
    of_csv = calls_of(lambda: booster.invoke(Invocation(b"1,2,3,4", "text/csv")))
    assert calls_of(lambda: booster.invoke(calls[1])) <= of_csv + MORE_CALLS


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: request([in_binary("x", ROW[:, :3])[0]], ROW[:, :3].tobytes()), BadInput, "takes 4 columns"),
        (lambda: request([in_binary("x", ROW)[0]], ROW.tobytes(), outputs=[{"name": "z"}]), BadInput, "no output z"),
        (lambda: Invocation(b"{}", "application/vnd.other", ""), UnsupportedContentType, "not an accepted"),
        (lambda: Invocation(b"{}", TENSORS, "text/csv"), NotAcceptable, "not supported"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    booster: ServedModel[Any], call: Callable[[], Invocation], error: type[ContainerError], text: str
) -> None:
    with pytest.raises(error, match=text):
        booster.invoke(call())


SHAPES = st.lists(st.integers(0, 5), max_size=3)
CELLS = st.lists(st.floats(width=32) | st.integers() | st.text(max_size=3) | st.none(), max_size=12)
INPUTS = st.fixed_dictionaries(
    {"name": st.text(max_size=3), "shape": SHAPES, "datatype": st.sampled_from(["FP32", "INT64", "BOOL", "BYTES"])},
    optional={"data": CELLS, "parameters": st.fixed_dictionaries({"binary_data_size": st.integers(0, 40)})},
)


@given(st.lists(INPUTS, min_size=1, max_size=3), st.binary(max_size=60))
def test_no_request_makes_a_model_fail(booster: ServedModel[Any], inputs: list[Any], data: bytes) -> None:
    (outcome,) = booster.invoke_together([request(inputs, data)])
    assert isinstance(outcome, Reply | CallerFault)
