"""Payloads become bytes, and answers become values."""

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

from torpor.calling.rows import CSV, JSON, JSONLINES, NPY, decode, encode

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
    assert encode(np.array(table)) == encode(table) == (encode(table, CSV)[0], CSV)


def test_a_flat_row_is_one_line() -> None:
    assert encode([1, 2.5, None]) == (b"1,2.5,\n", CSV)


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
    with pytest.raises(TypeError, match="not int"):
        encode(5)


@pytest.mark.parametrize(
    ("body", "value"), [(b"1.5\n2.5\n", [1.5, 2.5]), (b"1,2", [1.0, 2.0]), (b"1,a\n2,b\n", [[1.0, "a"], [2.0, "b"]])]
)
def test_csv_answers_are_numbers_where_they_can_be(body: bytes, value: object) -> None:
    assert decode(body, CSV) == value


def test_an_unknown_answer_is_its_bytes() -> None:
    assert decode(b"\x89PNG", "image/png") == b"\x89PNG"


@pytest.mark.parametrize("rows", [np.zeros((2, 2, 2)), [[[1.0], [2.0]]], [np.zeros((2, 2))]])
def test_rows_of_more_dimensions_are_no_csv(rows: object) -> None:
    with pytest.raises(ValueError, match=r"rows are 1- or 2-dimensional, .* 'application/x-npy'"):
        encode(rows)
    assert encode(rows, JSON)[0].startswith(b"[[[")


# -- rows with names ---------------------------------------------------------------------------------------------------
FRAME = pd.DataFrame({"rooms": [3, 4], "sqft": [0.5, None]})
HEADED = f"{CSV}; header=present"
NAMED: dict[str, tuple[Any, bytes]] = {
    "a frame": (FRAME, b"rooms,sqft\n3,0.5\n4,\n"),
    "one row of a frame": (FRAME.iloc[0], b"rooms,sqft\n3.0,0.5\n"),
    "records": ([{"rooms": 3, "sqft": 0.5}, {"sqft": None, "rooms": 4}], b"rooms,sqft\n3,0.5\n4,\n"),
    "a structured array": (np.array([(3, 0.5)], dtype=[("rooms", "i4"), ("sqft", "f8")]), b"rooms,sqft\n3,0.5\n"),
    "an Arrow table": (pa.table({"rooms": [3, None]}), b'rooms\n3\n""\n'),
    "a frame of nullable numbers": (pd.DataFrame({"n": pd.array([1, None], "Int64")}), b'n\n1\n""\n'),
    "large whole numbers": (pd.DataFrame({"n": [2**60 + 1], "x": [0.5]}), b"n,x\n%d,0.5\n" % (2**60 + 1)),
    "names of two levels": (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), b"a b\n1\n"),
    "a name with a comma": (pd.DataFrame({"a,b": [1]}), b'"a,b"\n1\n'),
}


@pytest.mark.parametrize("name", NAMED)
def test_rows_with_names_go_with_their_names(name: str) -> None:
    payload, body = NAMED[name]
    assert encode(payload) == encode(payload, CSV) == encode(payload, HEADED) == (body, HEADED)


def test_a_frame_with_other_cells_than_numbers_is_encoded_as_json() -> None:
    mixed = FRAME.assign(zip=["01234", None], new=[True, False], day=pd.Timestamp("2026-01-02"))
    body, kind = encode(mixed)
    assert kind == JSON
    assert json.loads(body) == {
        "columns": ["rooms", "sqft", "zip", "new", "day"],
        "data": [[3, 0.5, "01234", True, "2026-01-02T00:00:00"], [4, None, None, False, "2026-01-02T00:00:00"]],
    }


def test_json_lines_are_records() -> None:
    assert encode(FRAME, JSONLINES) == (b'{"rooms": 3, "sqft": 0.5}\n{"rooms": 4, "sqft": null}\n', JSONLINES)


def test_a_frame_within_an_object_keeps_its_names_too() -> None:
    assert json.loads(encode({"instances": FRAME[:1]})[0]) == {"instances": [{"rooms": 3, "sqft": 0.5}]}


@pytest.mark.parametrize("payload", [FRAME.to_numpy(), FRAME["sqft"], pd.DataFrame(FRAME.to_numpy())])
def test_a_payload_without_names_has_no_header(payload: Any) -> None:
    assert encode(payload)[1] == CSV
    with pytest.raises(TypeError, match="has no names for its columns, which a header needs"):
        encode(payload, HEADED)


def test_names_are_left_out_where_that_is_asked_for() -> None:
    assert encode(FRAME, f"{CSV}; header=absent") == (b"3.0,0.5\n4.0,nan\n", f"{CSV}; header=absent")


def test_names_are_not_dropped_for_a_type_that_has_none() -> None:
    with pytest.raises(TypeError, match=r"for application/x-npy pass .* such as frame\.to_numpy\(\)"):
        encode(FRAME, NPY)


def test_records_of_other_names_are_refused_and_instances_go_as_they_are() -> None:
    with pytest.raises(ValueError, match="records 1 and 2 do not have the same names"):
        encode([{"a": 1}, {"b": 1}])
    assert encode([{"features": [1, 2]}]) == (b'[{"features": [1, 2]}]', JSON)


def test_a_sparse_matrix_is_encoded_as_a_sparse_matrix() -> None:
    body, kind = encode(sparse.csr_matrix([[0, 1.5]]))
    assert kind == "application/x-npz"
    assert sparse.load_npz(io.BytesIO(body)).toarray().tolist() == [[0.0, 1.5]]
