"""The reader of LightGBM's text format: what it reads, what it refuses, and that no text ends it."""

import re

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.container.helpers.lightgbm_models import QUIET, trained
from tests.helpers.example_counts import tries
from torpor_container.trees import lightgbm_text, lightgbm_trees
from torpor_container.trees.flat_trees import UnsoundTrees
from torpor_container.trees.lightgbm_text import UnreadableText

TEXT, SMALL = trained("regression"), trained("few leaves")


def test_a_text_without_a_tree_is_refused() -> None:
    with pytest.raises(UnreadableText, match="it has no tree"):
        lightgbm_text.read(TEXT[: TEXT.index("Tree=")].encode())


def test_the_head_tells_columns_outputs_objective_and_names() -> None:
    model = lightgbm_text.read(trained("multiclassova").encode())
    assert (model.columns, model.outputs, len(model.trees)) == (6, 3, 36)
    assert (model.objective, model.parameters) == ("multiclassova", {"num_class": "3", "sigmoid": "0.7"})
    assert model.names == tuple(f"Column_{number}" for number in range(6))
    assert not model.average
    assert lightgbm_text.read(trained("random forest").encode()).average


def test_categories_are_read_from_their_bits() -> None:
    model = lightgbm_text.read(trained("one category at a time").encode())
    split = [len(categories) for tree in model.trees for categories in tree.categories]
    assert split
    assert set(split) == {1}


def test_a_tree_may_be_one_leaf() -> None:
    data = lightgbm.Dataset(np.zeros((50, 2)), np.arange(50.0))
    text = lightgbm.train({**QUIET, "objective": "regression"}, data, 2).model_to_string()
    trees = lightgbm_trees.flat(lightgbm_text.read(text.encode()))
    assert len(trees.nodes) == len(trees.groups)


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_older_versions_are_read_too(version: str) -> None:
    """Their trees have the same lines, without `is_linear`."""
    older = re.sub(r"tree_sizes=.*", "", TEXT.replace("version=v4", f"version={version}").replace("is_linear=0\n", ""))
    sizes = [len(tree.encode()) for tree in re.findall(r"Tree=[^T]*?\n\n\n", older)]
    text = older.replace("\n\nTree=0\n", f"tree_sizes={' '.join(map(str, sizes))}\n\nTree=0\n", 1)
    np.testing.assert_array_equal(
        lightgbm_trees.flat(lightgbm_text.read(text.encode())).nodes,
        lightgbm_trees.flat(lightgbm_text.read(TEXT.encode())).nodes,
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version=v4", "version=v5", "does not begin as a text"),
        ("tree_sizes=", "tree_sizes=1 ", "it has 12 trees, and its head says 13"),
        ("Tree=3\n", "Tree=4\n", "tree 3 is not where its head says"),
        ("max_feature_idx=5", "max_feature_idx=4", "the numbers of columns and of outputs"),
        ("max_feature_idx=5", "max_feature_idx=x", "max_feature_idx is not 1 numbers"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=5", "it has 12 trees, and 5 outputs"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=0", "of outputs in its head"),
        ("label_index=0\n", "label_index=0\nlabel_index=0\n", "its head has label_index twice"),
        ("feature_names=C", "feature_names=\udcff", "its head is not UTF-8"),
        ("is_linear=0", "is_linear=1", "tree 0 is linear"),
        ("num_leaves=31", "num_leaves=32", "tree 0: leaf_value is not 32 numbers"),
        ("num_leaves=31", "num_leaves=-1", "tree 0 has no leaf"),
        ("leaf_value=", "leaf_valve=", "tree 0 has no leaf_value"),
        ("leaf_value=-", "leaf_value=_", "leaf_value is not 31 numbers"),
        ("leaf_value=-0", "leaf_value=nan", "leaf_value is not 31 numbers"),
        ("split_feature=0", "split_feature=9", "splits by a column that the model does not have"),
        ("split_feature=0", "split_feature=99999999999999999999", "split_feature is not 30 numbers"),
        ("decision_type=10", "decision_type=12", "a decision_type that LightGBM does not write"),
        ("left_child=1 ", "left_child=30 ", "a child that is no split and no leaf"),
        ("right_child=2 ", "right_child=-32 ", "a child that is no split and no leaf"),
        ("cat_boundaries=0 ", "cat_boundaries=1 ", "cat_boundaries do not ascend from 0"),
        ("cat_threshold=", "cat_threshold=-", "cat_threshold is not 32-bit words"),
        ("num_cat=6", "num_cat=0", "splits by categories that it does not have"),
        ("pandas_categorical:null", "pandas_categorical:[", "pandas_categorical is not JSON"),
        ("pandas_categorical:null", "pandas_categorical:{}", "has no lists of categories"),
    ],
)  # fmt: skip
def test_a_text_that_is_none_of_lightgbms_is_refused_by_its_place(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(UnreadableText, match=said):
        lightgbm_text.read(resized(TEXT.replace(old, new, 1)))


def resized(text: str) -> bytes:
    """The text with the sizes that its trees have now, unless the change was among these."""
    sizes = " ".join(str(len(tree)) for tree in re.findall(r"Tree=[^T]*?\n\n\n", text))
    if len(re.findall(r"tree_sizes=(?:\d+ )+\d+\n", text)) and text.count("tree_sizes=1 ") == 0:
        text = re.sub(r"tree_sizes=[0-9 ]+", f"tree_sizes={sizes}", text)
    return text.encode(errors="surrogateescape")


def test_trees_with_a_circle_are_refused() -> None:
    tree = lightgbm_text.read(TEXT.encode()).trees[0]
    assert tree.left[1] > 0
    circle = tree.left.copy()
    circle[1] = 0
    looped = lightgbm_text.TextTree(tree.leaves, tree.columns, tree.thresholds, tree.decisions, circle, tree.right)
    with pytest.raises(UnsoundTrees, match="does not end"):
        lightgbm_trees.flat(lightgbm_text.TextModel(6, (), (), 1, "", {}, False, (looped,)))


@settings(max_examples=tries(40), deadline=None)
@given(
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.binary(min_size=1, max_size=4)), max_size=4),
)
def test_a_changed_text_is_refused_or_walks_soundly(changes: list[tuple[float, int, bytes]]) -> None:
    """`flat` checks what it makes: whatever it returns can be walked."""
    text = bytearray(SMALL.encode())
    for at, dropped, added in changes:
        place = int(at * len(text))
        text[place : place + dropped] = added
    try:
        model = lightgbm_text.read(bytes(text))
        lightgbm_trees.flat(model)
        lightgbm_trees.objective(model)
    except (UnreadableText, UnsoundTrees):
        pass


NUMBER = re.compile(rb"(?<=[= ])-?[0-9][0-9.e+-]*")


@settings(max_examples=tries(40), deadline=None)
@given(
    places=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    number=st.sampled_from([b"0", b"-1", b"1", b"2", b"5", b"31", b"4294967296", b"-0.5", b"1e999", b"inf", b"nan"]),
)
def test_other_numbers_are_refused_or_walk_soundly(places: list[float], number: bytes) -> None:
    """Sizes in the head follow, so that the trees themselves are looked at."""
    text = SMALL.encode()
    for place in places:
        found = list(NUMBER.finditer(text))
        one = found[min(int(place * len(found)), len(found) - 1)]
        text = text[: one.start()] + number + text[one.end() :]
    try:
        model = lightgbm_text.read(resized(text.decode()))
        lightgbm_trees.flat(model)
        lightgbm_trees.objective(model)
    except (UnreadableText, UnsoundTrees):
        pass
