"""Rows as records of protobuf in RecordIO."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from torpor_container.content.recordio import framed
from torpor_container.formats.script.encodings.recordio_protobuf import records, written


def _write_numpy_to_dense_tensor(file: BinaryIO, array: Any, labels: Any = None) -> None:
    file.write(written(array, labels))


def _write_spmatrix_to_sparse_tensor(file: BinaryIO, array: Any, labels: Any = None) -> None:
    """Raises TypeError for an array."""
    if not hasattr(array, "tocsr"):
        raise TypeError("Array must be sparse")
    file.write(written(array, labels))


def _write_recordio(f: BinaryIO, data: bytes) -> None:
    f.write(framed(data))


def _read_recordio(f: BinaryIO) -> Iterator[bytes]:
    """Raises ValueError."""
    return records(f.read())
