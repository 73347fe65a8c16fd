"""Reads rows with categories as the codes by which a model learned them, as pandas's frames reach the frameworks.

The categories are the model's own, in the order of their codes. One that it has not learned is missing to the model,
as it is in the frameworks' own `predict`.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isnan, nan
from typing import Any

import numpy as np

from torpor_container.content.reading.cells import Cell, TypedColumns, cell_of, typed
from torpor_container.content.table import Table
from torpor_container.frozen_class import frozen


@frozen
class Categories:
    """What a model has learned of its columns: their number, the names if it has some, and the categories by place."""

    count: int
    learned: Mapping[int, Sequence[Any]]
    names: tuple[str, ...] | None = None

    @cached_property
    def columns(self) -> TypedColumns:
        cells = dict.fromkeys(range(self.count), Cell.NUMBER)
        return TypedColumns(self.names, self.count, cells | {at: cell_of(seen) for at, seen in self.learned.items()})

    @cached_property
    def codes(self) -> Mapping[int, Mapping[Any, int]]:
        return {place: {one: code for code, one in enumerate(seen)} for place, seen in self.learned.items()}


def coded(read: Table, categories: Categories) -> Any:
    """Rows of floats, in the model's order. Raises BadInput, which names the row and the column."""
    given = typed(read, categories.columns)
    rows = np.empty((len(read.values), len(given)))
    for place, column in enumerate(given):
        codes = categories.codes.get(place)
        rows[:, place] = column if codes is None else [_code(cell, codes) for cell in column.tolist()]
    return rows


def _code(cell: Any, codes: Mapping[Any, int]) -> float:
    missing = isinstance(cell, float) and isnan(cell)
    return nan if missing else codes.get(cell, nan)
