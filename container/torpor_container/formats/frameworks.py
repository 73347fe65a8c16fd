"""Finds out to which library an object belongs, by the modules and names of its classes, and what its errors say."""

import re
from typing import Any

TRACE = "Stack trace:"
"""The line before the addresses in an error of XGBoost's C++ code."""
SOURCE = re.compile(r"^\[\d\d:\d\d:\d\d\] \S+:\d+: ")
"""The time and the line of the source at the beginning of such an error."""


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


def said_by(error: BaseException) -> str:
    """All that a framework's error says, on one line; without a trace of C++ code, and the places of its sources."""
    said = SOURCE.sub("", str(error).partition(TRACE)[0].strip())
    return " ".join(said.split()) or type(error).__name__
