"""Makes flat trees of a text model of LightGBM, and its answers of their sums.

LightGBM compares float64 and adds float64, tree after tree. Its objectives use the C library's `exp` and `log1p`, which
Python's `math` calls too; numpy has its own, whose last bit may differ.
"""

from collections.abc import Callable, Mapping
from math import exp, inf, log1p

import numpy as np

from torpor_container.frozen_class import frozen
from torpor_container.trees.arranging import LinkedTree, arranged
from torpor_container.trees.flat_trees import (
    WIDE_COLUMNS_MAX,
    WIDE_MISSING_IS_NAN,
    WIDE_MISSING_IS_ZERO,
    WIDE_MISSING_LEFT,
    Array,
    FlatTrees,
)
from torpor_container.trees.lightgbm_text import (
    CATEGORICAL,
    DEFAULT_LEFT,
    MISSING_IS_NAN,
    MISSING_IS_ZERO,
    TextModel,
    TextTree,
    UnreadableText,
)

ZERO_WITHIN = float(np.float32(1e-35))
"""LightGBM takes a cell for 0 that is no further from it."""
NODES_MAX = 2**24
"""The most nodes of a tree whose splits of categories become splits by numbers."""


# -- trees -------------------------------------------------------------------------------------------------------------
def flat(model: TextModel) -> FlatTrees:
    """Raises UnreadableText, and UnsoundTrees for trees with circles."""
    if model.columns > WIDE_COLUMNS_MAX:
        raise UnreadableText(f"it has {model.columns} columns, and Torpor takes {WIDE_COLUMNS_MAX} at most")
    groups = np.arange(len(model.trees)) % model.outputs
    return arranged([_linked(tree) for tree in model.trees], groups, np.zeros(model.outputs), model.columns)


def _linked(tree: TextTree) -> LinkedTree:
    """Splits first, and then leaves."""
    splits, leaves = len(tree.columns), np.full(len(tree.leaves), -1)
    left, right = (np.where(child < 0, splits + ~child, child) for child in (tree.left, tree.right))
    linked = LinkedTree(
        left=np.concatenate([left, leaves]),
        right=np.concatenate([right, leaves]),
        columns=np.concatenate([tree.columns, leaves]),
        flags=np.concatenate([_flags(tree.decisions), leaves]),
        values=np.concatenate([_around_zero(tree.thresholds), tree.leaves]),
    )
    return _with_intervals(linked, tree) if tree.categories else linked


def _around_zero(thresholds: Array) -> Array:
    """Thresholds that part cells as these part them once a cell near zero has become 0."""
    outside = np.where(thresholds < 0, np.nextafter(-ZERO_WITHIN, -inf), ZERO_WITHIN)
    return np.where((thresholds >= -ZERO_WITHIN) & (thresholds < ZERO_WITHIN), outside, thresholds)


def _flags(decisions: Array) -> Array:
    flags = {
        DEFAULT_LEFT: WIDE_MISSING_LEFT,
        MISSING_IS_ZERO: WIDE_MISSING_IS_ZERO,
        MISSING_IS_NAN: WIDE_MISSING_IS_NAN,
    }
    return sum((np.where(decisions & bit, flag, 0) for bit, flag in flags.items()), np.zeros(len(decisions), np.int64))


# -- categories --------------------------------------------------------------------------------------------------------
def _with_intervals(linked: LinkedTree, tree: TextTree) -> LinkedTree:
    """The same with numeric splits alone: a split of categories becomes a search among the bounds of its intervals.

    The search has the same depth on every way, so that the two subtrees stand there once, whichever interval leads to
    them. What is below all categories goes right, and so does NaN.
    """
    parts, size = [linked], len(linked.left)
    for split in np.flatnonzero(tree.decisions & CATEGORICAL):
        bounds = _bounds(tree.categories[int(tree.thresholds[split])])
        depth = len(bounds).bit_length()
        search = _search(bounds, depth, linked.left[split], linked.right[split], size)
        search.columns[:] = tree.columns[split]
        for one, of_tree in zip(search, linked, strict=True):
            of_tree[split] = one[0]  # the search begins where the split was
        parts.append(LinkedTree(*(one[1:] for one in search)))
        size += len(search.left) - 1
        if size > NODES_MAX:
            raise UnreadableText(f"a tree has too many categories: it would have more than {NODES_MAX} nodes")
    return LinkedTree(*map(np.concatenate, zip(*parts, strict=True)))


def _bounds(categories: Array) -> Array:
    """Ascending: a value above an odd number of these, and not above the next, is one of the categories.

    LightGBM cuts a value to a whole number, so that what is above -1 and below 1 is category 0.
    """
    first = categories[np.diff(categories, prepend=-2) > 1]
    last = categories[np.diff(categories, append=categories[-1] + 2) > 1]
    below = np.where(first == 0, -1.0, np.nextafter(first.astype(np.float64), -inf))
    return np.stack([below, np.nextafter(last + 1.0, -inf)], axis=1).ravel()


