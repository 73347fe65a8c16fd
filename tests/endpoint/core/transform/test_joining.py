"""Filters keep what SageMaker's pages say, and joined records have their own answers."""

import csv
import json
import re
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.transform.filters import BadFilter, NothingKept, parse
from torpor_endpoint.core.transform.joining import DataProcessing, NotJoined
from torpor_endpoint.core.transform.record_formats import JSON_DOCUMENT, JSON_LINES, ROWS, RecordFormat

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
        ("$[0,2:]", ROW, ["id", "b", "c"]),
        ("$[0:4]", ROW, ROW),
        ("$.features.x", RECORD, [1, 2, 3]),
        ("$['features']['x'][1]", RECORD, 2),
        ("$['id','name']", RECORD, {"id": 7, "name": "n"}),
        ("$.features.*", RECORD, [[1, 2, 3]]),
        ('$["id"]', RECORD, 7),
        ("$[-4]", ROW, "id"),
        ("$[-4:]", ROW, ROW),
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


@pytest.mark.parametrize(
    ("text", "position"), [("$.k[*].v", 7), ("$[1:][0]", 6), ("$['a','b'].c", 11), ("$.*['a']", 4), ("$[0,1][0]", 7)]
)
def test_no_step_comes_after_one_that_keeps_several(text: str, position: int) -> None:
    with pytest.raises(BadFilter, match=rf"after a step that keeps several \(position {position}\)"):
        parse(text)


@pytest.mark.parametrize("text", ["$[4:]", "$[0:5]", "$[-5:]", "$[0,4:]", "$[2:1]"])
def test_a_slice_that_is_not_within_the_record_is_an_error(text: str) -> None:
    with pytest.raises(NothingKept, match="the record has 4 columns, and"):
        parse(text).kept(ROW)


@pytest.mark.parametrize(("text", "record"), [("$[4]", ROW), ("$.id", ROW), ("$.other", RECORD), ("$[0]", RECORD)])
def test_what_a_record_lacks_is_named(text: str, record: object) -> None:
    with pytest.raises(NothingKept, match="the record"):
        parse(text).kept(record)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("$", True),
        ("$[0]", True),
        ("$[1:]", True),
        ("$[*]", True),
        ("$.a", False),
        ("$['a']", False),
        ("$[0][1]", False),
        ("$.a[0]", False),
    ],
)
def test_a_filter_of_rows_keeps_columns(text: str, fits: bool) -> None:
    assert parse(text).of_rows is fits


def test_a_step_after_one_that_keeps_several_is_named() -> None:
    with pytest.raises(BadFilter, match=re.escape("'.b' is not supported after a step that keeps several")):
        parse("$.*.b")


def test_a_job_without_filters_and_joins_passes_bodies_on() -> None:
    plain = DataProcessing(ROWS, parse("$"), parse("$"), joined=False)
    assert plain.does_nothing
    assert plain.sent(b"\xff") == b"\xff"
    assert plain.written(b"\xff", b"\xfe") == b"\xfe"
    others = [
        replace(plain, input=parse("$[0]")),
        replace(plain, output=parse("$[0]")),
        replace(plain, joined=True),
        replace(plain, model=parse("$[0]")),
        replace(plain, stamp=lambda: ("", "")),
        replace(plain, in_one_line=True),
    ]
    assert [one.does_nothing for one in others] == [False] * 6


@pytest.mark.parametrize(
    ("processing", "payload", "answer", "named"),
    [
        (DataProcessing(ROWS, parse("$[3]"), parse("$"), joined=True), b"1,2\n", b"", r"InputFilter \$\[3\]: "),
        (DataProcessing(ROWS, parse("$"), parse("$[3]"), joined=True), b"1\n", b"2\n", r"OutputFilter \$\[3\]: "),
        (DataProcessing(ROWS, parse("$[0]"), parse("$"), joined=True), b"\xff\n", b"", "the input cannot be read"),
        (DataProcessing(ROWS, parse("$"), parse("$"), joined=True), b"\xff\n", b"1\n", "the input cannot be read"),
        (DataProcessing(ROWS, parse("$"), parse("$"), joined=True), b"1\n", b"\xff\n", "the answer cannot be read"),
        (DataProcessing(ROWS, parse("$"), parse("$"), True, in_one_line=True), b"\xff\n", b"1\n", "the input cannot"),
    ],
)
def test_what_cannot_be_used_is_named(processing: DataProcessing, payload: bytes, answer: bytes, named: str) -> None:
    with pytest.raises(NotJoined, match=named):
        _ = processing.sent(payload), processing.written(payload, answer)


