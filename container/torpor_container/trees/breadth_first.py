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
    node, and a leaf's are negative. Raises UnsoundTrees for a path that does not end."""
    firsts = np.cumsum(sizes) - sizes
    ids, tree = firsts, np.arange(len(sizes))
    filled, places = np.zeros(len(sizes), np.int64), np.zeros(len(left), np.int64)
    levels, trees, seen = list[Integers](), list[Integers](), 0
    while len(ids):
        seen += len(ids)
        if seen > len(left):
            raise UnsoundTrees("a path in a tree does not end")
        counts = np.bincount(tree, minlength=len(sizes))
        places[ids] = np.arange(len(ids)) - (np.cumsum(counts) - counts - filled)[tree]
        filled += counts
        levels.append(ids)
        trees.append(tree)
        inner = left[ids] >= 0
        parents, tree = ids[inner], np.repeat(tree[inner], 2)
        ids = np.stack((left[parents], right[parents]), axis=1).ravel() + firsts[tree]
    order = np.concatenate(levels)
    order = order[np.argsort(np.concatenate(trees), kind="stable")]
    inner = left[order] >= 0
    moved = np.zeros(len(order), np.int64)
    moved[inner] = places[(left[order] + np.repeat(firsts, filled))[inner]]
    return Ordered(order, moved, filled)
