"""Bodies to rows: each content type gives the same numbers, and each fault names its place."""

import csv
import gzip
import io
import json
import zipfile
from contextlib import suppress
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from tests.helpers.thorough_values import one_in
from torpor_container.content import DECODERS, RowLayout, Rows, decode
from torpor_container.content.reading.cell_tables import read_cells
from torpor_container.content.reading.csv_rows import MANY_BYTES
from torpor_container.content.reading.libsvm_rows import CELLS_MAX
from torpor_container.errors import BadInput, UnsupportedContentType

ROWS = np.array([[1.5, 2.0, nan], [-3.0, 0.0, 4.25]])
DOUBLE = RowLayout(np.float64, sparse=False)


def npy(array: Rows) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npy_headed(header: bytes) -> bytes:
    """An array of 16 zero bytes behind this header."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(16)


def npy_of(descr: str, shape: str) -> bytes:
    return npy_headed(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".encode())


def npz(rows: Rows, kind: str = "csr") -> bytes:
    """The cells that are numbers, as a sparse matrix."""
    places = np.nonzero(~np.isnan(rows))
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.coo_matrix((rows[places], places), shape=rows.shape).asformat(kind))
    return stream.getvalue()


SAME_ROWS = {
    "csv": ("text/csv", b"1.5,2,nan\n-3,0,4.25\n"),
    "csv, an empty cell": ("text/csv", b"1.5,2,\n-3,0,4.25"),
    "csv, Windows line ends": ("text/csv", b"1.5,2,\r\n-3,0,4.25\r\n"),
    "csv, quoted": ("text/csv", b'"1.5","2",""\n"-3","0","4.25"'),
    "csv, semicolons": ("text/csv", b"1.5;2;\n-3;0;4.25"),
    "csv, with parameters": ("Text/CSV; charset=utf-8", b"1.5,2,nan\n-3,0,4.25"),
    "csv, short name": ("csv", b"1.5,2,nan\n-3,0,4.25"),
    "no content type is csv": ("", b"1.5,2,nan\n-3,0,4.25"),
    "libsvm": ("text/libsvm", b"0:1.5 1:2\n0:-3 1:0 2:4.25\n"),
    "libsvm with labels": ("text/x-libsvm", b"1 0:1.5 1:2\n0 qid:7 0:-3 1:0 2:4.25"),
    "csv in UTF-16": ("text/csv; charset=UTF-16", "1.5,2,nan\n-3,0,4.25".encode("utf-16")),
    "csv in Latin-1": ('text/csv; charset="ISO-8859-1"', b"1.5,2,nan\n-3,0,4.25"),
    "quoted csv": ("text/csv", b'"1.5"," 2 ",""\n "-3" ,"0","4.25"'),
    "json with a charset": ("application/json; charset=utf-16", b"[[1.5, 2, null], [-3, 0, 4.25]]"),
    "json lists": ("application/json", b"[[1.5, 2, null], [-3, 0, 4.25]]"),
    "json instances": ("application/json", b'{"instances": [[1.5, 2, null], [-3, 0, 4.25]]}'),
    "json features": ("application/json", b'{"instances": [{"features": [1.5, 2, NaN]}, {"features": [-3, 0, 4.25]}]}'),
    "json nested": (
        "application/json",
        b'{"instances": [{"data": {"features": {"values": [1.5, 2, null]}}}, {"values": [-3, 0, 4.25]}]}',
    ),
    "json rows": ("application/json", b'{"rows": [[1.5, 2, null], [-3, 0, 4.25]]}'),
    "json inputs": ("application/json", b'{"inputs": [[1.5, 2, null], [-3, 0, 4.25]]}'),
    "json columns by name": ("application/json", b'{"columns": {"a": [1.5, -3], "b": [2, 0], "c": [null, 4.25]}}'),
    "json columns in order": ("application/json", b'{"columns": [[1.5, -3], [2, 0], [null, 4.25]]}'),
    "json split": ("application/json", b'{"columns": ["a", "b", "c"], "data": [[1.5, 2, null], [-3, 0, 4.25]]}'),
    "jsonlines": ("application/jsonlines", b"[1.5, 2, null]\n[-3, 0, 4.25]\n"),
    "jsonlines features": ("application/x-ndjson", b'{"features": [1.5, 2, null]}\n\n{"features": [-3, 0, 4.25]}'),
    "npy": ("application/x-npy", npy(ROWS)),
    "npz": ("application/x-npz", npz(ROWS)),
    "npy in Fortran order": ("application/x-npy", npy(np.asfortranarray(ROWS))),
}


@pytest.mark.parametrize("name", SAME_ROWS)
def test_every_spelling_gives_the_same_rows(name: str) -> None:
    content_type, body = SAME_ROWS[name]
    np.testing.assert_array_equal(decode(body, content_type, DOUBLE), ROWS)


def test_cells_of_text_are_read_in_the_charset_of_their_type() -> None:
    body = "café".encode("latin-1")
    assert read_cells(body, "text/csv; charset=iso-8859-1").values == [["café"]]
    with pytest.raises(BadInput, match="not CSV in UTF-8"):
        read_cells(body, "text/csv")


def test_the_table_above_covers_every_content_type() -> None:
    assert {content_type for content_type, _ in SAME_ROWS.values()} >= set(DECODERS)


@pytest.mark.parametrize("body", [b"7,8", b"7,8\n"])
def test_a_csv_row_is_float32_unless_the_model_says_otherwise(body: bytes) -> None:
    rows = decode(body, "text/csv", RowLayout())
    assert rows.dtype == np.float32
    assert rows.tolist() == [[7.0, 8.0]]


def test_a_bare_json_list_is_the_column_of_a_model_with_one() -> None:
    assert decode(b"[1, 2]", "application/json", RowLayout(columns=1)).tolist() == [[1.0], [2.0]]
    assert decode(b'["a", "b"]', "application/json", RowLayout(np.object_, columns=1)).tolist() == [["a"], ["b"]]


@pytest.mark.parametrize("body", [b"[1, 2]", b'{"features": [1, 2]}', b'{"instances": [1, 2]}'])
def test_a_bare_json_list_is_one_row(body: bytes) -> None:
    assert decode(body, "application/json", DOUBLE).tolist() == [[1.0, 2.0]]


def test_a_json_line_that_is_a_number_is_a_row_of_its_own() -> None:
    assert decode(b"1\n2.5\n[3]\n", "application/jsonlines", DOUBLE).tolist() == [[1.0], [2.5], [3.0]]
    assert np.isnan(decode(b"null\nNaN", "application/jsonlines", DOUBLE)).tolist() == [[True], [True]]
    with pytest.raises(BadInput, match="takes 3 columns, and the rows have 1"):
        decode(b"1\n2\n3", "application/jsonlines", RowLayout(columns=3))


def test_a_json_line_is_a_number_of_a_tensor_with_one_dimension() -> None:
    assert decode(b"1\n2\n3", "application/jsonlines", RowLayout(table=False)).tolist() == [1.0, 2.0, 3.0]


FAULTS = {
    "empty": ("text/csv", b"", "empty"),
    "blank": ("application/json", b" \n", "empty"),
    "junk in csv": ("text/csv", b"1,2\n3,abc", "row 2, column 2: 'abc' is not a number"),
    "a header": ("text/csv", b"age,height\n1,2", "row 1, column 1: 'age'"),
    "an underscore": ("text/csv", b"1_000,2", "row 1, column 1"),
    "digits of another script": ("text/csv", "\uff12,1".encode(), "row 1, column 1: '\uff12' is not a number"),
    "an underscore in libsvm": ("text/libsvm", b"0:1\n1:1_000", "row 2: index 1: '1_000' is not a number"),
    "another script in libsvm": ("text/libsvm", "0:\uff12 1:1".encode(), "row 1: index 0: '\uff12' is not a number"),
    "libsvm without a value": ("text/libsvm", b"0:", "row 1: index 0: '' is not a number"),
    "a label with an underscore": ("text/libsvm", b"1_0 0:1", "row 1: '1_0' is neither a label"),
    "a delimiter between quotes": ("text/csv", b'"0,4",2', "row 1, column 1: '\"0' is not a number"),
    "a quote that does not end": ("text/csv", b'1,"2', "row 1, column 2: '\"2' is not a number"),
    "a quote twice": ("text/csv", b'1,""2""', "row 1, column 2"),
    "gzip": ("text/csv", gzip.compress(b"1,2"), "compressed by gzip: send it as it is"),
    "another charset": ("text/csv; charset=utf-16", b"1,2,3", "not text in utf-16, the charset of its content type"),
    "a charset that is none": ("text/csv; charset=klingon", b"1,2", "not text in klingon"),
    "a codec that is no charset": ("text/csv; charset=zlib", b"1,2", "not text in zlib"),
    "two arrays": ("application/x-npy", npy(ROWS) + npy(ROWS), "bytes follow it: send one array"),
    "ragged csv": ("text/csv", b"1,2\n3", "row 2 has 1 columns, and row 1 has 2"),
    "not utf-8": ("text/csv", b"\xff\xfe,2", "row 1, column 1"),
    "bad libsvm": ("text/libsvm", b"0:1\n1:x", "row 2"),
    "libsvm without index": ("text/libsvm", b"1 0:1 7", "'7' is not index:value"),
    "libsvm that is text": ("text/libsvm", b"0:1\nhello", "row 2: 'hello' is neither a label, which is a number, nor"),
    "libsvm that is csv": ("text/libsvm", b"1,2,3", "row 1: '1,2,3' is neither a label"),
    "libsvm with a huge index": ("text/libsvm", b"0:1 %d:1" % CELLS_MAX, "too many"),
    "not json": ("application/json", b"{", "not JSON"),
    "deep json": ("application/json", b"[" * 100_000, "not JSON"),
    "unknown key": ("application/json", b'{"foo": 1}', "instances"),
    "a number as text": ("application/json", b'[[1, 2], [3, "4"]]', 'row 2, column 2: "4" is not a number'),
    "a number as text among records": ("application/json", b'[{"f0": "1_0"}]', 'row 1, column 1 (f0): "1_0" is not a'),
    "a number as text in lines": ("application/jsonlines", b'[1]\n["2"]', 'row 2, column 1: "2" is not a number'),
    "a name twice": ("application/json", b'[{"f0": 1, "f0": 2, "f1": 3}]', "a name more than once: f0"),
    "a name twice in lines": ("application/jsonlines", b'{"f0": 1}\n{"f0": 1, "f0": 2}', "a name more than once: f0"),
    "an envelope twice": ("application/json", b'{"instances": [[1]], "instances": [[2]]}', "more than once: instances"),
    "an index twice": ("text/libsvm", b"0:1\n0:1 1:2 0:3", "row 2: index 0 is there more than once"),
    "text in json": ("application/json", b'[[1, 2], [3, "x"]]', 'row 2, column 2: "x" is not a number'),
    "an object in json": ("application/json", b'{"instances": [{"foo": 1}]}', "features"),
    "ragged json": ("application/json", b"[[1, 2], [3]]", "row 2 has 1 columns, and row 1 has 2"),
    "uneven json columns": ("application/json", b'{"columns": {"a": [1], "b": []}}', "differ in length"),
    "sparse json": ("application/json", b'{"instances": [{"keys": [1], "values": [2]}]}', "text/libsvm"),
    "a json number": ("application/json", b"5", "shape ()"),
    "no rows": ("application/json", b"[]", "shape"),
    "a third dimension": ("application/json", b"[[[1]]]", "shape"),
    "an endless number": ("application/json", b"[[%s]]" % (b"9" * 400), "row 1, column 1: 999"),
    "bad json line": ("application/jsonlines", b"[1]\n{", "line 2"),
    "two values in a json line": ("application/jsonlines", b"[1]\n2,3", "line 2 is not JSON"),
    "not npy": ("application/x-npy", b"hello", "not an .npy array"),
    "cut npy": ("application/x-npy", npy(ROWS)[:-8], "not an .npy array"),
    "npy headed by no dictionary": ("application/x-npy", npy_headed(b"{[]: 1}"), "not an .npy array"),
    "npy headed by many brackets": ("application/x-npy", npy_headed(b"(" * 4000), "not an .npy array"),
    "npy headed by many signs": ("application/x-npy", npy_headed(b"-" * 5000 + b"1"), "not an .npy array"),
    "npy of no type": ("application/x-npy", npy_of("()", "(1, 2)"), "not an .npy array"),
    "npy of a true shape": ("application/x-npy", npy_of("'<f8'", "(True, 2)"), "not an .npy array"),
    "npy of text": ("application/x-npy", npy(np.array(["a"])), "not an array of numbers"),
    "npy of pickles": ("application/x-npy", npy(np.array([{}], dtype=object)), "not an array of numbers"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_bad_body_is_a_400_that_names_the_place(name: str) -> None:
    content_type, body, said = FAULTS[name]
    with pytest.raises(BadInput) as raised:
        decode(body, content_type, DOUBLE)
    assert raised.value.status == 400
    assert said in str(raised.value)


def test_an_npy_header_that_claims_the_moon_takes_no_memory() -> None:
    body = npy(np.zeros(3)).replace(b"(3,)", b"(9999999999999,)")
    with pytest.raises(BadInput):
        decode(body, "application/x-npy", DOUBLE)


NAMED = RowLayout(np.float64, columns=2, names=lambda: ["x", "y"])


@pytest.mark.parametrize(
    "body",
    [
        b'{"columns": {"y": [2, 4], "x": [1, 3]}}',
        b'{"columns": {"x": [1, 3], "y": [2, 4]}}',
        b'{"columns": ["y", "x"], "data": [[2, 1], [4, 3]]}',
        b'{"columns": ["y", "x"], "instances": [{"features": [2, 1]}, [4, 3]]}',
        b'{"columns": [0, 1], "data": [[1, 2], [3, 4]]}',
        b'{"columns": [[1, 3], [2, 4]]}',
    ],
)
def test_columns_with_names_are_the_models_columns_of_these_names(body: bytes) -> None:
    assert decode(body, "application/json", NAMED).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_columns_that_are_counted_are_names_where_the_model_has_counted_its_own() -> None:
    counted = RowLayout(np.float64, columns=2, names=lambda: ["1", "0"])
    body = b'{"columns": [0, 1], "data": [[1, 2]]}'
    assert decode(body, "application/json", counted).tolist() == [[2.0, 1.0]]


def test_a_single_row_with_names_is_put_in_the_models_order() -> None:
    assert decode(b'{"columns": ["y", "x"], "data": [2, 1]}', "application/json", NAMED).tolist() == [[1.0, 2.0]]


def test_a_model_without_names_takes_columns_in_the_given_order() -> None:
    body = b'{"columns": ["y", "x"], "data": [[2, 1]]}'
    assert decode(body, "application/json", DOUBLE).tolist() == [[2.0, 1.0]]


MISNAMED = {
    b'{"columns": {"y": [2], "z": [1]}}': "unknown: z; missing: x$",
    b'{"columns": {"x": [2]}}': "missing: y$",
    b'{"columns": ["x", "y", "x"], "data": [[1, 2, 1]]}': "more than once: x$",
    b'{"columns": ["x", null], "data": [[1, 2]]}': "unknown: None; missing: y$",
    b'{"columns": [1, 0], "data": [[1, 2]]}': "unknown: 0, 1; missing: x, y$",
    json.dumps(
        {"columns": {name: [1] for name in "abcdefghijk"}}
    ).encode(): "unknown: a, b, .* j and more; missing: x, y$",
    b'{"columns": ["y", "x"], "data": [[1, 2, 3]]}': "takes 2 columns, and the rows have 3$",
}


@pytest.mark.parametrize("body", MISNAMED)
def test_the_refusal_of_wrong_names_names_them(body: bytes) -> None:
    with pytest.raises(BadInput, match=MISNAMED[body]):
        decode(body, "application/json", NAMED)


@pytest.mark.parametrize("content_type", ["text/csv", "application/json", "text/libsvm"])
def test_a_wrong_column_count_names_both_counts(content_type: str) -> None:
    body = {"text/csv": b"1,2,3", "application/json": b"[1,2,3]", "text/libsvm": b"0:1 2:3"}[content_type]
    with pytest.raises(BadInput, match="takes 2 columns, and the rows have 3"):
        decode(body, content_type, RowLayout(columns=2))


def test_a_sparse_row_is_filled_to_the_models_width_with_what_absent_means() -> None:
    assert decode(b"1:5", "text/libsvm", RowLayout(columns=3, absent=0.0)).tolist() == [[0.0, 5.0, 0.0]]
    assert np.isnan(decode(b"1:5", "text/libsvm", RowLayout(columns=3))).tolist() == [[True, False, True]]


def test_an_unknown_content_type_is_415_and_lists_the_known_ones() -> None:
    with pytest.raises(UnsupportedContentType) as raised:
        decode(b"x", "image/png", DOUBLE)
    assert raised.value.status == 415
    assert all(known in str(raised.value) for known in ("image/png", *DECODERS))


def test_whole_numbers_are_kept_exact_and_fractions_refused() -> None:
    assert decode(b"[[9007199254740993]]", "application/json", RowLayout(np.int64)).tolist() == [[9007199254740993]]
    for content_type, body in (("application/json", b"[[1.5]]"), ("text/csv", b"1.5"), ("text/libsvm", b"0:1.5")):
        with pytest.raises(BadInput, match="whole numbers"):
            decode(body, content_type, RowLayout(np.int64, absent=0.0))


EXACT: dict[str, tuple[type, str, bytes, list[object]]] = {
    "csv": (np.int64, "text/csv", b"9007199254740993,-1", [9007199254740993, -1]),
    "csv beside a fraction that is none": (np.int64, "text/csv", b"9007199254740993,2.0", [9007199254740993, 2]),
    "csv with an exponent": (np.int64, "text/csv", b"1e18,1", [10**18, 1]),
    "csv, unsigned": (np.uint64, "text/csv", b"18446744073709551615", [18446744073709551615]),
    "json beside a fraction that is none": (np.int64, "application/json", b"[9007199254740993, 2.0]", [2**53 + 1, 2]),
    "json, unsigned": (np.uint64, "application/json", b"[18446744073709551615, 1]", [2**64 - 1, 1]),
    "libsvm": (np.int64, "text/libsvm", b"0:9007199254740993 1:1", [9007199254740993, 1]),
    "truths in csv": (np.bool_, "text/csv", b"1,0,1.0,0", [True, False, True, False]),
    "truths in csv by name": (np.bool_, "text/csv", b"true,False,1,0", [True, False, True, False]),
    "truths in json": (np.bool_, "application/json", b"[true, false, 1, 0.0]", [True, False, True, False]),
    "truths in npy": (np.bool_, "application/x-npy", npy(np.array([[1.0, 0.0]])), [True, False]),
    "digits as text": (np.object_, "text/csv", b"1,2,3\n", ["1", "2", "3"]),
    "text": (np.object_, "text/csv", b"a,b,c", ["a", "b", "c"]),
    "text with other delimiters": (np.object_, "text/csv", "New York; | \tØ_1".encode(), ["New York; | \tØ_1"]),
    "text with spaces, and none": (np.object_, "text/csv", b" a ,,nan", [" a ", "", "nan"]),
    "text in quotes": (np.object_, "text/csv", b'"a,""b""","c\nd"\r\n', ['a,"b"', "c\nd"]),
    "text in json": (np.object_, "application/json", b'["a", "1"]', ["a", "1"]),
    "text in npy": (np.object_, "application/x-npy", npy(np.array([["a", "bc"]])), ["a", "bc"]),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_cell_stays_what_the_caller_wrote(name: str) -> None:
    dtype, content_type, body, row = EXACT[name]
    rows = decode(body, content_type, RowLayout(dtype, absent=0.0))
    assert rows.dtype == dtype
    assert rows.tolist() == [row]


