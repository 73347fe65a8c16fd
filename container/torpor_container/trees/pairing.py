"""Puts two leaves below one node into one record, which makes most trees a quarter smaller."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from torpor_container.trees.flat_trees import FlatTrees


def paired(trees: FlatTrees) -> FlatTrees:
    """The same model with `pairs`. Each tree's nodes keep their order, and its pairs follow them. The trees have passed
    `check`, and have no pairs yet; as `breadth_first` orders them, children stand in twos behind the root."""
    assert trees.pairs is None, "the trees have pairs already"
    roots, nodes = trees.roots.astype(np.int64), trees.nodes
    sizes = np.diff(roots)
    tree = np.repeat(np.arange(len(sizes)), sizes)
    left = nodes["left"].astype(np.int64)
    (inner,) = left.nonzero()
    child = roots[tree[inner]] + left[inner]
    two_leaves = (left[child] == 0) & (left[child + 1] == 0)
    is_pair = np.zeros(len(nodes), np.bool_)
    is_pair[child[two_leaves]] = True
    stays = ~is_pair
    stays[child[two_leaves] + 1] = False

    kept, pairs = (np.bincount(tree[which], minlength=len(sizes)) for which in (stays, is_pair))
    firsts = np.concatenate(([0], np.cumsum(kept + pairs)))
    places = np.where(stays, _ranks(stays, roots[:-1], tree), kept[tree] + _ranks(is_pair, roots[:-1], tree))
    moved = np.zeros(firsts[-1], nodes.dtype)
    at = firsts[tree] + places
    moved[at[stays]] = nodes[stays]
    moved["left"][at[inner]] = places[child]
    values = moved.view(trees.base.dtype).reshape(len(moved), 2)
    (first_leaf,) = is_pair.nonzero()
    values[at[is_pair]] = np.stack((nodes["value"][first_leaf], nodes["value"][first_leaf + 1]), axis=1)
    return replace(trees, nodes=moved, roots=firsts.astype("<u4"), pairs=kept.astype("<u4"))


def _ranks(which: NDArray[np.bool_], roots: NDArray[np.int64], tree: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of `which` stand before each node in its tree."""
    before = np.concatenate(([0], np.cumsum(which)))
    return before[:-1] - before[roots][tree]
