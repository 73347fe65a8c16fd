"""Small boosters of the kinds that flat trees do not know: vectors as leaves, categories, dart, linear, no trees."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost

from tests.container.helpers.boosters_of_all_objectives import COLUMNS, asked, booster

TARGETS = 2


def of_vectors(**parameters: object) -> Any:
    """Each leaf has a value for each of two targets."""
    targets = np.random.default_rng(1).random((200, TARGETS))
    matrix = xgboost.DMatrix(asked(1, 200), targets, nthread=1)
    return xgboost.train({"multi_strategy": "multi_output_tree", "nthread": 1, **parameters}, matrix, 4)


def categorical() -> Any:
    """The cells of the first column are categories."""
    rows = np.random.default_rng(2).integers(0, 4, (200, COLUMNS)).astype(np.float32)
    matrix = xgboost.DMatrix(
        rows, rows[:, 0], feature_types=["c", *["q"] * (COLUMNS - 1)], enable_categorical=True, nthread=1
    )
    return xgboost.train({"max_cat_to_onehot": 1, "nthread": 1}, matrix, 4)


KINDS: dict[str, Callable[[], Any]] = {
    "vectors": of_vectors,
    "vectors of one leaf alone": lambda: of_vectors(gamma=1e9),
    "vectors by the greatest gain": lambda: of_vectors(grow_policy="lossguide", max_leaves=9),
    "categories": categorical,
    "dart": lambda: booster("reg:squarederror", 1, booster="dart"),
    "linear": lambda: booster("reg:squarederror", 1, booster="gblinear"),
    "no trees": lambda: booster("reg:squarederror", 1, rounds=0),
}
