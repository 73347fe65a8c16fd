"""Reads bodies for estimators that take more than numbers: as a data frame, an array of cells, texts or records.

pandas is imported when such an estimator is loaded, and for nothing else. A missing value is NaN, as pandas reads it.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from torpor_container.content import Rows
from torpor_container.content.column_names import listed
from torpor_container.content.open_inference.infer_response import PREDICTION
from torpor_container.content.reading.cell_tables import as_rows, read_cells, read_table
from torpor_container.content.reading.cells import Cell, read_any, read_document, typed
from torpor_container.content.reading.tensors import NAMED_TYPES, Tensor
from torpor_container.content.table import Table
from torpor_container.errors import BadInput, PredictionFailed
from torpor_container.formats.protocols.named_tensors import ANY_INPUT, TensorInputs, TensorSpec, table_for_rows
from torpor_container.formats.sklearn.fitted_columns import EstimatorColumns, Form
from torpor_container.how_to_install import how_to_install
from torpor_container.invocation import Invocation


def no_pandas() -> str:
    return (
        "the model was fitted on a data frame and takes its columns by name, for which it needs pandas, and pandas is "
        f"not installed: {how_to_install('pandas')}"
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
            raise PredictionFailed(no_pandas())
        return _frame(read_table(call.body, call.content_type), columns, module)

    return framed


def tensor_inputs(
    columns: EstimatorColumns, estimator: Any, pandas: Callable[[], Any] = _installed_pandas
) -> TensorInputs:
    """How the estimator takes named tensors: one for each column, or rows by columns where it knows no names."""

    def taken(tensors: Mapping[str, Tensor], wanted: Sequence[str]) -> Any:
        read = as_rows(table_for_rows(list(tensors.values())))
        if columns.form is Form.DOCUMENTS:
            return _documents(read._replace(names=None))
        if columns.form is Form.RECORDS:
            return _records(read)
        if columns.form is Form.ARRAY:
            return _array(read, columns)
        if (module := pandas()) is None:
            raise PredictionFailed(no_pandas())
        return _frame(read, columns, module)

    return TensorInputs(taken, lambda: _specs(columns), lambda: [TensorSpec(PREDICTION, _predicted(estimator), (-1,))])


def _specs(columns: EstimatorColumns) -> list[TensorSpec]:
    if columns.form in (Form.DOCUMENTS, Form.RECORDS):
        return [TensorSpec(ANY_INPUT, "BYTES", (-1, 1))]
    if columns.names is None:
        return [TensorSpec(ANY_INPUT, "BYTES", (-1, columns.count or -1))]
    types = [DATATYPES_OF_CELLS.get(columns.cell(place), "BYTES") for place in range(len(columns.names))]
    return [TensorSpec(name, datatype, (-1, 1)) for name, datatype in zip(columns.names, types, strict=True)]


DATATYPES_OF_CELLS = {Cell.ANY: "FP64", Cell.NUMBER: "FP64", Cell.TRUTH: "BOOL"}
"""The datatype of a column in the metadata: any that the column's cells take will do."""


def _predicted(estimator: Any) -> str:
    """The datatype of what it predicts: that of its classes, or numbers."""
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, list) or classes is None:
        return "FP64"
    dtype = np.asarray(classes).dtype
    return NAMED_TYPES.get(dtype.name, "BYTES")


# -- frames and arrays -------------------------------------------------------------------------------------------------
def _frame(read: Table, columns: EstimatorColumns, pandas: Any) -> Any:
    names = columns.names or ()
    if read.names is None:
        raise BadInput(_unnamed(read, names))
    cells = typed(read, columns)
    return pandas.DataFrame({name: pandas.Series(column) for name, column in zip(names, cells, strict=True)})


def _array(read: Table, columns: EstimatorColumns) -> Rows:
    cells = typed(read, columns)
    array = np.empty((len(read.values), len(cells)), dtype=object)
    for place, column in enumerate(cells):
        array[:, place] = column
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
        read_document(document, read.text, f"row {number}")
    if not documents:
        raise BadInput("there is no row")
    return documents


def _records(read: Table) -> list[dict[str, Any]]:
    if read.names is None:
        raise BadInput('the model takes records: send JSON such as [{"name": value}], or CSV with a header')
    named = as_rows(read)
    names = [str(name) for name in read.names]
    return [
        {name: read_any(cell, read.text, name) for name, cell in zip(names, row, strict=True)} for row in named.values
    ]
