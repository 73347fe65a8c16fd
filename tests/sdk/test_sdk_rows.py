"""Payloads to bytes and answers back."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.rows import CSV, JSON, JSONLINES, NPY, decode, encode

numbers = st.floats(allow_nan=False, allow_infinity=False)
tables = st.integers(2, 5).flatmap(
    lambda columns: st.lists(st.lists(numbers, min_size=columns, max_size=columns), min_size=2, max_size=6)
)


@given(tables, st.sampled_from([CSV, JSON, JSONLINES, NPY]))
def test_rows_come_back_as_they_went(table: list[list[float]], kind: str) -> None:
    body, content_type = encode(table, kind)
    assert np.asarray(decode(body, f"{content_type}; charset=utf-8")).tolist() == table


@given(tables)
def test_an_array_goes_as_its_lists_do(table: list[list[float]]) -> None:
    assert encode(np.array(table)) == encode(table) == (encode(table, CSV)[0], CSV)


def test_one_flat_row_is_one_line() -> None:
    assert encode([1, 2.5, None]) == (b"1,2.5,\n", CSV)


def test_text_and_bytes_go_as_they_are() -> None:
    assert encode("a,b", "text/plain") == (b"a,b", "text/plain")
    assert encode(b"\x00") == (b"\x00", CSV)


def test_an_object_goes_as_json() -> None:
    body, kind = encode({"instances": np.ones((1, 2))})
    assert (json.loads(body), kind) == ({"instances": [[1.0, 1.0]]}, JSON)


@pytest.mark.parametrize("kind", [CSV, JSON, JSONLINES, NPY])
def test_an_answer_that_is_not_what_its_type_says_names_type_and_bytes(kind: str) -> None:
    with pytest.raises(ValueError, match=rf"^the answer is called {kind} .*: b'\\xff0\.1,0\.2'; `invoke_raw` has"):
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
