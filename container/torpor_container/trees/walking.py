"""Walks flat trees by the C extension `_walk`, where it was built."""

from pathlib import Path
from typing import Any

import numpy as np

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
    """Predicts the margins of rows. The trees must have passed `flat_trees.check`. It keeps no array of a mapped file,
    but the file: the arrays' own objects take more memory than all else of a model."""
    arrays = trees.nodes, trees.roots, trees.groups, flat_trees.nodes_alone(trees), trees.base, trees.leaves
    owners = {id(owner): owner for owner in map(_owner, arrays) if owner is not None}
    owner = owners.popitem()[1] if len(owners) == 1 else tuple(owners.values())
    return _walk.Trees(*arrays, trees.columns, trees.wide, owner)


def _owner(array: Any) -> Any:
    """What keeps the memory of an array where it is: the mapped file, or an array."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    mapped = isinstance(array, memoryview) and isinstance(array.obj, _walk.MappedBytes)
    return array.obj if mapped else array


def mapped(path: str | Path) -> "_walk.MappedBytes":
    """The bytes of a file, shared with all processes that map it. Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        return _walk.MappedBytes(file.fileno())
