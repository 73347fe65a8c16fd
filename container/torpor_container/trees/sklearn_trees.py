"""Makes flat trees of scikit-learn's trees, forests and boosted trees. It reads arrays, and never imports scikit-learn.

scikit-learn compares with float64 thresholds and adds float64, tree after tree. A forest's leaves have the values of
all outputs, or the share of each class; boosted trees have one value a leaf, which the learning rate has yet to scale.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torpor_container.trees.arranging import LinkedTree, arranged
from torpor_container.trees.flat_trees import (
    WIDE_COLUMNS_MAX,
    WIDE_MISSING_IS_NAN,
    WIDE_MISSING_LEFT,
    Array,
    FlatTrees,
    NotFlat,
    UnsoundTrees,
)

DUMMIES = frozenset({"DummyRegressor", "DummyClassifier"})


@dataclass(frozen=True)
class EstimatorTrees:
    """The trees of an estimator, and how its sums become what it predicts."""

    trees: FlatTrees
    float32: bool = True
    """Whether rows are cells of float32 to it, else of float64."""
    averaged: int = 1
    """The sums are divided by this."""
    link: str = ""
    """`exp` if a prediction is the exponential of the sum."""
    choice: str = ""
    """How a class is chosen: `most`, or, of two by one sum, `at least 0` or `above 0`. Empty for numbers."""


def flat(estimator: Any) -> EstimatorTrees:
    """Raises NotFlat for what flat trees do not cover."""
    kind = type(estimator)
    if not kind.__module__.startswith("sklearn.") or kind.__name__ not in KINDS:
        raise NotFlat(f"flat trees do not know the estimator {kind.__name__}")
    if (columns := estimator.n_features_in_) > WIDE_COLUMNS_MAX:
        raise NotFlat(f"it has {columns} columns, and flat trees know {WIDE_COLUMNS_MAX}")
    try:
        return KINDS[kind.__name__](estimator)
    except UnsoundTrees as error:
        raise NotFlat(str(error)) from error


# -- trees and forests -------------------------------------------------------------------------------------------------
def _forest(estimator: Any) -> EstimatorTrees:
    members = [one.tree_ for one in getattr(estimator, "estimators_", (estimator,))]
    values = [tree.value.reshape(tree.node_count, -1) for tree in members]
    outputs, table = values[0].shape[1], None
    if outputs == 1:
        of_nodes = [value[:, 0] for value in values]
    else:
        table, of_nodes = _table(members, values)
    linked = [_linked(tree, value) for tree, value in zip(members, of_nodes, strict=True)]
    return EstimatorTrees(
        arranged(linked, np.zeros(len(linked)), np.zeros(outputs), estimator.n_features_in_, table),
        averaged=len(members),
        choice="most" if hasattr(estimator, "classes_") else "",
    )


def _table(members: Sequence[Any], values: Sequence[Array]) -> tuple[Array, list[Array]]:
    """The different leaves of all trees, and for each tree which of them each node is; 0 for inner nodes."""
    is_leaf = [tree.children_left < 0 for tree in members]
    leaves = np.concatenate([value[leaf] for value, leaf in zip(values, is_leaf, strict=True)])
    table, places = np.unique(leaves, axis=0, return_inverse=True)
    of_nodes = np.zeros(sum(map(len, values)), np.int64)
    of_nodes[np.concatenate(is_leaf)] = places
    return table, np.split(of_nodes, np.cumsum([len(value) for value in values])[:-1])


def _linked(tree: Any, values: Array) -> LinkedTree:
    missing_left = np.asarray(tree.missing_go_to_left)
    left = tree.children_left
    return LinkedTree(
        left=left,
        right=tree.children_right,
        columns=tree.feature,
        flags=WIDE_MISSING_IS_NAN | np.where(missing_left > 0, WIDE_MISSING_LEFT, 0),
        values=np.where(left < 0, values, tree.threshold),
    )


# -- boosted trees -----------------------------------------------------------------------------------------------------
def _boosted(estimator: Any) -> EstimatorTrees:
    if estimator.init_ != "zero" and type(estimator.init_).__name__ not in DUMMIES:
        raise NotFlat("its first predictions are those of another estimator (init)")
    if getattr(estimator.init_, "strategy", "") in ("uniform", "stratified"):
        raise NotFlat("its first predictions are drawn by chance (init)")
    grown = estimator.estimators_
    members = [one.tree_ for one in grown.ravel()]
    linked = [_linked(tree, estimator.learning_rate * tree.value[:, 0, 0]) for tree in members]
    base = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), np.float32))[0]
    trees = arranged(linked, _groups(grown.shape), base, estimator.n_features_in_)
    return EstimatorTrees(trees, choice=_choice(estimator, trees, "at least 0"))


def _by_histograms(estimator: Any) -> EstimatorTrees:
    if estimator.is_categorical_ is not None and np.any(estimator.is_categorical_):
        raise NotFlat("some of its columns are categories")
    grown = estimator._predictors
    members = [one.nodes for of_round in grown for one in of_round]
    base = estimator._baseline_prediction
    if base.dtype != np.float64:
        raise NotFlat(f"it adds {base.dtype}")
    linked = [_of_histogram(nodes) for nodes in members]
    trees = arranged(linked, _groups((len(grown), base.size)), base.ravel(), estimator.n_features_in_)
    if hasattr(estimator, "classes_"):
        return EstimatorTrees(trees, float32=False, choice=_choice(estimator, trees, "above 0"))
    return EstimatorTrees(trees, float32=False, link=LINKS[type(estimator._loss.link).__name__])


def _of_histogram(nodes: Array) -> LinkedTree:
    leaf = nodes["is_leaf"] > 0
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    return LinkedTree(
        left=left,
        right=right,
        columns=nodes["feature_idx"],
        flags=WIDE_MISSING_IS_NAN | np.where(nodes["missing_go_to_left"] > 0, WIDE_MISSING_LEFT, 0),
        values=np.where(leaf, nodes["value"], nodes["num_threshold"]),
    )


def _groups(shape: Sequence[int]) -> Array:
    rounds, outputs = shape
    return np.tile(np.arange(outputs), rounds)


def _choice(estimator: Any, trees: FlatTrees, of_two: str) -> str:
    if not hasattr(estimator, "classes_"):
        return ""
    return of_two if trees.outputs == 1 else "most"


LINKS: Mapping[str, str] = {"IdentityLink": "", "LogLink": "exp"}
"""By the class of a loss's link, the `link` of its trees."""

KINDS: Mapping[str, Callable[[Any], EstimatorTrees]] = {
    **dict.fromkeys(("DecisionTreeRegressor", "DecisionTreeClassifier"), _forest),
    **dict.fromkeys(("ExtraTreeRegressor", "ExtraTreeClassifier"), _forest),
    **dict.fromkeys(("RandomForestRegressor", "RandomForestClassifier"), _forest),
    **dict.fromkeys(("ExtraTreesRegressor", "ExtraTreesClassifier"), _forest),
    **dict.fromkeys(("GradientBoostingRegressor", "GradientBoostingClassifier"), _boosted),
    **dict.fromkeys(("HistGradientBoostingRegressor", "HistGradientBoostingClassifier"), _by_histograms),
}
"""The estimators that flat trees know, and no classes that inherit from them: these may predict otherwise."""