CHANGED = {
    "a fraction": (
        np.int64,
        "application/json",
        b"[[1, 2], [3, 1.5]]",
        r"row 2, column 2: .* only \(int64\), and not 1.5",
    ),
    "null": (np.int64, "application/json", b"[[1, null]]", "row 1, column 2: the model takes whole .* and not null"),
    "an empty cell": (np.int64, "text/csv", b"1,2\n,3", 'row 2, column 1: the model takes whole .* and not ""'),
    "nan": (np.int64, "text/csv", b"1,nan", "row 1, column 2: the model takes whole .* and not NaN"),
    "out of range": (np.int8, "application/json", b"[[300]]", r"row 1, column 1: .* \(int8\), and not 300"),
    "a sign too many": (np.uint8, "text/csv", b"-1", "row 1, column 1: .* and not -1"),
    "far out of range": (np.int64, "text/csv", b"1,9223372036854775808", "column 2: .* and not 9223372036854775808"),
    "no number": (np.int64, "text/csv", b"1,x", "column 2: the model takes whole .* and not 'x'"),
    "no truth": (np.bool_, "text/csv", b"1,2", "column 2: the model takes true, false, 1 and 0 only, and not 2"),
    "no truth's name": (np.bool_, "text/csv", b"yes", "takes true, false, 1 and 0 only, and not 'yes'"),
    "no truth in json": (np.bool_, "application/json", b"[[true, 0.5]]", "column 2: .* and not 0.5"),
    "no truth but text": (np.bool_, "application/json", b'[["true"]]', 'column 1: .* and not "true"'),
    "no truth but null": (np.bool_, "application/json", b"[[null]]", "column 1: .* and not null"),
    "no truth in npy": (np.bool_, "application/x-npy", npy(ROWS), "the model takes true, false, 1 and 0 only"),
    "no truth in libsvm": (np.bool_, "text/libsvm", b"0:1 1:2", "row 1: the model takes true, false"),
    "null for text": (np.object_, "application/json", b'[["a", null]]', "column 2: .* text only, and not null"),
    "a number for text": (np.object_, "application/json", b'[["a"], [1]]', "row 2, column 1: .* text only, and not 1"),
    "text in libsvm": (np.object_, "text/libsvm", b"0:1", "libsvm holds numbers, and the model takes text only"),
    "text as numbers": (np.object_, "application/x-npy", npy(ROWS), "the model takes text only"),
    "ragged text": (np.object_, "application/json", b'[["a"], ["b", "c"]]', "row 2 has 2 columns"),
    "ragged text in csv": (np.object_, "text/csv", b"a\nb,c", "row 2 has 2 columns"),
    "text that is none": (np.object_, "text/csv", b"\xff", "not CSV in UTF-8"),
    "text after a quote": (np.object_, "text/csv", b'"a"b', "not CSV in UTF-8"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_cell_that_would_become_another_one_is_refused(name: str) -> None:
    dtype, content_type, body, said = CHANGED[name]
    with pytest.raises(BadInput, match=said):
        decode(body, content_type, RowLayout(dtype, absent=0.0))


@pytest.mark.parametrize(
    ("row", "dtype"),
    [
        ([9007199254740993, 2], np.int64),
        (["1", "2"], np.object_),
        (['a,"b', "c\nd"], np.object_),
        ([True, False], np.bool_),
    ],
)
def test_cells_stay_the_same_in_a_large_body(row: list[object], dtype: type) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([row] * (MANY_BYTES // 2))
    rows = decode(text.getvalue().encode(), "text/csv", RowLayout(dtype))
    assert len(text.getvalue()) > MANY_BYTES
    assert rows.tolist() == [row] * (MANY_BYTES // 2)


@pytest.mark.parametrize("wrong", [1.5, nan, inf, 300.0, -129.0, 2.0**63])
def test_an_array_that_is_not_of_whole_numbers_in_range_is_refused(wrong: float) -> None:
    with pytest.raises(BadInput, match=r"^the model takes whole numbers only \(int8\)$"):
        decode(npy(np.array([[1.0, wrong]])), "application/x-npy", RowLayout(np.int8))


@pytest.mark.parametrize("dtype", ["<f8", "<f4", ">i8", "<u2", "|i1", "|b1"])
def test_an_array_of_whole_numbers_may_be_of_any_type(dtype: str) -> None:
    body = npy(np.asfortranarray(np.array([[1, 0], [0, 0]], dtype=dtype)))
    rows = decode(body, "application/x-npy", RowLayout(np.int8))
    assert rows.dtype == np.int8
    assert rows.flags.c_contiguous
    assert rows.tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_an_array_of_the_models_own_type_is_not_copied(dtype: type) -> None:
    rows = decode(npy(np.array([[2**53 - 1]], dtype=dtype)), "application/x-npy", RowLayout(dtype))
    assert not rows.flags.owndata
    assert rows.tolist() == [[2**53 - 1]]


BEYOND: dict[Any, str] = {np.float16: "70000", np.float32: "-1e39", np.float64: "1e999"}
"""For each type of floats a number that would become infinite."""


def of_too_large_a_number(text: str) -> dict[str, tuple[str, bytes, str]]:
    """Bodies with this number in the second row and the third column: content type, body and place."""
    first, second = [1.0, 2.0, 3.0], [4.0, 5.0, float(text)]
    cells, fields = f"1,2,3\n4,5,{text}".encode(), np.array([tuple(first), tuple(second)], dtype="f8,f8,f8")
    rows = 2 * MANY_BYTES // len(b"1,2,3\n")
    many = b"1,2,3\n" * rows + b"4,5,%b" % text.encode()
    return {
        "csv": ("text/csv", cells, "row 2, column 3"),
        "csv with an empty cell": ("text/csv", cells.replace(b"1", b"", 1), "row 2, column 3"),
        "a large csv": ("text/csv", many, f"row {rows + 1}, column 3"),
        "csv with a header": ("text/csv; header=present", b"a,b,c\n" + cells, "row 2, column 3"),
        "json": ("application/json", b"[[1, 2, 3], [4, 5, %b]]" % text.encode(), "row 2, column 3"),
        "json columns": (
            "application/json",
            b'{"columns": {"a": [1, 2], "b": [1, %b]}}' % text.encode(),
            r"row 2, .* \(b",
        ),
        "json lines": ("application/jsonlines", b"[1, 2, 3]\n[4, 5, %b]" % text.encode(), "row 2, column 3"),
        "libsvm": ("text/libsvm", b"0:1\n0:4 2:%b" % text.encode(), "row 2, index 2"),
        "npy": ("application/x-npy", npy(np.array([first, second])), "row 2, column 3"),
        "npy of fields": ("application/x-npy", npy(fields), "column f2"),
        "npz": ("application/x-npz", npz(np.array([first, second])), ""),
    }


FROM_NUMPY = ("npy", "npy of fields", "npz")
"""Bodies in which a number has a type of its own: what a float64 holds as infinite is infinite."""


@pytest.mark.parametrize(
    ("way", "dtype"),
    [
        *((way, dtype) for dtype in BEYOND for way in of_too_large_a_number("1") if way != "a large csv"),
        *one_in(len(BEYOND), (("a large csv", dtype) for dtype in BEYOND)),
    ],
)
def test_a_number_that_would_become_infinite_is_refused_by_its_place(way: str, dtype: Any) -> None:
    content_type, body, place = of_too_large_a_number(BEYOND[dtype])[way]
    layout = RowLayout(dtype, absent=0.0, sparse=False)
    if dtype is np.float64 and way in FROM_NUMPY:
        assert np.isinf(decode(body, content_type, layout)[-1][-1])
        return
    with pytest.raises(BadInput, match=rf"{place}.*-?[\d.e+]+ is beyond the range of {dtype.__name__}$") as raised:
        decode(body, content_type, layout)
    assert raised.value.is_read


@pytest.mark.parametrize("dtype", BEYOND)
def test_a_cell_that_says_infinity_is_infinite(dtype: Any) -> None:
    for content_type, body in (
        ("text/csv", b"inf,-Infinity,1"),
        ("application/json", b"[Infinity, -Infinity, 1]"),
        ("application/jsonlines", b"[Infinity, -Infinity, 1]"),
        ("application/x-npy", npy(np.array([[inf, -inf, 1.0]]))),
    ):
        assert decode(body, content_type, RowLayout(dtype)).tolist() == [[inf, -inf, 1.0]]


def test_the_largest_number_of_a_type_is_taken() -> None:
    for dtype in BEYOND:
        largest = float(np.finfo(dtype).max)
        assert decode(repr(largest).encode(), "text/csv", RowLayout(dtype)).tolist() == [[largest]]


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6)))
def test_rows_written_in_any_content_type_are_read_back_the_same(rows: Rows) -> None:
    listed = rows.tolist()
    bodies = {
        "text/csv": "\n".join(",".join(map(repr, row)) for row in listed).encode(),
        "application/json": json.dumps({"instances": listed}).encode(),
        "application/jsonlines": "\n".join(map(json.dumps, listed)).encode(),
        "application/x-npy": npy(rows),
    }
    for content_type, body in bodies.items():
        np.testing.assert_array_equal(decode(body, content_type, DOUBLE), rows)


@given(st.binary(min_size=1, max_size=60), st.sampled_from(sorted(DECODERS)))
def test_any_bytes_at_all_are_rows_or_bad_input(body: bytes, content_type: str) -> None:
    with suppress(BadInput):
        assert decode(body, content_type, DOUBLE).ndim == 2


NUMBERS = ["1", "-2.5", "1e400", "9" * 400, "9" * 5000, "nan", "x", "_", "\u00b2", " ", "\n"]
WORDS = {
    "text/csv": [",", ";", "\t", "\r", '"', "\0", *NUMBERS],
    "text/libsvm": ["0:1", "1:nan", "1:1e400", "1:2.5", "5:", ":", "qid:1", "99999999999:1", *NUMBERS],
    "application/json": [
        *('{"instances":', '{"features":', '{"columns":', '{"data":', '{"a":' * 300, "[" * 70, "]" * 70, "}" * 300),
        *("{", "}", "[", "]", ",", '"\\ud800"', "NaN", "null", "true", *NUMBERS),
    ],
    "header": [
        *("{", "}", "[", "]", "(", ")", ":", ",", "'descr'", "'shape'", "'<f8'", "'O'", "True", "None", "b''"),
        *("(" * 3000, "-" * 3000, "not " * 500, "~", "'", "\\", "L", "1j", "#", *NUMBERS),
    ],
}
"""What bodies of each kind are made of, and what is none of it."""


def said(kind: str) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(WORDS[kind]), min_size=1, max_size=9).map(lambda words: "".join(words).encode())


def archived(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


SPARSE_PARTS = {
    "csr": npy(np.array(b"csr")),
    "csc": npy(np.array("csc")),
    "coo": npy(np.array(b"coo")),
    "one": npy(np.array([1.0])),
    "two": npy(np.array([0, 1])),
    "shape": npy(np.array([1, 2])),
    "far": npy(np.array([7, 2**40])),
    "negative": npy(np.array([-1, 2])),
}

PARTS = said("header").map(bytes.decode)
MADE = {
    **{kind: said(kind) for kind in ("text/csv", "text/libsvm", "application/json")},
    "application/jsonlines": said("application/json"),
    "application/x-npy": st.one_of(
        said("header").map(npy_headed),
        st.builds(npy_of, PARTS, st.just("(1, 2)")),
        st.builds(npy_of, st.just("'<f8'"), PARTS),
    ),
    "application/x-npz": st.dictionaries(
        st.sampled_from(["format", "shape", "data", "indices", "indptr", "row", "col", "offsets"]),
        st.sampled_from([*SPARSE_PARTS.values()]) | said("header").map(npy_headed),
        min_size=3,
    ).map(archived),
}


@pytest.mark.parametrize("content_type", DECODERS)
@pytest.mark.filterwarnings("ignore")
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64, np.int64, np.object_]))
@settings(deadline=None)
def test_any_mix_of_a_types_tokens_is_rows_or_bad_input(
    content_type: str, data: st.DataObject, dtype: type[np.generic]
) -> None:
    body = data.draw(MADE[content_type])
    with suppress(BadInput):
        assert decode(body, content_type, RowLayout(dtype, absent=0.0, sparse=False)).ndim == 2


