"""Filters keep what SageMaker's pages say, and joined records have their own answers."""

import json

import pytest

from torpor_endpoint.core.transform.filters import BadFilter, NothingKept, parse
from torpor_endpoint.core.transform.joining import JSON_DOCUMENT, JSON_LINES, ROWS, DataProcessing, NotJoined

ROW = ["id", "a", "b", "c"]
RECORD = {"id": 7, "features": {"x": [1, 2, 3]}, "name": "n"}


@pytest.mark.parametrize(
    ("text", "record", "kept"),
    [
        ("$", ROW, ROW),
        ("$[1:]", ROW, ["a", "b", "c"]),
        ("$[:-1]", ROW, ["id", "a", "b"]),
        ("$[0,-1]", ROW, ["id", "c"]),
        ("$[-1]", ROW, "c"),
        ("$[*]", ROW, ROW),
        ("$.features.x", RECORD, [1, 2, 3]),
        ("$['features']['x'][1]", RECORD, 2),
        ("$['id','name']", RECORD, {"id": 7, "name": "n"}),
        ("$.features.*", RECORD, [[1, 2, 3]]),
    ],
)
def test_a_filter_keeps_a_part(text: str, record: object, kept: object) -> None:
    assert parse(text).kept(record) == kept


@pytest.mark.parametrize(
    ("text", "position"),
    [("id", 1), ("$id", 2), ("$..id", 2), ("$[0", 2), ("$.a[?(@.b)]", 4), ("$['a'", 2), ("$[1:2:3]", 2)],
)
def test_an_expression_outside_of_the_subset_is_refused_with_its_position(text: str, position: int) -> None:
    with pytest.raises(BadFilter, match=rf"position {position}\b"):
        parse(text)


@pytest.mark.parametrize(("text", "record"), [("$[4]", ROW), ("$.id", ROW), ("$.other", RECORD), ("$[0]", RECORD)])
def test_what_a_record_lacks_is_named(text: str, record: object) -> None:
    with pytest.raises(NothingKept, match="the record"):
        parse(text).kept(record)


def test_rows_get_the_columns_of_their_answers() -> None:
    processing = DataProcessing(ROWS, parse("$[1:]"), parse("$[0,-1]"), joined=True)
    payload = b'7,"1",2\n8,3,4\n'
    assert processing.sent(payload) == b"1,2\n3,4\n"
    assert processing.written(payload, b"0.5\n0.25\n") == b"7,0.5\n8,0.25\n"


def test_objects_get_their_answers_as_a_member() -> None:
    processing = DataProcessing(JSON_LINES, parse("$.x"), parse("$['id','SageMakerOutput']"), joined=True)
    payload = b'{"id": 1, "x": [2]}\n{"id": 2, "x": [3]}\n'
    assert processing.sent(payload) == b"[2]\n[3]\n"
    joined = [json.loads(line) for line in processing.written(payload, b'{"p": 1}\n{"p": 2}\n').splitlines()]
    assert joined == [{"id": 1, "SageMakerOutput": {"p": 1}}, {"id": 2, "SageMakerOutput": {"p": 2}}]


def test_a_document_that_is_no_object_is_joined_under_two_names() -> None:
    processing = DataProcessing(JSON_DOCUMENT, parse("$"), parse("$"), joined=True)
    assert json.loads(processing.written(b"[1]", b"[2]")) == {"SageMakerInput": [1], "SageMakerOutput": [2]}


def test_a_model_that_answers_fewer_rows_is_named() -> None:
    processing = DataProcessing(ROWS, parse("$"), parse("$"), joined=True)
    with pytest.raises(NotJoined, match="was sent 2 records, and answered 1"):
        processing.written(b"1\n2\n", b"1\n")
