"""Describes the rows that a model takes, and checks rows against it."""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.content.column_names import places
from torpor_container.content.kinds import CellKind, OutOfRange, inexact, kind_of
from torpor_container.errors import BadInput
from torpor_container.frozen_class import frozen

Rows = NDArray[Any]


def _nameless() -> None:
    return None


@frozen
class RowLayout:
    """The cells' type, and the number of columns if the model has a fixed one."""

    dtype: Any = np.float32
    columns: int | None = None
    absent: float = nan
    """The value of a cell that a sparse row leaves out: missing for trees, zero for linear models."""
    table: bool = True
    """Whether it is rows by columns. Otherwise it is a tensor of any rank, which the model itself checks."""
    sparse: bool = True
    """Whether the model takes a sparse matrix."""
    names: Callable[[], Sequence[str] | None] = _nameless
    """The model's names for its columns, in order; None if it has none."""
    categories: Callable[[], Any] | None = None
    """The `Categories` that the model has learned; None if it takes numbers alone, and so is what it returns."""

    def array(self, values: object) -> Rows:
        """An array of this type. Raises ValueError, TypeError or OverflowError, as numpy does, and OutOfRange."""
        if not self.floats:
            return self.cast(self.kind.gather(values))
        with np.errstate(over="ignore"):
            rows = np.array(values, dtype=self.dtype)
        if np.count_nonzero(np.isinf(rows)):
            self._refuse_infinite(values)
        return rows

    def of_floats(self, cells: list[float] | Rows) -> Rows:
        """An array of cells that were read as floats. Raises ValueError if a float may be several whole numbers, or is
        infinite, which may have been too large a number in the text."""
        if self.floats:
            if type(cells) is list and -self.largest <= min(cells) and max(cells) <= self.largest:
                return np.array(cells, self.dtype)  # NaN, which compares to nothing, may only send cells the other way
            with np.errstate(over="ignore"):
                rows = np.array(cells, dtype=self.dtype)
            if np.count_nonzero(np.isinf(rows)):
                raise ValueError("a number may be too large")
            return rows
        array = np.array(cells)
        if inexact(array):
            raise ValueError("a whole number is too large for a float")
        return self.cast(array)

    def cast(self, array: Rows) -> Rows:
        """The array as one of this type: itself, if it has the type already. Raises ValueError, and OutOfRange."""
        try:
            return self.kind.cast(array, self.dtype)
        except OutOfRange:
            raise
        except (ValueError, TypeError, OverflowError):
            raise ValueError(self.kind.refusal) from None

    @cached_property
    def kind(self) -> CellKind:
        """The kind of the cells."""
        return kind_of(self.dtype)

    @cached_property
    def floats(self) -> bool:
        """Whether cells are floats. numpy takes text for one of these too, and makes large numbers infinite."""
        return bool(np.dtype(self.dtype).kind == "f")

    @cached_property
    def largest(self) -> float:
        """The largest finite number that floats of this type can hold."""
        return float(np.finfo(self.dtype).max)

    def _refuse_infinite(self, values: object) -> None:
        """Raise OutOfRange if a number was none before it became a cell of this type."""
        cells = np.array(values, dtype=object).ravel().tolist()
        if fault := next(filter(None, map(self.kind.fault, cells)), None):
            raise OutOfRange(fault)

    def fit(self, rows: Rows) -> Rows:
        """Two-dimensional rows with the right number of columns. Raises BadInput."""
        if not self.table or not isinstance(rows, np.ndarray):
            return rows  # a sparse matrix was checked when it was read
        if rows.ndim != 2 or not rows.size:
            rows = self.two_dimensional(rows)
        if self.columns is not None and rows.shape[1] != self.columns:
            raise BadInput.of_rows(f"the model takes {self.columns} columns, and the rows have {rows.shape[1]}")
        return rows

    def two_dimensional(self, rows: Rows) -> Rows:
        """Rows by columns; a flat array is one row, or the only column. Raises BadInput."""
        if rows.ndim == 1:
            rows = rows.reshape(-1, 1) if self.columns == 1 else rows.reshape(1, -1)
        if rows.ndim != 2 or not rows.size:
            raise BadInput(f"the model takes rows of numbers, and the body has an array of shape {rows.shape}")
        return rows

    def ordered(self, rows: Rows, given: Sequence[object], in_order: bool = True) -> Rows:
        """Rows whose columns were given by name, in the model's order if it knows its names.

        Raises BadInput, which tells the names that are unknown, missing or there twice; also where the model knows no
        names, and the order of those that are given means nothing.
        """
        order = places(given, self.names(), in_order)
        rows = self.two_dimensional(self.fit(rows))
        if rows.shape[1] != len(given):
            raise BadInput.of_rows(f"{len(given)} columns are named, and the rows have {rows.shape[1]}")
        return rows if order is None else np.take(rows, order, axis=1)
