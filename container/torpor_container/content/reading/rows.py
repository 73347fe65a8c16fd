"""Decodes a request body to rows of numbers, by its content type, and checks that they fit the model."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from torpor_container.content.kinds import OutOfRange
from torpor_container.content.layout import RowLayout, Rows
from torpor_container.content.media import CSV, JSON, JSONLINES, LIBSVM, NPY, NPZ, charset_of, media_type
from torpor_container.content.reading.categories import Categories, coded
from torpor_container.content.reading.cell_tables import read_table
from torpor_container.content.reading.csv_rows import GZIP, as_utf8, csv_has_header, decode_csv, decode_csv_with_header
from torpor_container.content.reading.json_rows import decode_json, decode_jsonlines
from torpor_container.content.reading.libsvm_rows import decode_libsvm
from torpor_container.content.reading.npy_rows import decode_npy
from torpor_container.content.reading.npz_rows import decode_npz
from torpor_container.errors import BadInput, UnsupportedContentType

__all__ = ["DECODERS", "RowLayout", "Rows", "decode"]

Decoder = Callable[[bytes, RowLayout], Rows]

DECODERS: Mapping[str, Decoder] = {
    CSV: decode_csv,
    LIBSVM: decode_libsvm,
    JSON: decode_json,
    JSONLINES: decode_jsonlines,
    NPY: decode_npy,
    NPZ: decode_npz,
}


def decode(body: bytes, content_type: str, layout: RowLayout) -> Rows:
    """Rows as the model takes them: an array, or a sparse matrix if the body has one and the layout takes it.

    Raises BadInput, or UnsupportedContentType with the list of the known ones.

    Without a content type the body is CSV, as in the first of SageMaker's XGBoost containers; later ones take it
    for libsvm, in which a CSV body is rows without a feature.
    """
    decoder = _decoder(content_type)
    if not body or body.isspace():
        raise BadInput("the request body is empty")
    if body[:2] == GZIP:
        body = as_utf8(body, content_type)
    if layout.categories is not None and (categories := layout.categories()) is not None:
        return _coded(body, content_type, layout, categories)
    return layout.fit(decoder(body, layout))


def _coded(body: bytes, content_type: str, layout: RowLayout, categories: Categories) -> Rows:
    try:
        return layout.cast(coded(read_table(body, content_type), categories))
    except OutOfRange as error:
        raise BadInput.of_rows(str(error)) from None


@lru_cache(maxsize=64)
def _decoder(content_type: str) -> Decoder:
    """The decoder of a content type. Raises BadInput for an unsupported parameter, and UnsupportedContentType."""
    kind = media_type(content_type) if content_type else CSV
    if kind not in DECODERS:
        raise UnsupportedContentType.of(content_type, DECODERS)
    decoder = decode_csv_with_header if kind == CSV and csv_has_header(content_type) else DECODERS[kind]
    if charset_of(content_type) is None:
        return decoder
    return lambda body, layout: decoder(as_utf8(body, content_type), layout)
