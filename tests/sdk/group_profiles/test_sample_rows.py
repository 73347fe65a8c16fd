"""Rows of a sample: with and without a header, with the column of labels apart, and what is refused."""

import pytest

from torpor.group_profiles.sample_rows import ROWS_MAX, BadSample, SampleRows, read_sample


def test_a_header_names_the_column_of_labels_and_is_no_row() -> None:
    found = read_sample("a,label,b\n1,x,2\n3,y,4\n", "label")
    assert found == SampleRows(("1,2", "3,4"), ("x", "y"))
    assert read_sample("5,1,2\n", "1") == SampleRows(("1,2",), ("5",))
    assert read_sample('"a, b",2\n') == SampleRows(('"a, b",2',))


def test_a_body_goes_round_the_rows() -> None:
    assert read_sample("1\n2\n3\n").body(4, 2) == b"3\n1\n2\n3\n"


@pytest.mark.parametrize(
    ("text", "label", "told"),
    [
        ("", None, "no rows"),
        ("a,b\n", None, "no rows"),
        ("1,2\n3\n", None, "row 2 of the sample has 1 columns, and others have 2"),
        ("1,2\n", "3", "no column '3': it has no header"),
        ("a,b\n1,2\n", "c", "its header has a, b"),
        ("1\n", "1", "labels alone"),
        ("1\n" * (ROWS_MAX + 1), None, "at most 10,000"),
    ],
)
def test_a_sample_that_cannot_be_used_is_refused_with_the_reason(text: str, label: str | None, told: str) -> None:
    with pytest.raises(BadSample, match=told):
        read_sample(text, label)
