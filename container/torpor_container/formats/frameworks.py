"""Finds out to which library an object belongs, by the modules and names of its classes."""

from typing import Any


def library(native: Any) -> str:
    """The top-level package of an object's class, such as `lightgbm`."""
    return type(native).__module__.partition(".")[0]


def inherits(native: Any, package: str, *names: str) -> bool:
    """Whether a base class of the object is of this package and has one of these names; any name if none is given.

    A subclass in another module counts. The package need not be installed.
    """
    return any(
        base.__module__.partition(".")[0] == package and (not names or base.__name__ in names)
        for base in type(native).__mro__
    )


def is_xgboost_booster(native: Any) -> bool:
    return inherits(native, "xgboost", "Booster")


def is_xgboost_estimator(native: Any) -> bool:
    """XGBoost's own classes with scikit-learn's interface, such as `XGBRegressor`."""
    return inherits(native, "xgboost", "XGBModel")
