"""Lines of values, and what metric math does with them; within an allowance of datapoints. Pure."""

import operator
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite, nan
from typing import Union

LINES_MAX = 500
"""As many as GetMetricData takes queries."""

POINTS_MAX = 1_000_000
"""Datapoints that one request may read and compute: ten times what GetMetricData answers at once, about a second."""

Value = Union[float, "TimeSeries", list["TimeSeries"]]
Operator = Callable[[float, float], float]
Fold = Callable[[list[float]], float]


class ExpressionError(Exception):
    """The text is no expression, or not one of those that are understood."""


@dataclass(frozen=True)
class TimeSeries:
    """Values by time, all finite; `grid` has the times that might have had one."""

    values: Mapping[int, float]
    grid: range

    def points(self, newest_first: bool) -> list[tuple[int, float]]:
        return sorted(self.values.items(), reverse=newest_first)


@dataclass
class Allowance:
    """What is left of the datapoints that one request may cost."""

    points: int = POINTS_MAX

    def spend(self, points: int) -> None:
        """Raises ExpressionError. Every line costs something, also one without a point."""
        self.points -= points + 1
        if self.points < 0:
            raise ExpressionError(
                f"more than {POINTS_MAX:,} datapoints would be computed; ask for fewer metrics, or a longer period"
            )


@dataclass(frozen=True)
class Known:
    """A line and the times, ascending, at which it has values."""

    times: list[int]
    line: TimeSeries


Filler = Callable[[Known, int], float | None]
"""The value at a time that has none."""


@dataclass(frozen=True)
class Arithmetic:
    """Each operation pays for what it makes, before it makes it."""

    allowance: Allowance

    def combined(self, calculate: Operator, left: Value, right: Value) -> Value:
        """Where both have a value. A list is combined line by line; a division by zero leaves a gap."""
        if isinstance(left, list):
            return listed(as_lines(self.combined(calculate, one, right)) for one in left)
        if isinstance(right, list):
            return listed(as_lines(self.combined(calculate, left, one)) for one in right)
        if isinstance(left, float) and isinstance(right, float):
            return calculate(left, right)
        return self._combined_lines(calculate, left, right)

    def folded(self, fold: Fold, value: Value) -> Value:
        """Of one line, a number; of a list of lines, a line."""
        if isinstance(value, float):
            raise ExpressionError("the function takes time series")
        self.allowance.spend(sum(len(line.values) for line in as_lines(value)))
        if isinstance(value, TimeSeries):
            return fold(list(value.values.values()) or [0.0])
        if not value:
            raise ExpressionError("there are no metrics to take")
        gathered: dict[int, list[float]] = {}
        for line in value:
            for at_s, one in line.values.items():
                gathered.setdefault(at_s, []).append(one)
        return _line(((at_s, fold(gathered[at_s])) for at_s in sorted(gathered)), value[0].grid)

    def filled(self, line: TimeSeries, filler: Filler) -> TimeSeries:
        """Every time of the grid has a value then, unless the filler knows none."""
        self.allowance.spend(len(line.grid))
        known = Known(sorted(line.values), line)
        values = ((at_s, line.values[at_s] if at_s in line.values else filler(known, at_s)) for at_s in line.grid)
        return _line(((at_s, value) for at_s, value in values if value is not None), line.grid)

    def _combined_lines(self, calculate: Operator, left: float | TimeSeries, right: float | TimeSeries) -> TimeSeries:
        line = left if isinstance(left, TimeSeries) else right
        assert isinstance(line, TimeSeries)  # two numbers never come here
        self.allowance.spend(len(line.values))
        pairs = ((at_s, _at(left, at_s), _at(right, at_s)) for at_s in line.values)
        return _line(((at_s, calculate(a, b)) for at_s, a, b in pairs if a is not None and b is not None), line.grid)


def listed(parts: Iterable[list[TimeSeries]]) -> list[TimeSeries]:
    """One list of them all."""
    lines = []
    for part in parts:
        lines += part
        if len(lines) > LINES_MAX:
            raise ExpressionError(f"it has more than {LINES_MAX} time series")
    return lines


def as_lines(value: Value) -> list[TimeSeries]:
    if isinstance(value, float):
        raise ExpressionError("a list holds time series only")
    return value if isinstance(value, list) else [value]


def divided(left: float, right: float) -> float:
    """By zero it is no number, and so a gap in the end."""
    return left / right if right else nan


def _line(points: Iterable[tuple[int, float]], grid: range) -> TimeSeries:
    """What is not finite is a gap: no client reads an infinity."""
    return TimeSeries({at_s: value for at_s, value in points if isfinite(value)}, grid)


def _at(value: float | TimeSeries, at_s: int) -> float | None:
    return value if isinstance(value, float) else value.values.get(at_s)


def _repeated(known: Known, at_s: int) -> float | None:
    """The last value before."""
    before = bisect_left(known.times, at_s)
    return known.line.values[known.times[before - 1]] if before else None


def _interpolated(known: Known, at_s: int) -> float | None:
    """On the straight line between the values around it."""
    after = bisect_left(known.times, at_s)
    if not 0 < after < len(known.times):
        return None
    left_s, right_s = known.times[after - 1], known.times[after]
    left, right = known.line.values[left_s], known.line.values[right_s]
    return left + (right - left) * (at_s - left_s) / (right_s - left_s)


OPERATORS: dict[str, Operator] = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": divided}

FILLERS: dict[str, Filler] = {"REPEAT": _repeated, "LINEAR": _interpolated}

FOLDS: dict[str, Fold] = {
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": min,
    "MAX": max,
}
