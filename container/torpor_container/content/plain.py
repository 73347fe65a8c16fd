"""Turns a prediction into plain Python values. Only this module knows types of objects, for all content types.

| what a model or a script returns | becomes |
|---|---|
| numbers, booleans, text, None, lists, tuples, dicts, of any depth | itself |
| numpy arrays and scalars; objects with `tolist` (torch, pandas Series) | lists; masked cells are None |
| numpy structured arrays | a row for each record |
| a data frame (pandas, polars) | its rows; in JSON an object for each, if its columns have names |
| a sparse matrix (scipy) | its rows, zeros too |
| an Arrow table or array | an object for each row; its values |
| iterators and generators, ranges, maps, views, deques | lists |
| objects with `__array__` | lists |
| datetime, date, time, numpy.datetime64 | text in ISO 8601 |
| Decimal | itself: CSV writes its digits, JSON has no such number |
| sets (they have no order), bytes, time spans, complex numbers, anything else | refused |

Frames and the like are recognised by their methods: none of their packages is imported here.
"""

from collections import deque
from collections.abc import Iterator, KeysView, Mapping, Sequence, ValuesView
from datetime import date, time
from decimal import Decimal
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

CELLS_MAX = 2**25
"""The most cells of a sparse matrix that is written with its zeros."""

SIMPLE = frozenset({bool, int, float, str, type(None)})
LISTED = (Iterator, range, deque, KeysView, ValuesView)
WRITABLE = "numbers, text, lists, arrays, data frames and sparse matrices"
ADVICE: Mapping[type, str] = {
    bytes: "decode it, or return (body, content type) from output_fn",
    bytearray: "decode it, or return (body, content type) from output_fn",
    memoryview: "decode it, or return (body, content type) from output_fn",
    set: "a set has no order: return a list",
    frozenset: "a set has no order: return a list",
}


class Unwritable(TypeError):
    """A prediction that cannot be written in a content type. The message says what to do."""

    elsewhere = False
    """Whether another content type can hold it, so that the caller has asked for a wrong one."""
    of = ""
    """The type of the value that cannot be written, where that is the reason."""

    @classmethod
    def here(cls, message: str) -> Self:
        """Another content type can hold it."""
        error = cls(message)
        error.elsewhere = True
        return error


class Outputs(dict[str, Any]):
    """Several outputs of one model, by name, in the model's order; each has a value for each row."""


def refused(value: Any, kind: str) -> Unwritable:
    """The error for a value that cannot be written in a content type."""
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    advice = next((text for known, text in ADVICE.items() if isinstance(value, known)), f"return {WRITABLE}")
    error = Unwritable(f"a prediction of type {name} cannot be written as {kind}: {advice}")
    error.of = f"a value of type {name}"
    return error


def listed(prediction: Any, kind: str) -> Any:
    """The prediction as lists of plain values. A float32 becomes the float of the same value, as in SageMaker."""
    if type(prediction) is np.ndarray and prediction.dtype.kind in "fiubU":
        return prediction.tolist()
    return plain(prediction, kind)


def plain(value: Any, kind: str, named: bool = False) -> Any:
    """The value without any object of a framework, at any depth. `named`: a frame's rows are objects with its names.

    Raises Unwritable.
    """
    if type(value) in SIMPLE:
        return value
    for known in (str, int, float):
        if isinstance(value, known) and not isinstance(value, np.generic):
            return known.__str__(value) if known is str else known(value)  # an enumeration's value
    if isinstance(value, list | tuple):
        return [plain(one, kind, named) for one in value]
    if isinstance(value, Mapping):
        return {_key(key): plain(one, kind, named) for key, one in value.items()}
    if isinstance(value, Decimal):
        return value
    return plain(opened(value, kind, named), kind, named)


def opened(value: Any, kind: str, named: bool = False) -> Any:
    """The content of an object, one layer deep, as lists, mappings or plain values. Raises Unwritable."""
    if isinstance(value, np.ndarray | np.generic):
        return _of_array(value, kind)
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas's values for a missing cell
        return None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, LISTED):
        return list(value)
    if isinstance(value, tuple(ADVICE)):
        raise refused(value, kind)
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        return _of_sparse(value)
    if hasattr(value, "to_pylist"):
        by_name = named or not hasattr(value, "columns")
        return value.to_pylist() if by_name else _rows([column.to_pylist() for column in value.columns])
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        return _of_frame(value, named)
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "to_list"):
        return value.to_list()
    if hasattr(value, "__array__"):
        return np.asarray(value)
    raise refused(value, kind)


def _key(key: Any) -> Any:
    """Turn a key into one that JSON takes: numpy's scalars are not."""
    return key.item() if isinstance(key, np.generic) else key


def _of_array(array: Any, kind: str) -> Any:
    letter = array.dtype.kind
    if letter == "M":
        return _times(np.asarray(array))
    if array.dtype.names:
        return (
            _rows([array[name] for name in array.dtype.names])
            if array.ndim
            else [array[name] for name in array.dtype.names]
        )
    if letter in "mcSV":
        raise refused(array.reshape(-1)[0].item() if letter == "S" and array.size else array.dtype.type(), kind)
    return array.tolist()


def _times(array: NDArray[Any]) -> Any:
    texts = np.where(np.isnat(array), "", np.datetime_as_string(array)).astype(object)
    texts[np.isnat(array)] = None
    return texts.tolist()


def _of_sparse(matrix: Any) -> Any:
    if np.prod(matrix.shape, dtype=np.float64) > CELLS_MAX:
        raise Unwritable(f"a sparse matrix of shape {matrix.shape} is too large to be written with its zeros")
    return matrix.toarray()


def _of_frame(frame: Any, named: bool) -> Any:
    """The rows, from single columns: a frame as one array would make floats of its whole numbers."""
    names = list(frame.columns)
    columns = [frame.iloc[:, place] if hasattr(frame, "iloc") else frame[name] for place, name in enumerate(names)]
    rows = _rows([column.tolist() if hasattr(column, "tolist") else column.to_list() for column in columns])
    if not named or names == list(range(len(names))) or len(set(names)) < len(names):
        return rows
    return [dict(zip(map(str, names), row, strict=True)) for row in rows]


def _rows(columns: Sequence[Any]) -> list[list[Any]]:
    return [list(row) for row in zip(*columns, strict=True)]
