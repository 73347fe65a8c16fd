"""Turns arrays into bodies and back, as the toolkits of AWS's images do. The stand-ins for their encoders share it.

Unlike the toolkits, it reads an `.npy` body without pickles: a request must not run code.
"""

import csv
import io
import json
from typing import Any

import numpy as np


def array_to_json(array_like: Any) -> str:
    """JSON, with arrays at any depth as lists."""
    return json.dumps(array_like, default=_listed)


def _listed(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def array_to_npy(array_like: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array_like)
    return buffer.getvalue()


def rows_to_csv(array_like: Any) -> str:
    """CSV as `numpy.savetxt` writes it, for sagemaker_inference."""
    stream = io.StringIO()
    np.savetxt(stream, array_like, delimiter=",", fmt="%s")
    return stream.getvalue()


def quoted_rows_to_csv(array_like: Any) -> str:
    """CSV as Python's csv writes it, one number a line for a list of numbers, for sagemaker_containers."""
    array = np.array(array_like)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n", strict=True).writerows(array)
    return stream.getvalue()


def json_to_numpy(string_like: str | bytes, dtype: Any = None) -> Any:
    return np.array(json.loads(string_like), dtype=dtype)


def csv_to_numpy(string_like: str | bytes, dtype: Any = None) -> Any:
    """An array of numbers, with one row as a flat array, for sagemaker_inference."""
    return np.genfromtxt(io.StringIO(_text(string_like)), dtype=dtype, delimiter=",")


def quoted_csv_to_numpy(string_like: str | bytes, dtype: Any = None) -> Any:
    """An array of numbers, for sagemaker_containers; of texts if a cell is not a number and no type is given.

    Raises ValueError.
    """
    rows = csv.reader(io.StringIO(_text(string_like)), strict=True)
    array = np.array(list(rows)).squeeze()
    try:
        return array.astype(dtype)
    except ValueError:
        if dtype is not None:
            raise
        return array


def npy_to_numpy(npy_array: bytes) -> Any:
    return np.load(io.BytesIO(npy_array), allow_pickle=False)


def npz_to_sparse(npz_bytes: bytes) -> Any:
    from scipy.sparse import load_npz

    return load_npz(io.BytesIO(npz_bytes))


def _text(string_like: str | bytes) -> str:
    return string_like if isinstance(string_like, str) else string_like.decode()
