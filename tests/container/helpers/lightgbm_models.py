"""Models of LightGBM, one for each of its objectives and its ways to train, and rows that show their differences."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import lightgbm
import numpy as np

from torpor_container.trees.lightgbm_text import CATEGORICAL, TextModel

COLUMNS = 6
CATEGORIES = [3, 5]
"""The columns of categories: one of many, one of few."""
ROWS = 2_000
QUIET = {"verbose": -1, "num_threads": 1, "seed": 7, "min_data_in_leaf": 5, "cat_smooth": 1.0}


def _own(predictions: Any, rows: Any) -> tuple[Any, Any]:
    return predictions - rows.get_label(), np.ones_like(predictions)


@dataclass(frozen=True)
class Case:
    """How one model is trained. `of` makes its target of a number above 0."""

    objective: "str | Callable[..., Any]"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    of: Callable[[Any], Any] = lambda numbers: numbers
    ranked: bool = False
    categories: bool = True


def _two(numbers: Any) -> Any:
    return (numbers > 1).astype(int)


def _three(numbers: Any) -> Any:
    return np.minimum(numbers, 2).astype(int)


MEAN = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
CASES: Mapping[str, Case] = {
    "regression": Case("regression"),
    "regression, square roots": Case("regression", {"reg_sqrt": True}),
    "regression_l1": Case("regression_l1"),
    "huber": Case("huber"),
    "fair": Case("fair", {"reg_sqrt": True}),
    "quantile": Case("quantile"),
    "mape": Case("mape"),
    "poisson": Case("poisson"),
    "gamma": Case("gamma"),
    "tweedie": Case("tweedie"),
    "binary": Case("binary", {"sigmoid": 2.5}, _two),
    "multiclass": Case("multiclass", {"num_class": 3}, _three),
    "multiclassova": Case("multiclassova", {"num_class": 3, "sigmoid": 0.7}, _three),
    "cross_entropy": Case("cross_entropy", of=_two),
    "cross_entropy_lambda": Case("cross_entropy_lambda", of=_two),
    "lambdarank": Case("lambdarank", of=_three, ranked=True),
    "rank_xendcg": Case("rank_xendcg", of=_three, ranked=True),
    "an objective of the caller's own": Case(_own),
    "random forest": Case("binary", MEAN, _two),
    "random forest of classes": Case("multiclass", {"num_class": 3, **MEAN}, _three),
    "dart": Case("binary", {"boosting": "dart"}, _two),
    "zero is missing": Case("regression", {"zero_as_missing": True}, categories=False),
    "nothing is missing": Case("regression", {"use_missing": False}, categories=False),
    "leaves of their own": Case("regression", {"num_leaves": 150, "extra_trees": True}, categories=False),
    "few leaves": Case("regression", {"num_leaves": 6}),
    "one category at a time": Case("regression", {"max_cat_to_onehot": 100}),
}


def predicted(model: "str | lightgbm.Booster", rows: Any) -> Any:
    """What LightGBM itself answers."""
    booster = lightgbm.Booster(model_str=model) if isinstance(model, str) else model
    return np.asarray(booster.predict(rows))


@cache
def trained(name: str) -> str:
    """The text of a model."""
    case = CASES[name]
    rows, target = rows_of(1), case.of(_target())
    data = lightgbm.Dataset(
        rows, target, group=[100] * (ROWS // 100) if case.ranked else None,
        categorical_feature=CATEGORIES if case.categories else [],
    )  # fmt: skip
    text = lightgbm.train({**QUIET, "objective": case.objective, **case.parameters}, data, 12).model_to_string()
    assert isinstance(text, str)
    return text


def telling_rows(model: TextModel) -> Any:
    """Rows with missing values, infinities and zeros, and with cells around every threshold."""
    rows = rows_of(2) * 2
    chance = np.random.default_rng(3)
    rows[:, CATEGORIES] += chance.choice([0, 0.5, -0.5, 0.999999], (ROWS, len(CATEGORIES)))
    cells = rows.ravel()
    odd = [0.0, -0.0, 1e-36, 1e-35, -1e-35, np.inf, -np.inf, 3e9]
    places = chance.choice(len(cells), len(cells) // 8, replace=False)
    cells[places] = chance.choice(odd, len(places))
    for tree in model.trees:
        for column, threshold, decision in zip(tree.columns, tree.thresholds, tree.decisions, strict=True):
            if not decision & CATEGORICAL:
                around = (np.nextafter(threshold, -np.inf), threshold, np.nextafter(threshold, np.inf))
                rows[chance.integers(0, ROWS, 3), column] = around
    return rows


def rows_of(seed: int) -> Any:
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(ROWS, COLUMNS))
    rows[:, 3], rows[:, 5] = chance.integers(-1, 90, ROWS), chance.integers(0, 5, ROWS)
    rows[chance.random(ROWS) < 0.6, 4] = 0.0
    rows[chance.random(rows.shape) < 0.1] = np.nan
    rows[:, 1] = chance.normal(size=ROWS)
    return rows


def _target() -> Any:
    rows = np.nan_to_num(rows_of(1))
    noise = np.random.default_rng(4).normal(size=ROWS)
    return np.abs(noise + rows[:, 0] + np.sin(rows[:, 3] * 7) + rows[:, 5] % 2) + 0.1
