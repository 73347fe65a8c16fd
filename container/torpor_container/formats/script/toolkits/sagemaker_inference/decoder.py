"""Bodies to arrays, by content type."""

from collections.abc import Callable
from typing import Any

from sagemaker_inference import content_types, errors

from torpor_container.formats.script.encodings.arrays import csv_to_numpy, json_to_numpy, npy_to_numpy, npz_to_sparse

_decoder_map: dict[str, Callable[[Any], Any]] = {
    content_types.NPY: npy_to_numpy,
    content_types.CSV: csv_to_numpy,
    content_types.JSON: json_to_numpy,
    content_types.NPZ: npz_to_sparse,
}


def decode(obj: Any, content_type: str) -> Any:
    """Raises UnsupportedFormatError."""
    if content_type not in _decoder_map:
        raise errors.UnsupportedFormatError(content_type)
    return _decoder_map[content_type](obj)
