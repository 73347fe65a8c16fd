"""Rows have one outcome, however they are sent: by `endpoint.invoke`, or by HTTP as other programs write them.

What the container refuses of one form, the client may not get round by another one.
"""

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xgboost
from botocore.exceptions import ClientError
from onnx import TensorProto, helper
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import torpor
from tests.helpers.thorough_values import one_in
from torpor.hosting.shared_process import SharedProcess

CSV, JSON, LINES, NPY = "text/csv", "application/json", "application/jsonlines", "application/x-npy"
NPZ, HEADED = "application/x-npz", "text/csv; header=present"
DRAW = np.random.default_rng(0)
FITTED = pd.DataFrame(DRAW.random((50, 3)).round(3), columns=["a", "b", "c"])
VALUES = FITTED.to_numpy() @ [1.0, 10.0, 100.0]
TWO = pd.DataFrame({"a": [1.0, 0.5], "b": [2.0, 0.25], "c": [3.0, 0.125]})
TURNED = TWO[["c", "a", "b"]]
ZIPS = pd.DataFrame({"zip": ["01234", "00501", "1234"], "n": [1.0, 2.0, 3.0]})
TEXTS = ["good day", "bad day", "good, very good", "bad, very bad"]


def linear() -> Any:
    return LinearRegression().fit(FITTED.to_numpy(), VALUES)


def boosted() -> Any:
    return xgboost.train({"nthread": 1}, xgboost.DMatrix(FITTED, VALUES), 5)


def zipped() -> Any:
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["zip"]), ("passthrough", ["n"]))
    return make_pipeline(columns, LinearRegression()).fit(ZIPS, [10.0, 2000.0, 30.0])


def worded() -> Any:
    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS * 5, ["p", "n", "p", "n"] * 5)


def graph(inputs: Mapping[str, int], node: Any) -> bytes:
    """An ONNX model with these inputs, each of so many columns, and the output `y`."""
    told = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, width]) for name, width in inputs.items()]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])
    opsets = [helper.make_opsetid("", 17)]
    made = helper.make_model(helper.make_graph([node], "g", told, [out]), opset_imports=opsets, ir_version=9)
    return bytes(made.SerializeToString())


MODELS: dict[str, Any] = {
    "linear": linear,
    "boosted": boosted,
    "zipped": zipped,
    "worded": worded,
    "tensor": lambda: graph({"x": 3}, helper.make_node("Identity", ["x"], ["y"])),
    "columns": lambda: graph({"a": 1, "b": 1, "c": 1}, helper.make_node("Concat", ["a", "b", "c"], ["y"], axis=1)),
}


@pytest.fixture(scope="module")
def serving(shared: SharedProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[torpor.Local]:
    folder = tmp_path_factory.mktemp("one-codec")
    for name, made in MODELS.items():
        torpor.bundle(made(), folder / f"{name}.tar.gz")
    with shared.local(folder, name="one-codec") as running:
        yield running


class Form(NamedTuple):
    """A payload, and bodies that say the same, by content type, as other programs write them."""

    payload: Any
    bodies: Mapping[str, bytes]


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(matrix: Any) -> bytes:
    stream = io.BytesIO()
    sparse.save_npz(stream, matrix)
    return stream.getvalue()


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def framed(frame: pd.DataFrame, payload: Any = None) -> Form:
    split = json.loads(str(frame.to_json(orient="split", index=False)))
    bodies = {
        JSON: dumped({"columns": split["columns"], "data": split["data"]}),
        HEADED: str(frame.to_csv(index=False)).encode(),
        LINES: str(frame.to_json(orient="records", lines=True)).encode(),
    }
    return Form(frame if payload is None else payload, bodies)


def listed(payload: Any) -> Form:
    rows = np.asarray(payload).tolist()
    bodies = {
        JSON: dumped(rows),
        CSV: pd.DataFrame(np.atleast_2d(rows)).to_csv(index=False, header=False).encode(),
        LINES: b"\n".join(map(dumped, np.atleast_2d(rows).tolist())),
        NPY: npy(np.asarray(rows)),
    }
    return Form(payload, bodies)


def recorded(records: list[dict[str, Any]]) -> Form:
    return Form(records, {JSON: dumped(records), LINES: b"\n".join(map(dumped, records))})


FIELDS = np.array([tuple(row) for row in TURNED.to_numpy()], dtype=[(name, "f8") for name in TURNED])
FORMS: dict[str, Form] = {
    "lists": listed(TWO.to_numpy().tolist()),
    "one row": listed([1.0, 2.0, 3.0]),
    "an array": listed(TWO.to_numpy()),
    "too few columns": listed([[1.0, 2.0]]),
    "too large a number": listed([[1.0, 2.0, 1e39]]),
    "three dimensions": Form(np.zeros((1, 3, 1)), {JSON: b"[[[0.0], [0.0], [0.0]]]", NPY: npy(np.zeros((1, 3, 1)))}),
    "a frame": framed(TWO),
    "a frame in another order": framed(TURNED),
    "a frame with a value missing": framed(TWO.replace(0.25, np.nan)),
    "a frame of other names": framed(TWO.rename(columns={"a": "x"})),
    "a frame without names": listed(pd.DataFrame(TWO.to_numpy())),
    "one row of a frame": framed(TURNED[:1], TURNED.iloc[0]),
    "a table of Arrow": framed(TURNED, pa.Table.from_pandas(TURNED, preserve_index=False)),
    "a structured array": Form(FIELDS, {**framed(TURNED).bodies, NPY: npy(FIELDS)}),
    "records": recorded(TWO.to_dict("records")),
    "records in another order": recorded(TURNED.to_dict("records")),
    "records that count their columns": recorded([{"f2": 3.0, "f0": 1.0, "f1": 2.0}]),
    "records of the tensor": recorded([{"x": [1.0, 2.0, 3.0]}]),
    "instances": Form({"instances": TURNED}, {JSON: dumped({"instances": TURNED.to_dict("records")})}),
    "instances of features": Form(
        [{"features": [1.0, 2.0, 3.0]}], {JSON: b'[{"features": [1.0, 2.0, 3.0]}]', LINES: b'{"features": [1, 2, 3]}'}
    ),
    "columns by name": Form({name: list(TURNED[name]) for name in TURNED}, {JSON: str(TURNED.to_json()).encode()}),
    "a sparse matrix": Form(sparse.csr_matrix(TWO), {NPZ: npz(sparse.csr_matrix(TWO))}),
    "zip codes": framed(ZIPS[:2]),
    "zip codes as numbers": framed(pd.DataFrame({"zip": [1234, 501], "n": [1.0, 2.0]})),
    "records of zip codes as numbers": recorded([{"n": 1.0, "zip": 1234}]),
    "one zip code missing": framed(ZIPS[:2].replace("00501", None)),
    "texts": Form(["good", "bad"], {JSON: b'["good", "bad"]'}),
    "texts in an array": Form(np.array(["good, very good", "bad"]), {JSON: b'["good, very good", "bad"]'}),
    "a column of texts": Form(
        [["good"], ["bad, very bad"]],
        {
            JSON: b'[["good"], ["bad, very bad"]]',
            CSV: b'good\n"bad, very bad"\n',
            LINES: b'["good"]\n["bad, very bad"]',
        },
    ),
    "numbers as texts": Form([["1", "2", "3"]], {JSON: b'[["1", "2", "3"]]', CSV: b"1,2,3", LINES: b'["1", "2", "3"]'}),
    "texts beside numbers": Form([["good", 1.0, 2.0]], {JSON: b'[["good", 1.0, 2.0]]', CSV: b"good,1.0,2.0"}),
}
REFUSED = "refused"


def by_client(endpoint: torpor.Local, model: str, form: Form, content_type: str | None) -> Any:
    try:
        answer = endpoint.invoke(f"{model}.tar.gz", form.payload, content_type=content_type)
    except (ClientError, TypeError, ValueError):
        return REFUSED
    return np.asarray(answer).tolist()


def by_http(endpoint: torpor.Local, model: str, form: Form, content_type: str) -> Any:
    """The outcome of a body. An error is the caller's, and not the model's."""
    try:
        answer = endpoint.invoke(f"{model}.tar.gz", form.bodies[content_type], content_type=content_type)
    except ClientError as error:
        return REFUSED if error.response["OriginalStatusCode"] in (400, 415) else str(error)
    return np.asarray(answer).tolist()


def same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)  # nan is not equal to itself


