"""Stands in for the few classes that the pickle of a plain tree or forest names: what they take, those of numpy and
scikit-learn take without harm. A stand-in keeps what it was given, which is checked at once, and does not change. Where
numpy keeps a dict of the pickle itself, later instructions may change it: that is compared before each use.
"""

import pickle
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from math import prod
from typing import Any, NoReturn

import numpy as np

COLUMNS_MAX, CLASSES_MAX, DIMENSIONS_MAX = 1_000_000, 100_000, 3
REGRESSORS = ("RandomForestRegressor", "ExtraTreesRegressor", "DecisionTreeRegressor", "ExtraTreeRegressor")
CLASSIFIERS = ("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier", "ExtraTreeClassifier")
MEMBERS = {"RandomForest": "DecisionTree", "ExtraTrees": "ExtraTree"}
"""What a forest's trees are called."""
TREE = {"max_depth", "node_count", "nodes", "values"}


class Otherwise(Exception):
    """The pickle is of no plain tree or forest."""


class CopiedBytes:
    """Counts what the objects of one pickle copy of what it holds, since it may give one thing to very many."""

    TIMES, SPARE_BYTES = 4, 4 * 1024 * 1024
    MEMBER_BYTES, TEXT_BYTES = 100, 16
    """Of one attribute of an estimator, and of one text in an array."""

    def __init__(self, content: bytes) -> None:
        """A little more than all of the content, once, is what a plain one takes."""
        self._left = self.TIMES * len(content) + self.SPARE_BYTES

    def add(self, size_bytes: int) -> None:
        """Raises Otherwise for more than there may be."""
        self._left -= size_bytes
        if self._left < 0:
            raise Otherwise


TEXTS, NODES = "O8", "V64"
_FIELDS = 4
"""The place of a type's fields in its state."""
NUMBERS = {"b1": "|", "u1": "|", "i4": "<", "i8": "<", "f4": "<", "f8": "<"}
"""The byte order of each type of numbers, as numpy writes it."""
_FIXED_TEXT = re.compile(r"U[1-9]\d{0,3}")
NODE = np.dtype(
    [
        ("left_child", "<i8"),
        ("right_child", "<i8"),
        ("feature", "<i8"),
        ("threshold", "<f8"),
        ("impurity", "<f8"),
        ("n_node_samples", "<i8"),
        ("weighted_n_node_samples", "<f8"),
        ("missing_go_to_left", "u1"),
    ],
    align=True,
)


def _state_of(code: str) -> tuple[Any, ...] | None:
    """What numpy writes of a type behind its name; None for one that is not known."""
    if code in NUMBERS:
        return (3, NUMBERS[code], None, None, None, -1, -1, 0)
    if code == TEXTS:
        return (3, "|", None, None, None, -1, -1, 63)
    if _FIXED_TEXT.fullmatch(code):
        return (3, "<", None, None, None, 4 * int(code[1:]), 4, 8)
    return _nodes_state() if code == NODES else None


@cache
def _nodes_state() -> tuple[Any, ...]:
    names, fields = NODE.names, NODE.fields
    assert names is not None
    assert fields is not None
    kinds = {}
    for name in names:
        kind, offset = fields[name][:2]
        kinds[name] = (_ready(kind.str[1:]), offset)
    return (3, "|", None, names, kinds, NODE.itemsize, 1, 16)


def _ready(code: str) -> "_Kind":
    kind = _Kind(code)
    kind.__setstate__(_state_of(code))
    return kind


def _bytes_of(code: str) -> int:
    """Of one element; a text that is an object counts as one."""
    if code == TEXTS:
        return 1
    return 4 * int(code[1:]) if code[0] == "U" else int(code[1:])


class Unchanging(type):
    """Of classes that a pickle makes without a call, and cannot change."""

    def __call__(cls, *arguments: object) -> NoReturn:
        raise Otherwise

    def __setattr__(cls, name: str, value: object) -> NoReturn:
        raise Otherwise


class Estimator(metaclass=Unchanging):
    """An estimator, and its attributes."""

    __slots__ = ("state",)
    state: dict[str, Any]
    copied: CopiedBytes

    def __setstate__(self, state: object) -> None:
        if hasattr(self, "state") or type(state) is not dict:
            raise Otherwise
        self.copied.add(len(state) * CopiedBytes.MEMBER_BYTES)
        self.state = dict(state)


class _Kind:
    """A type of numbers, or of a tree's nodes."""

    __slots__ = ("_fields", "_proved", "code", "ready")
    _fields: Any
    _proved: Any

    def __init__(self, code: str) -> None:
        self.code, self.ready = code, False

    def __setstate__(self, state: Any) -> None:
        if self.ready or state != _state_of(self.code):
            raise Otherwise
        self._fields = state[_FIELDS]
        self._proved = self._fields and dict(self._fields)
        self.ready = True

    def is_as_proved(self) -> bool:
        """Whether it has its state, and its fields are those that it had first. numpy keeps their dict as it is, and
        takes whatever is there later for fields."""
        return self.ready and bool(self._fields == self._proved)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and self.ready and other.ready and self.code == other.code

    __hash__ = None  # type: ignore[assignment]  # it is a key of nothing


def size_of(shape: Any, kind: Any) -> int:
    """How many bytes an array has, or texts that are objects. Raises Otherwise for what is no shape and no type."""
    if type(kind) is not _Kind or not kind.is_as_proved():
        raise Otherwise
    if type(shape) is not tuple or not 1 <= len(shape) <= DIMENSIONS_MAX:
        raise Otherwise
    if not all(type(size) is int and size >= 0 for size in shape):
        raise Otherwise
    return prod(shape) * _bytes_of(kind.code)


