"""Reads one value of UBJSON (ubjson.org), as XGBoost writes it: counted arrays, and objects without a count."""

import struct
from typing import Any

import numpy as np

NUMBERS = {"i": ">b", "U": ">B", "I": ">h", "l": ">i", "L": ">q", "d": ">f", "D": ">d"}
CONSTANTS = {"T": True, "F": False, "Z": None}
_NUMBERS = {ord(mark): struct.Struct(kind) for mark, kind in NUMBERS.items()}
_CONSTANTS = {ord(mark): value for mark, value in CONSTANTS.items()}
_LONG = struct.Struct(">q")
_TEXT, _OBJECT, _ARRAY, _LONG_MARK, _OF_TYPE, _COUNTED, _END = map(ord, "S{[L$#}")


def read(data: bytes, at: int) -> tuple[Any, int]:
    """The value at a place, and the place after it. Raises ValueError for what XGBoost does not write."""
    mark, at = data[at], at + 1
    if mark == _TEXT:
        return _text(data, at)
    if mark == _ARRAY:
        return _array(data, at)
    if (number := _NUMBERS.get(mark)) is not None:
        return number.unpack_from(data, at)[0], at + number.size
    if mark == _OBJECT:
        return _object(data, at)
    if mark in _CONSTANTS:
        return _CONSTANTS[mark], at
    raise ValueError(f"a value of the mark {chr(mark)!r}")


def _text(data: bytes, at: int) -> tuple[str, int]:
    if data[at] == _LONG_MARK:  # as XGBoost writes every length
        at += 9
        size = _LONG.unpack_from(data, at - 8)[0]
    else:
        size, at = read(data, at)
    return data[at : at + size].decode(), at + size


def _object(data: bytes, at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while data[at] != _END:
        name, at = _text(data, at)
        found[name], at = read(data, at)
    return found, at + 1


def _array(data: bytes, at: int) -> tuple[Any, int]:
    """An array with a count: of one type (`[$`) as one of numpy, or a list of values that each say theirs (`[#`)."""
    mark = ""
    if data[at] == _OF_TYPE:
        mark, at = chr(data[at + 1]), at + 2
    if data[at] != _COUNTED:
        raise ValueError("an array without a count")
    count, at = read(data, at + 1)
    if mark:
        found = np.frombuffer(data, NUMBERS[mark], count, at)
        return found, at + found.nbytes
    values = []
    for _ in range(count):
        value, at = read(data, at)
        values.append(value)
    return values, at
