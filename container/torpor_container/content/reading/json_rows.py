"""Reads JSON, in the shapes in which SageMaker's algorithms and common clients send rows, and JSON Lines.

[1, 2]                                   one row
[[1, 2], [3, 4]]                         rows
[{"a": 1, "b": 2}, ...]                  records
{"a": 1, "b": 2}                         one record; {"a": [1, 3], "b": [2, 4]} is columns
{"instances": [[1, 2], ...]}             rows, or records; also "rows" and "inputs"
{"instances": [{"features": [1, 2]}]}    also {"data": {"features": {"values": [1, 2]}}}
{"columns": {"a": [1, 3], "b": [2, 4]}}  columns; also {"columns": [[1, 3], [2, 4]]}, in the model's order
{"columns": ["a", "b"], "data": [[1, 2], ...]}                  as pandas writes it with orient="split"
{"dataframe_split": {...}}, {"dataframe_records": [...]}        the last one and records, as MLflow sends them
{"inputs": [{"name": "a", "shape": [2, 1], "datatype": "FP32", "data": [1, 3]}, ...]}     see `tensors`

Columns with names may come in any order, if the model knows its own. Otherwise `columns` are taken in the order given;
records and tensors, which have none, are refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from torpor_container.content.faulty_cells import explain, refusal
from torpor_container.content.layout import RowLayout, Rows
from torpor_container.content.reading.json_values import parse, parse_lines
from torpor_container.content.reading.tensors import are_tensors, asked, table_of_tensors
from torpor_container.content.table import Table
from torpor_container.errors import BadInput

STEPS = ("data", "features", "values")
"""The keys that lead from an instance to its numbers."""
INSTRUCTIONS = ("configuration", "outputs", "parameters", "params", "signature_name")
"""Members that change the answer of other servers, and that Torpor does not support."""

QUOTES_OF_AN_ENVELOPE = 2
"""Those around `instances` and the like: with no others a body holds no text."""
ONLY_OUTPUT = "predict"
"""What MLServer calls the output of XGBoost's and scikit-learn's models."""


def decode_json(body: bytes, layout: RowLayout) -> Rows:
    """Raises BadInput."""
    envelope = QUOTES_OF_AN_ENVELOPE if body[:1] == b"{" else 0
    with_text = body.count(b'"') > envelope
    rows = laid(table(parse(body)), layout, with_text)
    if layout.floats and np.count_nonzero(np.isinf(rows)):
        laid(table(parse(body, exactly=True)), layout, with_text)
    return rows


def decode_jsonlines(body: bytes, layout: RowLayout) -> Rows:
    """One row a line: a list, a record, an object with `features`, or the row's only number. Raises BadInput, which
    names the line."""
    rows = laid(json_lines(body, layout.table), layout, b'"' in body)
    if layout.floats and np.count_nonzero(np.isinf(rows)):
        laid(json_lines(body, layout.table, exactly=True), layout, b'"' in body)
    return rows


def json_lines(body: bytes, flat: bool = True, exactly: bool = False) -> Table:
    """Read JSON Lines. `flat`: a line that is not a list is a row's only cell. `exactly` as of `parse`.

    Raises BadInput.
    """
    read = _rows(parse_lines(body, exactly))
    if flat and not read.names:
        return Table([row if isinstance(row, list) else [row] for row in read.values])
    return read


def table(value: Any) -> Table:
    """Rows out of any of the shapes above. Raises BadInput."""
    if not isinstance(value, dict):
        return _rows(value)
    for key, read in ENVELOPES.items():
        if isinstance(value.get(key), list | dict):
            if not (key == "inputs" and are_tensors(value[key])):
                _refuse_instructions(value, key)
            return read(value)
    return bare(value)


def numbers(value: Any, layout: RowLayout, names: Sequence[object] | None = None, with_text: bool = True) -> Rows:
    """An array. `with_text`: there may be text among the cells.

    Raises BadInput, which names the row and column at fault where there is one.
    """
    try:
        rows = layout.array(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise refusal(error, value, layout, names) from None
    if with_text and layout.floats and _has_text(value):  # numpy reads numbers in text, and more than JSON has
        raise BadInput(explain(value, layout, names) or layout.kind.refusal)
    return rows


def _has_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and any(map(_has_text, value)))


def laid(read: Table, layout: RowLayout, with_text: bool = True) -> Rows:
    """The rows as an array, with their columns in the model's order. `with_text` as of `numbers`. Raises BadInput."""
    rows = numbers(read.values, layout, read.names, with_text)
    return layout.ordered(rows, read.names, read.in_order) if read.names else rows


def _refuse_instructions(value: dict[str, Any], envelope: str) -> None:
    if len(value) == 1:
        return
    if unsupported := [key for key in INSTRUCTIONS if value.get(key) and key != envelope]:
        raise BadInput(f"{', '.join(unsupported)} beside {envelope} cannot be used: leave it out")


