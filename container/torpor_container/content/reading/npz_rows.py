"""Reads `application/x-npz`, a sparse matrix as `scipy.sparse.save_npz` writes it, and what the SageMaker SDK's
SparseMatrixSerializer sends.

`scipy.sparse.load_npz` believes the archive's sizes. Here the archive may not unpack to more than EXPANDED_MAX_BYTES,
no array is unpickled, and each index is checked before anything is allocated by it.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from torpor_container.content.kinds import NUMERIC, TEXT, OutOfRange
from torpor_container.content.layout import RowLayout, Rows
from torpor_container.content.reading.npy_rows import read_npy
from torpor_container.errors import BadInput

EXPANDED_MAX_BYTES = 2**27
ROWS_MAX = 2**22
"""The most rows: a matrix that is stored by columns or coordinates can claim rows without any bytes for them."""
CELLS_MAX = 2**25
"""The most cells of a matrix that becomes dense, for a model that does not take a sparse one."""

PARTS: Mapping[str, tuple[str, ...]] = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
"""The arrays of each sparse format, besides `format` and `shape`."""


def decode_npz(body: bytes, layout: RowLayout) -> Rows:
    """A matrix in scipy's `csr` format, of the model's type; dense if the layout is not sparse. Raises BadInput."""
    if layout.kind is TEXT:
        raise BadInput(f"a sparse matrix holds numbers, and {TEXT.refusal}")
    arrays = _arrays(body)
    try:
        matrix = _matrix(arrays, layout)
        matrix.data = layout.cast(matrix.data)
    except OutOfRange as error:
        raise BadInput.of_rows(str(error)) from None
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise BadInput(f"the .npz archive has no sparse matrix that can be read: {error}") from None
    return matrix if layout.sparse else densely(matrix, layout)


def densely(matrix: Any, layout: RowLayout) -> Rows:
    """The same as an array, with the layout's value for absent cells. Raises BadInput."""
    count, columns = matrix.shape
    if count * columns > CELLS_MAX:
        raise BadInput(f"{count} rows of {columns} columns are too many for a model that takes no sparse matrix")
    dense = np.full(matrix.shape, layout.absent, dtype=layout.dtype)
    stored = matrix.tocoo()
    dense[stored.row, stored.col] = stored.data
    return dense


def _arrays(body: bytes) -> dict[str, Rows]:
    """Those of the archive, by name. Raises BadInput."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return _unpacked(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BadInput(f"the body is not an .npz archive: {error}") from None


def _unpacked(archive: zipfile.ZipFile) -> dict[str, Rows]:
    wanted = {f"{name}.npy" for names in PARTS.values() for name in names} | {"format.npy", "shape.npy"}
    arrays, left = {}, EXPANDED_MAX_BYTES
    if "format.npy" not in archive.namelist():
        raise BadInput(
            "the .npz archive holds no sparse matrix, as scipy.sparse.save_npz writes it: send a dense array as "
            "application/x-npy, which numpy.save writes"
        )
    for name in sorted(wanted.intersection(archive.namelist())):
        with archive.open(name) as file:
            content = file.read(left + 1)  # the size in the archive may be wrong
        left -= len(content)
        if left < 0:
            raise BadInput(f"the .npz archive unpacks to more than {EXPANDED_MAX_BYTES} bytes")
        arrays[name.removesuffix(".npy")] = read_npy(content)
    return arrays


def _matrix(arrays: Mapping[str, Rows], layout: RowLayout) -> Any:
    """Make the matrix. Raises BadInput and, if the arrays do not fit together, what numpy and scipy raise."""
    from scipy import sparse

    kind = _word(arrays["format"])
    if kind not in PARTS:
        raise BadInput(f"the sparse format {kind!r} is none of {', '.join(PARTS)}")
    if missing := [name for name in ("shape", *PARTS[kind]) if name not in arrays]:
        raise BadInput(f"the .npz archive lacks {', '.join(missing)}, which a {kind} matrix has")
    shape = _shape(arrays["shape"], layout)
    parts = [arrays[name] for name in PARTS[kind]]
    if any(part.dtype.kind not in NUMERIC for part in parts):
        raise BadInput("a sparse matrix holds numbers only")
    made = getattr(sparse, f"{kind}_matrix")
    matrix = made((parts[0], tuple(parts[1:])) if kind == "coo" else tuple(parts), shape=shape)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    return matrix


def _shape(array: Rows, layout: RowLayout) -> tuple[int, int]:
    shape = tuple(int(size) for size in array.ravel())
    if len(shape) != 2 or min(shape) < 1:
        raise BadInput(f"the model takes rows, and the sparse matrix has the shape {shape}")
    if layout.columns is not None and shape[1] != layout.columns:
        raise BadInput(f"the model takes {layout.columns} columns, and the rows have {shape[1]}")
    if shape[0] > ROWS_MAX:
        raise BadInput(f"{shape[0]} rows are too many for one request")
    return shape[0], shape[1]


def _word(array: Rows) -> str:
    value = array.item()
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
