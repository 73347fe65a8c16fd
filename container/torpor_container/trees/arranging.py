"""Arranges trees with wide nodes, breadth first, from the places that a library gave to the nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from torpor_container.trees.flat_trees import WIDE, Array, FlatTrees, UnsoundTrees, check


@dataclass(frozen=True)
class LinkedTree:
    """One tree, whose root is node 0. Several nodes may have the same child, if they are at the same depth."""

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
    nodes = [_nodes(tree) for tree in trees]
    roots = np.cumsum([0, *map(len, nodes)])
    if roots[-1] >= 2**32:
        raise UnsoundTrees(f"the model has {roots[-1]} nodes, which are too many")
    flat = FlatTrees(
        np.concatenate(nodes), roots.astype("<u4"), groups.astype("<u4"), base.astype("<f8"), columns, leaves
    )
    check(flat)
    return flat


def _nodes(tree: LinkedTree) -> Array:
    order, left = _breadth_first(tree)
    nodes = np.empty(len(order), WIDE)
    nodes["value"], nodes["left"] = tree.values[order], left
    nodes["column"], nodes["flags"] = (np.where(left > 0, one[order], 0) for one in (tree.columns, tree.flags))
    return nodes


def _breadth_first(tree: LinkedTree) -> tuple[Array, Array]:
    """The nodes level by level, and the place of each one's left child, 0 for a leaf.

    A node with several parents is there for each of them, and its children once: hence all its parents must stand
    before these, on one level. Raises UnsoundTrees if they do not, as in a circle.
    """
    level = np.zeros(1, np.int64)
    levels, lefts, end = [level], [], 1
    seen = np.zeros(len(tree.left), np.bool_)
    while len(level):
        inner = tree.left[level] >= 0
        parents, which = np.unique(level[inner], return_inverse=True)
        if seen[parents].any():
            raise UnsoundTrees("a node is below itself, or has parents at different depths")
        seen[parents] = True
        left = np.zeros(len(level), np.int64)
        left[inner] = end + 2 * which
        level = np.stack([tree.left[parents], tree.right[parents]], axis=1).ravel()
        end += len(level)
        levels.append(level)
        lefts.append(left)
    return np.concatenate(levels), np.concatenate(lefts)
