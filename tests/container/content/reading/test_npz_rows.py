"""`application/x-npz`: sparse rows are read without pickles and within bounds; other bodies are refused."""

import io
import zipfile
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from torpor_container.content import RowLayout, decode
from torpor_container.content.reading.npz_rows import EXPANDED_MAX_BYTES
from torpor_container.errors import BadInput

NPZ = "application/x-npz"
DENSE = np.array([[0.0, 1.5, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 4.0], [0.0, 0.0, 5.0, 0.0]])
LAYOUT = RowLayout(np.float64, columns=4, absent=0.0)


def saved(matrix: Any) -> bytes:
    stream = io.BytesIO()
    sparse.save_npz(stream, matrix)
    return stream.getvalue()


def archive(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("made", [sparse.coo_matrix, sparse.coo_array])
def test_any_sparse_format_stays_sparse_and_has_the_models_type(kind: str, made: Any) -> None:
    rows: Any = decode(saved(made(DENSE.astype("f4")).asformat(kind)), NPZ, LAYOUT)
    assert (rows.format, rows.dtype) == ("csr", np.float64)
    np.testing.assert_array_equal(rows.toarray(), DENSE)


def test_absent_values_of_a_dense_row_take_the_layouts_value() -> None:
    kept = sparse.csr_matrix(([1.0, 0.0], ([0, 0], [0, 1])), shape=(1, 3))
    as_missing = decode(saved(kept), NPZ, RowLayout(np.float64, columns=3, sparse=False))
    np.testing.assert_array_equal(as_missing, [[1.0, 0.0, np.nan]])
    assert decode(saved(kept), NPZ, RowLayout(np.float64, absent=0.0, sparse=False)).tolist() == [[1.0, 0.0, 0.0]]


def test_a_cell_given_twice_is_the_sum() -> None:
    twice = sparse.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 4))
    rows: Any = decode(saved(twice), NPZ, LAYOUT)
    assert rows.toarray().tolist() == [[0.0, 3.0, 0.0, 0.0]]


def far(index: int) -> bytes:
    return archive(format=b"csr", shape=[1, 4], data=[1.0], indices=np.array([index]), indptr=np.array([0, 1]))


def bomb() -> bytes:
    """Small, until it is unpacked."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("format.npy", b"\x93NUMPY")
        packed.writestr("data.npy", bytes(EXPANDED_MAX_BYTES + 1))
    return stream.getvalue()


REFUSED = {
    "no archive": (b"hello", "not an .npz archive"),
    "a cut archive": (saved(sparse.csr_matrix(DENSE))[:200], "not an .npz archive"),
    "an archive of dense arrays": (archive(rows=DENSE), "send a dense array as application/x-npy"),
    "an unknown format": (archive(format=b"lil", shape=[1, 4]), "'lil' is none of csr, csc"),
    "a part that is not there": (archive(format=b"csr", shape=[1, 4], data=[1.0]), "lacks indices, indptr"),
    "another width": (saved(sparse.csr_matrix(DENSE[:, :3])), "takes 4 columns, and the rows have 3"),
    "a column that is not there": (far(4), "no sparse matrix that can be read"),
    "a column before the first": (far(-1), "no sparse matrix that can be read"),
    "pickles": (archive(format=b"csr", shape=np.array([{}], dtype=object)), "reads no pickles"),
    "text": (archive(format=b"coo", shape=[1, 4], data=["a"], row=[0], col=[0]), "holds numbers only"),
    "rows that no byte pays for": (
        archive(format=b"coo", shape=[2**40, 4], data=[1.0], row=[0], col=[0]),
        "too many for one request",
    ),
    "no rows": (archive(format=b"coo", shape=[0, 4], data=[], row=[], col=[]), r"has the shape \(0, 4\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_matrix_that_does_not_fit_the_model_is_refused_with_the_reason(name: str) -> None:
    body, said = REFUSED[name]
    with pytest.raises(BadInput, match=said):
        decode(body, NPZ, LAYOUT)


def test_a_small_archive_that_unpacks_to_much_is_refused() -> None:
    with pytest.raises(BadInput, match="unpacks to more than"):
        decode(bomb(), NPZ, LAYOUT)


def test_few_cells_do_not_become_a_huge_array() -> None:
    with pytest.raises(BadInput, match="4000 rows of 1000000 columns are too many"):
        decode(saved(sparse.coo_matrix((4000, 1_000_000))), NPZ, RowLayout(np.float32, sparse=False))
