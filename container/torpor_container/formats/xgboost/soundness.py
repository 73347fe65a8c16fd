"""Proves that the trees of a loaded model are sound: every child and column exists, and no path is a circle.

XGBoost and scikit-learn read trees as they stand in a file, and walk them unchecked: an index out of range ends the
process, a cycle never ends. One row takes one path only, so predicting once does not show it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.errors import LoadFailed
from torpor_container.formats.xgboost.written_bytes import is_sound
from torpor_container.frozen_class import frozen

Integers = NDArray[np.int64]

_TYPED = {b"l": ">i4", b"L": ">i8", b"U": "u1", b"i": "i1", b"I": ">i2", b"d": ">i4"}
"""Marks of types in UBJSON (ubjson.org). A typed array is `[$`, the mark, `#L`, eight bytes of count, its elements.
Of floats (`d`), only the number is of use here."""
_ELEMENT_BYTES = {ord("i"): 1, ord("U"): 1, ord("I"): 2, ord("l"): 4, ord("L"): 8}
_TREES = (b"left_children", b"right_children", b"split_indices")
_CATEGORIES = (b"categories", b"categories_nodes", b"categories_segments", b"categories_sizes")
_NO_CATEGORIES = b"categories_nodes[$l#L" + bytes(8)
_PLAIN = (b"tree_info", b"iteration_indptr")
_GROUPS = re.compile(rb"num_(?:class|target)SL.{8}(\d+)", re.DOTALL)
_LEAF_SIZES = re.compile(rb"size_leaf_vectorSL.{8}(\d+)", re.DOTALL)
_LEAF_WEIGHTS = (b"leaf_weights",)


@frozen
class Arrays:
    """The arrays of one name of all trees, one after the other, and the length of each."""

    values: Integers
    sizes: Integers


def prove_booster(booster: Any) -> None:
    """Check an XGBoost booster of any kind. Raises LoadFailed."""
    prove_saved(bytes(booster.save_raw("ubj")), booster.num_features())


def prove_saved(saved: bytes, columns: int) -> None:
    """The same by what XGBoost writes of the booster. Most are plain, and read in a tenth of the time."""
    if is_sound(saved):
        return
    groups = max([1, *map(int, _GROUPS.findall(saved, max(0, saved.rfind(b"learner_model_param"))))])
    left, right, split = _arrays(_TREES, saved)
    trees = len(left.sizes)
    after = max(0, saved.rfind(_TREES[-1]))
    if not trees:
        _prove_weights(saved, b"weights", (columns + 1) * groups)
    _prove_weights(saved[after:], b"weight_drop", trees)  # dart's, one of each tree
    _prove_plain(saved, groups, trees)
    leaf_sizes = set(map(int, _LEAF_SIZES.findall(saved)))
    if leaf_sizes and max(leaf_sizes) > 1:
        [weights] = _arrays(_LEAF_WEIGHTS, saved)
        right = _prove_vectors(left, right, weights, leaf_sizes, groups)
    prove_trees(left, right, split, columns)
    if saved.count(_NO_CATEGORIES) != trees:
        _prove_categories(left, *_arrays(_CATEGORIES, saved))


def prove_estimator(parts: Iterable[Any]) -> None:
    """Check all trees in a scikit-learn estimator. Raises LoadFailed."""
    for tree in parts:
        if type(tree).__module__ == "sklearn.tree._tree":
            left, right, feature = map(_one, (tree.children_left, tree.children_right, tree.feature))
            prove_trees(left, right, feature, tree.n_features)


def _one(values: NDArray[Any]) -> Arrays:
    return Arrays(values.astype(np.int64), np.array([len(values)]))


def prove_trees(left: Arrays, right: Arrays, split: Arrays, columns: int) -> None:
    """Check all trees together, with their nodes numbered consecutively."""
    sizes, count = left.sizes, len(left.values)
    if not (np.array_equal(sizes, right.sizes) and np.array_equal(sizes, split.sizes) and np.all(sizes > 0)):
        raise LoadFailed("a tree of the model is not whole")
    ends = np.cumsum(sizes)
    roots = ends - sizes
    inner = left.values != -1
    if np.any(inner != (right.values != -1)):
        raise LoadFailed("a tree of the model has a node with one child")
    first, end = np.repeat(roots, sizes)[inner], np.repeat(ends, sizes)[inner]
    children = np.concatenate((left.values[inner] + first, right.values[inner] + first))
    if np.any((children < np.tile(first, 2)) | (children >= np.tile(end, 2))):
        raise LoadFailed("a tree of the model has a child that is not there")
    parents = np.bincount(children, minlength=count)
    if np.any(parents > 1) or np.any(parents[roots]):
        raise LoadFailed("a tree of the model leads back to where it has been")
    columns_used = split.values[inner]
    if np.any((columns_used < 0) | (columns_used >= columns)):
        raise LoadFailed(f"a tree of the model splits by a column that is not there: the model has {columns}")


def _prove_vectors(left: Arrays, right: Arrays, weights: Arrays, leaf_sizes: set[int], groups: int) -> Arrays:
    """Check the leaves of trees whose leaves are vectors, of one value for each group. XGBoost keeps the place of such
    a leaf's vector among those of its tree where other nodes have their right child. Return the right children
    without these."""
    if leaf_sizes != {groups}:
        raise LoadFailed(f"a leaf of the model has not one value for each of its {groups} targets")
    if not (np.array_equal(left.sizes, right.sizes) and len(weights.sizes) == len(left.sizes)):
        raise LoadFailed("a tree of the model is not whole")
    leaves = left.values == -1
    places, vectors = right.values[leaves], np.repeat(weights.sizes // groups, left.sizes)[leaves]
    if np.any((places < 0) | (places >= vectors)):
        raise LoadFailed("a leaf of the model has values that are not there")
    return Arrays(np.where(leaves, -1, right.values), right.sizes)


def _prove_plain(saved: bytes, groups: int, trees: int) -> None:
    """Check the group of each tree, and the first tree of each boosting round."""
    plain = {name.decode(): _elements(saved, at, count) for name, at, count in _found(saved)}
    info = plain.get("tree_info", [])
    if len(info) != trees or (info and not 0 <= min(info) <= max(info) < groups):
        raise LoadFailed(f"a tree of the model belongs to a group that is not there: the model has {groups}")
    rounds = plain.get("iteration_indptr", [0])
    if rounds != sorted(rounds) or (rounds and not 0 <= rounds[0] <= rounds[-1] <= trees):
        raise LoadFailed(f"a boosting round of the model has a tree that is not there: the model has {trees}")


def _prove_categories(left: Arrays, categories: Arrays, nodes: Arrays, begins: Arrays, lengths: Arrays) -> None:
    """Check that segments refer to the tree's own categories and nodes."""
    if not (
        len(categories.sizes) == len(left.sizes)
        and np.array_equal(nodes.sizes, begins.sizes)
        and np.array_equal(nodes.sizes, lengths.sizes)
        and len(nodes.sizes) == len(left.sizes)
    ):
        raise LoadFailed("the categories of a tree of the model are not whole")
    most = np.repeat(categories.sizes, nodes.sizes)
    there = np.repeat(left.sizes, nodes.sizes)
    if np.any((nodes.values < 0) | (nodes.values >= there)):
        raise LoadFailed("a tree of the model has categories of a node that is not there")
    if np.any((begins.values < 0) | (lengths.values < 0) | (begins.values > most) | (lengths.values > most)):
        raise LoadFailed("a tree of the model has categories that are not there")
    if np.any(begins.values + lengths.values > most):
        raise LoadFailed("a tree of the model has categories that are not there")