def test_records_that_name_models_and_cannot_be_read_are_those_of_the_input() -> None:
    processing = DataProcessing(ROWS, parse("$[1]"), parse("$"), joined=True, model=parse("$[0]"))
    with pytest.raises(NotJoined, match="the input cannot be read"):
        processing.by_model(b"\xff\n")


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
    with pytest.raises(NotJoined, match="was sent 5 records, and answered 1"):
        processing.written(b"1\n2\n3\n4\n5\n", b"1\n")
    with pytest.raises(NotJoined, match="was sent 1 records, and answered 4"):
        processing.written(b"1\n", b"1\n2\n3\n4\n")


@given(st.lists(st.lists(st.text('ab,"\r é', max_size=4), min_size=1, max_size=4), max_size=5))
def test_rows_come_back_as_they_were_written(rows: list[list[str]]) -> None:
    written = ROWS.write(rows)
    assert list(csv.reader(StringIO(written.decode(), newline=""))) == rows
    assert list(ROWS.read(written)) == rows


@pytest.mark.parametrize("body", [b'1,"a\nb"\n2,c\n', b'1,"a\n2,b\n', b'1,"a', b'1,"a"b\n'])
def test_quotes_that_do_not_end_on_their_line_are_refused(body: bytes) -> None:
    """SplitType Line cuts an object at any newline, so a payload might end in the midst of such a row."""
    with pytest.raises(NotJoined, match="the input cannot be read"):
        DataProcessing(ROWS, parse("$[0]"), parse("$"), joined=False).sent(body)


