"""Records of protobuf in RecordIO, written by hand and held against the protobuf library."""

import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.helpers.example_counts import tries
from torpor_container.content.recordio import field, framed, varint
from torpor_container.formats.script.encodings.recordio_protobuf import (
    NoRecords,
    records,
    rows_of,
    tensor_kind,
    written,
)

TENSORS = {"Float32Tensor": ("TYPE_FLOAT", 2), "Float64Tensor": ("TYPE_DOUBLE", 3), "Int32Tensor": ("TYPE_INT32", 7)}
FIELDS = {np.dtype("float32"): "float32_tensor", np.dtype(float): "float64_tensor", np.dtype(int): "int32_tensor"}


def record_class() -> Any:
    """`aialgs.data.Record`, as far as rows of numbers need it."""
    file = descriptor_pb2.FileDescriptorProto(name="record.proto", package="aialgs", syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto

    def add(message: Any, name: str, number: int, kind: str, of: str = "", many: bool = False) -> None:
        label = kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL
        row = message.field.add(name=name, number=number, type=getattr(kinds, kind), label=label)
        if of:
            row.type_name = f".aialgs.{of}"
        elif many:
            row.options.packed = True

    value = descriptor_pb2.DescriptorProto(name="Value")
    for name, (kind, number) in TENSORS.items():
        tensor = file.message_type.add(name=name)
        add(tensor, "values", 1, kind, many=True)
        add(tensor, "keys", 2, "TYPE_UINT64", many=True)
        add(tensor, "shape", 3, "TYPE_UINT64", many=True)
        add(value, name.lower().replace("tensor", "_tensor"), number, "TYPE_MESSAGE", name)
    file.message_type.append(value)
    record = file.message_type.add(name="Record")
    for number, name in ((1, "features"), (2, "label")):
        entry = record.nested_type.add(name=f"{name.title()}Entry")
        entry.options.map_entry = True
        add(entry, "key", 1, "TYPE_STRING")
        add(entry, "value", 2, "TYPE_MESSAGE", "Value")
        add(record, name, number, "TYPE_MESSAGE", f"Record.{name.title()}Entry", many=True)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("aialgs.Record"))


RECORD = record_class()


def by_the_library(rows: Any, labels: Any) -> bytes:
    out = []
    for place in range(rows.shape[0]):
        record = RECORD()
        tensor = getattr(record.features["values"], FIELDS[rows.dtype])
        if sparse.issparse(rows):
            row = rows.tocsr()[[place]]
            tensor.values.extend(row.data.tolist())
            tensor.keys.extend(row.indices.tolist())
            tensor.shape.append(rows.shape[1])
        else:
            tensor.values.extend(rows[place].tolist())
        if labels is not None:
            getattr(record.label["values"], FIELDS[labels.dtype]).values.append(labels[place].item())
        out.append(framed(record.SerializeToString(deterministic=True)))
    return b"".join(out)


DENSE = np.array([[1.5, 0.0, -2.0], [0.0, 0.0, 1e30]], np.float32)


@pytest.mark.parametrize("dtype", [np.float32, float, int])
@pytest.mark.parametrize("labels", [None, np.array([1.0, 0.0], np.float32), np.array([-1, 300])])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.coo_matrix])
def test_rows_are_the_bytes_that_the_library_writes(dtype: Any, labels: Any, kind: Any) -> None:
    rows = kind(np.clip(DENSE, -9, 9).astype(dtype))
    assert written(rows, labels) == by_the_library(rows, labels)


@settings(deadline=None, max_examples=tries(24))
@given(
    rows=st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=3, max_size=3), min_size=1, max_size=4),
    dtype=st.sampled_from([np.float32, float, int]),
    is_sparse=st.booleans(),
)
def test_rows_come_back_as_they_were(rows: list[list[int]], dtype: Any, is_sparse: bool) -> None:
    given_rows = np.array(rows, dtype)
    body = written(sparse.csr_matrix(given_rows) if is_sparse else given_rows)
    found = rows_of(body)
    assert sparse.issparse(found) == is_sparse
    assert np.array_equal(found.toarray() if is_sparse else found, given_rows)


def test_dense_and_sparse_records_may_stand_beside_each_other() -> None:
    body = written(sparse.csr_matrix(DENSE[:1])) + written(DENSE[1:])
    assert np.array_equal(rows_of(body).toarray(), DENSE)


@pytest.mark.parametrize(
    ("rows", "labels", "why"),
    [
        (np.ones(3), None, "Array must be a Matrix"),
        (DENSE, np.ones((2, 1)), "Labels must be a Vector"),
        (DENSE, np.ones(5), "not compatible with array shape"),
        (np.ones((1, 2), np.int16), None, "Unsupported dtype int16"),
        (np.array([[2**31]]), None, "out of range"),
    ],
)
def test_what_the_toolkit_does_not_write_is_refused(rows: Any, labels: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        written(rows, labels)


def test_only_the_toolkit_s_types_have_a_tensor() -> None:
    assert [tensor_kind(np.dtype(kind)) for kind in ("float32", "float64", "int64")] == [2, 3, 7]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no record"),
        (b"1,2,3\n4,5,6\n", "no record of RecordIO begins at byte 0"),
        (written(DENSE)[:-4], "ends within a record"),
        (written(DENSE)[:4], "ends within a record"),
        (framed(b""), 'no features called "values"'),
        (framed(b"\xff" * 12), "no message of protobuf"),
        (framed(b"\x0a\x04\x0a\x02ab"), 'no features called "values"'),
        (written(DENSE) + written(DENSE[:, :2]), "differ in length"),
        (framed(field(1, field(1, b"values") + field(2, field(2, field(3, varint(2**40)))))), "do not fit its values"),
    ],
)
def test_a_body_that_holds_no_such_records_says_why(body: bytes, why: str) -> None:
    with pytest.raises(NoRecords, match=why):
        rows_of(body)


@settings(deadline=None, max_examples=tries(80))
@given(body=st.binary(max_size=60), cut=st.integers(0, 200), flip=st.integers(0, 200))
def test_no_bytes_raise_anything_else(body: bytes, cut: int, flip: int) -> None:
    changed = bytearray(written(sparse.csr_matrix(DENSE)))
    changed[flip % len(changed)] ^= 1 + cut % 255
    for given_body in (body, framed(body), bytes(changed), bytes(changed)[: cut % len(changed)]):
        with suppress(NoRecords):
            rows_of(given_body)


def test_records_are_found_by_their_lengths() -> None:
    assert list(records(framed(b"a") + framed(b"four"))) == [b"a", b"four"]
    assert framed(b"a") == struct.pack("<II", 0xCED7230A, 1) + b"a\0\0\0"