# -- rows and records --------------------------------------------------------------------------------------------------
def _rows(value: Any) -> Table:
    if not (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
        return Table(value)
    instances = [_instance(item) for item in value]
    if all(isinstance(item, dict) for item in instances):
        return _records(instances)
    if any(isinstance(item, dict) for item in instances):
        raise BadInput("rows are either all records, with a value for each column's name, or all lists")
    return Table(instances)


def _instance(value: Any) -> Any:
    """A list of numbers, or a record."""
    while isinstance(value, dict):
        if value.get("keys") and "values" in value:
            raise BadInput("sparse features (keys) are not taken as JSON; send text/libsvm")
        step = next((key for key in STEPS if isinstance(value.get(key), list | dict)), None)
        if step is None:
            return value
        value = value[step]
    return value


def _records(records: list[dict[str, Any]]) -> Table:
    names = list(records[0])
    if not names:
        raise BadInput(f"row 1 is an empty object: an instance is a list of numbers, a record, or has {_STEPS}")
    for number, record in enumerate(records[1:], start=2):
        if record.keys() != records[0].keys():
            differing = sorted(record.keys() ^ records[0].keys())
            raise BadInput(f"rows 1 and {number} do not have the same names: {', '.join(differing)}")
    return Table([[record[name] for name in names] for record in records], names, in_order=False)


_STEPS = " or ".join(STEPS)


# -- columns -----------------------------------------------------------------------------------------------------------
def _columns(columns: Any) -> Table:
    """By name, or in the model's order."""
    names = list(columns) if isinstance(columns, dict) else None
    listed = list(columns.values()) if isinstance(columns, dict) else columns
    if listed and all(isinstance(column, dict) for column in listed):  # pandas: by the row's label
        if any(list(column) != list(listed[0]) for column in listed):
            raise BadInput("the columns do not have the same rows")
        listed = [list(column.values()) for column in listed]
    if not (isinstance(listed, list) and all(isinstance(column, list) for column in listed)):
        raise BadInput("columns are lists of numbers, by name or in order")
    if len({len(column) for column in listed}) > 1:
        raise BadInput("the columns differ in length")
    return Table([list(row) for row in zip(*map(_only_cells, listed), strict=True)], names)


def _only_cells(column: list[Any]) -> list[Any]:
    """A column as a matrix of one column, `[[1], [2]]`, is one too."""
    single = column and all(isinstance(cell, list) and len(cell) == 1 for cell in column)
    return [cell[0] for cell in column] if single else column


def bare(value: dict[str, Any]) -> Table:
    """An object without an envelope: columns by name, or one record. Raises BadInput."""
    if value and all(isinstance(cell, list | dict) for cell in value.values()):
        return _columns(value)._replace(in_order=False)
    if any(isinstance(cell, list | dict) for cell in value.values()):
        raise BadInput(
            f"the JSON object has none of the keys {', '.join(ENVELOPES)}, and is no record of single values"
        )
    return _records([value])


def _split(value: Any) -> Table:
    """pandas's `split`: names beside rows."""
    if not isinstance(value, dict) or "data" not in value:
        raise BadInput("the form `split` is an object with columns and data")
    columns = value.get("columns")
    read = _rows(_instance(value))
    if read.names or not isinstance(columns, list) or any(isinstance(name, list | dict) for name in columns):
        return read
    return Table(read.values, columns)


def _beside_names(value: dict[str, Any], key: str) -> Table:
    """Rows, and the columns' names if the body has them beside."""
    columns = value.get("columns")
    read = _rows(value[key])
    named = isinstance(columns, list) and not any(isinstance(name, list | dict) for name in columns)
    return Table(read.values, columns) if named and not read.names else read


def _inputs(value: dict[str, Any]) -> Table:
    inputs = value["inputs"]
    if are_tensors(inputs):
        if wanted := [name for name in asked(value).outputs if name != ONLY_OUTPUT]:
            raise BadInput(f"the model has one output, {ONLY_OUTPUT}, and no {', '.join(wanted)}")
        return Table(*table_of_tensors(inputs), in_order=len(inputs) == 1)
    return _columns(inputs)._replace(in_order=False) if isinstance(inputs, dict) else _beside_names(value, "inputs")


def _of_features(value: dict[str, Any]) -> Table:
    read = _instance(value)
    return _records([read]) if isinstance(read, dict) else _rows(read)


ENVELOPES: Mapping[str, Callable[[dict[str, Any]], Table]] = {
    "instances": lambda value: _beside_names(value, "instances"),
    "rows": lambda value: _beside_names(value, "rows"),
    "inputs": _inputs,
    "dataframe_split": lambda value: _split(value["dataframe_split"]),
    "dataframe_records": lambda value: _rows(value["dataframe_records"]),
    "data": _split,
    "features": _of_features,
    "columns": lambda value: _columns(value["columns"]),
}
"""Readers by key; the first key found decides: `data` comes before `columns`, which are only names beside it. A key
whose value is neither a list nor an object is a column's name."""
