"""The statistics of the columns of rows, in the form of AWS's `statistics.json`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isfinite, sqrt
from typing import Any

from torpor.drift.core.quantile_sketch import Distribution, QuantileSketch

VERSION = 0
BUCKETS = 10
VALUES_MAX = 1000
"""The most different texts of a column that are counted. Others count as one, `OTHERS`."""
OTHERS = "(others)"
TEXT_MAX = 1000
"""So many characters of a text are told apart."""


class ColumnType(StrEnum):
    INTEGRAL = "Integral"
    FRACTIONAL = "Fractional"
    STRING = "String"
    UNKNOWN = "Unknown"

    @property
    def numeric(self) -> bool:
        return self in (ColumnType.INTEGRAL, ColumnType.FRACTIONAL)


def type_of(text: str) -> ColumnType:
    """The type of one value; UNKNOWN for one that is missing."""
    if not text.strip():
        return ColumnType.UNKNOWN
    number = number_of(text)
    if number is None:
        return ColumnType.STRING
    whole = text.strip().lstrip("+-").isdigit()
    return ColumnType.INTEGRAL if whole else ColumnType.FRACTIONAL


def number_of(text: str) -> float | None:
    """The finite number that a value is; None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


@dataclass
class ColumnStatistics:
    """What is known of one column. `types` counts its values by type. The figures of numbers are of all that are."""

    name: str
    missing: int = 0
    types: Counter[ColumnType] = field(default_factory=Counter)
    numbers: int = 0
    total: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    minimum: float = inf
    maximum: float = -inf
    sketch: QuantileSketch = field(default_factory=QuantileSketch)
    texts: Counter[str] = field(default_factory=Counter)

    def add(self, value: str) -> None:
        kind = type_of(value)
        if kind is ColumnType.UNKNOWN:
            self.missing += 1
            return
        self.types[kind] += 1
        text = value.strip()[:TEXT_MAX]
        self.texts[text if text in self.texts or len(self.texts) < VALUES_MAX else OTHERS] += 1
        number = number_of(value)
        if number is not None:
            self.numbers += 1
            self.total += number
            step = number - self.mean
            self.mean += step / self.numbers
            self.squares += step * (number - self.mean)
            self.minimum, self.maximum = min(self.minimum, number), max(self.maximum, number)
            self.sketch.add(number)

    @property
    def present(self) -> int:
        return self.types.total()

    @property
    def completeness(self) -> float:
        """The share of values that are not missing."""
        rows = self.present + self.missing
        return self.present / rows if rows else 0.0

    @property
    def inferred_type(self) -> ColumnType:
        """Text if any value is; a fraction if any is; else whole numbers."""
        for kind in (ColumnType.STRING, ColumnType.FRACTIONAL, ColumnType.INTEGRAL):
            if self.types[kind]:
                return kind
        return ColumnType.UNKNOWN

    def form(self) -> dict[str, Any]:
        common = {"num_present": self.present, "num_missing": self.missing}
        kind = self.inferred_type
        named: dict[str, Any] = {"name": self.name, "inferred_type": kind.value}
        if kind.numeric:
            return {**named, "numerical_statistics": self._numeric(common)}
        buckets = [{"value": text, "count": count} for text, count in self.texts.most_common()]
        distribution = {"categorical": {"buckets": buckets}}
        strings = {"common": common, "distinct_count": float(len(self.texts)), "distribution": distribution}
        return {**named, "string_statistics": strings}

    def _numeric(self, common: Mapping[str, int]) -> dict[str, Any]:
        sketch = {"parameters": {"c": self.sketch.c, "k": float(self.sketch.k)}, "data": self.sketch.levels}
        return {
            "common": common,
            "mean": self.mean,
            "sum": self.total,
            "std_dev": sqrt(max(0.0, self.squares / self.numbers)),
            "min": self.minimum,
            "max": self.maximum,
            "distribution": {"kll": {"buckets": self._buckets(), "sketch": sketch}},
        }

    def _buckets(self) -> list[dict[str, float]]:
        """Ten of one width from the least number to the largest, with how many numbers are in each, by the sketch."""
        width = (self.maximum - self.minimum) / BUCKETS
        found, distribution, before = [], Distribution(self.sketch), 0.0
        for number in range(BUCKETS):
            upper = self.maximum if number == BUCKETS - 1 else self.minimum + (number + 1) * width
            share = distribution.up_to(upper)
            lower = self.minimum + number * width
            found.append(
                {"lower_bound": lower, "upper_bound": upper, "count": float(round((share - before) * self.numbers))}
            )
            before = share
        return found


@dataclass
class RowStatistics:
    """The statistics of rows. A row with fewer values than columns lacks the last ones; further values are further
    columns."""

    columns: list[ColumnStatistics] = field(default_factory=list)
    rows: int = 0

    @classmethod
    def of(cls, rows: Iterable[Sequence[str]], names: Sequence[str] = ()) -> "RowStatistics":
        found = cls([ColumnStatistics(name) for name in names])
        for row in rows:
            found.add(row)
        return found

    def widen(self, columns: int) -> None:
        """Have at least so many columns. What is new is missing from all rows so far."""
        while len(self.columns) < columns:
            self.columns.append(ColumnStatistics(f"_c{len(self.columns)}", missing=self.rows))

    def add(self, row: Sequence[str]) -> None:
        self.widen(len(row))
        for column, value in zip(self.columns, row, strict=False):
            column.add(value)
        for column in self.columns[len(row) :]:
            column.missing += 1
        self.rows += 1

    def form(self) -> dict[str, Any]:
        """As `statistics.json` has it."""
        features = [column.form() for column in self.columns]
        return {"version": VERSION, "dataset": {"item_count": self.rows}, "features": features}
