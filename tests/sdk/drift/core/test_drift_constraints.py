"""Each check finds the rows that break it, and none else; the files have AWS's forms."""

import json

import pytest

from torpor.drift.core.column_statistics import RowStatistics
from torpor.drift.core.drift_constraints import Check, baseline_columns, suggested, violations

NAMES = ("age", "price", "city")


def rows(count: int, shift: float = 0.0, cities: tuple[str, ...] = ("Oslo", "Rome")) -> list[list[str]]:
    return [[str(number % 50), str(number % 97 + 0.5 + shift), cities[number % len(cities)]] for number in range(count)]


BASELINE = RowStatistics.of(rows(1000), NAMES)
CONSTRAINTS, STATISTICS = suggested(BASELINE), json.loads(json.dumps(BASELINE.form()))


def found(given: list[list[str]]) -> list[tuple[str, Check]]:
    told = violations(RowStatistics.of(given, NAMES), CONSTRAINTS, baseline_columns(STATISTICS))
    return [(one.feature_name, one.constraint_check_type) for one in told]


def test_the_files_have_the_forms_of_aws() -> None:
    age, price, city = STATISTICS["features"]
    assert (STATISTICS["version"], STATISTICS["dataset"]) == (0, {"item_count": 1000})
    assert [one["inferred_type"] for one in (age, price, city)] == ["Integral", "Fractional", "String"]
    figures = age["numerical_statistics"]
    assert figures["common"] == {"num_present": 1000, "num_missing": 0}
    assert (figures["mean"], figures["sum"], figures["min"], figures["max"]) == (pytest.approx(24.5), 24500, 0, 49)
    buckets = figures["distribution"]["kll"]["buckets"]
    assert [one["count"] for one in buckets] == [100] * 10
    assert (buckets[0]["lower_bound"], buckets[-1]["upper_bound"]) == (0, 49)
    sketch = figures["distribution"]["kll"]["sketch"]
    assert (sketch["parameters"], sum(map(len, sketch["data"]))) == ({"c": 0.64, "k": 2048}, 1000)
    counted = city["string_statistics"]["distribution"]["categorical"]["buckets"]
    assert counted == [{"value": "Oslo", "count": 500}, {"value": "Rome", "count": 500}]
    assert CONSTRAINTS["features"][0] == {
        "name": "age",
        "inferred_type": "Integral",
        "completeness": 1.0,
        "num_constraints": {"is_non_negative": True},
    }
    assert CONSTRAINTS["features"][2]["string_constraints"] == {"domains": ["Oslo", "Rome"]}


def test_rows_of_the_same_kind_violate_nothing() -> None:
    assert found(rows(400)) == []
    assert found(rows(400)[::57]) == []  # too few to differ by more than chance


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (rows(400, shift=40), [("price", Check.DRIFT)]),
        (
            [["young", *row[1:]] if place == 3 else row for place, row in enumerate(rows(400))],
            [("age", Check.DATA_TYPE)],
        ),
        ([["", *row[1:]] if place == 3 else row for place, row in enumerate(rows(400))], [("age", Check.COMPLETENESS)]),
        (rows(400, cities=("Oslo", "Rome") * 10 + ("Bonn",)), [("city", Check.CATEGORICAL)]),
        (rows(400, cities=("Oslo",)), [("city", Check.DRIFT)]),
        ([[*row, "1"] for row in rows(400)], [("_c3", Check.EXTRA_COLUMN)]),
    ],
)
def test_each_check_finds_what_breaks_it(given: list[list[str]], expected: list[tuple[str, Check]]) -> None:
    assert found(given) == expected


def test_a_column_of_the_baseline_that_no_row_has_is_missing() -> None:
    told = violations(RowStatistics.of([row[:2] for row in rows(400)], NAMES[:2]), CONSTRAINTS, {})
    assert [(one.feature_name, one.constraint_check_type) for one in told] == [("city", Check.MISSING_COLUMN)]


def test_settings_of_the_constraints_decide() -> None:
    lax = {"perform_comparison": "Enabled", "comparison_threshold": 1.0, "comparison_method": "Simple"}
    changed = {
        **CONSTRAINTS,
        "monitoring_config": {"distribution_constraints": lax, "evaluate_constraints": "Disabled"},
    }
    worst = RowStatistics.of([["", row[1], "Bonn"] for row in rows(400, shift=40)], NAMES)
    assert violations(worst, changed, baseline_columns(STATISTICS)) == []
