"""Finds the cell that is at fault in rows that a model refuses."""

from collections.abc import Sequence

from torpor_container.content.kinds import OutOfRange
from torpor_container.content.layout import RowLayout
from torpor_container.errors import BadInput


def refusal(error: Exception, value: object, layout: RowLayout, names: Sequence[object] | None = None) -> BadInput:
    """The error for rows of which `layout` made no array. It names the cell at fault if there is one."""
    said = explain(value, layout, names) or str(error)
    return BadInput.of_rows(said) if isinstance(error, OutOfRange | OverflowError) else BadInput(said)


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
    for column, cell in enumerate(row, start=1):
        if not isinstance(cell, list) and (fault := layout.kind.fault(cell)):
            name = f" ({names[column - 1]})" if column <= len(names) else ""
            return f"column {column}{name}: {fault}"
    return None
