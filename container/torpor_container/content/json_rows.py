"""Reads JSON: the shapes in which SageMaker's algorithms and common clients send rows, and JSON Lines.

[1, 2]                                   one row
[[1, 2], [3, 4]]                         rows
{"instances": [[1, 2], ...]}             rows; also "rows" and "inputs"
{"instances": [{"features": [1, 2]}]}    also {"data": {"features": {"values": [1, 2]}}}
{"columns": {"a": [1, 3], "b": [2, 4]}}  columns; also {"columns": [[1, 3], [2, 4]]}, in the model's order
{"columns": ["a", "b"], "data": [[1, 2], ...]}

Columns with names may come in any order, if the model knows its own; otherwise they are taken in the order given.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from torpor_container.content.faults import explain
from torpor_container.content.layout import Layout, Rows
from torpor_container.errors import BadInput

STEPS = ("data", "features", "values")
"""The keys that lead from an instance to its numbers."""


def decode_json(body: bytes, layout: Layout) -> Rows:
    """Raises BadInput."""
    value = parse(body)
    rows = numbers(unwrap(value), layout)
    names = _names(value)
    return layout.ordered(rows, names) if names else rows


def decode_jsonlines(body: bytes, layout: Layout) -> Rows:
    """One row a line: a list, an object with `features`, or the row's only number. Raises BadInput, which names the
    line."""
    rows = _rows(_lines([line for line in body.split(b"\n") if line.strip()]))
    if layout.table:
        rows = [row if isinstance(row, list) else [row] for row in rows]
    return numbers(rows, layout)


def parse(body: bytes) -> Any:
    """The JSON value. Raises BadInput."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the body is not JSON: {error}") from None


def unwrap(value: Any) -> Any:
    """Lists of numbers out of any of the shapes above. Raises BadInput."""
    if not isinstance(value, dict):
        return _rows(value)
    for key, read in ENVELOPES.items():
        if key in value:
            return read(value)
    raise BadInput(f"the JSON object has none of the keys {', '.join(ENVELOPES)}")


def numbers(value: Any, layout: Layout) -> Rows:
    """An array. Raises BadInput, which names the row and column at fault where there is one."""
    try:
        return layout.array(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadInput(explain(value, layout) or str(error)) from None


def _rows(value: Any) -> Any:
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [_instance(item) for item in value]
    return value


def _instance(value: Any) -> Any:
    while isinstance(value, dict):
        if value.get("keys"):
            raise BadInput("sparse features (keys) are not taken as JSON; send text/libsvm")
        step = next((key for key in STEPS if key in value), None)
        if step is None:
            raise BadInput(f"an instance is a list of numbers or an object with {' or '.join(STEPS)}")
        value = value[step]
    return value


def _columns(value: Any) -> Any:
    columns = list(value.values()) if isinstance(value, dict) else value
    if not (isinstance(columns, list) and all(isinstance(column, list) for column in columns)):
        raise BadInput("columns are lists of numbers, by name or in order")
    if len({len(column) for column in columns}) > 1:
        raise BadInput("the columns are not of one length")
    return [list(row) for row in zip(*columns, strict=True)]


def _names(value: Any) -> list[Any] | None:
    """Of the columns, where the body tells them."""
    columns = value.get("columns") if isinstance(value, dict) else None
    if isinstance(columns, dict):
        return list(columns)
    return columns if isinstance(columns, list) and not any(isinstance(name, list) for name in columns) else None


ENVELOPES: Mapping[str, Callable[[Any], Any]] = {
    "instances": lambda value: _rows(value["instances"]),
    "rows": lambda value: _rows(value["rows"]),
    "inputs": lambda value: _rows(value["inputs"]),
    "data": lambda value: _rows(_instance(value)),
    "features": lambda value: _rows(_instance(value)),
    "columns": lambda value: _columns(value["columns"]),
}
"""By key, the first found wins: `data` stands before `columns`, which are mere names beside it."""


def _lines(lines: list[bytes]) -> list[Any]:
    """A value for each. Raises BadInput."""
    try:
        values: list[Any] = json.loads(b"[" + b",".join(lines) + b"]")
    except (ValueError, RecursionError):
        values = []
    if len(values) == len(lines):
        return values
    return [_line(number, line) for number, line in enumerate(lines, start=1)]


def _line(number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"line {number} is not JSON: {error}") from None
