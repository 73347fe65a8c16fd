"""Small boosters of every objective that flat trees know, trained by XGBoost on rows with missing cells."""

from functools import cache
from typing import Any

import numpy as np
import xgboost

COLUMNS = 6
COUNT = 300

OBJECTIVES: dict[str, dict[str, Any]] = {
    "reg:squarederror": {},
    "reg:squaredlogerror": {},
    "reg:pseudohubererror": {},
    "reg:absoluteerror": {},
    "reg:quantileerror": {"quantile_alpha": [0.1, 0.5, 0.9]},
    "reg:logistic": {},
    "reg:gamma": {},
    "reg:tweedie": {"tweedie_variance_power": 1.3},
    "binary:logistic": {},
    "binary:logitraw": {},
    "binary:hinge": {},
    "count:poisson": {},
    "survival:cox": {},
    "survival:aft": {},
    "multi:softmax": {"num_class": 3},
    "multi:softprob": {"num_class": 3},
    "rank:pairwise": {},
    "rank:ndcg": {},
    "rank:map": {},
}
CLASSES = ("binary:hinge", "binary:logistic", "binary:logitraw", "rank:map")


def training(objective: str, seed: int) -> Any:
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(COUNT, COLUMNS)).astype(np.float32)
    rows.ravel()[::7] = np.nan
    wanted = chance.random(COUNT) + 0.1
    target = (wanted * 2.5).astype(int) if objective.startswith(("multi", "count", "rank")) else wanted
    if objective in CLASSES:
        target = wanted > 0.5
    elif objective == "reg:logistic":
        target = np.minimum(wanted, 1)
    matrix = xgboost.DMatrix(rows, np.asarray(target, np.float32), nthread=1)
    if objective.startswith("rank"):
        matrix.set_group([COUNT // 10] * 10)
    if objective == "survival:aft":
        matrix.set_float_info("label_lower_bound", wanted)
        matrix.set_float_info("label_upper_bound", wanted + 0.5)
    return matrix


@cache
def booster(objective: str, seed: int = 0, rounds: int = 6, **parameters: Any) -> Any:
    settings = {"objective": objective, "max_depth": 4, "nthread": 1, "seed": seed, "verbosity": 0}
    settings |= OBJECTIVES.get(objective, {}) | parameters
    return xgboost.train(settings, training(objective, seed), rounds)


def asked(seed: int, count: int) -> Any:
    """Rows to predict, near those of the training: some cells are missing, zero, or negative zero."""
    rows = np.random.default_rng(seed + 1000).normal(size=(count, COLUMNS)).astype(np.float32)
    rows.ravel()[::9] = np.nan
    rows.ravel()[::31] = 0.0
    rows.ravel()[::37] = -0.0
    return rows
