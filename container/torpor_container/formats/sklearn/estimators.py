"""Serves scikit-learn estimators, and any other object with `predict`. The estimator decides whether it takes NaN."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from torpor_container.content import RowLayout, decode
from torpor_container.content.reading.npz_rows import densely
from torpor_container.formats.format import Conventions
from torpor_container.formats.frameworks import inherits, library
from torpor_container.formats.naming import lazily, names_lazily
from torpor_container.formats.served import ServedModel
from torpor_container.formats.sklearn import (
    catboost_columns,
    clusters,
    fitted_columns,
    forests,
    lightgbm_columns,
    mixed,
)

SCIKIT_LEARN = "scikit-learn"

TREES = frozenset({"BaseDecisionTree", "BaseForest", "BaseGradientBoosting", "BaseHistGradientBoosting"})
"""scikit-learn's base classes that predict each row alone. Linear algebra rounds differently with more rows."""

KNOWN = frozenset({"builtins", "lightgbm", "numpy", "scipy", "sklearn", "xgboost"})
PLAIN = (str, bytes, int, float, np.ndarray, np.generic, type(None))


def serve(estimator: Any, conventions: Conventions) -> ServedModel[Any]:
    """The estimator as a model that predicts on the calling thread.

    SageMaker's container hands it float32. It gets float64 here, so that the answer is that of `predict` on the
    caller's own numbers. One that takes text, or columns by name, gets a data frame with the names it was fitted with.
    """
    parts = list(parts_of(estimator))
    settle(parts)
    layout = RowLayout(
        np.float64,
        columns=_columns(estimator),
        absent=0.0,
        names=names_lazily(estimator, _names),
        categories=lazily(estimator, lightgbm_columns.categories_of) if _is_lightgbm(estimator) else None,
    )
    taken = _taken(estimator, parts)
    return ServedModel(
        format=SCIKIT_LEARN,
        native=estimator,
        read=mixed.reader(taken) if taken else lambda call: decode(call.body, call.content_type, layout),
        predict=estimator.predict if taken else _predictor(estimator, layout),
        answers=conventions.toolkit,
        refusals=_refusals(estimator),
        faults=_faults(),
        layout=None if taken else layout,
        rowwise=taken is None and inherits(estimator, "sklearn", *TREES),
        foreign=not all(map(_is_known, parts)),
        tensors=mixed.tensor_inputs(taken, estimator) if taken else None,
    )


def settle(parts: Iterable[Any]) -> None:
    """Make the parts of an estimator predict on the calling thread, and take float64."""
    for part in parts:
        if getattr(part, "n_jobs", None) is not None:
            part.n_jobs = 1  # one row needs no pool, and a pool per model would outnumber the cores
        forests.quicken(part)
        clusters.widen(part)


def _columns(estimator: Any) -> int | None:
    """How many columns a row has; None if the estimator does not say."""
    if inherits(estimator, "catboost", "CatBoost"):
        return catboost_columns.count_of(estimator)
    if inherits(estimator, "lightgbm", "Booster"):
        return int(estimator.num_feature())
    return getattr(estimator, "n_features_in_", None)


def _names(estimator: Any) -> Any:
    """The names of its columns; None if it has none."""
    if _is_lightgbm(estimator):
        return lightgbm_columns.names_of(estimator)
    if inherits(estimator, "catboost", "CatBoost"):
        return catboost_columns.names_of(estimator)
    return getattr(estimator, "feature_names_in_", None)


def _taken(estimator: Any, parts: list[Any]) -> fitted_columns.EstimatorColumns | None:
    """What it takes, if that is more than numbers."""
    if inherits(estimator, "catboost", "CatBoost"):
        return catboost_columns.taken_by(estimator)
    return fitted_columns.taken_by(estimator) if fitted_columns.may_differ({type(part) for part in parts}) else None


def _refusals(estimator: Any) -> tuple[type[Exception], ...]:
    """scikit-learn's word for rows it does not take, such as NaN, is ValueError; other libraries have their own."""
    name = {"catboost": "CatBoostError"}.get(library(estimator), "")
    own = getattr(sys.modules.get(library(estimator)), name, None)
    return (ValueError,) if own is None else (ValueError, own)


def _faults() -> tuple[type[Exception], ...]:
    """An estimator that was packed before it was fitted refuses all rows, by a ValueError."""
    not_fitted = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    return () if not_fitted is None else (not_fitted,)


def _is_lightgbm(estimator: Any) -> bool:
    return inherits(estimator, "lightgbm", "Booster", "LGBMModel")


def _predictor(estimator: Any, layout: RowLayout) -> Callable[[Any], Any]:
    predict: Callable[[Any], Any] = estimator.predict

    def predicted(rows: Any) -> Any:
        return predict(rows) if isinstance(rows, np.ndarray) else _of_sparse(estimator, rows, layout)

    return predicted


def _of_sparse(estimator: Any, matrix: Any, layout: RowLayout) -> Any:
    """The matrix, or dense rows if the estimator does not take it. Some claim to and refuse it then, such as a support
    vector machine that was fitted on dense rows. Raises BadInput for one that is too large."""
    with suppress(TypeError, ValueError):
        return estimator.predict(matrix)
    return estimator.predict(densely(matrix, layout))


def parts_of(estimator: Any) -> Iterator[Any]:
    """The estimator and all estimators inside it, at any depth."""
    seen: set[int] = set()
    waiting = [estimator]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, list | tuple):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, np.ndarray) and part.dtype.hasobject:
            waiting.extend(part.ravel().tolist())
        elif not isinstance(part, PLAIN):
            yield part
            if hasattr(part, "get_params") and hasattr(part, "__dict__"):
                waiting.extend(vars(part).values())


def _is_known(part: Any) -> bool:
    """Whether all its code is from libraries that compute and end."""
    module = getattr(part, "__module__", None) or type(part).__module__
    return module.partition(".")[0] in KNOWN
