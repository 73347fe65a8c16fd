"""The kinds of cells that a model takes, by numpy's type: numbers, whole numbers, booleans or text.

A kind checks and casts without a change of value. It knows no content type.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

EXACT = 2.0**53
"""From this value on, several whole numbers become the same float."""
NUMERIC = "biuf"


@dataclass(frozen=True)
class CellKind:
    """One kind of cells. `gather` and `cast` raise ValueError, TypeError or OverflowError, as numpy does."""

    refusal: str
    wrong: str
    """The message about one wrong cell, which is filled in."""
    takes: Callable[[object], bool]
    """Whether a value may be a cell."""
    read: Callable[[bytes], object]
    """Reads a cell from text. Raises ValueError for any other text."""
    gather: Callable[[object], Array]
    """Makes an array of nested lists."""
    cast: Callable[[Array, Any], Array]
    """Turns an array of another type into one of this type, with the same values."""
    empty: object = ""
    """The value of an empty cell."""


def kind_of(dtype: Any) -> CellKind:
    kind = np.dtype(dtype)
    return KINDS[kind.kind](kind)


def inexact(array: Array) -> bool:
    """Whether it has floats so large that they may have been other whole numbers in the text."""
    return array.dtype.kind == "f" and bool((np.abs(array, dtype=np.float64) >= EXACT).any())


# -- numbers -----------------------------------------------------------------------------------------------------------
def _near(array: Array, dtype: Any) -> Array:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=dtype)


NUMBERS = CellKind(
    "the model takes numbers only",
    "{} is not a number",
    takes=lambda cell: isinstance(cell, int | float | None),
    read=float,
    gather=np.array,
    cast=_near,
    empty=nan,
)


# -- whole numbers -----------------------------------------------------------------------------------------------------
def _whole(dtype: Any) -> CellKind:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    return _same(
        f"the model takes whole numbers only ({dtype.name})",
        lambda cell: isinstance(cell, int | float) and low <= cell <= high and cell == int(cell),
        _number,
    )


def _number(text: bytes) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


# -- booleans ----------------------------------------------------------------------------------------------------------
TRUTHS = {b"true": True, b"false": False}


def _truths(dtype: Any) -> CellKind:
    return _same(
        "the model takes true, false, 1 and 0 only",
        lambda cell: isinstance(cell, int | float) and cell in (0, 1),
        lambda text: TRUTHS[text.lower()] if text.lower() in TRUTHS else _number(text),
    )


def _same(refusal: str, takes: Callable[[object], bool], read: Callable[[bytes], object]) -> CellKind:
    return CellKind(refusal, f"{refusal}, and not {{}}", takes, read, gather=_exact, cast=_unchanged)


def _exact(values: object) -> Array:
    """Keep large whole numbers exact: beside fractions, numpy would make floats of them."""
    array = np.array(values)
    return np.array(values, dtype=object) if inexact(array) else array


def _unchanged(array: Array, dtype: Any) -> Array:
    if array.dtype == dtype:
        return np.asarray(array, order="C")
    if array.dtype.kind not in NUMERIC + "O":
        raise ValueError(f"an array of {array.dtype}")
    if inexact(array):
        array = array.astype(object)  # Python's own floats say when they are out of range, on any processor
    with np.errstate(invalid="ignore"):
        cast = array.astype(dtype, order="C")
    if not np.array_equal(cast, array):
        raise ValueError("a cast would change a number")
    return cast


# -- text --------------------------------------------------------------------------------------------------------------
def _texts(array: Array, dtype: Any) -> Array:
    if array.dtype.kind == "U":
        return array.astype(object, order="C")
    if array.dtype.kind != "O" or not all(isinstance(cell, str) for cell in array.ravel().tolist()):
        raise ValueError(f"an array of {array.dtype}")
    return array


TEXT = CellKind(
    "the model takes text only",
    "the model takes text only, and not {}",
    takes=lambda cell: isinstance(cell, str),
    read=bytes.decode,
    gather=lambda values: np.array(values, dtype=object),
    cast=_texts,
)

KINDS: Mapping[str, Callable[[Any], CellKind]] = {
    "f": lambda dtype: NUMBERS,
    "i": _whole,
    "u": _whole,
    "b": _truths,
    "O": lambda dtype: TEXT,
}
"""Kinds of cells by numpy's letter for the kind of a type."""
