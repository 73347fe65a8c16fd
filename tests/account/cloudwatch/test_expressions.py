import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.cloudwatch.arithmetic import COURSES, ExpressionError, TimeSeries
from torpor_account.cloudwatch.expressions import evaluate

GRID = range(0, 240, 60)
A = TimeSeries({0: 1.0, 60: 2.0, 180: 4.0}, GRID)
B = TimeSeries({0: 10.0, 60: 0.0, 120: 30.0}, GRID)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + 1", {0: 2, 60: 3, 180: 5}),
        ("2 * a - a", {0: 1, 60: 2, 180: 4}),
        ("-a", {0: -1, 60: -2, 180: -4}),
        ("a + b", {0: 11, 60: 2}),
        ("a / b", {0: 0.1}),
        ("FILL(a, 0)", {0: 1, 60: 2, 120: 0, 180: 4}),
        ("FILL(a, REPEAT)", {0: 1, 60: 2, 120: 2, 180: 4}),
        ("FILL(a, LINEAR)", {0: 1, 60: 2, 120: 3, 180: 4}),
        ("SUM(FILL([a, b], 0))", {0: 11, 60: 2, 120: 30, 180: 4}),
        ("SUM([a, b])", {0: 11, 60: 2, 120: 30, 180: 4}),
        ("AVG(METRICS())", {0: 5.5, 60: 1, 120: 30, 180: 4}),
        ("MAX(METRICS('b'))", {0: 10, 60: 0, 120: 30}),
        ("a / SUM(a)", {0: 1 / 7, 60: 2 / 7, 180: 4 / 7}),
        ("a / (1 / 0)", {}),
        ("a * (1e300 * 1e300)", {}),
        ("a * 1.5e0", {0: 1.5, 60: 3, 180: 6}),
        ("a > 1", {0: 0, 60: 1, 180: 1}),
        ("a <= 1", {0: 1, 60: 0, 180: 0}),
        ("a == 2", {0: 0, 60: 1, 180: 0}),
        ("a != b", {0: 1, 60: 1}),
        ("a > 1 AND a < 3", {0: 0, 60: 1, 180: 0}),
        ("a>1&&b>=0", {0: 0, 60: 1}),
        ("a < 2 OR a > 3", {0: 1, 60: 0, 180: 1}),
        ("a < 2 || a > 3 && 1 == 2", {0: 1, 60: 0, 180: 0}),
        ("IF(b > 0, a / b, 0)", {0: 0.1, 60: 0}),
        ("IF(a > 1, a)", {60: 2, 180: 4}),
        ("IF(a, b, a)", {0: 10, 60: 0}),
        ("IF(1 > 2, a, b)", {0: 10, 60: 0, 120: 30}),
        ("a / PERIOD(a)", {0: 1 / 60, 60: 2 / 60, 180: 4 / 60}),
        ("RATE(a)", {60: 1 / 60, 180: 2 / 120}),
        ("DIFF(b)", {60: -10, 120: 30}),
        ("RUNNING_SUM(a)", {0: 1, 60: 3, 180: 7}),
        ("ABS(1 - a)", {0: 0, 60: 1, 180: 3}),
        ("CEIL(a / 3)", {0: 1, 60: 1, 180: 2}),
        ("FLOOR(a / 3)", {0: 0, 60: 0, 180: 1}),
        ("LOG10(b)", {0: 1, 120: 1.4771212547}),
        ("LOG(b / b)", {0: 0, 120: 0}),
        ("SUM(DIFF([a, b]))", {60: -9, 120: 30, 180: 2}),
        ("MIN([a, b] * 2)", {0: 2, 60: 0, 120: 60, 180: 8}),
    ],
)
def test_arithmetic_and_functions(text: str, expected: dict[int, float]) -> None:
    line = evaluate({"e": text}, {"a": A, "b": B})["e"]
    assert isinstance(line, TimeSeries)
    assert line.values == pytest.approx(expected)


@pytest.mark.parametrize("course", COURSES)
def test_a_fold_of_a_course_is_a_number(course: str) -> None:
    line = evaluate({"e": f"a * MAX({course}(a))"}, {"a": A})["e"]
    assert isinstance(line, TimeSeries)
    assert len(line.values) == len(A.values)


def test_a_formula_may_use_another() -> None:
    assert evaluate({"e": "f + 1", "f": "a * 2"}, {"a": A})["e"] == TimeSeries({0: 3, 60: 5, 180: 9}, GRID)


