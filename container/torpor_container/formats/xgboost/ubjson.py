"""Reads one value of UBJSON (ubjson.org), as XGBoost writes it: counted arrays, and objects without a count."""

import struct
from typing import Any

import numpy as np

NUMBERS = {"i": ">b", "U": ">B", "I": ">h", "l": ">i", "L": ">q", "d": ">f", "D": ">d"}
CONSTANTS = {"T": True, "F": False, "Z": None}


def read(data: bytes, at: int) -> tuple[Any, int]:
    """The value at a place, and the place after it. Raises ValueError for what XGBoost does not write."""
    mark, at = chr(data[at]), at + 1
    if mark in NUMBERS:
        return _number(data, at, mark)
    if mark in CONSTANTS:
        return CONSTANTS[mark], at
    if mark == "S":
        return _text(data, at)
    if mark == "{":
        return _object(data, at)
    if mark == "[":
        return _array(data, at)
    raise ValueError(f"a value of the mark {mark!r}")


def _number(data: bytes, at: int, mark: str) -> tuple[Any, int]:
    kind = NUMBERS[mark]
    return struct.unpack_from(kind, data, at)[0], at + struct.calcsize(kind)


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = read(data, at)
    return data[at : at + size].decode(), at + size


def _object(data: bytes, at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while data[at : at + 1] != b"}":
        name, at = _text(data, at)
        found[name], at = read(data, at)
    return found, at + 1


def _array(data: bytes, at: int) -> tuple[Any, int]:
    """An array with a count: of one type (`[$`) as one of numpy, or a list of values that each say theirs (`[#`)."""
    mark = ""
    if data[at : at + 1] == b"$":
        mark, at = chr(data[at + 1]), at + 2
    if data[at : at + 1] != b"#":
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
