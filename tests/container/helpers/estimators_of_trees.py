"""scikit-learn's estimators of trees, fitted in the ways in which their predictions differ."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

COLUMNS, ROWS = 5, 400
SEED = {"random_state": 3}


def rows(missing: bool, count: int = ROWS, seed: int = 1) -> Any:
    chance = np.random.default_rng(seed)
    cells = chance.normal(size=(count, COLUMNS))
    cells[:, 4] = chance.integers(0, 4, count)
    if missing:
        cells[chance.random(cells.shape) < 0.1] = np.nan
    return cells


def _target() -> Any:
    cells = rows(missing=False)
    return np.sin(cells[:, 0] * 3) + cells[:, 1] + (cells[:, 4] == 2) + np.random.default_rng(2).normal(size=ROWS) / 4


def _fitted(estimator: Any, of: Callable[[Any], Any], missing: bool = False) -> Callable[[], Any]:
    return lambda: estimator.fit(rows(missing), of(_target()))


def _number(target: Any) -> Any:
    return target


def _positive(target: Any) -> Any:
    return np.exp(target / 2)


def _numbers(target: Any) -> Any:
    return np.stack([target, -target, target**2], axis=1)


def _two(target: Any) -> Any:
    return (target > 0).astype(int)


def _words(target: Any) -> Any:
    return np.array(["low", "middle", "high"])[np.digitize(target, [-0.5, 0.7])]


def _objects(target: Any) -> Any:
    return _words(target).astype(object)


def _truths(target: Any) -> Any:
    return target > 0.2


def _floats(target: Any) -> Any:
    return np.digitize(target, [-0.5, 0.7]) * 1.0


def _several(target: Any) -> Any:
    return np.stack([np.digitize(target, [-0.5, 0.7]), (target > 0) * 7], axis=1)


def _cases() -> Mapping[str, Callable[[], Any]]:
    few: dict[str, Any] = {"n_estimators": 12, **SEED}
    grown: dict[str, Any] = {"n_estimators": 15, "learning_rate": 0.3, **SEED}
    rounds: dict[str, Any] = {"max_iter": 12, **SEED}
    return {
        "tree": _fitted(DecisionTreeRegressor(**SEED), _number),
        "tree, missing": _fitted(DecisionTreeRegressor(max_depth=6, **SEED), _number, missing=True),
        "tree of one leaf": _fitted(DecisionTreeRegressor(min_samples_leaf=ROWS, **SEED), _number),
        "tree of numbers": _fitted(DecisionTreeRegressor(max_depth=5, **SEED), _numbers),
        "tree of classes": _fitted(DecisionTreeClassifier(max_depth=4, **SEED), _words),
        "tree of several": _fitted(DecisionTreeClassifier(max_depth=4, **SEED), _several),
        "extra tree": _fitted(ExtraTreeRegressor(**SEED), _number),
        "extra tree of classes": _fitted(ExtraTreeClassifier(max_depth=5, **SEED), _truths),
        "forest": _fitted(RandomForestRegressor(**few), _number),
        "forest, missing": _fitted(RandomForestRegressor(**few), _number, missing=True),
        "forest, poisson": _fitted(RandomForestRegressor(criterion="poisson", **few), _positive),
        "forest of numbers": _fitted(RandomForestRegressor(max_depth=5, **few), _numbers),
        "forest of classes": _fitted(RandomForestClassifier(**few), _words),
        "forest of classes, missing": _fitted(RandomForestClassifier(**few), _objects, missing=True),
        "forest of floats": _fitted(RandomForestClassifier(max_depth=3, **few), _floats),
        "forest of several": _fitted(RandomForestClassifier(max_depth=3, **few), _several),
        "forest of weights": _fitted(RandomForestClassifier(class_weight="balanced", **few), _two),
        "extra forest": _fitted(ExtraTreesRegressor(**few), _number),
        "extra forest of classes": _fitted(ExtraTreesClassifier(**few), _truths, missing=True),
        "boosted": _fitted(GradientBoostingRegressor(**grown), _number),
        "boosted, huber": _fitted(GradientBoostingRegressor(loss="huber", **grown), _number),
        "boosted, quantile": _fitted(GradientBoostingRegressor(loss="quantile", subsample=0.7, **grown), _number),
        "boosted from zero": _fitted(GradientBoostingRegressor(init="zero", **grown), _number),
        "boosted, two classes": _fitted(GradientBoostingClassifier(**grown), _truths),
        "boosted, exponential": _fitted(GradientBoostingClassifier(loss="exponential", **grown), _two),
        "boosted, classes": _fitted(GradientBoostingClassifier(**grown), _words),
        "by histograms": _fitted(HistGradientBoostingRegressor(**rounds), _number, missing=True),
        "by histograms, poisson": _fitted(HistGradientBoostingRegressor(loss="poisson", **rounds), _positive, True),
        "by histograms, gamma": _fitted(HistGradientBoostingRegressor(loss="gamma", **rounds), _positive),
        "by histograms, quantile": _fitted(
            HistGradientBoostingRegressor(loss="quantile", quantile=0.8, **rounds), _number
        ),
        "by histograms, two classes": _fitted(HistGradientBoostingClassifier(**rounds), _two, missing=True),
        "by histograms, classes": _fitted(HistGradientBoostingClassifier(**rounds), _words, missing=True),
    }


CASES = _cases()


@cache
def fitted(name: str) -> Any:
    return CASES[name]()
