"""Flat trees by chance, and their answers by a slow walk that is written for its plainness."""

from typing import Any

import numpy as np

from torpor_container.trees.flat_trees import (
    MISSING_LEFT,
    NARROW,
    WIDE,
    WIDE_MISSING_IS_NAN,
    WIDE_MISSING_IS_ZERO,
    WIDE_MISSING_LEFT,
    FlatTrees,
)


def random_trees(seed: int, wide: bool = False, table: bool = False, columns: int = 5, outputs: int = 3) -> FlatTrees:
    chance = np.random.default_rng(seed)
    trees = [_tree(chance, wide, table, columns) for _ in range(7)]
    sums = "<f8" if wide else "<f4"
    return FlatTrees(
        np.concatenate(trees),
        np.cumsum([0, *map(len, trees)]).astype("<u4"),
        chance.integers(0, outputs, len(trees)).astype("<u4"),
        chance.normal(size=outputs).astype(sums),
        columns,
        chance.normal(size=(4, outputs)) if table else None,
    )


def _tree(chance: np.random.Generator, wide: bool, table: bool, columns: int) -> Any:
    nodes = np.zeros(int(chance.integers(0, 8)) * 2 + 1, WIDE if wide else NARROW)
    nodes["value"] = chance.normal(size=len(nodes))
    leaves = [0]
    for child in range(1, len(nodes), 2):  # each pair of children goes below one of the leaves
        parent = leaves.pop(0)
        nodes["left"][parent] = child
        leaves += [child, child + 1]
    inner = nodes["left"] > 0
    nodes["column"][inner] = chance.integers(0, columns, inner.sum())
    goes_left = inner & (chance.random(len(nodes)) < 0.5)
    if wide:
        nodes["flags"][inner] = WIDE_MISSING_IS_NAN
        nodes["flags"][goes_left] |= WIDE_MISSING_LEFT
    else:
        nodes["column"][goes_left] |= MISSING_LEFT
    if table:
        nodes["value"][~inner] = chance.integers(0, 4, (~inner).sum())
    return nodes


def random_rows(seed: int, trees: FlatTrees, count: int, kind: Any = np.float32) -> Any:
    rows = np.random.default_rng(seed).normal(size=(count, trees.columns)).astype(kind)
    rows.ravel()[::7] = np.nan
    return rows


def slowly(trees: FlatTrees, rows: Any) -> Any:
    return np.stack([_row(trees, row) for row in rows])


def _row(trees: FlatTrees, row: Any) -> Any:
    sums = trees.base.copy()
    for tree, group in enumerate(trees.groups):
        root = at = int(trees.roots[tree])
        value = trees.nodes["value"][at]
        while left := int(trees.nodes["left"][at]):
            right = not goes_left(trees, trees.nodes[at], row)
            if trees.pairs is not None and left >= trees.pairs[tree]:
                value = trees.nodes[root + left : root + left + 1].view(trees.base.dtype)[int(right)]
                break
            at = root + left + right
            value = trees.nodes["value"][at]
        if trees.leaves is None:
            sums[group] += value
        else:
            sums += trees.leaves[int(value)]
    return sums


def goes_left(trees: FlatTrees, node: Any, row: Any) -> bool:
    if not trees.wide:
        cell = row[node["column"] & (MISSING_LEFT - 1)]
        return bool(node["column"] & MISSING_LEFT) if np.isnan(cell) else bool(cell < node["value"])
    cell, flags = np.float64(row[node["column"]]), node["flags"]
    zero = abs(cell) <= np.float32(1e-35) or np.isnan(cell)
    if (flags & WIDE_MISSING_IS_NAN and np.isnan(cell)) or (flags & WIDE_MISSING_IS_ZERO and zero):
        return bool(flags & WIDE_MISSING_LEFT)
    return bool((0.0 if np.isnan(cell) else cell) <= node["value"])