class PlainArray:
    """An array: its type, its shape and what is in it."""

    __slots__ = ("_copied", "_kind", "content", "shape")
    content: Any

    def __init__(self, copied: CopiedBytes) -> None:
        self._copied = copied

    @property
    def code(self) -> str:
        """Its type. Raises Otherwise if that was changed."""
        if not self._kind.is_as_proved():
            raise Otherwise
        return str(self._kind.code)

    def is_whole(self) -> bool:
        return hasattr(self, "content") and self._kind.is_as_proved()

    def __setstate__(self, state: Any) -> None:
        version, shape, kind, by_columns, content = state
        if hasattr(self, "content") or version != 1 or by_columns is not False:
            raise Otherwise
        size, texts = size_of(shape, kind), kind.code == TEXTS
        if type(content) is not (list if texts else bytes) or len(content) != size:
            raise Otherwise
        self._copied.add(size * CopiedBytes.TEXT_BYTES if texts else size)
        if texts:
            content = tuple(content)
            if not all(type(text) is str for text in content):
                raise Otherwise
        self._kind, self.shape, self.content = kind, shape, content


class PlainScalar:
    """A number of numpy's."""

    __slots__ = ("number",)

    def __init__(self, number: int | float) -> None:
        self.number = number

    def __setstate__(self, state: object) -> NoReturn:
        raise Otherwise


class PlainTree:
    """A tree: its columns, how many values each node has, its nodes' bytes, and how many they are."""

    __slots__ = ("_copied", "columns", "count", "nodes", "values")
    count: int

    def __init__(self, copied: CopiedBytes, columns: int, values: int) -> None:
        self._copied, self.columns, self.values = copied, columns, values

    def __setstate__(self, state: Any) -> None:
        if hasattr(self, "count") or type(state) is not dict or state.keys() != TREE:
            raise Otherwise
        nodes, values, count, depth = state["nodes"], state["values"], state["node_count"], state["max_depth"]
        if not type(nodes) is type(values) is PlainArray or not type(count) is type(depth) is int:
            raise Otherwise
        if nodes.code != NODES or nodes.shape != (count,) or not 0 <= depth <= count or not count:
            raise Otherwise
        if values.code != "f8" or values.shape != (count, 1, self.values):
            raise Otherwise
        self._copied.add(len(nodes.content) + len(values.content))
        self.nodes, self.count = nodes.content, count


class _Maker:
    """A function that a pickle calls. It cannot be changed."""

    __slots__ = ("make",)

    def __init__(self, make: Any) -> None:
        self.make = make

    def __call__(self, *arguments: Any) -> object:
        return self.make(*arguments)

    def __setstate__(self, state: object) -> NoReturn:
        raise Otherwise


def _kind(code: object, aligned: object, copied: object) -> _Kind:
    if type(code) is not str or aligned is not False or copied is not True or not _state_of(code):
        raise Otherwise
    return _Kind(code)


def _empty(copied: CopiedBytes, kind: object, shape: object, code: object) -> PlainArray:
    if kind is not NDARRAY or shape != (0,) or code != b"b":
        raise Otherwise
    return PlainArray(copied)


def _scalar(kind: Any, content: Any) -> PlainScalar:
    if type(kind) is not _Kind or not kind.ready or kind.code not in NUMBERS or type(content) is not bytes:
        raise Otherwise
    [number] = np.frombuffer(content, kind.code).tolist()
    return PlainScalar(number)


def _tree(copied: CopiedBytes, columns: object, classes: object, outputs: object) -> PlainTree:
    if type(columns) is not int or not 1 <= columns <= COLUMNS_MAX or outputs != 1 or type(outputs) is not int:
        raise Otherwise
    if type(classes) is not PlainArray or classes.code != "i8" or classes.shape != (1,):
        raise Otherwise
    values = int.from_bytes(classes.content, "little", signed=True)
    if not 1 <= values <= CLASSES_MAX:
        raise Otherwise
    return PlainTree(copied, columns, values)


def _estimator(name: str, copied: CopiedBytes) -> type:
    return Unchanging(name, (Estimator,), {"__slots__": (), "copied": copied})


class _CountedName:
    """A name for which each pickle has a stand-in of its own, since it counts what that takes."""

    __slots__ = ("made",)

    def __init__(self, made: Callable[[CopiedBytes], Any]) -> None:
        self.made = made


def _never(*arguments: object) -> NoReturn:
    raise Otherwise


NDARRAY = _Maker(_never)
_NUMPY = {
    ("numpy", "ndarray"): NDARRAY,
    ("numpy", "dtype"): _Maker(_kind),
    **{
        (f"numpy.{core}.multiarray", name): maker
        for core in ("_core", "core")
        for name, maker in {
            "_reconstruct": _CountedName(lambda copied: _Maker(partial(_empty, copied))),
            "scalar": _Maker(_scalar),
        }.items()
    },
}
_NAMES: Mapping[tuple[str, str], Any] = {
    **_NUMPY,
    ("sklearn.tree._tree", "Tree"): _CountedName(lambda copied: _Maker(partial(_tree, copied))),
    **{
        (f"sklearn.{'ensemble._forest' if name.startswith(tuple(MEMBERS)) else 'tree._classes'}", name): _CountedName(
            partial(_estimator, name)
        )
        for name in (*REGRESSORS, *CLASSIFIERS)
    },
}


class StandInReader(pickle.Unpickler):
    """Reads a pickle. Raises Otherwise, and whatever arbitrary instructions raise."""

    def __init__(self, file: Any, copied: CopiedBytes) -> None:
        super().__init__(file)
        self._copied = copied
        self._found: dict[tuple[str, str], Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (found := self._found.get((module, name))) is None:
            found = _NAMES[module, name]
            found = found.made(self._copied) if isinstance(found, _CountedName) else found
            self._found[module, name] = found
        return found
