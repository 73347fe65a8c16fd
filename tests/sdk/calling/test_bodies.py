"""Payloads become bytes, and answers become values."""

import csv
import datetime
import decimal
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from torpor.calling.bodies import CSV, JSON, JSONLINES, NPY, decode, encode
from torpor_container.content import TOOLKIT, XGBOOST, XGBOOST_MULTI_MODEL, Answers

numbers = st.floats(allow_nan=False, allow_infinity=False)
tables = st.integers(2, 5).flatmap(
    lambda columns: st.lists(st.lists(numbers, min_size=columns, max_size=columns), min_size=2, max_size=6)
)


@given(tables, st.sampled_from([CSV, JSON, JSONLINES, NPY]))
def test_encoded_rows_are_decoded_unchanged(table: list[list[float]], kind: str) -> None:
    body, content_type = encode(table, kind)
    assert np.asarray(decode(body, f"{content_type}; charset=utf-8")).tolist() == table


@given(tables)
def test_an_array_is_encoded_as_its_lists(table: list[list[float]]) -> None:
    assert encode(np.array(table)) == encode(table) == (json.dumps(table).encode(), JSON)
    assert encode(np.array(table), CSV) == encode(table, CSV)


def test_a_flat_row_is_one_row() -> None:
    assert encode([1, 2.5, None]) == (b"[1, 2.5, null]", JSON)
    assert encode([1, 2.5, None], CSV) == (b"1,2.5,\n", CSV)
    assert encode([1, 2.5, None], JSONLINES) == (b"[1, 2.5, null]\n", JSONLINES)


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT")])
def test_a_missing_value_is_null_or_an_empty_cell(missing: Any) -> None:
    assert encode([[1, missing]]) == (b"[[1, null]]", JSON)
    assert encode([[1, missing]], CSV) == (b"1,\n", CSV)
    assert encode({"instances": [[missing]]})[0] == b'{"instances": [[null]]}'


def test_infinity_is_not_written_as_json() -> None:
    for rows in ([[float("inf")]], np.array([[-np.inf]])):
        with pytest.raises(ValueError, match="no infinite numbers: send rows as application/x-npy or text/csv"):
            encode(rows)
    assert encode([[float("inf")]], CSV)[0] == b"inf\n"
    assert encode([["NaN", "Infinity"]])[0] == b'[["NaN", "Infinity"]]'


def test_a_flat_list_of_texts_is_the_models_to_read() -> None:
    assert encode(["good", "bad"]) == encode(np.array(["good", "bad"])) == (b'["good", "bad"]', JSON)
    for kind in (CSV, JSONLINES):
        with pytest.raises(ValueError, match=r"may be one row, .* or one text a row"):
            encode(["good", "bad"], kind)
    assert encode([["good"], ["bad, very bad"]], CSV)[0] == b'good\n"bad, very bad"\n'


@pytest.mark.parametrize("value", [b"a", {1}, 1j, decimal.Decimal("1.5"), object(), datetime.timedelta(1)])
def test_a_value_that_json_cannot_hold_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises(TypeError, match=rf"of type .*{type(value).__name__} cannot be written as application/json"):
        encode([[1, value]])


def test_text_and_bytes_go_as_they_are() -> None:
    assert encode("a,b", "text/plain") == (b"a,b", "text/plain")
    assert encode(b"\x00") == (b"\x00", CSV)


def test_an_object_is_encoded_as_json() -> None:
    body, kind = encode({"instances": np.ones((1, 2))})
    assert (json.loads(body), kind) == ({"instances": [[1.0, 1.0]]}, JSON)


@pytest.mark.parametrize("kind", [CSV, JSON, JSONLINES, NPY])
def test_the_error_of_an_answer_of_another_type_names_the_type_and_the_bytes(kind: str) -> None:
    with pytest.raises(ValueError, match=rf"^the answer's type is {kind},.*: b'\\xff0\.1,0\.2'; `invoke_raw` returns"):
        decode(b"\xff0.1,0.2", kind)


def test_rows_of_an_unknown_type_are_refused() -> None:
    with pytest.raises(TypeError, match="text/csv, application/json"):
        encode([[1]], "application/x-protobuf")
    for kind in (None, CSV, JSONLINES):
        for payload in (5, None, 0.5):
            with pytest.raises(TypeError, match=f"not {type(payload).__name__}"):
                encode(payload, kind)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"1.5\n2.5\n", [1.5, 2.5]),
        (b"1,2", [1.0, 2.0]),
        (b"1,a\n2,b\n", [[1.0, "a"], [2.0, "b"]]),
        (b"0.25,0.75\n", [[0.25, 0.75]]),
        (b'1,\n2,"b"\n', [[1.0, None], [2.0, "b"]]),
        (b'1\n""\n', [1.0, None]),
        (b"[0.25, 0.75],[1.0, 0.0]", [[0.25, 0.75], [1.0, 0.0]]),
        (b"[0.25, 0.75]", [[0.25, 0.75]]),
        (b"[unknown]\nknown\n", ["[unknown]", "known"]),
    ],
)
def test_csv_answers_are_numbers_where_they_can_be(body: bytes, value: object) -> None:
    assert decode(body, CSV) == value


def test_an_unknown_answer_is_its_bytes() -> None:
    assert decode(b"\x89PNG", "image/png") == b"\x89PNG"


@pytest.mark.parametrize("answers", [TOOLKIT, XGBOOST, XGBOOST_MULTI_MODEL])
@pytest.mark.parametrize("prediction", [np.array([0.5, 1.25]), np.array([[0.25, 0.75], [1.0, 0.0]])])
def test_the_answers_of_each_container_are_read_as_what_was_predicted(answers: Answers, prediction: Any) -> None:
    for kind in answers.encoders:
        value = decode(answers.encode(prediction, kind), kind)
        rows = value["predictions"] if isinstance(value, dict) else value
        plain = [row["score"] if isinstance(row, dict) else row for row in rows]
        np.testing.assert_array_equal(np.asarray(plain), prediction)


