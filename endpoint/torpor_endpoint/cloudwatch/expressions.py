"""Metric math: arithmetic and a few functions over lines of values. Pure; it knows neither series nor statistics.

`+ - * /`, SUM, AVG, MIN, MAX, FILL and METRICS. Anything else is an ExpressionError.
"""

import ast
import operator
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Union

ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

GRID_MAX = 100_800
"""As many datapoints as GetMetricData answers at once."""

Value = Union[float, "Line", list["Line"]]


class ExpressionError(Exception):
    """The text is no expression, or not one of those that are understood."""


@dataclass(frozen=True)
class Line:
    """Values by time; `grid` has the times that might have had one."""

    values: Mapping[int, float]
    grid: range

    def points(self, newest_first: bool) -> list[tuple[int, float]]:
        return sorted(self.values.items(), reverse=newest_first)


@dataclass(frozen=True)
class Known:
    """A line and the times, ascending, at which it has values."""

    times: list[int]
    line: Line


Filler = Callable[[Known, int], float | None]
"""The value at a time that has none."""


def evaluate(formulas: Mapping[str, str], lines: Mapping[str, Line]) -> dict[str, Line | list[Line]]:
    """All lines, those of the formulas included. A formula may name lines and other formulas by their ids."""
    evaluation = _Evaluation(formulas, lines)
    try:
        return {**lines, **{name: evaluation.series(name) for name in formulas}}
    except (RecursionError, OverflowError) as error:
        raise ExpressionError("it is too deep, or a number in it too large") from error


class _Evaluation:
    def __init__(self, formulas: Mapping[str, str], lines: Mapping[str, Line]) -> None:
        self._formulas = formulas
        self._sampled = lines
        self._known: dict[str, Line | list[Line]] = dict(lines)
        self._open: list[str] = []

    def series(self, name: str) -> Line | list[Line]:
        if name in self._known:
            return self._known[name]
        if name not in self._formulas:
            raise ExpressionError(f"there is no metric {name}")
        if name in self._open:
            raise ExpressionError(f"{name} depends on itself")
        self._open.append(name)
        result = self._value(_parsed(self._formulas[name]))
        self._open.pop()
        if isinstance(result, float):
            raise ExpressionError(f"{self._formulas[name]} is not a time series")
        self._known[name] = result
        return result

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return self.series(name)
            case ast.List(elts=items):
                return [line for item in items for line in _as_lines(self._value(item))]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _combined(ARITHMETIC[ast.Mult], -1.0, self._value(operand))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in ARITHMETIC:
                return _combined(ARITHMETIC[type(sign)], self._value(left), self._value(right))
            case ast.Call(func=ast.Name(id="METRICS"), args=arguments, keywords=[]):
                return self._metrics(*arguments)
            case ast.Call(func=ast.Name(id="FILL"), args=[filled, by], keywords=[]):
                return self._filled(self._value(filled), by)
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
                return _folded(FUNCTIONS[name], self._value(argument))
        raise ExpressionError(f"{ast.unparse(node)} is not supported")

    def _metrics(self, part: ast.expr = ast.Constant("")) -> list[Line]:  # noqa: B008  never changed
        if not isinstance(part, ast.Constant) or not isinstance(part.value, str):
            raise ExpressionError("METRICS takes a text")
        return [line for name, line in self._sampled.items() if part.value in name]

    def _filled(self, value: Value, by: ast.expr) -> Value:
        if isinstance(value, list):
            return [_filled(line, self._filler(by)) for line in value]
        return _filled(value, self._filler(by)) if isinstance(value, Line) else value

    def _filler(self, by: ast.expr) -> Filler:
        if isinstance(by, ast.Name) and by.id in FILLERS:
            return FILLERS[by.id]
        filler = self._value(by)
        if not isinstance(filler, float):
            raise ExpressionError(f"FILL takes a number or one of {', '.join(FILLERS)}")
        return lambda known, at_s: filler


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text!r} cannot be read") from error


def _as_lines(value: Value) -> list[Line]:
    if isinstance(value, float):
        raise ExpressionError("a list holds time series only")
    return value if isinstance(value, list) else [value]


def _combined(calculate: Callable[[float, float], float], left: Value, right: Value) -> Value:
    """Where both have a value. A list is combined line by line; a division by zero leaves a gap."""
    if isinstance(left, list):
        return [line for one in left for line in _as_lines(_combined(calculate, one, right))]
    if isinstance(right, list):
        return [line for one in right for line in _as_lines(_combined(calculate, left, one))]
    if isinstance(left, float) and isinstance(right, float):
        return _number(calculate, left, right)
    return _combined_lines(calculate, left, right)


def _number(calculate: Callable[[float, float], float], left: float, right: float) -> float:
    try:
        return calculate(left, right)
    except ZeroDivisionError as error:
        raise ExpressionError("division by zero") from error


def _combined_lines(calculate: Callable[[float, float], float], left: float | Line, right: float | Line) -> Line:
    line = left if isinstance(left, Line) else right
    assert isinstance(line, Line)  # two numbers never come here
    values = {}
    for at_s in line.values:
        a, b = _at(left, at_s), _at(right, at_s)
        if a is not None and b is not None and not (b == 0 and calculate is operator.truediv):
            values[at_s] = calculate(a, b)
    return Line(values, line.grid)


def _at(value: float | Line, at_s: int) -> float | None:
    return value if isinstance(value, float) else value.values.get(at_s)


def _filled(line: Line, filler: Filler) -> Line:
    """Every time of the grid has a value then, unless the filler knows none."""
    if len(line.grid) > GRID_MAX:
        raise ExpressionError(f"FILL would make {len(line.grid)} datapoints")
    known = Known(sorted(line.values), line)
    values: dict[int, float] = {}
    for at_s in line.grid:
        value = line.values[at_s] if at_s in line.values else filler(known, at_s)
        if value is not None:
            values[at_s] = value
    return Line(values, line.grid)


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


FILLERS: dict[str, Filler] = {"REPEAT": _repeated, "LINEAR": _interpolated}

FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": min,
    "MAX": max,
}


def _folded(fold: Callable[[list[float]], float], value: Value) -> Value:
    """Of one line, a number; of a list of lines, a line."""
    if isinstance(value, float):
        raise ExpressionError("the function takes time series")
    if isinstance(value, Line):
        return fold(list(value.values.values()) or [0.0])
    if not value:
        raise ExpressionError("there are no metrics to take")
    times = sorted({at_s for line in value for at_s in line.values})
    values = {at_s: fold([line.values[at_s] for line in value if at_s in line.values]) for at_s in times}
    return Line(values, value[0].grid)
