"""Trees whose twin leaves share a record walk as the trees that they were made of."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.container.helpers.flat_models import random_rows, random_trees
from torpor_container.trees import flat_trees, walking
from torpor_container.trees.flat_trees import MISSING_LEFT, NARROW, FlatTrees, UnsoundTrees
from torpor_container.trees.pairing import paired

KINDS = [(False, False), (True, False), (True, True)]


def margins(trees: FlatTrees, rows: Any) -> Any:
    out = np.empty((len(rows), trees.outputs), trees.base.dtype)
    walking.walker(trees).predict(rows, out)
    return out


@pytest.mark.skipif(walking.extension() is None, reason="the extension was not built: there is no C compiler")
@pytest.mark.parametrize(("wide", "table"), KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_pairs_give_the_same_sums_to_the_bit(seed: int, wide: bool, table: bool) -> None:
    trees = random_trees(seed, wide, table)
    small = paired(trees)
    flat_trees.check(small)
    read, _ = flat_trees.read(flat_trees.written(small, {}))
    rows = random_rows(seed, trees, 150, np.float64 if wide else np.float32)
    np.testing.assert_array_equal(margins(small, rows), margins(trees, rows))
    np.testing.assert_array_equal(margins(read, rows), margins(trees, rows))


def test_a_whole_tree_of_six_levels_takes_three_quarters() -> None:
    nodes = np.zeros(127, NARROW)
    nodes["left"][:63] = 2 * np.arange(63) + 1
    nodes["value"] = np.arange(127)
    trees = FlatTrees(nodes, np.array([0, 127], "<u4"), np.zeros(1, "<u4"), np.zeros(1, "<f4"), 1)
    small = paired(trees)
    assert (len(small.nodes), small.pairs) == (95, np.array([63]))
    assert small.nodes[63:].view("<f4").tolist() == list(range(63, 127))


def test_a_leaf_whose_twin_has_children_stays_a_node() -> None:
    nodes = np.array([(0.5, 0, 1), (1, 0, 0), (0.7, 0, 3), (2, 0, 0), (3, 0, 0)], NARROW)
    alone = np.array([(9, 0, 0)], NARROW)
    roots, groups = np.array([0, 5, 6], "<u4"), np.zeros(2, "<u4")
    small = paired(FlatTrees(np.concatenate((nodes, alone)), roots, groups, np.zeros(1, "<f4"), 1))
    assert small.nodes["left"].tolist()[:3] == [1, 0, 3]
    assert (small.roots.tolist(), small.pairs is not None and small.pairs.tolist()) == ([0, 4, 5], [3, 1])
    assert small.nodes[3:4].view("<f4").tolist() == [2, 3]


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (lambda pairs: pairs * np.uint32(0), "the pairs of a tree do not begin behind its root"),
        (lambda pairs: pairs + np.uint32(100), "the pairs of a tree do not begin behind its root, and in it"),
        (lambda pairs: pairs[:-1], "the pairs of a tree do not begin"),
        (lambda pairs: pairs - np.uint32(1), "a node has a child that is not in its tree"),
        (lambda pairs: pairs.astype("<u2"), "the pairs are not one row of uint32"),
    ],
)
def test_the_check_refuses_pairs_that_are_not_in_their_trees(pairs: Any, told: str) -> None:
    small = paired(three_levels())
    flat_trees.check(small)
    with pytest.raises(UnsoundTrees, match=told):
        flat_trees.check(replace(small, pairs=pairs(small.pairs)))


def test_the_check_reads_no_leaf_of_a_pair_as_a_node() -> None:
    """The bits of a leaf may be those of a node whose children are anywhere."""
    trees = three_levels()
    trees.nodes["value"][5:] = np.array([MISSING_LEFT | 0xFFFF << 16], "<u4").view("<f4")
    flat_trees.check(paired(trees))


def test_a_paired_leaf_outside_the_table_of_leaves_is_refused() -> None:
    small = paired(random_trees(2, wide=True, table=True))
    assert small.pairs is not None
    nodes = small.nodes.copy()
    nodes[int(small.roots[1]) - 1 :].view("<f8")[1] = 4
    with pytest.raises(UnsoundTrees, match="a leaf is not in the table of leaves, which has 4"):
        flat_trees.check(replace(small, nodes=nodes))


def three_levels() -> FlatTrees:
    nodes = np.array([(0.5, 0, 1), (0.2, 0, 3), (0.8, 0, 5), *((leaf, 0, 0) for leaf in range(4))], NARROW)
    return FlatTrees(nodes, np.array([0, 7], "<u4"), np.zeros(1, "<u4"), np.zeros(1, "<f4"), 1)