@pytest.mark.parametrize("rows", [np.zeros((2, 2, 2)), [[[1.0], [2.0]]], [np.zeros((2, 2))]])
def test_rows_of_more_dimensions_are_no_csv(rows: object) -> None:
    with pytest.raises(ValueError, match=r"rows are 1- or 2-dimensional, .* 'application/x-npy'"):
        encode(rows, CSV)
    assert encode(rows)[0].startswith(b"[[[")


# -- rows with names ---------------------------------------------------------------------------------------------------
FRAME = pd.DataFrame({"rooms": [3, 4], "sqft": [0.5, None]})
HEADED = f"{CSV}; header=present"
NAMED: dict[str, tuple[Any, bytes, list[list[Any]]]] = {
    "a frame": (FRAME, b"rooms,sqft\n3,0.5\n4,\n", [[3, 0.5], [4, None]]),
    "one row of a frame": (FRAME.iloc[0], b"rooms,sqft\n3.0,0.5\n", [[3.0, 0.5]]),
    "a structured array": (
        np.array([(3, 0.5)], dtype=[("rooms", "i4"), ("sqft", "f8")]),
        b"rooms,sqft\n3,0.5\n",
        [[3, 0.5]],
    ),
    "an Arrow table": (pa.table({"rooms": [3, None]}), b'rooms\n3\n""\n', [[3], [None]]),
    "a frame of nullable numbers": (pd.DataFrame({"n": pd.array([1, None], "Int64")}), b'n\n1\n""\n', [[1], [None]]),
    "large whole numbers": (
        pd.DataFrame({"n": [2**60 + 1], "x": [0.5]}),
        b"n,x\n%d,0.5\n" % (2**60 + 1),
        [[2**60 + 1, 0.5]],
    ),
    "names of two levels": (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), b"a b\n1\n", [[1]]),
    "a name with a comma": (pd.DataFrame({"a,b": [1]}), b'"a,b"\n1\n', [[1]]),
    "texts and days": (
        pd.DataFrame({"zip": ["01234"], "new": [True], "day": [pd.Timestamp("2026-01-02")]}),
        b"zip,new,day\n01234,True,2026-01-02T00:00:00\n",
        [["01234", True, "2026-01-02T00:00:00"]],
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_rows_with_names_go_with_their_names_and_their_order(name: str) -> None:
    payload, as_csv, rows = NAMED[name]
    names = next(csv.reader([as_csv.decode().splitlines()[0]]))
    body, kind = encode(payload)
    assert (json.loads(body), kind) == ({"columns": names, "data": rows}, JSON)
    assert encode(payload, CSV) == encode(payload, HEADED) == (as_csv, HEADED)
    lines = [json.loads(line) for line in encode(payload, JSONLINES)[0].splitlines()]
    assert lines == [dict(zip(names, row, strict=True)) for row in rows]


def test_records_keep_their_names_and_are_no_csv_which_has_an_order() -> None:
    records = [{"rooms": 3, "sqft": 0.5}, {"sqft": None, "rooms": np.int64(4)}]
    written = [{"rooms": 3, "sqft": 0.5}, {"sqft": None, "rooms": 4}]
    assert json.loads(encode(records)[0]) == written
    assert [json.loads(line) for line in encode(records, JSONLINES)[0].splitlines()] == written
    for kind in (CSV, HEADED, f"{CSV}; header=absent"):
        with pytest.raises(TypeError, match="records have no order of columns"):
            encode(records, kind)


def test_a_frame_within_an_object_keeps_its_names_too() -> None:
    written = json.loads(encode({"instances": FRAME})[0])
    assert written == {"instances": [{"rooms": 3, "sqft": 0.5}, {"rooms": 4, "sqft": None}]}


@pytest.mark.parametrize("payload", [FRAME.to_numpy(), FRAME["sqft"], pd.DataFrame(FRAME.to_numpy())])
def test_a_payload_without_names_has_no_header(payload: Any) -> None:
    assert encode(payload, CSV)[1] == CSV
    with pytest.raises(TypeError, match="has no names for its columns, which a header needs"):
        encode(payload, HEADED)


def test_names_are_left_out_where_that_is_asked_for() -> None:
    assert encode(FRAME, f"{CSV}; header=absent") == (b"3,0.5\n4,\n", f"{CSV}; header=absent")


def test_names_are_not_dropped_for_a_type_that_has_none() -> None:
    with pytest.raises(TypeError, match=r"for application/x-npy pass .* such as frame\.to_numpy\(\)"):
        encode(FRAME, NPY)


def test_a_structured_array_keeps_its_names_as_an_array() -> None:
    array = NAMED["a structured array"][0]
    assert np.load(io.BytesIO(encode(array, NPY)[0])).dtype.names == ("rooms", "sqft")


def test_instances_go_as_they_are() -> None:
    assert encode([{"features": [1, 2]}]) == (b'[{"features": [1, 2]}]', JSON)


def test_a_sparse_matrix_is_encoded_as_a_sparse_matrix() -> None:
    body, kind = encode(sparse.csr_matrix([[0, 1.5]]))
    assert kind == "application/x-npz"
    assert sparse.load_npz(io.BytesIO(body)).toarray().tolist() == [[0.0, 1.5]]
    for payload, other in ((sparse.eye(2), JSON), (sparse.eye(2), CSV), ({"instances": sparse.eye(2)}, None)):
        with pytest.raises(TypeError, match="a sparse matrix cannot be written as"):
            encode(payload, other)
