"""Probe rows reach every node, go all of its ways, and stand next to its threshold."""

from typing import Any

import numpy as np
import pytest

from tests.container.helpers.flat_models import goes_left, random_trees
from torpor_container.trees import probes as module
from torpor_container.trees.flat_trees import FlatTrees
from torpor_container.trees.probes import probes


def met(trees: FlatTrees, rows: Any) -> set[tuple[int, str]]:
    """The nodes where some row stood next to the threshold, or had a missing cell, and how."""
    found = set[tuple[int, str]]()
    for row in rows:
        for root in trees.roots[:-1]:
            at = int(root)
            while left := int(trees.nodes["left"][at]):
                node = trees.nodes[at]
                cell = row[node["column"] if trees.wide else node["column"] & 0x7FFF]
                left_here = goes_left(trees, node, row)
                if np.isnan(cell):
                    found.add((at, "missing"))
                elif abs(cell - node["value"]) <= np.spacing(np.float32(abs(node["value"]))):
                    found.add((at, "left" if left_here else "right"))
                at = int(root) + left + (not left_here)
    return found


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_threshold_is_met_from_both_sides_and_with_a_missing_cell(seed: int, wide: bool, kind: Any) -> None:
    """By rows that reach its node, unless another split of the same column on the path to it leads elsewhere."""
    trees = random_trees(seed, wide, columns=40)  # so many that few paths split twice by one column
    rows = np.concatenate([rows for rows, _ in probes(trees, kind)])
    assert rows.dtype == kind
    (inner,) = trees.nodes["left"].nonzero()
    wanted = {(int(at), way) for at in inner for way in ("left", "right", "missing")}
    assert len(wanted - met(trees, rows)) <= 0.05 * len(wanted)


def test_infinities_are_there_only_for_a_model_that_takes_them() -> None:
    trees = random_trees(1)
    assert not any(np.isinf(rows).any() for rows, _ in probes(trees))
    assert any(np.isinf(rows).any() for rows, _ in probes(trees, infinite=True))


def test_negative_zeros_and_the_largest_numbers_are_there() -> None:
    rows = np.concatenate([rows for rows, _ in probes(random_trees(1))])
    assert np.any((rows == 0) & np.signbit(rows))
    assert np.nanmax(rows) == np.finfo(np.float32).max


def test_a_large_model_is_probed_with_a_bounded_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_MAX", 10)
    monkeypatch.setattr(module, "PIECE_CELLS", 100)
    pieces = [rows for rows, _ in probes(random_trees(2, columns=3))]
    assert sum(map(len, pieces)) <= 256
    assert max(map(len, pieces)) == 33


def test_a_model_of_leaves_alone_is_probed_once() -> None:
    trees = random_trees(5)
    alone = FlatTrees(trees.nodes[-1:], np.array([0, 1], "<u4"), trees.groups[:1], trees.base, trees.columns)
    assert [rows.shape for rows, _ in probes(alone)] == [(1, 5)]


def test_a_row_tells_the_node_that_it_was_made_for() -> None:
    trees = random_trees(3, columns=40)
    for rows, nodes in probes(trees):
        assert len(rows) == len(nodes)
        assert np.all(np.diff(nodes) >= 0)
        for row, node in zip(rows[::7], nodes[::7], strict=True):
            tree = int(np.searchsorted(trees.roots, node, "right")) - 1
            alone = FlatTrees(trees.nodes, trees.roots[tree : tree + 2], trees.groups[:1], trees.base, trees.columns)
            assert any(at == node for at, _ in met(alone, [row])) or not met(alone, [row])
