"""Reads bodies for estimators that take more than numbers: as a data frame, an array of cells, texts or records.

pandas is imported when such an estimator is loaded, and for nothing else. A missing value is NaN, as pandas reads it.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from math import nan
from typing import Any

import numpy as np

from torpor_container.content import Rows
from torpor_container.content.kinds import TRUTHS, Beyond, read_number, shown
from torpor_container.content.names import listed, places
from torpor_container.content.reading.tables import as_rows, read_cells, read_table
from torpor_container.content.table import Table
from torpor_container.errors import BadInput, PredictionFailed
from torpor_container.extras import how_to_install
from torpor_container.formats.sklearn.columns import Cell, EstimatorColumns, Form
from torpor_container.invocation import Invocation

NO_PANDAS = (
    "the model was fitted on a data frame and takes its columns by name, for which it needs pandas, and pandas is not "
    f"installed: {how_to_install('pandas')}"
)


def _installed_pandas() -> Any:
    return import_module("pandas") if find_spec("pandas") else None


def reader(columns: EstimatorColumns, pandas: Callable[[], Any] = _installed_pandas) -> Callable[[Invocation], Any]:
    """Reads a body to what the estimator takes. `pandas` imports the module, or returns None.

    The reader raises BadInput, UnsupportedContentType, and PredictionFailed where pandas is missing.
    """
    if columns.form is Form.DOCUMENTS:
        return lambda call: _documents(read_cells(call.body, call.content_type))
    if columns.form is Form.RECORDS:
        return lambda call: _records(read_table(call.body, call.content_type))
    if columns.form is Form.ARRAY:
        return lambda call: _array(read_table(call.body, call.content_type), columns)
    module = pandas()

    def framed(call: Invocation) -> Any:
        if module is None:
            raise PredictionFailed(NO_PANDAS)
        return _frame(read_table(call.body, call.content_type), columns, module)

    return framed


# -- frames and arrays -------------------------------------------------------------------------------------------------
def _frame(read: Table, columns: EstimatorColumns, pandas: Any) -> Any:
    names = columns.names or ()
    if read.names is None:
        raise BadInput(_unnamed(read, names))
    cells = _columns(read, columns)
    return pandas.DataFrame({name: pandas.Series(column) for name, column in zip(names, cells, strict=True)})


def _array(read: Table, columns: EstimatorColumns) -> Rows:
    cells = _columns(read, columns)
    array = np.empty((len(read.values), len(cells)), dtype=object)
    for place, column in enumerate(cells):
        array[:, place] = column
    return array


def _columns(read: Table, columns: EstimatorColumns) -> list[Rows]:
    """The columns in the model's order, each of one type. Raises BadInput."""
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


def _unnamed(read: Table, names: Sequence[str]) -> str:
    first = [str(cell) for cell in read.values[0]]
    hint = (
        "row 1 holds their names: say so in the content type, text/csv; header=present"
        if set(first) & set(names)
        else (
            "send CSV with a header and the content type 'text/csv; header=present', JSON records such as "
            f'[{{"{names[0]}": …}}], or a data frame by endpoint.invoke'
        )
    )
    return f"the model takes its columns by name ({listed(names)}), and the body has none: {hint}"


# -- cells -------------------------------------------------------------------------------------------------------------
def _text(cell: Any, text: bool, where: str) -> Any:
    if cell is None or (text and cell == ""):
        return None
    if not isinstance(cell, str):
        raise BadInput(f"{where}: the model takes text there, and not {str(cell)[:40]}")
    return cell


def _document(cell: Any, text: bool, where: str) -> str:
    if not isinstance(cell, str):
        raise BadInput(f"{where}: the model takes text there, and not {str(cell)[:40]}")
    return cell


def _number(cell: Any, text: bool, where: str) -> Any:
    found = _any(cell, text, where)
    if isinstance(found, str):
        raise BadInput(f"{where}: the model takes numbers there, and not {found[:40]!r}")
    return found


def _truth(cell: Any, text: bool, where: str) -> Any:
    found = TRUTHS.get(cell.strip().lower().encode(), cell) if isinstance(cell, str) and text else cell
    found = _any(found, text, where) if text and isinstance(found, str) else found
    if found is None or isinstance(found, bool):
        return found
    if isinstance(found, int | float) and found in (0, 1):
        return bool(found)
    raise BadInput(f"{where}: the model takes true or false there, and not {str(found)[:40]!r}")


def _any(cell: Any, text: bool, where: str) -> Any:
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
    for kind in (int, read_number):
        try:
            found = kind(plain) if "_" not in plain else cell
        except ValueError:
            continue
        return found if found is cell else _any(found, False, where)
    return cell


READERS: dict[Cell, Callable[[Any, bool, str], Any]] = {
    Cell.ANY: _any,
    Cell.NUMBER: _number,
    Cell.TEXT: _text,
    Cell.TRUTH: _truth,
    Cell.DOCUMENT: _document,
}


# -- documents and records ---------------------------------------------------------------------------------------------
def _documents(read: Table) -> list[str]:
    """One document or record for each row. Raises BadInput."""
    values = read.values if isinstance(read.values, list) else [read.values]
    documents = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in values]
    for number, document in enumerate(documents, start=1):
        if isinstance(document, list):
            raise BadInput(
                f"row {number} has {len(document)} columns, and the model takes one text a row: put text that holds a "
                "comma between quotes, or send JSON"
            )
        _document(document, read.text, f"row {number}")
    if not documents:
        raise BadInput("there is no row")
    return documents


def _records(read: Table) -> list[dict[str, Any]]:
    if read.names is None:
        raise BadInput('the model takes records: send JSON such as [{"name": value}], or CSV with a header')
    named = as_rows(read)
    names = [str(name) for name in read.names]
    return [{name: _any(cell, read.text, name) for name, cell in zip(names, row, strict=True)} for row in named.values]
