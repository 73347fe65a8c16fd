"""Predicts dense rows by XGBoost's C function, as `Booster.inplace_predict` does, with fewer checks of the rows.

For one row that looking costs several times the prediction. The caller has checked the rows' shape. Infinity is refused
as `Booster.predict` does, which `inplace_predict` takes for a large number.
"""

import ctypes
import json
import threading
from collections.abc import Callable
from functools import cache
from math import isinf, prod
from typing import Any

import numpy as np

from torpor_container.content import Rows

_HANDLE = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_SHAPE = ctypes.POINTER(ctypes.c_uint64)

INFINITE = "Input data contains `inf` or a value too large, while `missing` is not set to `inf`"
"""XGBoost's message. A number that float32 cannot hold has become infinite too."""

TOP_BYTES = 4096
"""Rows of more bytes are not copied."""


def predictor(
    booster: Any, iterations: tuple[int, int], missing: float, margins: bool = False
) -> Callable[[Rows], Any]:
    """Predicts float32 rows by columns, on several threads at the same time. `margins`: before the objective makes
    answers of them. Raises XGBoostError, as boosters do."""
    from xgboost.core import XGBoostError

    library = native_library()
    predict = library.XGBoosterPredictFromDense
    begin, end = iterations
    options = {
        "type": int(margins),
        "training": False,
        "iteration_begin": begin,
        "iteration_end": end,
        "missing": missing,
    }
    settings = json.dumps({**options, "strict_shape": False, "cache_id": 0}).encode()
    finite = not isinf(missing)

    def predicted(rows: Rows) -> Any:
        rows, desk = np.ascontiguousarray(rows, np.float32), _desk()
        if finite and np.count_nonzero(np.isinf(rows)):
            raise XGBoostError(INFINITE)
        described = desk.laid(rows)
        shape, dimensions, values = desk.shape, desk.dimensions, desk.values
        if predict(booster.handle, described, settings, desk.matrix, shape, dimensions, values):
            raise XGBoostError(library.XGBGetLastError().decode())
        sizes = shape[: dimensions.value]
        # XGBoost keeps the result for this thread until its next prediction, so it is copied at once.
        return np.frombuffer(ctypes.string_at(values.value or 0, 4 * prod(sizes)), np.float32).reshape(sizes)

    return predicted


class _Desk:
    """The buffers of one thread, kept between predictions: to make them takes a quarter of a small prediction."""

    def __init__(self) -> None:
        self.shape, self.dimensions, self.values = _SHAPE(), ctypes.c_uint64(), _HANDLE()
        self.matrix = _HANDLE()
        self._top = ctypes.create_string_buffer(TOP_BYTES)
        self._address = ctypes.addressof(self._top)
        self._fits: tuple[int, ...] = ()
        self._described = b""
        library = native_library()
        self._free = library.XGDMatrixFree
        library.XGProxyDMatrixCreate(self.matrix)

    def __del__(self) -> None:
        self._free(self.matrix)

    def laid(self, rows: Rows) -> bytes:
        """The rows in XGBoost's form. A few rows are copied to the thread's buffer."""
        if rows.nbytes > TOP_BYTES:
            return _described(rows.ctypes.data, rows.shape)
        ctypes.memmove(self._address, rows.tobytes(), rows.nbytes)
        if rows.shape != self._fits:
            self._fits, self._described = rows.shape, _described(self._address, rows.shape)
        return self._described


_OWN = threading.local()


def _desk() -> _Desk:
    """The buffers of this thread."""
    try:
        desk: _Desk = _OWN.desk
    except AttributeError:
        desk = _OWN.desk = _Desk()
    return desk


def _described(address: int, shape: tuple[int, ...]) -> bytes:
    """Rows, without a copy, as numpy's array interface (version 3) in JSON."""
    kind = np.dtype(np.float32).str
    data = f'"data":[{address},true],"shape":{list(shape)}'
    return f'{{{data},"strides":null,"typestr":"{kind}","version":3}}'.encode()


def load(booster: Any, content: bytes | bytearray) -> None:
    """As `Booster.load_model`, also from bytes, which it does not copy. Raises XGBoostError, and UnicodeDecodeError if
    the error is no text."""
    from xgboost.core import XGBoostError

    library = native_library()
    held = content if isinstance(content, bytes) else (ctypes.c_char * len(content)).from_buffer(content)
    if library.XGBoosterLoadModelFromBuffer(booster.handle, held, len(content)):
        raise XGBoostError(library.XGBGetLastError().decode())


@cache
def native_library() -> Any:
    """A second handle on XGBoost's library, whose declarations belong to this module; the system loads it once."""
    from xgboost.libpath import find_lib_path

    library = ctypes.CDLL(find_lib_path()[0])
    out: list[Any] = [ctypes.POINTER(_SHAPE), ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(_HANDLE)]
    library.XGBoosterPredictFromDense.argtypes = [_HANDLE, _TEXT, _TEXT, _HANDLE, *out]
    library.XGBoosterPredictFromDense.restype = ctypes.c_int
    library.XGBoosterLoadModelFromBuffer.argtypes = [_HANDLE, ctypes.c_void_p, ctypes.c_uint64]
    library.XGProxyDMatrixCreate.argtypes = [ctypes.POINTER(_HANDLE)]
    library.XGDMatrixFree.argtypes = [_HANDLE]
    library.XGBGetLastError.restype = _TEXT
    return library
