"""Reads `application/x-npy`, numpy's own format, without pickles and without trust in its header."""

import io
from math import prod
from tokenize import TokenError

import numpy as np
from numpy.lib import format as npy

from torpor_container.content.kinds import NUMERIC, TEXT, OutOfRange
from torpor_container.content.layout import RowLayout, Rows
from torpor_container.errors import BadInput

UNREADABLE = (ValueError, SyntaxError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, MemoryError)
"""What numpy raises for a header, which it reads as Python's literals, besides deep nesting and broken tokens."""


def decode_npy(body: bytes, layout: RowLayout) -> Rows:
    """Read rows: a view on the body if the type is right already. Raises BadInput."""
    array = read_npy(body)
    if array.dtype.kind not in NUMERIC and layout.kind is not TEXT:
        if array.dtype.names:
            return _fields(array, layout)
        raise BadInput(f"an array of {array.dtype} is not an array of numbers")
    try:
        return layout.cast(array)
    except OutOfRange as error:
        raise BadInput.of_rows(str(error)) from None
    except ValueError as error:
        raise BadInput(str(error)) from None


def read_npy(body: bytes) -> Rows:
    """The array as it was saved: a view on the body. Raises BadInput, also for an array of pickles."""
    stream = io.BytesIO(body)
    shape, fortran, dtype = _header(stream)
    if dtype.hasobject:
        raise BadInput(f"an array of {dtype} is not an array of numbers: Torpor reads no pickles in requests")
    try:
        # The header is the caller's: `frombuffer` refuses a shape that the body does not hold.
        flat = np.frombuffer(body, dtype=dtype, count=prod(shape), offset=stream.tell())
        if further := len(body) - stream.tell() - flat.nbytes:
            raise ValueError(f"{further} bytes follow it: send one array")
        return flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError, TypeError) as error:
        raise _no_array(error) from None


def _fields(array: Rows, layout: RowLayout) -> Rows:
    """Rows of a structured array, whose fields are the columns' names. Raises BadInput."""
    names = list(array.dtype.names or ())
    columns = [array[name] for name in names]
    if any(column.ndim != 1 or column.dtype.kind not in NUMERIC for column in columns):
        raise BadInput(f"an array of {array.dtype} does not have rows of numbers")
    cast = [_field(name, column, layout) for name, column in zip(names, columns, strict=True)]
    return layout.ordered(np.stack(cast, axis=1), names)


def _field(name: str, column: Rows, layout: RowLayout) -> Rows:
    try:
        return layout.cast(column)
    except OutOfRange as error:
        raise BadInput.of_rows(f"column {name}: {error}") from None
    except ValueError as error:
        raise BadInput(f"column {name}: {error}") from None


def _header(stream: io.BytesIO) -> tuple[tuple[int, ...], bool, "np.dtype[np.generic]"]:
    """The shape, order and type in the header. Raises BadInput."""
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        return read(stream)
    except (*UNREADABLE, RecursionError, TokenError) as error:
        raise _no_array(error) from None


def _no_array(error: Exception) -> BadInput:
    return BadInput(f"the body is not an .npy array: {str(error) or type(error).__name__}")
