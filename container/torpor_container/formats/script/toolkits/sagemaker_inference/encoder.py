"""Arrays to bodies, by content type."""

from typing import Any

from sagemaker_inference import content_types, errors

from torpor_container.formats.script.encodings.arrays import array_to_json, array_to_npy, rows_to_csv

_encoder_map = {
    content_types.NPY: array_to_npy,
    content_types.CSV: rows_to_csv,
    content_types.JSON: array_to_json,
}


def encode(array_like: Any, content_type: str) -> Any:
    """Raises UnsupportedFormatError."""
    if content_type not in _encoder_map:
        raise errors.UnsupportedFormatError(content_type)
    return _encoder_map[content_type](array_like)
