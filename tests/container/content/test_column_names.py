"""Columns with names: in every content type they become the model's columns of these names, or the body is refused."""

import io
import json

import numpy as np
import pytest

from torpor_container.content import RowLayout, decode
from torpor_container.content.column_names import nearest
from torpor_container.errors import BadInput

HOUSES = RowLayout(np.float64, columns=3, names=lambda: ["sqft", "beds", "age"])
NAMELESS = RowLayout(np.float64, columns=3)
HEADED = "text/csv; header=present"
JSON, LINES = "application/json", "application/jsonlines"
IN_ORDER = [[900.0, 2.0, 30.0], [1500.0, 3.0, 5.0]]
COLUMNS = {"age": [30, 5], "beds": [2, 3], "sqft": [900, 1500]}
NAMES, ROWS = list(COLUMNS), [[30, 2, 900], [5, 3, 1500]]
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def written(value: object) -> bytes:
    return json.dumps(value).encode()


def structured() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([tuple(row) for row in ROWS], dtype=[(name, "i4") for name in NAMES]))
    return stream.getvalue()


IN_ANOTHER_ORDER = {
    "csv": (HEADED, b"age,beds,sqft\n30,2,900\n5,3,1500\n"),
    "csv, Windows line ends": ('Text/CSV; charset=utf-8; Header="present"', b"age,beds,sqft\r\n30,2,900\r\n5,3,1500"),
    "csv in quotes, from Excel": (HEADED, b'\xef\xbb\xbf"age","beds","sqft"\n30,2,900\n5,3,1500'),
    "csv with semicolons": (HEADED, b"age;beds;sqft\n30;2;900\n5;3;1500"),
    "records": (JSON, written(RECORDS)),
    "records of another order each": (JSON, written([RECORDS[0], dict(reversed(RECORDS[1].items()))])),
    "instances": (JSON, written({"instances": RECORDS})),
    "instances with features": (JSON, written({"instances": [{"features": record} for record in RECORDS]})),
    "records as MLflow sends them": (JSON, written({"dataframe_records": RECORDS})),
    "split": (JSON, written({"columns": NAMES, "index": [7, 8], "data": ROWS})),
    "split as MLflow sends it": (JSON, written({"dataframe_split": {"columns": NAMES, "data": ROWS}})),
    "columns": (JSON, written({"columns": COLUMNS})),
    "bare columns": (JSON, written(COLUMNS)),
    "bare columns by label": (JSON, written({name: {"7": a, "8": b} for name, (a, b) in COLUMNS.items()})),
    "columns as inputs": (JSON, written({"inputs": {name: [[a], [b]] for name, (a, b) in COLUMNS.items()}})),
    "json lines": (LINES, b"\n".join(map(written, RECORDS))),
    "structured npy": ("application/x-npy", structured()),
}


@pytest.mark.parametrize("way", IN_ANOTHER_ORDER)
def test_columns_in_another_order_are_put_into_the_models(way: str) -> None:
    content_type, body = IN_ANOTHER_ORDER[way]
    assert decode(body, content_type, HOUSES).tolist() == IN_ORDER


def test_a_record_is_one_row() -> None:
    assert decode(written(RECORDS[0]), JSON, HOUSES).tolist() == IN_ORDER[:1]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [(HEADED, b"beds,squarefeet,sqf\n2,1,900\n"), (JSON, b'[{"beds": 2, "squarefeet": 1, "sqf": 900}]')],
)
def test_the_refusal_of_unknown_names_suggests_similar_names(content_type: str, body: bytes) -> None:
    with pytest.raises(BadInput, match=r"unknown: sqf \(did you mean sqft\?\), squarefeet; missing: age, sqft$"):
        decode(body, content_type, HOUSES)


def test_an_unknown_column_is_refused_even_beside_all_known_ones() -> None:
    with pytest.raises(BadInput, match=r"unknown: id$"):
        decode(b"id,age,beds,sqft\n7,30,2,900", HEADED, HOUSES)


def test_the_refusal_of_an_index_that_pandas_wrote_names_pandas() -> None:
    with pytest.raises(BadInput, match=r"without a name \(pandas writes its index so: to_csv\(index=False\)"):
        decode(b",sqft,beds,age\n0,900,2,30", HEADED, HOUSES)


