"""How a request says what it needs, and what is refused."""

import pytest

from torpor_endpoint.core.model_choice.counted_rows import counted_rows
from torpor_endpoint.core.model_choice.stated_need import BadNeed, StatedNeed, read_need


def test_a_need_is_pairs_with_commas_between_them() -> None:
    assert read_need("") == read_need("  ") == StatedNeed()
    text = "latency_ms=20, min_accuracy=0.9,max_cost=1e-4 ,rows=32,nearest=true"
    assert read_need(text) == StatedNeed(20.0, 0.9, 1e-4, 32, nearest=True)
    assert read_need("min_accuracy=0,rows=1,nearest=false") == StatedNeed(min_accuracy=0.0, rows=1)
    assert read_need("min_accuracy=1,rows=1000000000") == StatedNeed(min_accuracy=1.0, rows=10**9)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("latencyms=20", "'latencyms=20' is not understood: a request to a group takes latency_ms, min_accuracy"),
        ("latency_ms", "'latency_ms' is not understood"),
        ("latency_ms=20,", "'' is not understood"),
        ("latency_ms=0", "latency_ms=0 must be milliseconds, more than 0"),
        ("latency_ms=1_0", "latency_ms=1_0 must be milliseconds, more than 0"),
        ("min_accuracy=\u0661", "min_accuracy=\u0661 must be"),
        ("latency_ms=nan", "latency_ms=nan must be"),
        ("latency_ms=inf", "latency_ms=inf must be"),
        ("min_accuracy=90", "min_accuracy=90 must be a number from 0 to 1"),
        ("max_cost=-1", "max_cost=-1 must be dollars for one request"),
        ("rows=1.5", "rows=1.5 must be a whole number"),
        ("rows=0", "rows=0 must be a whole number"),
        ("rows=1000000001", "rows=1000000001 must be a whole number from 1 to 1000000000"),
        ("rows=+5", "rows=+5 must be a whole number"),
        ("rows=\u0663", "rows=\u0663 must be a whole number"),
        ("min_accuracy=1.5", "min_accuracy=1.5 must be a number from 0 to 1"),
        ("nearest=yes", "nearest=yes must be true or false"),
        ("rows=1,rows=1", "rows is there twice"),
    ],
)
def test_what_is_not_understood_is_refused_by_its_name(text: str, told: str) -> None:
    with pytest.raises(BadNeed) as error:
        read_need(text)
    assert told in str(error.value)


def test_rows_are_lines_where_a_line_is_a_row() -> None:
    assert (
        counted_rows(b"text/csv", [b"1,2\n3,4"]) == counted_rows(b"text/csv; charset=utf-8", [b"1\n", b"3\n", b""]) == 2
    )
    assert counted_rows(b"text/csv", [b""]) == counted_rows(b"Application/JSONLines", [b"{}\n"]) == 1
    assert counted_rows(b"application/json", [b"[[1],[2]]"]) is None