CELLS = st.sampled_from(
    ["1", "-2.5", " 3 ", "1e5", "nan", "inf", "", "x", "1_0", '"4"', "0x1", "5;6", "1 2", "\r", "#7"]
)


LINE = st.lists(CELLS, min_size=1, max_size=3)
FIRST = st.builds(
    lambda number, further: [number, *further], st.sampled_from(["0", "1", "27"]), st.lists(CELLS, max_size=2)
)
"""A line that begins with a number, so that it is no header."""


@settings(deadline=None)
@given(FIRST, st.lists(LINE, max_size=3), st.sampled_from(["\n", "\r\n"]))
def test_the_first_lines_of_a_large_body_are_read_as_they_are_alone(
    first: list[str], rest: list[list[str]], end: str
) -> None:
    text = end.join(",".join(row) for row in [first, *rest, first])
    few = read_rows(text)
    many = read_rows(end.join([text] * (1 + MANY_BYTES // len(text))))
    assert (few is None) == (many is None)
    if few is not None and many is not None:
        assert np.array_equal(many[: len(few)], few, equal_nan=True)


@settings(deadline=None)
@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=3)
    ),
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_large_body_means_the_same_wherever_its_odd_lines_stand(odd: list[list[str]], end: str) -> None:
    plain = ",".join(["0.25"] * len(odd[0]))
    lines = [plain, *(",".join(row) for row in odd), plain]
    few = read_rows(end.join(lines))
    before = [plain] * (1 + MANY_BYTES // len(plain))
    many = read_rows(end.join([*before, *lines, *before]) + end)
    assert (few is None) == (many is None)
    if few is not None and many is not None:
        assert np.array_equal(many[len(before) : -len(before)], few, equal_nan=True)
        assert (many[: len(before)] == 0.25).all()
        assert (many[-len(before) :] == 0.25).all()


LATE = {
    "junk": (b"x,1", "row 30001, column 1: 'x' is not a number"),
    "ragged": (b"1", "row 30001 has 1 columns, and row 1 has 2"),
    "ragged, though no comma is missing": (b"1\n1,2,3", "row 30001 has 1 columns, and row 1 has 2"),
    "ragged, and junk after it": (b"1\n2,x", "row 30002, column 2: 'x' is not a number"),
}


@pytest.mark.parametrize("name", LATE)
def test_the_error_of_a_fault_deep_in_a_large_body_names_its_row(name: str) -> None:
    late, said = LATE[name]
    with pytest.raises(BadInput) as raised:
        decode(b"1,2\n" * 30_000 + late + b"\n1,2" * 30_000, "text/csv", DOUBLE)
    assert said in str(raised.value)


def test_a_large_body_of_whole_numbers_is_refused_for_one_fraction() -> None:
    many = b"1,2\n" * 30_000
    assert decode(many, "text/csv", RowLayout(np.int64)).tolist() == [[1, 2]] * 30_000
    with pytest.raises(BadInput, match="whole numbers"):
        decode(many + b"1,2.5", "text/csv", RowLayout(np.int64))


def read_rows(text: str) -> Rows | None:
    """None for a refused body."""
    try:
        return decode(text.encode(), "text/csv", RowLayout())
    except BadInput:
        return None
