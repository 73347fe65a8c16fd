"""Decodes a request body to rows of numbers, by its content type, and checks that they fit the model."""

from collections.abc import Callable, Mapping

from torpor_container.content.csv_rows import decode_csv
from torpor_container.content.json_rows import decode_json, decode_jsonlines
from torpor_container.content.layout import Layout, Rows
from torpor_container.content.libsvm_rows import decode_libsvm
from torpor_container.content.media import CSV, JSON, JSONLINES, LIBSVM, NPY, media_type
from torpor_container.content.npy_rows import decode_npy
from torpor_container.errors import BadInput, UnsupportedContentType

__all__ = ["DECODERS", "Layout", "Rows", "decode"]

DECODERS: Mapping[str, Callable[[bytes, Layout], Rows]] = {
    CSV: decode_csv,
    LIBSVM: decode_libsvm,
    JSON: decode_json,
    JSONLINES: decode_jsonlines,
    NPY: decode_npy,
}


def decode(body: bytes, content_type: str, layout: Layout) -> Rows:
    """Rows as the model wants them. Raises BadInput, or UnsupportedContentType with the list of the known ones.

    Without a content type the body is CSV, as in the first of SageMaker's XGBoost containers; later ones take it
    for libsvm, in which a CSV body is rows without a feature.
    """
    decoder = DECODERS.get(media_type(content_type) if content_type else CSV)
    if decoder is None:
        raise UnsupportedContentType.of(content_type, DECODERS)
    if not body or body.isspace():
        raise BadInput("the request body is empty")
    return layout.fit(decoder(body, layout))
