"""Tells of an ONNX model whether its bytes show that ONNX Runtime loads and runs it without harm.

ONNX Runtime may believe what a file says of itself, so a broken one may end the process: it is tried in a process of
its own first. What passes here needs no trial: a plain network, from rows of float32 to rows of float32, layer by
layer. Each byte belongs to a field that is known here, each weight has as many bytes as its shape says, each operator
is one of a few with attributes that are known, and each input of an operator exists and fits. Anything else is tried.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, prod
from struct import unpack_from
from typing import Any, NamedTuple

BYTES_MAX = 16 * 1024 * 1024
COLUMNS_MAX, ROWS_MAX, NODES_MAX, PARTS_MAX = 1_000_000, 1000, 1000, 10_000
IR_VERSIONS, OPSETS = range(3, 11), range(7, 22)
FLOAT = 1
BEGINNING = b"\x08"
"""ONNX's own writer begins with the version of its form."""
VARINT, BYTES, FIXED32 = 0, 2, 5


class _NotPlain(Exception):
    """The bytes are no plain network, or none that is known here."""


class _Span(NamedTuple):
    """Where a message, a text or the bytes of an array begin and end."""

    start: int
    end: int


class Sides(NamedTuple):
    """Of rows by columns. None: the caller decides, or the file does not say."""

    rows: int | None
    columns: int | None


Fields = dict[int, list[Any]]
"""The values of a message by their fields' numbers: a number, where four bytes stand, or the span of anything else."""
Weights = Mapping[str, tuple[int, ...]]
"""The shapes of the weights, by their names."""


class Layer(NamedTuple):
    """An operator between the values and weights that it may have for inputs."""

    inputs: Sequence[str]
    attributes: Mapping[str, float | int]
    weights: Weights
    values: Mapping[str, Sides]


# -- onnx.proto: the wire type of each field of a message that may be there, by its number -----------------------------
MODEL = {1: VARINT, 2: BYTES, 3: BYTES, 4: BYTES, 5: VARINT, 6: BYTES, 7: BYTES, 8: BYTES}
OPSET = {1: BYTES, 2: VARINT}
GRAPH = {1: BYTES, 2: BYTES, 5: BYTES, 10: BYTES, 11: BYTES, 12: BYTES}
NODE = {1: BYTES, 2: BYTES, 3: BYTES, 4: BYTES, 5: BYTES, 6: BYTES, 7: BYTES}
ATTRIBUTE = {1: BYTES, 2: FIXED32, 3: VARINT, 20: VARINT}
TENSOR = {1: VARINT, 2: VARINT, 4: BYTES, 8: BYTES, 9: BYTES, 12: BYTES}
VALUE, TYPE, TENSOR_TYPE, SHAPE = {1: BYTES, 2: BYTES, 3: BYTES}, {1: BYTES}, {1: VARINT, 2: BYTES}, {1: BYTES}
DIMENSION = {1: VARINT, 2: BYTES}


def is_sound(content: bytes) -> bool:
    """Whether ONNX Runtime loads and runs this model without harm, as far as its bytes can show."""
    try:
        return content[:1] == BEGINNING and len(content) <= BYTES_MAX and _NetworkReader(content).is_sound()
    except (_NotPlain, UnicodeDecodeError):
        return False


