"""Makes rows that show whether flat trees answer as the library does: each reaches one node, and goes one of its ways.

A row goes down the path to its node, and there its cell stands just on one side of the threshold, or is missing. On the
way it meets each threshold of the path from its near side. The cells that the path does not ask for are numbers next to
other thresholds, zeros of both signs, the largest numbers, infinities where the model takes them, and missing ones.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from torpor_container.trees.flat_trees import MISSING_LEFT, Array, FlatTrees

ROWS_MAX = 24 * 1024
"""Larger models are probed at as many nodes as this allows, evenly spread over all trees."""
CELLS_MAX = 8 * 1024 * 1024
LEAST_ROWS = 256
PIECE_CELLS = 256 * 1024
LEFT, RIGHT, MISSING = range(3)


class ProbeRows(NamedTuple):
    """Rows, and the node that each of them was made for, in the order of the nodes: no nodes if the trees have no
    splits."""

    rows: Array
    nodes: Array


def rows_for(columns: int) -> int:
    """How many rows are made of a model of so many columns."""
    return max(LEAST_ROWS, min(ROWS_MAX, CELLS_MAX // columns))


def probes(
    trees: FlatTrees, kind: Any = np.float32, infinite: bool = False, rows_max: int | None = None
) -> Iterator[ProbeRows]:
    """At most `rows_max` rows, in pieces. `kind` is the type of their cells; `infinite` says whether the model takes
    infinities."""
    roots = trees.roots.astype(np.int64)
    first = np.repeat(roots[:-1], roots[1:] - roots[:-1])
    left = trees.nodes["left"].astype(np.int64)
    (inner,) = left.nonzero()
    parents = np.full(len(left), -1)
    for side in (0, 1):
        parents[first[inner] + left[inner] + side] = inner
    is_right = np.zeros(len(left), bool)
    is_right[first[inner] + left[inner] + 1] = True
    most = rows_for(trees.columns) if rows_max is None else rows_max
    chosen = np.arange(len(inner) * 3)
    if len(chosen) > most:
        chosen = np.linspace(0, len(chosen) - 1, most).astype(np.int64)
    chance = np.random.default_rng(len(left))
    below, above = _sides(trees, kind)
    pool = _pool(trees, inner, below, above, infinite)
    step = max(1, PIECE_CELLS // trees.columns)
    for start in range(0, max(1, len(chosen)), step):
        one = chosen[start : start + step]
        rows = chance.choice(pool, (max(1, len(one)), trees.columns))
        if len(one):
            _lead(trees, rows, inner[one // 3], one % 3, parents, is_right, below, above)
        if not infinite:
            np.clip(rows, np.finfo(kind).min, np.finfo(kind).max, out=rows)
        yield ProbeRows(rows, inner[one // 3])


def _lead(
    trees: FlatTrees, rows: Array, at: Array, way: Array, parents: Array, is_right: Array, below: Array, above: Array
) -> None:
    """Give each row the cells that lead it to a node and one of its ways. The nearest node decides over a column."""
    columns = trees.nodes["column"].astype(np.int64) if trees.wide else trees.nodes["column"] & (MISSING_LEFT - 1)
    every = np.arange(len(rows))
    decided = np.zeros(rows.shape, bool)
    values = np.where(way == LEFT, below[at], np.where(way == RIGHT, above[at], np.nan))
    while len(every):
        free = ~decided[every, columns[at]]
        rows[every[free], columns[at[free]]] = values[free]
        decided[every, columns[at]] = True
        above_it = parents[at]
        on = above_it >= 0
        came_right, every, at = is_right[at[on]], every[on], above_it[on]
        values = np.where(came_right, above[at], below[at])


def _sides(trees: FlatTrees, kind: Any) -> tuple[Array, Array]:
    """The largest number that goes left at each node, and the smallest that goes right."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = trees.nodes["value"].astype(kind)
        if not trees.wide:
            return np.nextafter(value, kind(-np.inf)), value
        left = np.where(value <= trees.nodes["value"], value, np.nextafter(value, kind(-np.inf)))
        return left, np.nextafter(left, kind(np.inf))


def _pool(trees: FlatTrees, inner: Array, below: Array, above: Array, infinite: bool) -> Array:
    """What cells may be that no path asks for; a quarter of them are missing."""
    kind = below.dtype.type
    special = [0.0, -0.0, np.finfo(kind).max, np.finfo(kind).min, np.finfo(kind).tiny]
    special += [np.inf, -np.inf] if infinite else []
    numbers = np.concatenate((np.unique(below[inner]), np.unique(above[inner]), np.array(special, kind)))
    return np.concatenate((numbers, np.full(len(numbers) // 3 + 1, np.nan, kind)))
