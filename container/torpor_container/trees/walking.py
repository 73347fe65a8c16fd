"""Walks flat trees by the C extension `_walk`, where it was built."""

from pathlib import Path
from typing import Any

from torpor_container.trees import flat_trees
from torpor_container.trees.flat_trees import FlatTrees

try:
    from torpor_container.trees import _walk
except ImportError:
    _walk = None  # type: ignore[assignment]  # no compiler was there when Torpor was installed


def extension() -> Any:
    """The extension; None where it was not built, or was built from other sources."""
    return _walk if getattr(_walk, "VERSION", None) == flat_trees.VERSION else None


def walker(trees: FlatTrees) -> "_walk.Trees":
    """Predicts the margins of rows. The trees must have passed `flat_trees.check`."""
    arrays = trees.nodes, trees.roots, trees.groups, flat_trees.nodes_alone(trees), trees.base, trees.leaves
    return _walk.Trees(*arrays, trees.columns, trees.wide)


def mapped(path: Path) -> "_walk.MappedBytes":
    """The bytes of a file, shared with all processes that map it. Raises OSError."""
    with path.open("rb", buffering=0) as file:
        return _walk.MappedBytes(file.fileno())