class _NetworkReader:
    """Reads the messages of one model, which are no deeper than these methods go."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._parts = 0

    def is_sound(self) -> bool:
        model = self._fields(_Span(0, len(self._content)), MODEL, repeated=(8,))
        opsets = [self._fields(one, OPSET) for one in model.get(8, ())]
        if _one(model, 1) not in IR_VERSIONS or len(opsets) != 1:
            return False
        if self._text(opsets[0], 1) or _one(opsets[0], 2) not in OPSETS:
            return False
        graph = self._fields(_one(model, 7), GRAPH, repeated=(1, 5, 11, 12))
        weights = dict(self._weight(one) for one in graph.get(5, ()))
        values = dict(self._value(one) for one in graph.get(11, ()))
        nodes, outputs = graph.get(1, ()), [self._value(one) for one in graph.get(12, ())]
        if len(weights) != len(graph.get(5, ())) or len(values) != 1 or weights.keys() & values.keys():
            return False
        if not all(sides.columns for sides in values.values()) or not 0 < len(nodes) <= NODES_MAX:
            return False
        for node in nodes:
            name, sides = self._result(node, weights, values)
            if name in values or name in weights:
                return False
            values[name] = sides
        return 0 < len(dict(outputs)) == len(outputs) and all(
            _is_said(values.get(name), said) for name, said in outputs
        )

    # -- messages ------------------------------------------------------------------------------------------------------
    def _weight(self, span: _Span) -> tuple[str, tuple[int, ...]]:
        """The name and the shape of an array of float32 whose bytes are there."""
        tensor = self._fields(span, TENSOR, repeated=(1,))
        shape, stored = tuple(tensor.get(1, ())), [tensor[number][0] for number in (4, 9) if number in tensor]
        if _one(tensor, 2) != FLOAT or len(shape) > 2 or len(stored) != 1:
            raise _NotPlain
        if not all(0 < size <= COLUMNS_MAX for size in shape) or stored[0].end - stored[0].start != 4 * prod(shape):
            raise _NotPlain
        return self._name(tensor, 8), shape

    def _value(self, span: _Span) -> tuple[str, Sides]:
        """An input or output: rows by columns of float32."""
        value = self._fields(span, VALUE)
        kind = self._fields(_one(self._fields(_one(value, 2), TYPE), 1), TENSOR_TYPE)
        shape = self._fields(_one(kind, 2), SHAPE, repeated=(1,))
        sizes = [self._fields(one, DIMENSION) for one in shape.get(1, ())]
        if _one(kind, 1) != FLOAT or len(sizes) != 2 or any(len(size) > 1 for size in sizes):
            raise _NotPlain
        for size in sizes:
            self._text(size, 2)
        rows, columns = (size[1][0] if 1 in size else None for size in sizes)
        if not (rows is None or 0 < rows <= ROWS_MAX) or not (columns is None or 0 < columns <= COLUMNS_MAX):
            raise _NotPlain
        return self._name(value, 1), Sides(rows, columns)

    def _result(self, span: _Span, weights: Weights, values: Mapping[str, Sides]) -> tuple[str, Sides]:
        """The name and the sides of what an operator makes."""
        node = self._fields(span, NODE, repeated=(1, 2, 5))
        operator, attributes = self._text(node, 4), dict(self._attribute(one) for one in node.get(5, ()))
        if self._text(node, 7) or len(node.get(2, ())) != 1 or operator not in OPERATORS:
            raise _NotPlain
        known, result = OPERATORS[operator]
        if len(attributes) != len(node.get(5, ())) or not attributes.keys() <= known.keys():
            raise _NotPlain
        if not all(_is_known(number, known[name]) for name, number in attributes.items()):
            raise _NotPlain
        inputs = [self._read(one) for one in node.get(1, ())]
        return self._name(node, 2), result(Layer(inputs, attributes, weights, values))

    def _attribute(self, span: _Span) -> tuple[str, float | int]:
        """The name and the number of an attribute that has one."""
        attribute = self._fields(span, ATTRIBUTE)
        kind = _one(attribute, 20)
        if {2, 3} & attribute.keys() != {1: {2}, 2: {3}}.get(kind):
            raise _NotPlain
        if kind == 1:
            return self._name(attribute, 1), float(unpack_from("<f", self._content, attribute[2][0])[0])
        number = attribute[3][0]
        return self._name(attribute, 1), number - (1 << 64) if number >> 63 else number

    # -- fields --------------------------------------------------------------------------------------------------------
    def _fields(self, span: _Span, known: Mapping[int, int], repeated: tuple[int, ...] = ()) -> Fields:
        """Each field that is not `repeated` stands once: a reader would merge two."""
        (at, end), content = span, self._content
        found: Fields = {}
        self._parts += 1
        while at < end:
            tag, at = (content[at], at + 1) if content[at] < 0x80 else self._number(at, end)
            number, wire_type = tag >> 3, tag & 7
            if known.get(number) != wire_type or (number in found and number not in repeated):
                raise _NotPlain
            if wire_type == FIXED32:
                value, at = at, at + 4
            else:
                value, at = self._number(at, end)
                if wire_type == BYTES:
                    value, at = _Span(at, at + value), at + value
            if at > end:
                raise _NotPlain
            found.setdefault(number, []).append(value)
            self._parts += 1
        if self._parts > PARTS_MAX:
            raise _NotPlain
        return found

    def _number(self, at: int, end: int) -> tuple[int, Any]:
        """A number, and where the next byte is."""
        value = 0
        for shift in range(0, 64, 7):
            if at >= end:
                break
            byte = self._content[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80 and not value >> 64:
                return value, at
        raise _NotPlain

    def _name(self, fields: Fields, number: int) -> str:
        name = self._text(fields, number)
        if not name:
            raise _NotPlain
        return name

    def _text(self, fields: Fields, number: int) -> str:
        """A text, empty if it is not there."""
        return self._read(fields[number][0]) if number in fields else ""

    def _read(self, span: _Span) -> str:
        return self._content[span.start : span.end].decode()


def _one(fields: Fields, number: int) -> Any:
    if number not in fields:
        raise _NotPlain
    return fields[number][0]


def _is_said(made: Sides | None, said: Sides) -> bool:
    """Whether an output is made, with the sides that are said of it, if any."""
    if made is None:
        return False
    return said.rows in (None, made.rows) and said.columns in (None, made.columns)


def _is_known(number: float | int, known: tuple[int, ...] | None) -> bool:
    """None: any number that is finite, with a fraction or none."""
    if known is None:
        return isinstance(number, float) and isfinite(number)
    return isinstance(number, int) and number in known


# -- operators ---------------------------------------------------------------------------------------------------------
def _alike(layer: Layer) -> Sides:
    """Cell by cell, or row by row."""
    [name] = _several(layer.inputs, 1, 1)
    return _made(layer, name)


def _gemm(layer: Layer) -> Sides:
    name, weight, *base = _several(layer.inputs, 2, 3)
    rows, columns = _made(layer, name)
    shape = _shape(layer, weight)
    if len(shape) != 2:
        raise _NotPlain
    inner, outer = reversed(shape) if layer.attributes.get("transB") else shape
    if inner != columns or any(_shape(layer, one) not in ((outer,), (1, outer), (1,), (1, 1), ()) for one in base):
        raise _NotPlain
    return Sides(rows, outer)


def _product(layer: Layer) -> Sides:
    name, weight = _several(layer.inputs, 2, 2)
    rows, columns = _made(layer, name)
    shape = _shape(layer, weight)
    if len(shape) != 2 or shape[0] != columns:
        raise _NotPlain
    return Sides(rows, shape[1])


def _with_each(layer: Layer) -> Sides:
    """Two values of the same sides; or one, and a weight for each column or for all."""
    one, other = _several(layer.inputs, 2, 2)
    if one in layer.values and other in layer.values:
        if layer.values[one] != layer.values[other]:
            raise _NotPlain
        return layer.values[one]
    name, weight = (one, other) if one in layer.values else (other, one)
    sides = _made(layer, name)
    if _shape(layer, weight) not in ((sides.columns,), (1, sides.columns), (1,), (1, 1), ()):
        raise _NotPlain
    return sides


def _normalized(layer: Layer) -> Sides:
    name, *weights = _several(layer.inputs, 5, 5)
    sides = _made(layer, name)
    if any(_shape(layer, one) != (sides.columns,) for one in weights):
        raise _NotPlain
    return sides


def _several(inputs: Sequence[str], least: int, most: int) -> Sequence[str]:
    if not least <= len(inputs) <= most:
        raise _NotPlain
    return inputs


def _made(layer: Layer, name: str) -> Sides:
    if name not in layer.values:
        raise _NotPlain
    return layer.values[name]


def _shape(layer: Layer, name: str) -> tuple[int, ...]:
    if name not in layer.weights:
        raise _NotPlain
    return layer.weights[name]


ROWS_ALONE = {"axis": (1, -1)}
OPERATORS: Mapping[str, tuple[Mapping[str, tuple[int, ...] | None], Callable[[Layer], Sides]]] = {
    "Gemm": ({"alpha": None, "beta": None, "transA": (0,), "transB": (0, 1)}, _gemm),
    "MatMul": ({}, _product),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), ({}, _with_each)),
    "BatchNormalization": ({"epsilon": None, "momentum": None, "training_mode": (0,)}, _normalized),
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh", "Softplus", "Identity"), ({}, _alike)),
    **dict.fromkeys(("LeakyRelu", "Elu"), ({"alpha": None}, _alike)),
    "Selu": ({"alpha": None, "gamma": None}, _alike),
    **dict.fromkeys(("Softmax", "LogSoftmax"), (ROWS_ALONE, _alike)),
    "Flatten": ({"axis": (1,)}, _alike),
}
"""The attributes of each operator, with the numbers that they may be, and the sides of what it makes."""