def _search(bounds: Array, depth: int, left: int, right: int, at: int) -> LinkedTree:
    """A search of this depth. Its root is first; the others will stand from `at` on."""
    heap = np.arange(1, 1 << depth)  # node n has the children 2 n and 2 n + 1
    level = np.frexp(heap)[1] - 1
    order = ((2 * (heap - (1 << level)) + 1) << (depth - 1 - level)) - 1
    padded = np.append(bounds, np.full((1 << depth) - 1 - len(bounds), inf))
    ends = np.where((np.arange(1 << depth) % 2 == 1) & (np.arange(1 << depth) <= len(bounds)), left, right)
    places = np.concatenate([heap - 2 + at, ends])  # of heap nodes 1, 2, …; the root is nobody's child
    missing = np.full(len(heap), WIDE_MISSING_IS_NAN | WIDE_MISSING_LEFT)
    return LinkedTree(places[2 * heap - 1], places[2 * heap], np.zeros(len(heap), np.int64), missing, padded[order])


# -- answers -----------------------------------------------------------------------------------------------------------
@frozen
class Objective:
    """What becomes of the sums of one row or of many."""

    link: str
    """One of LINKS."""
    sigmoid: float = 1.0
    averaged: int = 1
    """The sums are divided by this first."""

    def answer(self, sums: Array) -> Array:
        """Of sums by row and output, as LightGBM gives them."""
        if self.averaged != 1:
            sums = sums / self.averaged
        answers = LINKS[self.link](sums, self.sigmoid)
        return answers[:, 0] if answers.shape[1] == 1 else answers


def objective(model: TextModel) -> Objective:
    """Raises UnreadableText for an objective that LightGBM does not have, or whose outputs do not fit the trees."""
    name = model.objective
    if name not in OBJECTIVES:
        raise UnreadableText(f"its objective is {name[:40]!r}, which LightGBM does not have")
    link, several = OBJECTIVES[name]
    if link is SAME and "sqrt" in model.parameters:
        link = SIGNED_SQUARE
    classes = model.parameters.get("num_class", "1")
    if name and (str(model.outputs) != classes if several else model.outputs != 1):
        raise UnreadableText(f"it has {model.outputs} outputs, which its objective {name} does not have")
    try:
        sigmoid = float(model.parameters.get("sigmoid", "1"))
    except ValueError:
        sigmoid = 0.0
    if not 0 < sigmoid < inf:
        raise UnreadableText("its objective's sigmoid is no number above 0")
    return Objective(link, sigmoid, len(model.trees) // model.outputs if model.average else 1)


def _exp(value: float) -> float:
    return exp(value) if value < 709.0 else _large(value)


def _large(value: float) -> float:
    """C answers infinity where Python raises."""
    try:
        return exp(value)
    except OverflowError:
        return inf


def _each(function: Callable[[float, float], float]) -> Callable[[Array, float], Array]:
    def applied(sums: Array, sigmoid: float) -> Array:
        return np.array([function(one, sigmoid) for one in sums.ravel().tolist()]).reshape(sums.shape)

    return applied


def _softmax(sums: Array, sigmoid: float) -> Array:
    most = sums.max(axis=1).tolist()
    powers = np.array([[_exp(one - highest) for one in row] for row, highest in zip(sums.tolist(), most, strict=True)])
    total: Array = powers[:, 0].copy()
    for output in range(1, powers.shape[1]):
        total += powers[:, output]  # in their order, on which the last bit of the sum depends
    return powers / total[:, None]


SAME, SIGNED_SQUARE, EXP, SIGMOID, SOFTMAX, LOG_1P_EXP = (
    "same",
    "signed square",
    "exp",
    "sigmoid",
    "softmax",
    "log1p exp",
)

LINKS: Mapping[str, Callable[[Array, float], Array]] = {
    SAME: lambda sums, sigmoid: sums,
    SIGNED_SQUARE: lambda sums, sigmoid: np.abs(sums) * sums,
    EXP: _each(lambda one, sigmoid: _exp(one)),
    SIGMOID: _each(lambda one, sigmoid: 1.0 / (1.0 + _exp(-sigmoid * one))),
    SOFTMAX: _softmax,
    LOG_1P_EXP: _each(lambda one, sigmoid: log1p(_exp(one))),
}
"""How sums become answers, by name."""

OBJECTIVES: Mapping[str, tuple[str, bool]] = {
    "": (SAME, True),
    "regression": (SAME, False),
    "regression_l1": (SAME, False),
    "huber": (SAME, False),
    "fair": (SAME, False),
    "quantile": (SAME, False),
    "mape": (SAME, False),
    "lambdarank": (SAME, False),
    "rank_xendcg": (SAME, False),
    "poisson": (EXP, False),
    "gamma": (EXP, False),
    "tweedie": (EXP, False),
    "binary": (SIGMOID, False),
    "multiclassova": (SIGMOID, True),
    "multiclass": (SOFTMAX, True),
    "cross_entropy": (SIGMOID, False),
    "xentropy": (SIGMOID, False),
    "cross_entropy_lambda": (LOG_1P_EXP, False),
    "xentlambda": (LOG_1P_EXP, False),
}
"""By LightGBM's objective, the link, and whether it has an output for each class. Without one the sums are the answer:
so does LightGBM with objectives of the caller's own."""
