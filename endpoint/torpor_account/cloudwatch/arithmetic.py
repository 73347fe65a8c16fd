"""Calculates metric math on time series, within an allowance of datapoints. Pure."""

import operator
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil, floor, isfinite, log, log10, nan
from typing import Union

from torpor_container.frozen_class import frozen

LINES_MAX = 500
"""The most time series of one expression: as many as GetMetricData takes queries."""

POINTS_MAX = 1_000_000
"""Datapoints that one request may read and compute: ten times a full answer of GetMetricData, about a second."""

Value = Union[float, "TimeSeries", list["TimeSeries"]]
Operator = Callable[[float, float], float]
Fold = Callable[[list[float]], float]
Points = list[tuple[int, float]]
Course = Callable[[Points], Iterable[tuple[int, float]]]
"""Takes the points of a time series in order of time, and returns those of another."""


class ExpressionError(Exception):
    """The text is no expression, or one that Torpor does not support."""


@frozen
class TimeSeries:
    """Finite values by time. `grid` has all times that could have a value."""

    values: Mapping[int, float]
    grid: range

    def points(self, newest_first: bool) -> list[tuple[int, float]]:
        return sorted(self.values.items(), reverse=newest_first)


@dataclass
class Allowance:
    """The number of datapoints that one request may still compute."""

    points: int = POINTS_MAX

    def spend(self, points: int) -> None:
        """Raises ExpressionError. A time series costs one more than its points."""
        self.points -= points + 1
        if self.points < 0:
            raise ExpressionError(
                f"more than {POINTS_MAX:,} datapoints would be computed; ask for fewer metrics, or a longer period"
            )


@frozen
class Known:
    """A time series, and the ascending times at which it has values."""

    times: list[int]
    line: TimeSeries


Filler = Callable[[Known, int], float | None]
"""Takes a time series and a time without a value; returns a value for it, or None."""


@frozen
class Arithmetic:
    """The operations. Each spends allowance for its result before it computes it."""

    allowance: Allowance

    def combined(self, calculate: Operator, left: Value, right: Value) -> Value:
        """Combine two values at the times where both have one. A list is combined item by item. A division by zero
        leaves a gap."""
        if isinstance(left, list):
            return listed(as_lines(self.combined(calculate, one, right)) for one in left)
        if isinstance(right, list):
            return listed(as_lines(self.combined(calculate, left, one)) for one in right)
        if isinstance(left, float) and isinstance(right, float):
            return calculate(left, right)
        return self._combined_lines(calculate, left, right)

    def folded(self, fold: Fold, value: Value) -> Value:
        """Fold a time series to a number, or a list of time series to one time series."""
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

    def traced(self, course: Course, value: Value) -> Value:
        """Trace a time series, or each of a list."""
        if isinstance(value, list):
            return listed(as_lines(self.traced(course, one)) for one in value)
        if isinstance(value, float):
            raise ExpressionError("the function takes time series")
        self.allowance.spend(len(value.values))
        return _line(course(value.points(newest_first=False)), value.grid)

    def chosen(self, condition: Value, yes: Value, no: Value | None = None) -> Value:
        """`yes` where the condition is not zero, else `no`. A gap of the condition, and what `no` lacks, is a gap."""
        if isinstance(condition, list) or isinstance(yes, list) or isinstance(no, list):
            raise ExpressionError("IF takes numbers and single time series")
        if isinstance(condition, float):
            if no is None:
                raise ExpressionError("IF needs a third argument where its condition is a number")
            return yes if condition else no
        self.allowance.spend(len(condition.values))
        picked = ((at_s, yes if value else no) for at_s, value in condition.values.items())
        values = ((at_s, None if one is None else _at(one, at_s)) for at_s, one in picked)
        return _line(((at_s, value) for at_s, value in values if value is not None), condition.grid)

    def filled(self, line: TimeSeries, filler: Filler) -> TimeSeries:
        """Give every time of the grid a value, unless the filler has none."""
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
    """All parts in one list. Raises ExpressionError if it has more than LINES_MAX."""
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
    """The quotient. A division by zero is NaN, which becomes a gap."""
    return left / right if right else nan


def _line(points: Iterable[tuple[int, float]], grid: range) -> TimeSeries:
    """A time series of the finite points. The others are gaps: no client reads an infinity."""
    return TimeSeries({at_s: value for at_s, value in points if isfinite(value)}, grid)


def _at(value: float | TimeSeries, at_s: int) -> float | None:
    return value if isinstance(value, float) else value.values.get(at_s)


def _repeated(known: Known, at_s: int) -> float | None:
    """The last value before this time."""
    before = bisect_left(known.times, at_s)
    return known.line.values[known.times[before - 1]] if before else None


def _interpolated(known: Known, at_s: int) -> float | None:
    """The value on the straight line between the two values around this time."""
    after = bisect_left(known.times, at_s)
    if not 0 < after < len(known.times):
        return None
    left_s, right_s = known.times[after - 1], known.times[after]
    left, right = known.line.values[left_s], known.line.values[right_s]
    return left + (right - left) * (at_s - left_s) / (right_s - left_s)


def _each(calculate: Callable[[float], float], least: float = float("-inf")) -> Course:
    """A gap is where the value is `least` or less."""
    return lambda points: ((at_s, calculate(value)) for at_s, value in points if value > least)


def _differences(points: Points) -> Iterable[tuple[int, float]]:
    return ((at_s, value - before) for (_, before), (at_s, value) in pairwise(points))


def _rates(points: Points) -> Iterable[tuple[int, float]]:
    """By the second, between a value and the one before it."""
    return ((at_s, (value - before) / (at_s - before_s)) for (before_s, before), (at_s, value) in pairwise(points))


def _running(points: Points) -> Iterable[tuple[int, float]]:
    return zip([at_s for at_s, _ in points], accumulate(value for _, value in points), strict=True)


OPERATORS: dict[str, Operator] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divided,
    "<": lambda left, right: float(left < right),
    "<=": lambda left, right: float(left <= right),
    ">": lambda left, right: float(left > right),
    ">=": lambda left, right: float(left >= right),
    "==": lambda left, right: float(left == right),
    "!=": lambda left, right: float(left != right),
    "AND": lambda left, right: float(bool(left and right)),
    "OR": lambda left, right: float(bool(left or right)),
}

COURSES: dict[str, Course] = {
    "ABS": _each(abs),
    "CEIL": _each(lambda value: float(ceil(value))),
    "FLOOR": _each(lambda value: float(floor(value))),
    "LOG": _each(log, 0.0),
    "LOG10": _each(log10, 0.0),
    "DIFF": _differences,
    "RATE": _rates,
    "RUNNING_SUM": _running,
}

FILLERS: dict[str, Filler] = {"REPEAT": _repeated, "LINEAR": _interpolated}

FOLDS: dict[str, Fold] = {
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": min,
    "MAX": max,
}
