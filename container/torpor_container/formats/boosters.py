"""XGBoost boosters as served models, however they were saved.

The answer is the objective's own output, as `Booster.predict` gives it. After early stopping it is that of the best
iteration, as in SageMaker's container.
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import nan
from typing import Any, TypeVar

from torpor_container.content import Layout, Rows, decode
from torpor_container.formats import dense
from torpor_container.formats.format import Conventions
from torpor_container.formats.served import ServedModel

XGBOOST = "xgboost"

T = TypeVar("T")


def serve(booster: Any, conventions: Conventions, missing: float = nan) -> ServedModel[Rows]:
    """A booster, ready to predict on one thread. `missing` is the number that stands for a missing value."""
    from xgboost.core import XGBoostError

    booster.set_param({"nthread": 1, "device": "cpu"})
    layout = Layout(columns=booster.num_features())
    kind, iterations = _apart(lambda: (_kind(booster), _iterations(booster)))
    return ServedModel(
        format=XGBOOST,
        native=booster,
        read=lambda call: decode(call.body, call.content_type, layout),
        predict=_predictor(booster, kind, iterations, missing),
        answers=conventions.xgboost,
        refusals=(XGBoostError,),  # SageMaker's container too answers 400 for whatever XGBoost finds in the rows
        rowwise=True,
        freed=_apart,
    )


def _predictor(booster: Any, kind: str, iterations: tuple[int, int], missing: float) -> Callable[[Rows], Any]:
    if kind == "gbtree":
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


def _apart(work: Callable[[], T]) -> T:
    """Do it on the one thread that asks boosters about themselves and frees them.

    XGBoost keeps what a booster answered a thread until that thread frees it. If another does, it is kept for ever:
    most of a kilobyte a load.
    """
    return _the_thread().submit(work).result()


@cache
def _the_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "boosters")
