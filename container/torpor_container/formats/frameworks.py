"""Which library an object belongs to, by the modules and names of its classes. A class name alone decides nothing."""

from typing import Any


def library(native: Any) -> str:
    """The top-level package of an object's own class, such as `lightgbm`."""
    return type(native).__module__.partition(".")[0]


def inherits(native: Any, package: str, *names: str) -> bool:
    """Whether a class of this package and one of these names is among the object's bases; any name where none is given.

    A subclass in a module of its own counts. The package need not be installed.
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
