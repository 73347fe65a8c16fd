"""Writes a linear model as ONNX, as a few protobuf fields, with the standard library only.

Field numbers are those of `onnx.proto3`. The graph is `rows · coefficients + intercept`.
"""

import struct
from collections.abc import Sequence

IR_VERSION, OPSET = 8, 13
FLOAT = 1
_VARINT, _BYTES = 0, 2


def linear_onnx(coefficients: Sequence[float], intercept: float) -> bytes:
    """The bytes of a model with the input `rows[n, columns]`, in float32, and the output `prediction[n, 1]`."""
    columns = len(coefficients)
    graph = (
        _node("MatMul", ("rows", "coefficients"), "product")
        + _node("Add", ("product", "intercept"), "prediction")
        + _text(2, "linear")
        + _field(5, _tensor("coefficients", (columns, 1), coefficients))
        + _field(5, _tensor("intercept", (1,), (intercept,)))
        + _field(11, _value("rows", columns))
        + _field(12, _value("prediction", 1))
    )
    return _number(1, IR_VERSION) + _field(7, graph) + _field(8, _number(2, OPSET))


def _node(operator: str, inputs: Sequence[str], output: str) -> bytes:
    return _field(1, b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, operator))


def _tensor(name: str, shape: Sequence[int], values: Sequence[float]) -> bytes:
    dimensions = b"".join(_number(1, size) for size in shape)
    return dimensions + _number(2, FLOAT) + _text(8, name) + _field(9, struct.pack(f"<{len(values)}f", *values))


def _value(name: str, columns: int) -> bytes:
    """Any number of rows, this many columns."""
    shape = _field(1, _text(2, "n")) + _field(1, _number(1, columns))
    return _text(1, name) + _field(2, _field(1, _number(1, FLOAT) + _field(2, shape)))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])
