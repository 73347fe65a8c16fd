"""Finds the cell that is at fault in rows that a model refuses."""

import json
from collections.abc import Sequence

from torpor_container.content.layout import RowLayout


def explain(value: object, layout: RowLayout, names: Sequence[object] | None = None) -> str | None:
    """The row and the column, counted from 1, and what is wrong there. None if every single cell is right."""
    if not isinstance(value, list):
        return "rows of numbers are wanted"
    rows = value if any(isinstance(row, list) for row in value) else [value]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list):
            return f"row {number} is not a list"
        if fault := _cell(row, layout, names or ()):
            return f"row {number}, {fault}"
        if len(row) != len(rows[0]):
            return f"row {number} has {len(row)} columns, and row 1 has {len(rows[0])}"
    return None


def _cell(row: list[object], layout: RowLayout, names: Sequence[object]) -> str | None:
    takes = layout.kind.takes
    for column, cell in enumerate(row, start=1):
        if not (takes(cell) or isinstance(cell, list)):
            name = f" ({names[column - 1]})" if column <= len(names) else ""
            return f"column {column}{name}: {layout.kind.wrong.format(json.dumps(cell)[:40])}"
    return None
