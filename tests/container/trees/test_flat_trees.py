"""The file of flat trees, and what the check refuses."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.container.helpers.flat_models import random_trees
from torpor_container.trees import flat_trees
from torpor_container.trees.flat_trees import FlatTrees, UnsoundTrees


@pytest.mark.parametrize(("wide", "table"), [(False, False), (True, False), (True, True)])
def test_a_file_holds_the_model_and_its_facts(wide: bool, table: bool) -> None:
    trees = random_trees(1, wide, table)
    read, facts = flat_trees.read(flat_trees.written(trees, {"objective": "reg:squarederror", "names": ["höhe"]}))
    assert facts == {"objective": "reg:squarederror", "names": ["höhe"]}
    for name in ("nodes", "roots", "groups", "base"):
        np.testing.assert_array_equal(getattr(read, name), getattr(trees, name))
    assert (read.columns, read.outputs, read.wide) == (trees.columns, trees.outputs, wide)
    assert (read.leaves is None) == (not table)
    if trees.leaves is not None:
        np.testing.assert_array_equal(read.leaves, trees.leaves)


def test_a_narrow_node_takes_eight_bytes_and_a_wide_one_sixteen() -> None:
    assert (flat_trees.NARROW.itemsize, flat_trees.WIDE.itemsize) == (8, 16)


def changed(**fields: Any) -> Callable[[FlatTrees], FlatTrees]:
    return lambda trees: replace(trees, **{name: make(getattr(trees, name)) for name, make in fields.items()})


def at(field: str, place: Callable[[Any], Any], value: int | float) -> Callable[[Any], Any]:
    def nodes(array: Any) -> Any:
        array = array.copy()
        array[field][place(array)] = value
        return array

    return nodes


def an_inner(nodes: Any) -> Any:
    return nodes["left"].nonzero()[0][0]


def a_leaf(nodes: Any) -> Any:
    return np.flatnonzero(nodes["left"] == 0)[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (changed(roots=lambda roots: roots[:-1]), "the roots do not divide"),
        (changed(roots=lambda roots: roots[::-1].copy()), "the roots do not divide"),
        (changed(roots=lambda roots: np.append(roots[:-1], roots[-1] + 1).astype("<u4")), "the roots do not divide"),
        (changed(groups=lambda groups: groups + np.uint32(3)), "an output that is not there: there are 3"),
        (changed(nodes=at("left", an_inner, 0xFFFF)), "a child that is not in its tree"),
        (changed(nodes=lambda nodes: looping(nodes)), "a child that does not come after it"),
        (changed(nodes=at("column", an_inner, 5)), "a column that is not there: there are 5"),
        (changed(nodes=lambda nodes: nodes["value"].copy()), "the nodes are of type float32"),
        (changed(groups=lambda groups: groups.astype(np.int64)), "the groups are not one row of uint32"),
        (changed(base=lambda base: base.astype(np.float64)), "the base are not one row of float32"),
        (changed(base=lambda base: base[:0]), "the model has no output"),
        (changed(columns=lambda _: 0), "the model has 0 columns, and such nodes know 1 to 32768"),
        (changed(columns=lambda _: 40_000), "the model has 40000 columns"),
        (changed(leaves=lambda _: np.zeros((1, 3))), "the table of leaves is not"),
    ],
)
def test_the_check_names_what_is_wrong(change: Callable[[FlatTrees], FlatTrees], told: str) -> None:
    trees = random_trees(2)
    flat_trees.check(trees)
    with pytest.raises(UnsoundTrees, match=told):
        flat_trees.check(change(trees))


def looping(nodes: Any) -> Any:
    """The last node that has children leads back to itself or before."""
    nodes = nodes.copy()
    last = nodes["left"].nonzero()[0][-1]
    nodes["left"][last] = 1
    return nodes


@pytest.mark.parametrize("row", [-1, 4, 0.5, np.nan, np.inf])
def test_a_leaf_outside_the_table_of_leaves_is_refused(row: float) -> None:
    trees = random_trees(2, wide=True, table=True)
    flat_trees.check(trees)
    with pytest.raises(UnsoundTrees, match="a leaf is not in the table of leaves, which has 4"):
        flat_trees.check(replace(trees, nodes=at("value", a_leaf, row)(trees.nodes)))


def test_every_changed_byte_of_a_file_is_noticed() -> None:
    whole = flat_trees.written(random_trees(3), {"a": 1})
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 0x10
        with pytest.raises(UnsoundTrees):
            flat_trees.read(bytes(broken))


def test_a_shortened_file_is_noticed() -> None:
    whole = flat_trees.written(random_trees(3), {})
    for size in (0, 7, 50, len(whole) // 2, len(whole) - 1):
        with pytest.raises(UnsoundTrees):
            flat_trees.read(whole[:size])


def test_a_file_of_another_version_is_told() -> None:
    whole = bytearray(flat_trees.written(random_trees(3), {}))
    whole[8] += 1
    known = flat_trees.VERSION
    with pytest.raises(UnsoundTrees, match=f"the file has version {known + 1}, and this is version {known}"):
        flat_trees.read(bytes(whole))


MUTATED = """
import sys
from dataclasses import replace
import numpy as np
from tests.container.helpers.flat_models import random_rows, random_trees, slowly
from torpor_container.trees import flat_trees, walking
from torpor_container.trees.pairing import paired
refused = walked = 0
for seed in range(int(sys.argv[1])):
    chance = np.random.default_rng(seed)
    trees = random_trees(seed % 13, *((False, False), (True, False), (True, True))[seed // 6 % 3])
    trees = paired(trees) if seed % 2 else trees
    name = ("nodes", "nodes", "roots", "groups", "nodes", "pairs")[seed % 6]
    array = getattr(trees, name).copy()
    raw = array.view(np.uint8)
    for _ in range(int(chance.integers(1, 4))):
        raw[chance.integers(len(raw))] = chance.integers(256)
    trees = replace(trees, **{name: array})
    try:
        flat_trees.check(trees)
    except flat_trees.UnsoundTrees:
        refused += 1
        continue
    rows = random_rows(seed, trees, 20)
    out = np.empty((20, trees.outputs), trees.base.dtype)
    walking.walker(trees).predict(rows, out)
    np.testing.assert_array_equal(out, slowly(trees, rows))
    walked += 1
print(refused, walked)
"""


@pytest.mark.parametrize("count", [250, pytest.param(1000, marks=pytest.mark.thorough)])
def test_of_many_mutated_models_each_is_refused_or_walked_rightly(count: int) -> None:
    """In a process of its own, which a walk out of bounds would end."""
    from torpor_container.trees import walking

    if walking.extension() is None:
        pytest.skip("the extension was not built: there is no C compiler")
    command = [sys.executable, "-W", "ignore", "-c", MUTATED, str(count)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    refused, walked = map(int, ran.stdout.split())
    assert refused + walked == count
    assert min(refused, walked) > count / 10
