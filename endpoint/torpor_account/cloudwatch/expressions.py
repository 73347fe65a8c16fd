"""Parses metric math and evaluates it with `arithmetic`. Pure.

It supports `+ - * /`, comparisons, AND, OR, IF, PERIOD, FILL, METRICS, and the functions of FOLDS and COURSES. Anything
else raises ExpressionError.
"""

import ast
import re
from collections.abc import Iterator, Mapping

from torpor_account.cloudwatch.arithmetic import (
    COURSES,
    FILLERS,
    FOLDS,
    OPERATORS,
    Allowance,
    Arithmetic,
    ExpressionError,
    Filler,
    TimeSeries,
    Value,
    as_lines,
    listed,
)

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "AND",
    ast.Or: "OR",
}
IN_PYTHON = {"AND": "and", "&&": " and ", "OR": "or", "||": " or "}

WORD = re.compile(
    r"""[a-z]\w*+|(?<!\w)[A-Z][A-Z0-9_]*+(?!\w)|(?<![\w.])(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?+(?![\w.])|'[^'\\]*'|"[^"\\]*"|[<>]=?|[=!]=|&&|\|\||[-+*/(),\[\]\s]""",
    re.ASCII,
)
"""The tokens of an expression. Python's parser, which reads it, accepts more: True, 0x10, 1_000, a comment.

A word or a number matches only whole, from its first character: so a long text of digits is not read again and again.
"""
MEANINGLESS = re.compile(r"\w{1,20}+|.", re.DOTALL)


def evaluate(
    formulas: Mapping[str, str], lines: Mapping[str, TimeSeries], allowance: Allowance | None = None
) -> dict[str, TimeSeries | list[TimeSeries]]:
    """The given time series and those of the formulas, by id. A formula may name time series and other formulas."""
    evaluation = _Evaluation(formulas, lines, Arithmetic(allowance or Allowance()))
    try:
        return {**lines, **{name: evaluation.series(name) for name in formulas}}
    except (RecursionError, OverflowError) as error:
        raise ExpressionError("it is too deep, or a number in it too large") from error


class _Evaluation:
    def __init__(self, formulas: Mapping[str, str], lines: Mapping[str, TimeSeries], arithmetic: Arithmetic) -> None:
        self._formulas = formulas
        self._sampled = lines
        self._arithmetic = arithmetic
        self._known: dict[str, TimeSeries | list[TimeSeries]] = dict(lines)
        self._open: list[str] = []

    def series(self, name: str) -> TimeSeries | list[TimeSeries]:
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
        self._arithmetic.allowance.spend(0)
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return self.series(name)
            case ast.List(elts=items):
                return listed(as_lines(self._value(item)) for item in items)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._arithmetic.combined(OPERATORS["*"], -1.0, self._value(operand))
            case (
                ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right])
            ) if type(sign) in SIGNS:
                calculate = OPERATORS[SIGNS[type(sign)]]
                return self._arithmetic.combined(calculate, self._value(left), self._value(right))
            case ast.BoolOp(op=sign, values=[first, *others]):
                calculate, value = OPERATORS[SIGNS[type(sign)]], self._value(first)
                for other in others:
                    value = self._arithmetic.combined(calculate, value, self._value(other))
                return value
            case ast.Call(func=ast.Name(id="IF"), args=[condition, yes, *no], keywords=[]) if len(no) <= 1:
                return self._arithmetic.chosen(self._value(condition), self._value(yes), *map(self._value, no or ()))
            case ast.Call(func=ast.Name(id="PERIOD"), args=[ast.Name(id=name)], keywords=[]) if name in self._sampled:
                return float(self._sampled[name].grid.step)
            case ast.Call(func=ast.Name(id="METRICS"), args=arguments, keywords=[]) if len(arguments) <= 1:
                return self._metrics(*arguments)
            case ast.Call(func=ast.Name(id="FILL"), args=[filled, by], keywords=[]):
                return self._filled(self._value(filled), by)
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FOLDS:
                return self._arithmetic.folded(FOLDS[name], self._value(argument))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in COURSES:
                return self._arithmetic.traced(COURSES[name], self._value(argument))
        raise ExpressionError(f"{ast.unparse(node)} is not supported")

    def _metrics(self, part: ast.expr = ast.Constant("")) -> list[TimeSeries]:  # noqa: B008  never changed
        if not isinstance(part, ast.Constant) or not isinstance(part.value, str):
            raise ExpressionError("METRICS takes a text")
        self._arithmetic.allowance.spend(len(self._sampled))
        return [line for name, line in self._sampled.items() if part.value in name]

    def _filled(self, value: Value, by: ast.expr) -> Value:
        if isinstance(value, float):
            return value
        lines = [self._arithmetic.filled(line, self._filler(by)) for line in as_lines(value)]
        return lines if isinstance(value, list) else lines[0]

    def _filler(self, by: ast.expr) -> Filler:
        if isinstance(by, ast.Name) and by.id in FILLERS:
            return FILLERS[by.id]
        filler = self._value(by)
        if not isinstance(filler, float):
            raise ExpressionError(f"FILL takes a number or one of {', '.join(FILLERS)}")
        return lambda known, at_s: filler


def _parsed(text: str) -> ast.expr:
    if text.lstrip().startswith("SELECT "):
        raise ExpressionError("queries of Metrics Insights, which begin with SELECT, are not supported")
    try:
        return ast.parse("".join(_words(text)).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text!r} cannot be read") from error


def _words(text: str) -> Iterator[str]:
    """The words of the expression, as Python writes them. Raises ExpressionError for a part that is no word."""
    read = 0
    while read < len(text):
        word = WORD.match(text, read)
        if word is None or word[0] in IN_PYTHON.values():
            part = MEANINGLESS.match(text, read)
            raise ExpressionError(f"{text!r} cannot be read: {part and part[0]!r} has no meaning in it")
        yield IN_PYTHON.get(word[0], word[0])
        read = word.end()
