"""Trees that a library has linked otherwise than it would itself are refused before they are walked."""

import numpy as np
import pytest

from torpor_container.trees.arranging import LinkedTree, arranged
from torpor_container.trees.flat_trees import FlatTrees, UnsoundTrees


def tree(left: int = 1, right: int = 2, column: int = 0) -> FlatTrees:
    """A root with two leaves."""
    linked = LinkedTree(
        np.array([left, -1, -1]),
        np.array([right, -1, -1]),
        np.array([column, -2, -2]),
        np.zeros(3, np.int64),
        np.array([0.5, 1.0, 2.0]),
    )
    return arranged([linked, linked], np.zeros(2), np.zeros(1), columns=70)


def test_leaves_have_no_column_and_children_count_from_their_tree() -> None:
    flat = tree()
    assert flat.nodes["left"].tolist() == [1, 0, 0] * 2
    assert flat.nodes["column"].tolist() == [0] * 6
    assert flat.roots.tolist() == [0, 3, 6]


@pytest.mark.parametrize(("left", "right"), [(1, 3), (7, 2), (1, -1), (-1, 2)])
def test_a_child_that_is_not_in_the_tree_is_refused(left: int, right: int) -> None:
    with pytest.raises(UnsoundTrees, match="one child, or one that is not in its tree"):
        tree(left, right)


@pytest.mark.parametrize("column", [-1, 70, 65_536])
def test_a_column_that_is_not_there_is_refused(column: int) -> None:
    """65,536 would be column 0 in the two bytes of a node."""
    with pytest.raises(UnsoundTrees, match="a column that is not there: there are 70"):
        tree(column=column)
