"""Generates houses with prices by city, and trains models on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]

FEATURES = ("year built", "square feet", "bedrooms", "bathrooms", "lot acres", "garage spaces")
THIS_YEAR = 2019

XGBOOST_CITIES = (
    "NewYork_NY",
    "LosAngeles_CA",
    "Chicago_IL",
    "Houston_TX",
    "Dallas_TX",
    "Phoenix_AZ",
    "Philadelphia_PA",
    "SanAntonio_TX",
    "SanDiego_CA",
    "SanFrancisco_CA",
)
"""The ten cities of AWS's own multi-model notebook."""
SKLEARN_CITY = "Seattle_WA"
ONNX_CITY = "Denver_CO"
NEW_CITY = "Austin_TX"
CITIES = (*XGBOOST_CITIES, SKLEARN_CITY, ONNX_CITY, NEW_CITY)

A_HOUSE: Sequence[float] = (1995, 2100, 3, 2, 0.3, 2)


def generate(city: str, count: int = 3000) -> tuple[Table, Table]:
    """Houses and their prices, the same in each run."""
    seed = CITIES.index(city)
    draw = np.random.default_rng(seed)
    square_feet = draw.normal(2200, 500, count).clip(500)
    columns = (
        draw.integers(1925, THIS_YEAR, count),
        square_feet,
        draw.integers(1, 6, count),
        draw.integers(2, 8, count) / 2,
        draw.normal(0.4, 0.2, count).clip(0.05),
        draw.integers(0, 4, count),
    )
    houses = np.column_stack([column.astype(float) for column in columns])
    per_feature = np.array([0.0, 150.0, 10_000.0, 15_000.0, 15_000.0, 15_000.0])
    wear = 1 - 0.003 * (THIS_YEAR - houses[:, 0])
    level = 0.8 + 0.15 * seed
    return houses, level * wear * (houses @ per_feature) * draw.normal(1.0, 0.05, count)


def train_xgboost(city: str) -> Any:
    import xgboost

    houses, prices = generate(city)
    settings = {"max_depth": 9, "eta": 0.1, "objective": "reg:squarederror", "nthread": 1}
    return xgboost.train(settings, xgboost.DMatrix(houses, label=prices, nthread=1), num_boost_round=100)


def train_sklearn(city: str) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    houses, prices = generate(city)
    return RandomForestRegressor(n_estimators=20, max_depth=10, random_state=0).fit(houses, prices)


def train_onnx(city: str) -> bytes:
    """A linear model, written as ONNX."""
    from sklearn.linear_model import LinearRegression

    from torpor.demo.linear_onnx import linear_onnx

    fitted = LinearRegression().fit(*generate(city))
    return linear_onnx(fitted.coef_.tolist(), float(fitted.intercept_))
