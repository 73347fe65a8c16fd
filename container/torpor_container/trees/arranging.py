"""Arranges trees with wide nodes, breadth first, from the places that a library gave to the nodes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from torpor_container.trees.breadth_first import breadth_first
from torpor_container.trees.flat_trees import WIDE, Array, FlatTrees, UnsoundTrees, check


class LinkedTree(NamedTuple):
    """One tree, whose root is node 0. Several nodes on one level may have the same child."""

    left: Array
    """The places of children; below zero for a leaf."""
    right: Array
    columns: Array
    flags: Array
    values: Array
    """Thresholds, and the values of leaves or their rows in the table of leaves."""


def arranged(
    trees: Sequence[LinkedTree], groups: Array, base: Array, columns: int, leaves: Array | None = None
) -> FlatTrees:
    """The model. Raises UnsoundTrees."""
    sizes = np.array([len(tree.left) for tree in trees])
    left, right, column, flags, values = map(np.concatenate, zip(*trees, strict=True))
    if np.any((left < 0) != (right < 0)) or np.any(np.maximum(left, right) >= np.repeat(sizes, sizes)):
        raise UnsoundTrees("a node has one child, or one that is not in its tree")
    ordered = breadth_first(left.astype(np.int64), right.astype(np.int64), sizes)
    inner = ordered.left > 0
    if np.any((column < 0) & (left >= 0)) or np.any(column >= columns):
        raise UnsoundTrees(f"a node splits by a column that is not there: there are {columns}")
    nodes = np.zeros(len(ordered.order), WIDE)
    nodes["value"], nodes["left"] = values[ordered.order], ordered.left
    nodes["column"][inner], nodes["flags"][inner] = (one[ordered.order][inner] for one in (column, flags))
    roots = np.concatenate(([0], np.cumsum(ordered.sizes)))
    if roots[-1] >= 2**32:
        raise UnsoundTrees(f"the model has {roots[-1]} nodes, which are too many")
    flat = FlatTrees(nodes, roots.astype("<u4"), groups.astype("<u4"), base.astype("<f8"), columns, leaves)
    check(flat)
    return flat