@pytest.mark.parametrize(("name", "near"), [("Sq Ft", "sqft"), ("AGE", "age"), ("bed", "beds"), ("price", None)])
def test_a_near_name_is_near_whatever_its_case_and_spaces(name: str, near: str | None) -> None:
    assert nearest(name, ["sqft", "beds", "age"]) == near


def test_rows_without_names_are_taken_by_their_places() -> None:
    """As scikit-learn takes them, and SageMaker's XGBoost container."""
    assert decode(b"900,2,30", "text/csv", HOUSES).tolist() == IN_ORDER[:1]


def test_a_model_without_names_takes_named_columns_by_position() -> None:
    """As XGBoost and scikit-learn take a frame then."""
    assert decode(b"age,beds,sqft\n30,2,900", HEADED, NAMELESS).tolist() == [[30.0, 2.0, 900.0]]


@pytest.mark.parametrize("body", [RECORDS, {"instances": RECORDS}, RECORDS[0], COLUMNS, {"inputs": COLUMNS}])
def test_members_of_an_object_have_no_places_where_the_model_knows_no_names(body: object) -> None:
    with pytest.raises(BadInput, match=r"has no names .* age, beds, sqft\. Send rows as lists"):
        decode(written(body), JSON, NAMELESS)


@pytest.mark.parametrize("prefix", ["f", "x", "Column_"])
def test_numbered_names_have_places_in_any_model(prefix: str) -> None:
    record = {f"{prefix}{number}": number for number in (2, 0, 1)}
    assert decode(written([record]), JSON, NAMELESS).tolist() == [[0.0, 1.0, 2.0]]


FAULTS = {
    "another name in row 2": (
        JSON,
        b'[{"sqft": 1, "beds": 2}, {"sqft": 1}]',
        "rows 1 and 2 do not have .* names: beds",
    ),
    "records beside lists": (JSON, b'[{"sqft": 1}, [1]]', "either all records, .* or all lists"),
    "an empty record": (JSON, b"[{}]", "row 1 is an empty object"),
    "text for a number": (JSON, written([{**RECORDS[0], "beds": "two"}]), r'row 1, column 2 \(beds\): "two" is not a'),
    "text that numpy takes for nan": (JSON, written([{**RECORDS[0], "beds": "nan"}]), r"column 2 \(beds\): \"nan\""),
    "text for nan without names": (JSON, b'[[1, 2, "NaN"]]', 'column 3: "NaN" is not a number'),
    "columns with other rows": (JSON, b'{"a": {"0": 1}, "b": {"1": 1}}', "do not have the same rows"),
    "a header alone": (HEADED, b"sqft,beds,age\n", "no row below the header"),
    "a header of other bytes": (HEADED, b"\xff,beds,age\n1,2,3", "not CSV in UTF-8"),
    "a header that is too short": (HEADED, b"sqft,beds\n1,2,3", "missing: age"),
    "rows that are too short": (HEADED, b"sqft,beds,age\n1,2", "takes 3 columns, and the rows have 2"),
    "another word for the header": ("text/csv; header=yes", b"1,2,3", "header=yes .* it must be present or absent"),
    "labels": ("text/csv; label_size=1", b"7,1,2,3", "label_size=1 .* send rows without labels"),
    "an instruction": (
        JSON,
        b'{"instances": [[1, 2, 3]], "parameters": {"a": 1}}',
        "parameters beside instances cannot be used",
    ),
    "another signature": (
        JSON,
        b'{"signature_name": "x", "instances": [[1, 2, 3]]}',
        "signature_name beside instances",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_body_with_faulty_names_is_refused_with_the_reason(name: str) -> None:
    content_type, body, said = FAULTS[name]
    with pytest.raises(BadInput, match=said):
        decode(body, content_type, HOUSES)


@pytest.mark.parametrize("content_type", ["text/csv", "text/csv; header=absent", "text/csv; label_size=0"])
def test_the_refusal_of_an_unannounced_header_says_how_to_send_it(content_type: str) -> None:
    with pytest.raises(BadInput, match=r"'sqft' is not a number; row 1 looks like a header: .* header=present'"):
        decode(b"sqft,beds,age\n900,2,30", content_type, HOUSES)


def test_a_word_among_numbers_is_no_header() -> None:
    with pytest.raises(BadInput, match=r"'x' is not a number$"):
        decode(b"900,x,30", "text/csv", HOUSES)
