"""Orders the nodes of trees breadth first, each pair of children side by side, as flat trees need them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torpor_container.trees.flat_trees import UnsoundTrees

Integers = NDArray[np.int64]


class Ordered(NamedTuple):
    """Nodes in their new order. Those that no path reaches are left out."""

    order: Integers
    """The old place of each node."""
    left: Integers
    """The left child of each, counted from its tree's first node; 0 for a leaf. The right child is the next node."""
    sizes: Integers
    """How many nodes each tree has."""


def breadth_first(left: Integers, right: Integers, sizes: Integers) -> Ordered:
    """Order all trees at once, level by level. The nodes stand tree after tree; children count from their tree's first
    node, and a leaf's are negative.

    A node with several parents, all on one level, is there for each of them, and its children once. Raises UnsoundTrees
    for a path that does not end, and for parents on different levels: children stand behind all their parents.
    """
    firsts = np.cumsum(sizes) - sizes
    ids, tree = firsts, np.arange(len(sizes))
    filled, pairs = np.zeros(len(sizes), np.int64), np.zeros(len(left), np.int64)
    levels, trees, seen = list[Integers](), list[Integers](), np.zeros(len(left), np.bool_)
    while len(ids):
        filled += np.bincount(tree, minlength=len(sizes))
        levels.append(ids)
        trees.append(tree)
        parents = np.unique(ids[left[ids] >= 0])
        if seen[parents].any():
            raise UnsoundTrees("a path in a tree does not end, or a node has parents on different levels")
        seen[parents] = True
        tree = np.searchsorted(firsts, parents, side="right") - 1
        counts = np.bincount(tree, minlength=len(sizes))
        pairs[parents] = filled[tree] + 2 * (np.arange(len(parents)) - (np.cumsum(counts) - counts)[tree])
        tree = np.repeat(tree, 2)
        ids = np.stack((left[parents], right[parents]), axis=1).ravel() + firsts[tree]
    order = np.concatenate(levels)
    order = order[np.argsort(np.concatenate(trees), kind="stable")]
    return Ordered(order, np.where(left[order] >= 0, pairs[order], 0), filled)