@pytest.mark.parametrize("name", one_in(3, FORMS))
def test_the_client_and_http_have_one_outcome(serving: torpor.Local, name: str) -> None:
    form = FORMS[name]
    for model in MODELS:
        outcomes = {kind: by_http(serving, model, form, kind) for kind in form.bodies}
        for kind, outcome in outcomes.items():
            assert same(by_client(serving, model, form, kind), outcome), (model, kind)
        default = NPZ if NPZ in form.bodies else JSON
        assert same(by_client(serving, model, form, None), outcomes[default]), model
        for kind in {CSV, HEADED, LINES, NPY, NPZ, JSON} - form.bodies.keys():
            outcome = by_client(serving, model, form, kind)
            assert outcome == REFUSED or same(outcome, outcomes.get(HEADED, outcomes[default])), (model, kind)


IN_ORDER = ("lists", "an array", "a frame", "a frame without names", "a sparse matrix", "instances of features")
NAMED = ("a frame", "a frame in another order", "one row of a frame", "a table of Arrow", "a structured array")
UNORDERED = ("records", "records in another order", "instances", "columns by name")
ANSWERS: dict[str, tuple[str, ...]] = {
    "linear": (*IN_ORDER, "records that count their columns"),
    "boosted": (*IN_ORDER, *NAMED, *UNORDERED),
    "tensor": (*IN_ORDER, "records that count their columns", "records of the tensor"),
    "columns": (*NAMED, *UNORDERED),
}
"""For each model of the columns a, b and c the forms that it answers as its framework does for `TWO`."""


@pytest.mark.parametrize("model", ANSWERS)
def test_the_answer_is_that_of_the_framework(serving: torpor.Local, model: str) -> None:
    right = {
        "linear": lambda: linear().predict(TWO.to_numpy()),
        "boosted": lambda: boosted().predict(xgboost.DMatrix(TWO)),
    }.get(model, TWO.to_numpy)()
    for name in ANSWERS[model]:
        answer = by_client(serving, model, FORMS[name], None)
        np.testing.assert_allclose(answer, right[: len(answer)], atol=1e-4, err_msg=name)


@pytest.mark.parametrize("model", ["linear", "tensor"])
def test_a_model_without_names_refuses_columns_without_an_order(serving: torpor.Local, model: str) -> None:
    assert [by_client(serving, model, FORMS[name], None) for name in UNORDERED] == [REFUSED] * len(UNORDERED)


def test_numbers_are_no_text_and_texts_are_rows(serving: torpor.Local) -> None:
    for name in ("zip codes as numbers", "records of zip codes as numbers"):
        assert by_client(serving, "zipped", FORMS[name], None) == REFUSED
    right = zipped().predict(ZIPS[:2])
    np.testing.assert_allclose(by_client(serving, "zipped", FORMS["zip codes"], None), right)
    for name in ("texts", "texts in an array", "a column of texts"):
        assert by_client(serving, "worded", FORMS[name], None) == ["p", "n"]