def _prove_weights(saved: bytes, name: bytes, count: int) -> None:
    for mark in (name + b"[#L", name + b"[$d#L"):
        at = saved.find(mark) + len(mark)
        if at >= len(mark) and int.from_bytes(saved[at : at + 8], "big") != count:
            raise LoadFailed(f"the model has not {count} weights")


def _arrays(names: tuple[bytes, ...], saved: bytes) -> list[Arrays]:
    """One of each name, which stand in this order in each tree.

    One array is made of the bytes of all: to make one of each takes ten times as long.
    """
    openings = [name + b"[$" for name in names]
    kinds, pieces, sizes = [""] * len(names), [list[bytes]() for _ in names], [list[int]() for _ in names]
    at = saved.find(openings[0])
    while at >= 0:
        for number, opening in enumerate(openings):
            at = saved.find(opening, at) + len(opening)
            kind = _TYPED.get(saved[at : at + 1], "")
            if at < len(opening) or not kind or (kinds[number] or kind) != kind:
                raise LoadFailed("a tree of the model is not whole")
            kinds[number], count = kind, int.from_bytes(saved[at + 3 : at + 11], "big")
            pieces[number].append(saved[at + 11 : (at := at + 11 + count * int(kind[-1]))])
            sizes[number].append(count)
        at = saved.find(openings[0], at)
    return [
        Arrays(np.frombuffer(b"".join(joined), kind or "u1").astype(np.int64), np.array(size, np.int64))
        for joined, kind, size in zip(pieces, kinds, sizes, strict=True)
    ]


def _found(saved: bytes) -> Iterator[tuple[bytes, int, int]]:
    for name in _PLAIN:
        opening = name + b"[#L"
        at = saved.find(opening) + len(opening)
        if at >= len(opening):
            yield name, at + 8, int.from_bytes(saved[at : at + 8], "big")


def _elements(saved: bytes, at: int, count: int) -> list[int]:
    """An array whose elements each have a type."""
    values = list[int]()
    for _ in range(count):
        size = _ELEMENT_BYTES[saved[at]]
        values.append(int.from_bytes(saved[at + 1 : at + 1 + size], "big", signed=saved[at] != ord("U")))
        at += 1 + size
    return values
