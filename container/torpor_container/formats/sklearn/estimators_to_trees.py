"""Makes flat trees of an estimator, and proves on rows made from its own thresholds that they answer as scikit-learn.

Predicted numbers, and the sums or shares from which classes are chosen, may differ by one unit in the last place, and
classes not at all. An estimator that the layout does not cover, or whose answers differ, stays with scikit-learn.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from torpor_container.content import Rows
from torpor_container.formats.sklearn import estimators, fitted_columns, flat_estimators
from torpor_container.formats.sklearn.flat_estimators import EstimatorFacts, Labels
from torpor_container.formats.xgboost.soundness import prove_estimator
from torpor_container.trees import flat_trees, sklearn_trees
from torpor_container.trees.flat_trees import FlatTrees, NotFlat
from torpor_container.trees.pairing import paired
from torpor_container.trees.probes import probes
from torpor_container.trees.sklearn_trees import EstimatorTrees
from torpor_container.typed_json import written

PIECE_ROWS = 2048
UNITS_MAX = 1
"""By how many units in the last place a number may differ."""


def converted(estimator: Any) -> bytes:
    """The file of flat trees of an estimator. Raises NotFlat, and LoadFailed for an unsound one."""
    trees, facts = flat(estimator)
    return flat_trees.written(trees, written(facts))


def flat(estimator: Any) -> tuple[FlatTrees, EstimatorFacts]:
    """The estimator as flat trees, and what else to know of it. Raises NotFlat, and LoadFailed."""
    parts = list(estimators.parts_of(estimator))
    prove_estimator(parts)
    found = sklearn_trees.flat(estimator)
    if fitted_columns.taken_by(estimator) is not None:
        raise NotFlat("it takes more than numbers")
    estimators.settle(parts)
    facts = _facts(estimator, found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows without names
        count, units = _prove(estimator, found, facts)
    import sklearn

    equal = "to the bit" if not units else "to the last unit"
    note = f"flat trees answer, equal to scikit-learn {sklearn.__version__} {equal} on {count} probe rows"
    return paired(found.trees), replace(facts, note=note)


def _facts(estimator: Any, found: EstimatorTrees) -> EstimatorFacts:
    names = getattr(estimator, "feature_names_in_", None)
    no_missing = _refusal(estimator, np.nan)
    return EstimatorFacts(
        float32=found.float32,
        averaged=found.averaged,
        link=found.link,
        choice=found.choice,
        labels=_labels(estimator) if found.choice else [],
        names=None if names is None else [str(name) for name in names],
        no_missing=no_missing,
        no_infinity=_refusal(estimator, np.inf),
        missing_first=no_missing is not None and _refusal(estimator, np.inf, np.nan) == no_missing,
        sparse=found.float32,
        note="",
    )


def _labels(estimator: Any) -> list[Labels]:
    classes = estimator.classes_
    return [_of_output(one) for one in (classes if isinstance(classes, list) else [classes])]


def _of_output(classes: Any) -> Labels:
    values = classes.tolist()
    if not all(isinstance(value, str | int | float) for value in values) or classes.dtype.kind not in "biufUO":
        raise NotFlat(f"its classes are of the type {classes.dtype}, and flat trees know text and numbers")
    return Labels(classes.dtype.str, values)


def _refusal(estimator: Any, *cells: float) -> str | None:
    """What the estimator says to rows that begin with these cells."""
    rows = np.zeros((len(cells), estimator.n_features_in_))
    rows[:, 0] = cells
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.predict(rows)
    except ValueError as error:
        return str(error)
    return None


def _prove(estimator: Any, found: EstimatorTrees, facts: EstimatorFacts) -> tuple[int, int]:
    """Compare the answers of both, with the trees as they will be written. How many rows were looked at, and by how
    many units they differ. Raises NotFlat."""
    layout = flat_estimators.layout_of(found.trees)
    small = paired(found.trees)
    predict, sums = (make(small, facts, layout) for make in (flat_estimators.predictor, flat_estimators.margins))
    sums_of_library = _sums(estimator) if found.choice else None
    count = units = 0
    for rows, _ in probes(found.trees, np.float32 if found.float32 else np.float64, infinite=facts.no_infinity is None):
        if facts.no_missing is not None:
            rows[np.isnan(rows)] = 0.0
        for start in range(0, len(rows), PIECE_ROWS):
            piece = rows[start : start + PIECE_ROWS]
            answered, expected = predict(piece), estimator.predict(piece)
            if answered.shape != expected.shape or answered.dtype != expected.dtype:
                raise NotFlat("flat trees answered in another form than scikit-learn")
            if sums_of_library is None:
                units = max(units, _units(answered, expected))
            elif np.array_equal(answered, expected):
                units = max(units, _units(sums(piece), sums_of_library(piece)))
            else:
                units = UNITS_MAX + 1
            if units > UNITS_MAX:
                raise NotFlat(f"flat trees answered otherwise than scikit-learn on one of {len(piece)} probe rows")
            count += len(piece)
    return count, units


def _sums(estimator: Any) -> Callable[[Rows], Rows]:
    """From what a classifier chooses classes, by row and sum: its shares of classes, or its scores."""

    def of(rows: Rows) -> Rows:
        if hasattr(estimator, "decision_function"):
            return np.asarray(estimator.decision_function(rows)).reshape(len(rows), -1)
        shares = estimator.predict_proba(rows)
        if not isinstance(shares, list):
            return np.asarray(shares)
        most = max(one.shape[1] for one in shares)
        return np.hstack([np.pad(one, ((0, 0), (0, most - one.shape[1]))) for one in shares])

    return of


def _units(answered: Rows, expected: Rows) -> int:
    """By how many units in the last place they differ at most; more than are allowed if that is no small number."""
    if answered.shape != expected.shape:
        return UNITS_MAX + 1
    differ = (answered != expected) & ~(np.isnan(answered) & np.isnan(expected))
    if not differ.any():
        return 0
    with np.errstate(invalid="ignore"):
        apart = np.abs(answered - expected)[differ] / np.spacing(np.abs(expected)[differ])
    return int(np.ceil(apart.max())) if np.isfinite(apart).all() and apart.max() <= UNITS_MAX else UNITS_MAX + 1
