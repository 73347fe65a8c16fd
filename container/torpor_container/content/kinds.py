"""The kinds of cells that a model takes, by numpy's type: numbers, whole numbers, booleans or text.

A kind checks and casts without a change of value, except that floats are rounded. It knows no content type.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from math import inf, isfinite, isinf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.frozen_class import frozen

Array = NDArray[Any]

EXACT = 2.0**53
"""From this value on, several whole numbers become the same float."""
NUMERIC = "biuf"


@frozen
class CellKind:
    """One kind of cells. `gather` and `cast` raise ValueError, TypeError or OverflowError, as numpy does."""

    refusal: str
    wrong: str
    """The message about one wrong cell, which is filled in."""
    fault: Callable[[object], str | None]
    """The message about a value that cannot be a cell; None if it can be one."""
    read: Callable[[bytes], object]
    """Reads a cell from text. Raises ValueError for any other text."""
    gather: Callable[[object], Array]
    """Makes an array of nested lists."""
    cast: Callable[[Array, Any], Array]
    """Turns an array of another type into one of this type, with the same values."""
    empty: object = ""
    """The value of an empty cell."""


@cache
def kind_of(dtype: Any) -> CellKind:
    kind = np.dtype(dtype)
    return KINDS[kind.kind](kind)


def inexact(array: Array) -> bool:
    """Whether it has floats so large that they may have been other whole numbers in the text."""
    return array.dtype.kind == "f" and bool((np.abs(array, dtype=np.float64) >= EXACT).any())


def shown(cell: object) -> str:
    """A cell as it is in an error: as JSON, and not at full length."""
    return (cell.text if isinstance(cell, Beyond) else json.dumps(cell, default=str))[:40]


# -- numbers -----------------------------------------------------------------------------------------------------------
class OutOfRange(ValueError):
    """A number that the type of the cells cannot hold. The rows were read, and the model does not take them."""


class Beyond(float):
    """A number that no float can hold, with its text: as a float alone it would be infinite."""

    text: str

    @classmethod
    def of(cls, text: str) -> "Beyond":
        made = cls(-inf if text.startswith("-") else inf)
        made.text = text
        return made


def read_number(text: str) -> float:
    """The number that a text says, which may say `inf`. Raises ValueError."""
    value = float(_plain(text))
    return value if isfinite(value) or "n" in text.lower() else Beyond.of(text)


def read_whole(text: str) -> int:
    """The whole number that a text says. Raises ValueError."""
    return int(_plain(text))


def _plain(text: str) -> str:
    """Raises ValueError for 1_000 and for digits of other scripts, which are numbers to Python alone."""
    if "_" in text or not text.isascii():
        raise ValueError(NOT_A_NUMBER.format(repr(text[:40])))
    return text


@cache
def _floats(dtype: Any) -> CellKind:
    def fault(cell: object) -> str | None:
        if not isinstance(cell, int | float | None):
            return NOT_A_NUMBER.format(shown(cell))
        return None if cell is None or not _is_beyond(cell, dtype) else f"{shown(cell)} is {beyond}"

    def near(array: Array, dtype: Any) -> Array:
        if array.dtype == dtype:
            return np.ascontiguousarray(array)
        with np.errstate(over="ignore"):
            cast = np.ascontiguousarray(array, dtype=dtype)
        if cast.dtype != array.dtype and np.isinf(cast).any():
            _refuse_infinite(array, cast, beyond)
        return cast

    beyond = f"beyond the range of {dtype.name}"
    return CellKind(
        "the model takes numbers only",
        NOT_A_NUMBER,
        fault,
        read=lambda text: read_number(text.decode()),
        gather=np.array,
        cast=near,
        empty=nan,
    )


NOT_A_NUMBER = "{} is not a number"


def _is_beyond(cell: float, dtype: Any) -> bool:
    """Whether the number, which is finite, would become infinite."""
    if isinstance(cell, Beyond):
        return True
    try:
        value = float(cell)
    except OverflowError:
        return True
    with np.errstate(over="ignore"):
        return isfinite(value) and isinf(dtype.type(value))


def _refuse_infinite(array: Array, cast: Array, beyond: str) -> None:
    """Raise OutOfRange, which names the place, if a finite number has become infinite."""
    places = np.argwhere(np.isinf(cast) & np.isfinite(array))
    if len(places):
        place = places[0].tolist()
        row_and_column = "row {}, column {}: ".format(*(one + 1 for one in place)) if len(place) == 2 else ""
        raise OutOfRange(f"{row_and_column}{shown(array[tuple(place)].item())} is {beyond}")


# -- whole numbers -----------------------------------------------------------------------------------------------------
def _whole(dtype: Any) -> CellKind:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    return _same(
        f"the model takes whole numbers only ({dtype.name})",
        lambda cell: isinstance(cell, int | float) and low <= cell <= high and cell == int(cell),
        _exact_number,
    )


def _exact_number(text: bytes) -> float:
    try:
        return read_whole(text.decode())
    except ValueError:
        return read_number(text.decode())


# -- booleans ----------------------------------------------------------------------------------------------------------
TRUTHS = {b"true": True, b"false": False}


def _truths(dtype: Any) -> CellKind:
    return _same(
        "the model takes true, false, 1 and 0 only",
        lambda cell: isinstance(cell, int | float) and cell in (0, 1),
        lambda text: TRUTHS[text.lower()] if text.lower() in TRUTHS else _exact_number(text),
    )


def _same(refusal: str, takes: Callable[[object], bool], read: Callable[[bytes], object]) -> CellKind:
    wrong = f"{refusal}, and not {{}}"
    return CellKind(refusal, wrong, _unless(takes, wrong), read, gather=_exact, cast=_unchanged)


def _unless(takes: Callable[[object], bool], wrong: str) -> Callable[[object], str | None]:
    return lambda cell: None if takes(cell) else wrong.format(shown(cell))


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
    NOT_TEXT := "the model takes text only, and not {}",
    _unless(lambda cell: isinstance(cell, str), NOT_TEXT),
    read=bytes.decode,
    gather=lambda values: np.array(values, dtype=object),
    cast=_texts,
)

KINDS: Mapping[str, Callable[[Any], CellKind]] = {
    "f": _floats,
    "i": _whole,
    "u": _whole,
    "b": _truths,
    "O": lambda dtype: TEXT,
}
"""Kinds of cells by numpy's letter for the kind of a type."""
