"""The layout of a flat tree model: its arrays, the file that holds them, and the check of both.

All numbers are little-endian. The nodes of a tree stand breadth first, so that a child always comes after its parent:
a walk ends. Behind them, two leaves below one node may share a record (`pairing`). The extension reads the arrays
unchecked; nothing gets there that `check` has not passed.
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.frozen_class import frozen

VERSION = 4
"""The version of this layout. The extension has the same."""
MAGIC = b"flattree"

Array = NDArray[Any]

NARROW = np.dtype([("value", "<f4"), ("column", "<u2"), ("left", "<u2")])
"""A float32 row goes left if its cell is less than `value`. A leaf's `value` is its own, and its `left` is 0.

`column` has MISSING_LEFT if a missing cell goes left; `left` counts from the tree's first node, and the right child is
the node after it."""
WIDE = np.dtype([("value", "<f8"), ("column", "<u2"), ("flags", "<u2"), ("left", "<u4")])
"""A float32 or float64 row goes left if its cell is at most `value`. In a model with a table of leaves, the `value` of
a leaf is its row there."""

MISSING_LEFT = 0x8000
WIDE_MISSING_LEFT, WIDE_MISSING_IS_ZERO, WIDE_MISSING_IS_NAN = 1, 2, 4
"""Flags of a wide node: where a missing cell goes, and what is missing. Without the last two, NaN is compared as 0."""
NARROW_COLUMNS_MAX, NARROW_NODES_MAX = 0x8000, 0xFFFF
WIDE_COLUMNS_MAX = 0x10000

_HEAD = struct.Struct("<8sHHIIIQQQ")
"""MAGIC, VERSION, 1 for wide nodes, columns, outputs, trees, nodes, rows of the table of leaves, bytes of facts. The
sections follow, each filled up to _ALIGNED bytes, and last the SHA-256 of all before it."""
_ALIGNED = 16
_DIGEST_BYTES = 32


class UnsoundTrees(ValueError):
    """The arrays or the file cannot be walked. The message names what is wrong."""


class NotFlat(Exception):
    """Flat trees cannot serve this model, and its library does. The message is the reason, as a part of a sentence."""


@frozen
class FlatTrees:
    """One model. An output of a row is its base margin plus the leaves of the trees of its group, in their order."""

    nodes: Array
    """NARROW or WIDE, tree after tree."""
    roots: Array
    """uint32: where each tree begins, and where the last one ends."""
    groups: Array
    """uint32: the output that each tree adds to. Leaves in a table add to all outputs, whatever this says."""
    base: Array
    """The base margin of each output: float32 with narrow nodes, float64 with wide ones."""
    columns: int
    leaves: Array | None = None
    """float64, by leaf and output, for wide nodes only."""
    pairs: Array | None = None
    """uint32: where the pairs of each tree begin, counted from its first node. A node whose `left` is there or behind
    has two leaves for children: that record is their two values, and no node. None: there are no pairs."""

    @property
    def wide(self) -> bool:
        return self.nodes.dtype == WIDE

    @property
    def outputs(self) -> int:
        return len(self.base)


def check(trees: FlatTrees) -> None:
    """Prove that any row can be walked: it meets only nodes, columns, outputs and leaves that are there, and ends.

    Raises UnsoundTrees.
    """
    _check_kinds(trees)
    roots, nodes = trees.roots.astype(np.int64), trees.nodes
    if len(roots) != len(trees.groups) + 1 or roots[0] != 0 or roots[-1] != len(nodes) or np.any(np.diff(roots) < 1):
        raise UnsoundTrees("the roots do not divide the nodes into trees")
    if np.any(trees.groups >= trees.outputs):
        raise UnsoundTrees(f"a tree adds to an output that is not there: there are {trees.outputs}")
    sizes = np.diff(roots)
    counts = nodes_alone(trees).astype(np.int64)
    if len(counts) != len(sizes) or np.any(counts < 1) or np.any(counts > sizes):
        raise UnsoundTrees("the pairs of a tree do not begin behind its root, and in it")
    place = np.arange(len(nodes)) - np.repeat(roots[:-1], sizes)
    is_node = place < np.repeat(counts, sizes)
    left = np.where(is_node, nodes["left"], 0).astype(np.int64)
    (inner,) = left.nonzero()
    child, count, size = left[inner], np.repeat(counts, sizes)[inner], np.repeat(sizes, sizes)[inner]
    if np.any(child <= place[inner]):
        raise UnsoundTrees("a node has a child that does not come after it")
    if np.any(np.where(child < count, child + 1 >= count, child >= size)):
        raise UnsoundTrees("a node has a child that is not in its tree")
    column = nodes["column"][inner] if trees.wide else nodes["column"][inner] & (MISSING_LEFT - 1)
    if np.any(column >= trees.columns):
        raise UnsoundTrees(f"a node splits by a column that is not there: there are {trees.columns}")
    if trees.leaves is not None:
        alone = nodes["value"][is_node & (left == 0)]
        row = np.concatenate((alone, nodes[~is_node].view(trees.base.dtype)))
        if not np.all((row >= 0) & (row < len(trees.leaves)) & (row == np.floor(row))):
            raise UnsoundTrees(f"a leaf is not in the table of leaves, which has {len(trees.leaves)}")


def nodes_alone(trees: FlatTrees) -> Array:
    """uint32: how many records of each tree come before its pairs."""
    return np.diff(trees.roots).astype("<u4") if trees.pairs is None else trees.pairs


def _check_kinds(trees: FlatTrees) -> None:
    if trees.nodes.dtype not in (NARROW, WIDE):
        raise UnsoundTrees(f"the nodes are of type {trees.nodes.dtype}")
    sums = np.dtype("<f8" if trees.wide else "<f4")
    kinds = {"nodes": trees.nodes.dtype, "roots": np.dtype("<u4"), "groups": np.dtype("<u4"), "base": sums}
    kinds |= {} if trees.pairs is None else {"pairs": np.dtype("<u4")}
    for name, kind in kinds.items():
        array = getattr(trees, name)
        if array.dtype != kind or array.ndim != 1 or not array.flags.c_contiguous:
            raise UnsoundTrees(f"the {name} are not one row of {kind}")
    leaves = trees.leaves
    if leaves is not None and not (
        trees.wide and leaves.dtype == sums and leaves.ndim == 2 and leaves.shape[1] == trees.outputs
    ):
        raise UnsoundTrees("the table of leaves is not float64 by leaf and output")
    most = WIDE_COLUMNS_MAX if trees.wide else NARROW_COLUMNS_MAX
    if not 1 <= trees.columns <= most:
        raise UnsoundTrees(f"the model has {trees.columns} columns, and such nodes know 1 to {most}")
    if not trees.outputs:
        raise UnsoundTrees("the model has no output")


# -- the file ----------------------------------------------------------------------------------------------------------
def written(trees: FlatTrees, told: Mapping[str, Any]) -> bytes:
    """The file of a model. `told` are its facts: what else its format wants to know of it, in JSON."""
    facts = json.dumps(told).encode()
    leaves = trees.leaves if trees.leaves is not None else np.empty((0, trees.outputs))
    sections = (facts, trees.nodes, trees.base, leaves, trees.roots, trees.groups, nodes_alone(trees))
    head = _HEAD.pack(
        MAGIC,
        VERSION,
        trees.wide,
        trees.columns,
        trees.outputs,
        len(trees.groups),
        len(trees.nodes),
        len(leaves),
        len(facts),
    )
    content = b"".join(map(_padded, (head, *(one if isinstance(one, bytes) else one.tobytes() for one in sections))))
    return content + hashlib.sha256(content).digest()


def read(file: Any) -> tuple[FlatTrees, dict[str, Any]]:
    """The model in the bytes of a file, which stay in use, and its facts. Raises UnsoundTrees, also if `check` does."""
    whole = memoryview(file)
    if len(whole) < _HEAD.size + _DIGEST_BYTES or whole[: len(MAGIC)] != MAGIC:
        raise UnsoundTrees("the file is not one of flat trees")
    content, digest = whole[:-_DIGEST_BYTES], whole[-_DIGEST_BYTES:]
    _, version, wide, columns, outputs, trees, nodes, leaves, told = _HEAD.unpack_from(content)
    if version != VERSION:
        raise UnsoundTrees(f"the file has version {version}, and this is version {VERSION}")
    if hashlib.sha256(content).digest() != digest:
        raise UnsoundTrees("the file is not what was written: its checksum differs")
    sums = np.dtype("<f8" if wide else "<f4")
    places = np.dtype("<u4")
    kinds = ((np.uint8, told), (WIDE if wide else NARROW, nodes), (sums, outputs), (np.dtype("<f8"), leaves * outputs))
    arrays, at = [], _HEAD.size
    for kind, count in (*kinds, (places, trees + 1), (places, trees), (places, trees)):
        size = count * np.dtype(kind).itemsize
        if at + size > len(content):
            raise UnsoundTrees("the file is shorter than its head says")
        arrays.append(np.frombuffer(content, kind, count, at))
        at += _aligned(size)
    _, node, base, leaf, roots, groups, pairs = arrays
    table = leaf.reshape(leaves, outputs) if leaves else None
    model = FlatTrees(node, roots, groups, base, columns, table, pairs)
    check(model)
    return model, facts(file)


def is_wide(file: Any) -> bool:
    """Whether the nodes in a file are wide, by its head alone. Raises UnsoundTrees for one that has none."""
    if len(memoryview(file)) < _HEAD.size:
        raise UnsoundTrees("the file is not one of flat trees")
    return bool(_HEAD.unpack_from(file)[2])


def facts(file: Any) -> dict[str, Any]:
    """The facts in a file that was read before. Raises UnsoundTrees."""
    size = _HEAD.unpack_from(file)[-1]
    try:
        found: dict[str, Any] = json.loads(bytes(memoryview(file)[_HEAD.size : _HEAD.size + size]))
    except ValueError as error:
        raise UnsoundTrees("the facts in the file are not JSON") from error
    return found


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _padded(section: bytes) -> bytes:
    return section.ljust(_aligned(len(section)), b"\0")
