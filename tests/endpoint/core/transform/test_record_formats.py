"""Rows as they are read and written, and the bodies that may not be joined line by line."""

from codecs import BOM_UTF8

import pytest

from torpor_endpoint.core.transform.record_formats import ROWS

MARKS = BOM_UTF8 + b'"1"\r\n\n\n'


def test_columns_are_read_without_the_ends_of_their_lines() -> None:
    assert list(ROWS.read(b"1,2\r\n3,4\r\n")) == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize(
    ("rows", "written"),
    [
        ([["a,,b"]], b'"a,,b"\n'),
        ([["a\nb"]], b'"a\nb"\n'),
        ([["a,b", "c"], ["d"]], b'"a,b",c\nd\n'),
    ],
)
def test_a_column_that_would_be_several_is_quoted(rows: list[list[str]], written: bytes) -> None:
    assert ROWS.write(rows) == written


@pytest.mark.parametrize(
    ("payload", "answer"), [(b"", b"1\n"), (b"1\n", b""), (b"1\n2\n", b"\n5\n"), (b"\n1\n", b"5\n6\n"), (MARKS, MARKS)]
)
def test_bodies_without_a_record_in_each_line_are_not_joined_by_lines(payload: bytes, answer: bytes) -> None:
    assert ROWS.join_lines(payload, answer) is None
