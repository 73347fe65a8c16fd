"""Predicts dense rows by XGBoost's C function, as `Booster.inplace_predict` does, and does not look at the rows first.

For one row that looking costs several times the prediction. The caller has checked the rows' shape.
"""

import ctypes
import json
import threading
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from torpor_container.content import Rows

_HANDLE = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_SHAPE = ctypes.POINTER(ctypes.c_uint64)


def predictor(booster: Any, iterations: tuple[int, int], missing: float) -> Callable[[Rows], Any]:
    """Predicts float32 rows by columns, from several threads at once. It raises XGBoostError, as the booster does."""
    from xgboost.core import XGBoostError

    library = _library()
    predict = library.XGBoosterPredictFromDense
    begin, end = iterations
    options = {"type": 0, "training": False, "iteration_begin": begin, "iteration_end": end, "missing": missing}
    settings = json.dumps({**options, "strict_shape": False, "cache_id": 0}).encode()

    def predicted(rows: Rows) -> Any:
        rows = np.ascontiguousarray(rows, np.float32)
        shape, dimensions, values = _SHAPE(), ctypes.c_uint64(), _HANDLE()
        if predict(booster.handle, _described(rows), settings, _desk(), shape, dimensions, values):
            raise XGBoostError(library.XGBGetLastError().decode())
        sizes = shape[: dimensions.value]
        # XGBoost keeps the result for this thread until its next prediction, so it is copied at once.
        return np.frombuffer(ctypes.string_at(values.value or 0, 4 * prod(sizes)), np.float32).reshape(sizes)

    return predicted


def _described(rows: Rows) -> bytes:
    """The rows where they lie, as numpy's array interface (version 3) in JSON."""
    count, columns = rows.shape
    data = f'"data":[{rows.ctypes.data},true],"shape":[{count},{columns}]'
    return f'{{{data},"strides":null,"typestr":"{rows.dtype.str}","version":3}}'.encode()


class _Desk:
    """What a thread lays its rows on. XGBoost would make one for each call, which takes a fifth of the call."""

    def __init__(self) -> None:
        library = _library()
        self._free = library.XGDMatrixFree
        self.handle = _HANDLE()
        library.XGProxyDMatrixCreate(self.handle)

    def __del__(self) -> None:
        self._free(self.handle)


_OWN = threading.local()


def _desk() -> Any:
    """This thread's own."""
    try:
        return _OWN.desk.handle
    except AttributeError:
        _OWN.desk = _Desk()
        return _OWN.desk.handle


@cache
def _library() -> Any:
    """XGBoost's own library, once more, so that these declarations are ours alone: the system loads it only once."""
    from xgboost.libpath import find_lib_path

    library = ctypes.CDLL(find_lib_path()[0])
    out: list[Any] = [ctypes.POINTER(_SHAPE), ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(_HANDLE)]
    library.XGBoosterPredictFromDense.argtypes = [_HANDLE, _TEXT, _TEXT, _HANDLE, *out]
    library.XGBoosterPredictFromDense.restype = ctypes.c_int
    library.XGProxyDMatrixCreate.argtypes = [ctypes.POINTER(_HANDLE)]
    library.XGDMatrixFree.argtypes = [_HANDLE]
    library.XGBGetLastError.restype = _TEXT
    return library