def test_a_formula_may_be_several_lines_and_another_may_use_them() -> None:
    found = evaluate({"all": "METRICS() * 2", "sum": "SUM(all)"}, {"a": A, "b": B})
    assert found["all"] == [TimeSeries({0: 2, 60: 4, 180: 8}, GRID), TimeSeries({0: 20, 60: 0, 120: 60}, GRID)]
    assert found["sum"] == TimeSeries({0: 22, 60: 4, 120: 60, 180: 8}, GRID)


def test_gaps_outside_all_values_are_filled_only_by_repetition() -> None:
    middle = {"m": TimeSeries({60: 1.0}, GRID)}
    assert evaluate({"e": "FILL(m, LINEAR)"}, middle)["e"] == TimeSeries({60: 1}, GRID)
    assert evaluate({"e": "FILL(m, REPEAT)"}, middle)["e"] == TimeSeries({60: 1, 120: 1, 180: 1}, GRID)


@pytest.mark.parametrize(
    "text",
    ["", "a +", "c", "1", "SUM(a)", "a ** 2", "a.values", "a if a else b", "f", "FILL(a, a)", "SUM([1])", "METRICS(a)",
     "RATE(1)", "RATE()", "RATE(a, b)", "PERIOD(e)", "PERIOD(f)", "PERIOD(1)",
     "IF(a)", "IF(1, a)", "IF([a], a, b)", "IF(a, [a, b], 1)", "IF(a, a, b, a)",
     "a and b", "a > 1 or b", "not a", "a < b < a", "a = b", "a & b", "a ! b",
     "STDDEV(a)", "ANOMALY_DETECTION_BAND(a, 2)", "SEARCH('x', 'Sum', 300)",
     "METRICS('a', 'b')", "True * a", "a + 0x10",
     "a + 1_0", "a # b", "a + 1j", "a + 1.2.3", "(" * 300 + "a" + ")" * 300, "+".join("a" * 1000) + "+" + "9" * 400],
)  # fmt: skip
def test_a_malformed_expression_is_an_error(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate({"e": text, "f": "e"}, {"a": A, "b": B})


def test_a_value_that_is_not_finite_is_a_gap() -> None:
    great = {"a": TimeSeries({0: 2.0**360, 60: 1.0}, GRID)}
    assert evaluate({"e": "a * a * a"}, great)["e"] == TimeSeries({60: 1.0}, GRID)
    assert evaluate({"e": "FILL(a, 1e300 * 1e300)"}, great)["e"] == great["a"]


def test_time_series_do_not_multiply_without_end() -> None:
    lines = {f"m{number}": A for number in range(100)}
    assert len(evaluate({"e": "METRICS() * 2"}, lines)["e"]) == 100  # type: ignore[arg-type]  # a list
    for text in ("METRICS() + METRICS()", "[METRICS(),METRICS(),METRICS(),METRICS(),METRICS(),METRICS()]"):
        with pytest.raises(ExpressionError, match="more than 500 time series"):
            evaluate({"e": text}, lines)


@pytest.mark.parametrize("text", ["FILL(METRICS(), 0)", "+".join(["SUM(METRICS())"] * 140)])
def test_datapoints_are_counted_over_the_whole_request(text: str) -> None:
    grid = range(0, 60 * 10_000, 60)
    lines = {f"m{number}": TimeSeries(dict.fromkeys(grid[:100], 1.0), grid) for number in range(50)}
    assert evaluate({"e": text}, lines)
    with pytest.raises(ExpressionError, match="more than 1,000,000 datapoints"):
        evaluate({"e": text, "f": text}, lines)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "SELECT SUM(Invocations) FROM SCHEMA(x)",
            "queries of Metrics Insights, which begin with SELECT, are not supported",
        ),
        ("a + Invocations", r"'a \+ Invocations' cannot be read: 'Invocations' has no meaning in it"),
        ("a and b", "'and' has no meaning"),
        ("STDDEV(a)", r"STDDEV\(a\) is not supported"),
    ],
)
def test_what_is_not_supported_is_named_whole(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said):
        evaluate({"e": text}, {"a": A, "b": B})


@given(st.text(alphabet="<>=!&|IRND ab01.eE_xX+-*/()[],'\"# \nTruFILSM", max_size=30))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    try:
        evaluate({"e": text}, {"a": A, "b": B})
    except ExpressionError:
        return
    assert not set("#_xX") & set(re.sub("'[^']*'|\"[^\"]*\"", "", text))
