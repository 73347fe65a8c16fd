"""Nodes are ordered breadth first, and lead where they led before."""

import numpy as np
import pytest

from torpor_container.trees.breadth_first import breadth_first
from torpor_container.trees.flat_trees import UnsoundTrees


def test_children_stand_side_by_side_and_unreachable_nodes_are_left_out() -> None:
    """Two trees; the second node of the first one, and a subtree of it, have no parent."""
    left = np.array([4, 5, -1, -1, -1, -1, -1, -1, 2, -1, -1, -1])
    right = np.array([3, 6, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1])
    ordered = breadth_first(left, right, np.array([7, 1, 4]))
    assert ordered.order.tolist() == [0, 4, 3, 7, 8, 10, 9]
    assert ordered.left.tolist() == [1, 0, 0, 0, 1, 0, 0]
    assert ordered.sizes.tolist() == [3, 1, 3]


def test_a_deeper_tree_keeps_its_paths() -> None:
    left, right = np.array([3, -1, -1, 1, -1]), np.array([4, -1, -1, 2, -1])
    ordered = breadth_first(left, right, np.array([5]))
    assert ordered.order.tolist() == [0, 3, 4, 1, 2]
    assert ordered.left.tolist() == [1, 3, 0, 0, 0]


def test_a_path_that_does_not_end_is_refused() -> None:
    with pytest.raises(UnsoundTrees, match="does not end"):
        breadth_first(np.array([1, 0, -1]), np.array([2, 2, -1]), np.array([3]))


def test_a_child_of_two_nodes_is_there_twice_and_its_children_once() -> None:
    """Nodes 1 and 2 both lead to 3, which is inner, and to the leaf 4."""
    left, right = np.array([1, 3, 4, 5, -1, -1, -1]), np.array([2, 4, 3, 6, -1, -1, -1])
    ordered = breadth_first(left, right, np.array([7]))
    assert ordered.order.tolist() == [0, 1, 2, 3, 4, 4, 3, 5, 6]
    assert ordered.left.tolist() == [1, 3, 5, 7, 0, 0, 7, 0, 0]


def test_parents_on_different_levels_are_refused() -> None:
    """Node 2 is below the root, and below its sibling."""
    with pytest.raises(UnsoundTrees, match="parents on different levels"):
        breadth_first(np.array([1, 2, 3, -1, -1]), np.array([2, 4, 4, -1, -1]), np.array([5]))
