"""Small trained models, and rows to send to them."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAW = np.random.default_rng(7)
TABLE: NDArray[np.float64] = DRAW.normal(size=(2000, 4)).round(3)
ROWS: list[list[float]] = TABLE[:3].tolist()
CITIES = tuple(f"city{number}.tar.gz" for number in range(6))


def answers(shift: float = 0.0) -> NDArray[np.float64]:
    result: NDArray[np.float64] = TABLE @ np.array([1.0, -2.0, 3.0, 0.5]) + shift
    return result


def train_booster(shift: float = 0.0, rounds: int = 60, eta: float = 0.3) -> Any:
    import xgboost

    table = xgboost.DMatrix(TABLE, label=answers(shift))
    return xgboost.train({"max_depth": 8, "nthread": 1, "eta": eta}, table, rounds)


def shifted(booster: Any, by: float) -> Any:
    """The same trees, whose answers are all higher by that much."""
    copy = booster.copy()
    [base] = json.loads(booster.save_config())["learner"]["learner_model_param"]["base_score"].strip("[]").split(",")
    copy.set_param({"base_score": float(base) + by})
    return copy


def train_linear() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(TABLE, answers())