@pytest.mark.parametrize("body", ['"Houston, TX",1\n', "Houston,1\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_column(body: str) -> None:
    processing = DataProcessing(ROWS, parse("$[1:]"), parse("$"), joined=True)
    payload = f"\ufeff{body}".encode()
    assert processing.sent(payload) == b"1\n"
    assert processing.written(payload, b"7\n") == f"{body.rstrip()},7\n".encode()
    assert replace(processing, input=parse("$")).written(payload, b"7\n") == f"{body.rstrip()},7\n".encode()


def test_a_number_that_json_cannot_write_is_refused() -> None:
    processing = DataProcessing(JSON_LINES, parse("$"), parse("$"), joined=True)
    with pytest.raises(NotJoined, match="the number 1e400 is too large"):
        processing.written(b"[1e400]\n", b"[1]\n")


@pytest.mark.parametrize(
    ("format", "body"), [(ROWS, b'"a\rb' + b"x" * 200_000), (JSON_LINES, b"[" * 100_000), (JSON_LINES, b"\xff")]
)
def test_a_body_that_cannot_be_read_is_no_fault_of_the_job(format: RecordFormat, body: bytes) -> None:
    processing = DataProcessing(format, parse("$[0]"), parse("$"), joined=False)
    with pytest.raises(NotJoined, match="the input cannot be read"):
        processing.sent(body)


@given(st.lists(st.tuples(st.text('ab,"\n é', max_size=4), st.text('1,\r"', max_size=3)), min_size=1, max_size=4))
def test_lines_are_joined_as_rows_are(pairs: list[tuple[str, str]]) -> None:
    payload, answer = ("".join(f"{one}\n" for one in body).encode() for body in zip(*pairs, strict=True))
    processing = DataProcessing(ROWS, parse("$"), parse("$"), joined=True)
    by_rows = DataProcessing(replace(ROWS, join_lines=lambda payload, answer: None), *(parse("$"),) * 2, joined=True)
    try:
        expected = by_rows.written(payload, answer)
    except NotJoined as error:
        with pytest.raises(NotJoined, match=re.escape(str(error))):
            processing.written(payload, answer)
    else:
        assert processing.written(payload, answer) == expected


def test_large_bodies_are_read_in_pieces_without_a_loss() -> None:
    rows = [[str(number), "x" * (number % 50)] for number in range(30_000)]
    assert list(ROWS.read(ROWS.write(rows))) == rows
    joined = DataProcessing(ROWS, parse("$"), parse("$"), joined=True).written(ROWS.write(rows), b"1\n" * len(rows))
    assert list(ROWS.read(joined)) == [[*row, "1"] for row in rows]


def test_records_are_sent_to_their_own_models_and_come_back_in_order() -> None:
    processing = DataProcessing(ROWS, parse("$[1]"), parse("$"), joined=True, model=parse("$[0]"))
    payload = b"b,1\na,2\nb,3\n"
    parts = processing.by_model(payload)
    assert [(part.model, part.body) for part in parts] == [("b", b"1\n3\n"), ("a", b"2\n")]
    assert processing.written_together(payload, parts, [b"10\n30\n", b"20\n"]) == b"b,1,10\na,2,20\nb,3,30\n"
    with pytest.raises(NotJoined, match="the model b was sent 2 records, and answered 3"):
        processing.written_together(payload, parts, [b"1\n2\n3\n", b"20\n"])
    with pytest.raises(NotJoined, match="record 2 names no model"):
        processing.by_model(b"b,1\n,2\n")


@pytest.mark.parametrize("name", ["", " a", "a\r\nX: 1", "a\n", "\ud800", "a" * 1025])
def test_a_record_that_names_what_no_model_can_be_called_is_refused(name: str) -> None:
    """The name becomes a header of the request."""
    processing = DataProcessing(JSON_LINES, parse("$.x"), parse("$"), joined=False, model=parse("$.m"))
    with pytest.raises(NotJoined, match="record 1 names no model"):
        processing.by_model(json.dumps({"m": name, "x": 1}).encode())


@pytest.mark.parametrize(
    ("format", "answer", "marked"),
    [
        (ROWS, b"1\n2\n", b"1,id,now\n2,id,now\n"),
        (JSON_LINES, b'{"a": 1}\n', b'{"a": 1, "SageMakerInferenceId": "id", "SageMakerInferenceTime": "now"}\n'),
    ],
)
def test_records_are_marked(format: RecordFormat, answer: bytes, marked: bytes) -> None:
    processing = DataProcessing(format, parse("$"), parse("$"), joined=False, stamp=lambda: ("id", "now"))
    assert processing.written(b"", answer) == marked


@pytest.mark.parametrize("answer", [b"1,2\n", b"1,2", b"1\n2\n"])
def test_rows_that_are_answered_in_one_line_are_rows_again(answer: bytes) -> None:
    processing = DataProcessing(ROWS, parse("$"), parse("$"), joined=False, in_one_line=True)
    assert processing.written(b"a\nb\n", answer) == b"1\n2\n"
    assert processing.written(b"a\n", b"1,2\n") == b"1,2\n", "two columns of one row"
    by_model = replace(processing, model=parse("$[0]"))
    parts = by_model.by_model(b"m,1\nm,2\n")
    assert by_model.written_together(b"", parts, [answer]) == b"1\n2\n"


def test_rows_that_are_joined_and_marked_have_both() -> None:
    processing = DataProcessing(ROWS, parse("$"), parse("$"), joined=True, stamp=lambda: ("an-id", "a-time"))
    assert processing.written(b"1\n", b"2\n") == b"1,2,an-id,a-time\n"


def test_rows_that_are_answered_in_one_line_are_joined_row_by_row() -> None:
    processing = DataProcessing(ROWS, parse("$"), parse("$"), joined=True, in_one_line=True)
    assert processing.written(b"1\n2\n", b"5,6\n") == b"1,5\n2,6\n"


def test_numbers_and_letters_stay_as_they_are() -> None:
    assert list(JSON_LINES.read(b'{"p": 1.5}\n')) == [{"p": 1.5}]
    assert ROWS.write([["X", "a,b"]]) == b'X,"a,b"\n'
