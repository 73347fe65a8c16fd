"""Bodies to XGBoost's matrices, by content type."""

import csv
import io
import json
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost as xgb
from sagemaker_containers import _content_types, _errors
from sagemaker_xgboost_container.constants import xgb_content_types

from torpor_container.formats.script.encodings.recordio_protobuf import rows_of


def csv_to_dmatrix(input: str | bytes, dtype: Any = None) -> xgb.DMatrix:
    """The delimiter is guessed from the first line; an empty cell is missing. Raises ValueError for a text."""
    text = input.decode() if isinstance(input, bytes) else str(input)
    lines = text.strip("\r\n").splitlines()
    delimiter = _delimiter(lines[0] if lines else "")
    rows = [["nan" if cell == "" else cell for cell in line.split(delimiter)] for line in lines]
    return xgb.DMatrix(np.array(rows).astype(dtype))


def _delimiter(line: str) -> str:
    """A comma where the line tells of none: one column."""
    try:
        delimiter = csv.Sniffer().sniff(line[:512]).delimiter
    except csv.Error:
        return ","
    return "," if delimiter.isalnum() or delimiter in ".+-" else delimiter


def libsvm_to_dmatrix(string_like: str | bytes) -> xgb.DMatrix:
    """As XGBoost itself reads such a file."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(string_like.encode() if isinstance(string_like, str) else string_like)
    try:
        return xgb.DMatrix(f"{file.name}?format=libsvm")
    finally:
        os.remove(file.name)


def recordio_protobuf_to_dmatrix(string_like: bytes) -> xgb.DMatrix:
    """Labels are passed over. Raises ValueError."""
    return xgb.DMatrix(rows_of(bytes(string_like)))


def json_to_jsonlines(json_data: Any) -> bytes:
    """`{"predictions": [a, b]}` as one line for each. Raises ValueError for more than one list."""
    lists = list((json_data if isinstance(json_data, dict) else json.loads(json_data)).values())
    if len(lists) != 1:
        raise ValueError("JSON response is not compatible for conversion to jsonlines.")
    lines = io.StringIO()
    for entry in lists[0]:
        lines.write(json.dumps(entry) + "\n")
    return lines.getvalue().encode()


_dmatrix_decoders_map: dict[str, Callable[[Any], xgb.DMatrix]] = {
    _content_types.CSV: csv_to_dmatrix,
    xgb_content_types.LIBSVM: libsvm_to_dmatrix,
    xgb_content_types.X_LIBSVM: libsvm_to_dmatrix,
    xgb_content_types.X_RECORDIO_PROTOBUF: recordio_protobuf_to_dmatrix,
}


def decode(obj: Any, content_type: str) -> xgb.DMatrix:
    """Parameters of the content type are passed over. Raises UnsupportedFormatError."""
    kind = content_type.partition(";")[0].strip()
    if kind not in _dmatrix_decoders_map:
        raise _errors.UnsupportedFormatError(kind)
    return _dmatrix_decoders_map[kind](obj)
