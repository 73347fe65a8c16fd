"""scikit-learn estimators, and whatever else has `predict`, as served models. NaN is for the estimator to judge."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from torpor_container.content import Layout, Rows, decode
from torpor_container.formats.format import Conventions
from torpor_container.formats.served import ServedModel

SCIKIT_LEARN = "scikit-learn"

TREES = frozenset({"BaseDecisionTree", "BaseForest", "BaseGradientBoosting", "BaseHistGradientBoosting"})
"""scikit-learn's own bases of what looks at each row by itself. Linear algebra rounds otherwise with more rows."""


def serve(estimator: Any, conventions: Conventions) -> ServedModel[Rows]:
    """An estimator, ready to predict in the calling thread.

    SageMaker's container hands it float32. It gets float64 here, so that the answer is that of `predict` on the
    caller's own numbers.
    """
    for part in _parts(estimator):
        if getattr(part, "n_jobs", None) is not None:
            part.n_jobs = 1  # one row needs no pool, and a pool per model would outnumber the cores
    layout = Layout(np.float64, columns=getattr(estimator, "n_features_in_", None), absent=0.0)
    return ServedModel(
        format=SCIKIT_LEARN,
        native=estimator,
        read=lambda call: decode(call.body, call.content_type, layout),
        predict=estimator.predict,
        answers=conventions.toolkit,
        refusals=(ValueError,),  # scikit-learn's word for rows it does not take, such as NaN
        rowwise=any(base.__name__ in TREES for base in type(estimator).__mro__),
    )


def _parts(estimator: Any) -> Iterator[Any]:
    """The estimator and the fitted estimators inside it, to any depth."""
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
        elif hasattr(part, "get_params") and hasattr(part, "__dict__"):
            yield part
            waiting.extend(vars(part).values())
