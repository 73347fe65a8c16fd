"""What is expected of columns, in the form of AWS's `constraints.json`, and how rows violate it, in that of
`constraint_violations.json`.

The forms and the checks are those of Model Monitor's analyzer (SageMaker developer guide, "Schema for Constraints" and
"Schema for Violations"). Distances: `Simple` is the largest difference of the two distributions, of texts the largest
difference of a text's share. `Robust` takes from it what two samples of these sizes differ by chance, by the test of
Kolmogorov and Smirnov at 5 %; AWS names the test and no level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Any

from torpor.drift.core.column_statistics import VERSION, ColumnStatistics, ColumnType, RowStatistics
from torpor.drift.core.quantile_sketch import QuantileSketch, largest_gap

DOMAIN_MAX = 100
"""The most different texts of a column that are suggested as all that may come."""
BY_CHANCE = 1.358
"""The coefficient of Kolmogorov's and Smirnov's test for two samples at 5 %."""
SHOWN = 5
MONITORING = {
    "evaluate_constraints": "Enabled",
    "emit_metrics": "Enabled",
    "datatype_check_threshold": 1.0,
    "domain_content_threshold": 1.0,
    "distribution_constraints": {
        "perform_comparison": "Enabled",
        "comparison_threshold": 0.1,
        "comparison_method": "Robust",
    },
}


class Check(StrEnum):
    DATA_TYPE = "data_type_check"
    COMPLETENESS = "completeness_check"
    DRIFT = "baseline_drift_check"
    MISSING_COLUMN = "missing_column_check"
    EXTRA_COLUMN = "extra_column_check"
    CATEGORICAL = "categorical_values_check"


@dataclass(frozen=True)
class ColumnViolation:
    feature_name: str
    constraint_check_type: Check
    description: str

    def form(self) -> dict[str, str]:
        return {
            "feature_name": self.feature_name,
            "constraint_check_type": self.constraint_check_type.value,
            "description": self.description,
        }


@dataclass(frozen=True)
class BaselineColumn:
    """One column of the baseline, for distances."""

    sketch: QuantileSketch | None
    shares: Mapping[str, float]
    rows: int


def suggested(found: RowStatistics) -> dict[str, Any]:
    """The constraints that rows suggest for those to come, as `constraints.json` has them."""
    return {"version": VERSION, "features": [_suggested(one) for one in found.columns], "monitoring_config": MONITORING}


def baseline_columns(statistics: Mapping[str, Any]) -> dict[str, BaselineColumn]:
    """The columns of a `statistics.json`. Raises KeyError, TypeError, ValueError for another form."""
    return {one["name"]: _baseline_column(one) for one in statistics["features"]}


def violations(
    found: RowStatistics, constraints: Mapping[str, Any], baseline: Mapping[str, BaselineColumn]
) -> list[ColumnViolation]:
    """How rows violate constraints. Raises KeyError, TypeError for another form."""
    settings = {**MONITORING, **constraints.get("monitoring_config", {})}
    columns = {one.name: one for one in found.columns}
    told = []
    for feature in constraints["features"]:
        name = feature["name"]
        column = columns.pop(name, None)
        if column is None:
            told.append(
                ColumnViolation(name, Check.MISSING_COLUMN, "There are columns in the baseline that no row has.")
            )
            continue
        own = {**settings, **feature.get("monitoringConfigOverrides", {})}
        if own["evaluate_constraints"] == "Enabled":
            told += filter(
                None, (_type(column, feature, own), _completeness(column, feature), _texts(column, feature, own))
            )
        distances = own["distribution_constraints"]
        if distances["perform_comparison"] == "Enabled" and name in baseline:
            told += filter(None, [_drift(column, baseline[name], distances)])
    told += [ColumnViolation(name, Check.EXTRA_COLUMN, "The baseline has no such column.") for name in columns]
    return told


def distance(column: ColumnStatistics, baseline: BaselineColumn, method: str) -> float | None:
    """From 0 to 1; None if there is nothing to compare."""
    if column.inferred_type.numeric and baseline.sketch is not None and baseline.sketch.count:
        gap = largest_gap(column.sketch, baseline.sketch)
    elif column.inferred_type is ColumnType.STRING and baseline.shares:
        names = {*baseline.shares, *column.texts}
        gap = max(abs(column.texts[name] / column.present - baseline.shares.get(name, 0.0)) for name in names)
    else:
        return None
    if method == "Simple":
        return gap
    return max(0.0, gap - BY_CHANCE * sqrt((column.present + baseline.rows) / (column.present * baseline.rows)))


def _suggested(one: ColumnStatistics) -> dict[str, Any]:
    kind = one.inferred_type
    feature: dict[str, Any] = {"name": one.name, "inferred_type": kind.value, "completeness": one.completeness}
    if kind.numeric:
        feature["num_constraints"] = {"is_non_negative": one.minimum >= 0}
    elif kind is ColumnType.STRING and len(one.texts) <= DOMAIN_MAX:
        feature["string_constraints"] = {"domains": sorted(one.texts)}
    return feature


def _baseline_column(feature: Mapping[str, Any]) -> BaselineColumn:
    figures = feature.get("numerical_statistics") or feature.get("string_statistics")
    if figures is None:
        return BaselineColumn(None, {}, 0)
    rows = int(figures["common"]["num_present"])
    if "numerical_statistics" in feature:
        sketch = figures["distribution"]["kll"]["sketch"]
        parameters = sketch["parameters"]
        return BaselineColumn(QuantileSketch(sketch["data"], int(parameters["k"]), parameters["c"]), {}, rows)
    buckets = figures["distribution"]["categorical"]["buckets"]
    return BaselineColumn(None, {one["value"]: one["count"] / rows for one in buckets}, rows)


def _type(column: ColumnStatistics, feature: Mapping[str, Any], settings: Mapping[str, Any]) -> ColumnViolation | None:
    """A whole number is a fraction too, and every value is a text."""
    wanted = ColumnType(feature["inferred_type"])
    fitting = {
        ColumnType.INTEGRAL: (ColumnType.INTEGRAL,),
        ColumnType.FRACTIONAL: (ColumnType.INTEGRAL, ColumnType.FRACTIONAL),
    }.get(wanted)
    if fitting is None or not column.present:
        return None
    share, least = sum(column.types[one] for one in fitting) / column.present, settings["datatype_check_threshold"]
    if share >= least:
        return None
    text = f"Data type match requirement is not met. Expected data type: {wanted.value}, Expected match: {least:.1%}."
    return ColumnViolation(
        column.name, Check.DATA_TYPE, f"{text} Observed: Only {share:.1%} of data is {wanted.value}."
    )


def _completeness(column: ColumnStatistics, feature: Mapping[str, Any]) -> ColumnViolation | None:
    least, share = feature.get("completeness"), column.completeness
    if least is None or share >= least:
        return None
    return ColumnViolation(
        column.name, Check.COMPLETENESS, f"Completeness is {share:.4g}, and was {least:.4g} in the baseline."
    )


def _texts(column: ColumnStatistics, feature: Mapping[str, Any], settings: Mapping[str, Any]) -> ColumnViolation | None:
    domains: Sequence[str] | None = feature.get("string_constraints", {}).get("domains")
    if domains is None or not column.present:
        return None
    known = set(domains)
    new = [text for text, _ in column.texts.most_common() if text not in known]
    share = 1 - sum(column.texts[text] for text in new) / column.present
    if share >= settings["domain_content_threshold"]:
        return None
    told = f"{', '.join(new[:SHOWN])}{f' and {len(new) - SHOWN} more' if len(new) > SHOWN else ''}"
    return ColumnViolation(
        column.name, Check.CATEGORICAL, f"Value match requirement is not met: the baseline lacks {told}."
    )


def _drift(column: ColumnStatistics, baseline: BaselineColumn, settings: Mapping[str, Any]) -> ColumnViolation | None:
    method, most = settings["comparison_method"], settings["comparison_threshold"]
    found = distance(column, baseline, method)
    if found is None or found <= most:
        return None
    text = f"Baseline drift distance: {found:.4g} exceeds threshold: {most:g}"
    return ColumnViolation(column.name, Check.DRIFT, text)
