"""XGBoost boosters as served models, however they were saved.

The answer is the objective's own output, as `Booster.predict` gives it. After early stopping it is that of the best
iteration, as in SageMaker's container.
"""

import json
from collections.abc import Callable
from math import nan
from typing import Any

from torpor_container.content import Layout, Rows, decode
from torpor_container.formats import dense
from torpor_container.formats.format import Conventions
from torpor_container.formats.served import ServedModel

XGBOOST = "xgboost"


def serve(booster: Any, conventions: Conventions, missing: float = nan) -> ServedModel[Rows]:
    """A booster, ready to predict on one thread. `missing` is the number that stands for a missing value."""
    from xgboost.core import XGBoostError

    booster.set_param({"nthread": 1, "device": "cpu"})
    layout = Layout(columns=booster.num_features())
    return ServedModel(
        format=XGBOOST,
        native=booster,
        read=lambda call: decode(call.body, call.content_type, layout),
        predict=_predictor(booster, missing),
        answers=conventions.xgboost,
        refusals=(XGBoostError,),  # SageMaker's container too answers 400 for whatever XGBoost finds in the rows
        rowwise=True,
    )


def _predictor(booster: Any, missing: float) -> Callable[[Rows], Any]:
    iterations = _iterations(booster)
    if _kind(booster) == "gbtree":
        return dense.predictor(booster, iterations, missing)
    # XGBoost does not predict in place with gblinear, and adds up dart's trees in another order there.
    from xgboost import DMatrix

    return lambda rows: booster.predict(DMatrix(rows, missing=missing, nthread=1), iteration_range=iterations)


def _iterations(booster: Any) -> tuple[int, int]:
    """The boosting rounds that count; (0, 0) is all of them."""
    best = booster.attr("best_iteration")
    return (0, 0) if best is None else (0, int(best) + 1)


def _kind(booster: Any) -> str:
    return str(json.loads(booster.save_config())["learner"]["gradient_booster"]["name"])
