"""Walks rows as they were read through wide flat trees: arrays, and sparse matrices piece by piece; and the refusal of
rows that a library would refuse."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from torpor_container.content import RowLayout, Rows
from torpor_container.content.reading.npz_rows import CELLS_MAX, densely
from torpor_container.trees import walking
from torpor_container.trees.flat_trees import FlatTrees


class RowsRefused(Exception):
    """The rows are not what the model takes. The message is that of its library."""


def summed(
    trees: FlatTrees, layout: RowLayout, kind: Any = np.float64, check: Callable[[Rows], None] | None = None
) -> Callable[[Any], Rows]:
    """The sums of rows, by row and output, in float64. Rows become cells of `kind`, which `check` may refuse."""
    walk, outputs = walking.walker(trees).predict, trees.outputs

    def of(rows: Any) -> Rows:
        if not isinstance(rows, np.ndarray):
            return np.concatenate([of(densely(piece, layout)) for piece in _pieces(rows)])
        with np.errstate(over="ignore"):  # what becomes infinite may be refused
            cells = np.ascontiguousarray(rows, kind)
        if check is not None:
            check(cells)
        sums = np.empty((len(cells), outputs))
        walk(cells, sums)
        return sums

    return of


def _pieces(matrix: Any) -> Iterator[Any]:
    """Rows of a sparse matrix, as many at once as may become dense."""
    count = max(CELLS_MAX // matrix.shape[1], 1)
    return (matrix[start : start + count] for start in range(0, matrix.shape[0], count))
