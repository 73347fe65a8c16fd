"""Types the cells of a table, column by column, as a model was fitted on them: numbers, text, truths, categories.

A CSV cell is text that may be a number or a truth; in JSON each cell has its own type. A missing value is NaN.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from math import nan
from typing import Any

import numpy as np

from torpor_container.content.column_names import places
from torpor_container.content.kinds import TRUTHS, Beyond, read_number, read_whole, shown
from torpor_container.content.layout import Rows
from torpor_container.content.table import Table
from torpor_container.errors import BadInput
from torpor_container.frozen_class import frozen


class Cell(Enum):
    """The content of a column."""

    ANY = "anything"
    NUMBER = "numbers"
    TEXT = "text"
    TRUTH = "true or false"
    DOCUMENT = "text, and never nothing"
    LABEL = "text or whole numbers, and never nothing"


@frozen
class TypedColumns:
    """The columns that a model takes: their names and number, if it knows them, and the content of each."""

    names: tuple[str, ...] | None = None
    count: int | None = None
    cells: Mapping[int, Cell] = field(default_factory=dict)
    """The content of columns, by place; ANY for the others."""

    def cell(self, place: int) -> Cell:
        return self.cells.get(place, Cell.ANY)


def cell_of(values: Any) -> Cell:
    """The content of a column in which these values were seen."""
    array = np.asarray(values)
    present = [
        value for value in array.tolist() if isinstance(value, str | bool) or (value is not None and value == value)
    ]
    if any(isinstance(value, str) for value in present):
        return Cell.TEXT if all(isinstance(value, str) for value in present) else Cell.ANY
    return Cell.TRUTH if present and all(isinstance(value, bool) for value in present) else Cell.NUMBER


def typed(read: Table, columns: TypedColumns) -> list[Rows]:
    """The columns in the model's order, each of one type. Raises BadInput, which names the row and the column."""
    order = places(read.names, columns.names, read.in_order) if read.names else None
    given = list(zip(*read.values, strict=True))
    if columns.count is not None and len(given) != columns.count:
        raise BadInput(f"the model takes {columns.count} columns, and the rows have {len(given)}")
    ordered = given if order is None else [given[place] for place in order]
    names = columns.names or [str(place) for place in range(1, len(given) + 1)]
    return [_column(cells, columns.cell(place), read.text, names[place]) for place, cells in enumerate(ordered)]


def _column(cells: Sequence[Any], kind: Cell, text: bool, name: str) -> Rows:
    """One column. Raises BadInput, which names the row, counted from 1, and the column."""
    taken = [READERS[kind](cell, text, f"row {row}, column {name}") for row, cell in enumerate(cells, start=1)]
    if any(isinstance(cell, str) for cell in taken) or kind in (Cell.TEXT, Cell.DOCUMENT):
        return _objects(taken)
    present = [cell for cell in taken if cell is not None]
    if len(present) == len(taken) and all(isinstance(cell, bool) for cell in taken):
        return np.array(taken, dtype=bool)
    whole = len(present) == len(taken) and all(isinstance(cell, int) for cell in taken)
    return np.array([nan if cell is None else cell for cell in taken], dtype=None if whole else float)


def _objects(cells: Sequence[Any]) -> Rows:
    array = np.empty(len(cells), dtype=object)
    array[:] = [nan if cell is None else cell for cell in cells]
    return array


# -- cells -------------------------------------------------------------------------------------------------------------
def read_text(cell: Any, text: bool, where: str) -> Any:
    if cell is None or (text and cell == ""):
        return None
    if not isinstance(cell, str):
        raise BadInput(f"{where}: the model takes text there, and not {str(cell)[:40]}")
    return cell


def read_document(cell: Any, text: bool, where: str) -> str:
    if not isinstance(cell, str):
        raise BadInput(f"{where}: the model takes text there, and not {str(cell)[:40]}")
    return cell


def read_label(cell: Any, text: bool, where: str) -> str | int:
    if not isinstance(cell, str | int):
        raise BadInput(f"{where}: the model takes text or whole numbers there, and not {str(cell)[:40]}")
    return cell


def read_numeric(cell: Any, text: bool, where: str) -> Any:
    found = read_any(cell, text, where)
    if isinstance(found, str):
        raise BadInput(f"{where}: the model takes numbers there, and not {found[:40]!r}")
    return found


def read_truth(cell: Any, text: bool, where: str) -> Any:
    found = TRUTHS.get(cell.strip().lower().encode(), cell) if isinstance(cell, str) and text else cell
    found = read_any(found, text, where) if text and isinstance(found, str) else found
    if found is None or isinstance(found, bool):
        return found
    if isinstance(found, int | float) and found in (0, 1):
        return bool(found)
    raise BadInput(f"{where}: the model takes true or false there, and not {str(found)[:40]!r}")


def read_any(cell: Any, text: bool, where: str) -> Any:
    """A number if the text looks like one and may be one, else the text."""
    if isinstance(cell, list | dict):
        raise BadInput(f"{where}: a cell is a single value, and not {str(cell)[:40]}")
    if isinstance(cell, Beyond) or (isinstance(cell, int) and abs(cell) > sys.float_info.max):
        raise BadInput(f"{where}: {shown(cell)} is beyond the range of float64")
    if not text or not isinstance(cell, str):
        return cell
    plain = cell.strip()
    if not plain:
        return None
    if plain.lower().encode() in TRUTHS:
        return TRUTHS[plain.lower().encode()]
    for read in (read_whole, read_number):
        try:
            found = read(plain)
        except ValueError:
            continue
        return read_any(found, False, where)
    return cell


READERS: dict[Cell, Callable[[Any, bool, str], Any]] = {
    Cell.ANY: read_any,
    Cell.NUMBER: read_numeric,
    Cell.TEXT: read_text,
    Cell.TRUTH: read_truth,
    Cell.DOCUMENT: read_document,
    Cell.LABEL: read_label,
}
