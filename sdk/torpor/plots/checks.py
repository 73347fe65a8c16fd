"""Checks of a plot's arguments, before anything is drawn. Each raises ValueError, which names the argument."""

from collections.abc import Iterable, Sized
from math import isfinite
from typing import TYPE_CHECKING

from torpor.extras import require

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Column = NDArray[np.float64]


def some(name: str, values: Sized) -> None:
    if not len(values):
        raise ValueError(f"{name} is empty: give at least one value to plot")


def known(*values: float | None) -> bool:
    """Whether all values are numbers: not None, not NaN, not infinite."""
    return all(value is not None and isfinite(value) for value in values)


def amount(name: str, value: float | None) -> float:
    """A number of 0 or more."""
    if value is None or not isfinite(value) or value < 0:
        raise ValueError(f"{name} is a number of 0 or more, not {value}")
    return float(value)


def positive(name: str, value: float | None) -> float:
    """A number above 0, which a logarithmic scale needs."""
    if value is None or not isfinite(value) or value <= 0:
        raise ValueError(f"{name} is a number above 0, not {value}")
    return float(value)


def share(name: str, value: float | None) -> float:
    if value is None or not 0 <= value <= 1:
        raise ValueError(f"{name} is a share from 0 to 1, not {value}")
    return float(value)


def column(name: str, values: "ArrayLike") -> "Column":
    """One row of numbers, at least one. Raises MissingExtra without numpy."""
    require("a plot", "plots")
    import numpy as np

    array: Column = np.asarray(values, dtype=float)
    if array.ndim != 1:
        raise ValueError(f"{name} is one row of numbers, not an array of {array.ndim} dimensions")
    some(name, array)
    if wrong := [value for value in array.tolist() if not isfinite(value)]:
        raise ValueError(f"{name} contains {wrong[0]}: every value must be a number")
    return array


def ascending(name: str, values: "ArrayLike") -> "Column":
    """Numbers, none smaller than the one before."""
    array = column(name, values)
    if (array[1:] < array[:-1]).any():
        raise ValueError(f"{name} must be in ascending order")
    return array


def same_length(length: int, name: str, values: Sized) -> None:
    if len(values) != length:
        raise ValueError(f"{name} has {len(values)} values, but needs {length}")


def listing(because: str, labels: Iterable[str]) -> str:
    """A sentence such as `Not drawn, as not known: a, b.`; empty without labels."""
    named = ", ".join(labels)
    return f"{because}: {named}." if named else ""
