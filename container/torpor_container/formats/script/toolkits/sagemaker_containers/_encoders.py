"""Arrays to bodies and back, by content type."""

import csv
from collections.abc import Callable
from typing import Any

from sagemaker_containers import _content_types, _errors

from torpor_container.formats.script.encodings.arrays import (
    array_to_json,
    array_to_npy,
    json_to_numpy,
    npy_to_numpy,
    quoted_csv_to_numpy,
    quoted_rows_to_csv,
)
from torpor_container.formats.script.encodings.recordio_protobuf import written

__all__ = [
    "array_to_csv",
    "array_to_json",
    "array_to_npy",
    "array_to_recordio_protobuf",
    "csv_to_numpy",
    "decode",
    "encode",
    "json_to_numpy",
    "npy_to_numpy",
]

array_to_csv = quoted_rows_to_csv


def csv_to_numpy(string_like: Any, dtype: Any = None) -> Any:
    """Raises ClientError."""
    try:
        return quoted_csv_to_numpy(string_like, dtype)
    except ValueError as error:
        raise _errors.ClientError(f"Error while writing numpy array: {error}. dtype is: {dtype}") from error
    except csv.Error as error:
        raise _errors.ClientError(f"Error while decoding csv: {error}") from error


def array_to_recordio_protobuf(array_like: Any, labels: Any = None) -> bytes:
    """A record for each row of an array or a sparse matrix. Raises ValueError."""
    if len(array_like.shape) == 1:
        array_like = array_like.reshape(1, array_like.shape[0])
    return written(array_like, labels)


_encoders_map = {
    _content_types.NPY: array_to_npy,
    _content_types.CSV: array_to_csv,
    _content_types.JSON: array_to_json,
}
_decoders_map: dict[str, Callable[[Any], Any]] = {
    _content_types.NPY: npy_to_numpy,
    _content_types.CSV: csv_to_numpy,
    _content_types.JSON: json_to_numpy,
}


def decode(obj: Any, content_type: str) -> Any:
    """Raises UnsupportedFormatError."""
    if content_type not in _decoders_map:
        raise _errors.UnsupportedFormatError(content_type)
    return _decoders_map[content_type](obj)


def encode(array_like: Any, content_type: str) -> Any:
    """Raises UnsupportedFormatError."""
    if content_type not in _encoders_map:
        raise _errors.UnsupportedFormatError(content_type)
    return _encoders_map[content_type](array_like)
