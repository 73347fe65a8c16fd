"""Tells of a UBJSON model whether it is what XGBoost writes, byte for byte, and its trees are sound.

XGBoost reads a file with few checks, so a broken one may end the process: it is tried in a process of its own first.
What passes here needs no trial. Nothing in it is left to XGBoost to doubt: each key is there and in its order, each
array is as long as its tree has nodes, each child, parent and column exists and no path is a circle, and each parameter
is a number that agrees with the others. Only plain trees pass: no categories, no dart, no vectors. Anything else is
tried. The C extension reads the trees, where it was built, and does the same in a tenth of the time.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from torpor_container.formats.xgboost.flat_serving import TRANSFORMS
from torpor_container.trees import walking

COLUMNS_MAX, GROUPS_MAX, ROUND_MAX = 1_000_000, 1000, 1000
TEXTS_MAX, PARAMETERS_MAX = 100_000, 1000
_WHOLE = re.compile(rb"0|[1-9]\d{0,6}")
_NUMBER = rb"-?\d{1,20}(?:\.\d{1,20})?(?:E-?\d{1,3})?"
_BASE = re.compile(rb"%b|\[%b(?:,%b)*\]" % (_NUMBER, _NUMBER, _NUMBER))
_VALUE = re.compile(rb"[-+.,\[\]\w]{0,64}", re.ASCII)
_TYPES = frozenset({b"float", b"int", b"i", b"q"})
_INTEGERS = {ord("i"): 1, ord("U"): 1, ord("I"): 2, ord("l"): 4}
_TEXT, _LENGTH, _END = b"SL}"
NO_PARENT = 2**31 - 1
EXTENSION = walking.extension()

Texts = Mapping[bytes, bytes]


class _Otherwise(Exception):
    """The bytes are not what XGBoost writes, or not what is known here."""


@lru_cache(1000)
def _key(name: str) -> bytes:
    return b"L%b%b" % (len(name).to_bytes(8, "big"), name.encode())


def _array(name: str, mark: str) -> bytes:
    return _key(name) + b"[$%b#L" % mark.encode()


_CATEGORIES = b"".join(
    _array(name, mark) + bytes(8)
    for name, mark in {
        "categories": "l",
        "categories_nodes": "l",
        "categories_segments": "L",
        "categories_sizes": "L",
    }.items()
)
_NO_CATEGORIES = b"%b{%b[#L%b%b%b%b%b}" % (
    _key("cats"),
    _key("enc"),
    bytes(8),
    _array("feature_segments", "l"),
    bytes(8),
    _array("sorted_idx", "l"),
    bytes(8),
)
_LEFT, _ID = _array("left_children", "l"), _key("id")
_COLUMNS_OF_NODES = (
    ("default_left", _CATEGORIES + _array("default_left", "U"), 1),
    ("left_children", _LEFT, 4),
    ("loss_changes", _array("loss_changes", "d"), 4),
    ("parents", _array("parents", "l"), 4),
    ("right_children", _array("right_children", "l"), 4),
    ("split_conditions", _array("split_conditions", "d"), 4),
    ("split_indices", _array("split_indices", "l"), 4),
    ("split_type", _array("split_type", "U"), 1),
    ("sum_hessian", _array("sum_hessian", "d"), 4),
)
"""The arrays of a tree behind its first, in their order: what stands before each one's length, and the bytes of an
element."""
BEGINNING = b"{" + _key("learner")
_FIRST = b"{" + _array("base_weights", "d")
_KINDS = {"default_left": "u1", "split_type": "u1"}
_READ = ("default_left", "left_children", "parents", "right_children", "split_indices", "split_type")


def is_sound(content: bytes, extension: Any = EXTENSION) -> bool:
    """Whether XGBoost loads and walks this model without harm, as far as its bytes can show. `extension` reads the
    trees; None: Python does."""
    try:
        return _Reading(content, extension).is_sound()
    except (_Otherwise, IndexError, KeyError, UnicodeDecodeError):
        return False


class _Reading:
    """Goes once through the bytes, from the first to the last."""

    def __init__(self, content: bytes, extension: Any) -> None:
        self._content, self._size = content, len(content)
        self._extension = extension
        self._at = 0

    def is_sound(self) -> bool:
        self._take(BEGINNING + b"{" + _key("attributes"))
        attributes = self._texts()
        self._take(_key("feature_names"))
        names = self._list(self._text)
        self._take(_key("feature_types"))
        types = self._list(self._text)
        self._take(_key("gradient_booster") + b"{" + _key("model") + b"{")
        if self._content.startswith(_NO_CATEGORIES, self._at):
            self._at += len(_NO_CATEGORIES)
        self._take(_key("gbtree_model_param"))
        of_trees = self._texts()
        self._take(_key("iteration_indptr"))
        rounds = self._integers()
        self._take(_key("tree_info"))
        groups_of_trees = self._integers()
        self._take(_key("trees") + b"[#L")
        count = self._count()
        if not 0 < count == len(groups_of_trees) == _whole(of_trees, b"num_trees"):
            return False
        columns = self._columns_ahead()
        self._trees(count, columns)
        self._take(b"}" + _key("name") + b"S" + _key("gbtree") + b"}" + _key("learner_model_param"))
        learner = self._texts()
        groups = max(1, _whole(learner, b"num_class"))
        self._take(_key("objective"))
        self._objective(_whole(learner, b"num_class"))
        self._take(b"}" + _key("version"))
        version = self._integers()
        self._take(b"}")
        parallel = _whole(of_trees, b"num_parallel_tree")
        return (
            self._at == len(self._content)
            and len(version) == 3
            and of_trees.keys() <= {b"num_trees", b"num_parallel_tree", b"size_leaf_vector"}
            and _whole(of_trees, b"size_leaf_vector", 1) <= 1
            and 1 <= parallel <= ROUND_MAX
            and groups <= GROUPS_MAX
            and 0 <= min(groups_of_trees) <= max(groups_of_trees) < groups
            and count % (groups * parallel) == 0
            and rounds == list(range(0, count + 1, groups * parallel))
            and _whole(attributes, b"best_iteration", 0) < len(rounds) - 1
            and _is_of_learner(learner, columns, groups)
            and len(names) in (0, columns)
            and len(types) in (0, columns)
            and _TYPES.issuperset(types)
        )

    # -- pieces --------------------------------------------------------------------------------------------------------
    def _take(self, expected: bytes) -> None:
        if not self._content.startswith(expected, self._at):
            raise _Otherwise
        self._at += len(expected)

    def _count(self) -> int:
        self._at += 8
        count = int.from_bytes(self._content[self._at - 8 : self._at], "big")
        if count > self._size:
            raise _Otherwise
        return count

    def _bare_text(self) -> bytes:
        content, start = self._content, self._at + 9
        end = start + int.from_bytes(content[self._at + 1 : start], "big")
        if content[self._at] != _LENGTH or end > self._size:
            raise _Otherwise
        self._at = end
        return content[start:end]

    def _text(self) -> bytes:
        if self._content[self._at] != _TEXT:
            raise _Otherwise
        self._at += 1
        text = self._bare_text()
        text.decode()
        return text

    def _texts(self) -> Texts:
        """An object whose values are texts. Its names stand in order, as XGBoost writes them: of two that are the same,
        it would take the first."""
        self._take(b"{")
        found: dict[bytes, bytes] = {}
        last = b""
        for _ in range(PARAMETERS_MAX):
            if self._content[self._at] == _END:
                self._at += 1
                return found
            name = self._bare_text()
            if name <= last:
                raise _Otherwise
            found[name], last = self._text(), name
        raise _Otherwise

    def _integer(self) -> int:
        """An integer with its mark."""
        mark = self._content[self._at]
        start, self._at = self._at + 1, self._at + 1 + _INTEGERS[mark]
        return int.from_bytes(self._content[start : self._at], "big", signed=mark != ord("U"))

    def _integers(self) -> list[int]:
        if self._extension is None:
            return self._list(self._integer)
        self._take(b"[#L")
        count = self._count()
        if count > TEXTS_MAX:
            raise _Otherwise
        try:
            found: tuple[list[int], int] = self._extension.integers(self._content, self._at, count)
        except ValueError:
            raise _Otherwise from None
        integers, self._at = found
        return integers

    def _list(self, one: Callable[[], Any]) -> list[Any]:
        self._take(b"[#L")
        count = self._count()
        if count > TEXTS_MAX:
            raise _Otherwise
        return [one() for _ in range(count)]

    def _objective(self, classes: int) -> None:
        """Its name, and at most one object of parameters."""
        self._take(b"{" + _key("name"))
        if self._text().decode() not in TRANSFORMS:
            raise _Otherwise
        if self._content[self._at] != ord("}"):
            name, given = self._bare_text(), self._texts()
            if not all(map(_VALUE.fullmatch, given.values())) or _whole(given, b"num_class", classes) != classes:
                raise _Otherwise
            if name <= b"name":
                raise _Otherwise
        self._take(b"}")

    # -- trees ---------------------------------------------------------------------------------------------------------
    def _columns_ahead(self) -> int:
        """How many columns the model has, which stands behind its trees."""
        before = _key("num_feature") + b"SL"
        found = self._content.rfind(before)
        at = found + len(before)
        size = int.from_bytes(self._content[at : at + 8], "big")
        text = self._content[at + 8 : at + 8 + size]
        if found < 0 or not _WHOLE.fullmatch(text) or not 1 <= int(text) <= COLUMNS_MAX:
            raise _Otherwise
        return int(text)

    def _trees(self, count: int, columns: int) -> None:
        """All trees, which must be sound."""
        if self._extension is not None:
            self._at = self._extension.sound_trees(self._content, self._at, count, columns)
            if self._at < 0:
                raise _Otherwise
            return
        trees = _Trees(columns)
        for number in range(count):
            self._tree(number, columns, trees)
        if not trees.are_sound():
            raise _Otherwise

    def _tree(self, number: int, columns: int, trees: "_Trees") -> None:
        self._take(_FIRST)
        content, length = self._content, self._content[self._at : self._at + 8]
        nodes = self._count()
        self._at += 4 * nodes
        for before, size, pieces in trees.pieces:
            if before is _LEFT:
                self._take(_ID)
                if self._integer() != number:
                    raise _Otherwise
            expected = before + length
            if not content.startswith(expected, self._at):
                raise _Otherwise
            start = self._at + len(expected)
            self._at = start + size * nodes
            if pieces is not None:
                pieces.append(content[start : self._at])
        self._take(_parameters(columns, nodes))
        trees.sizes.append(nodes)


@lru_cache(maxsize=1024)
def _parameters(columns: int, nodes: int) -> bytes:
    """The end of a tree."""
    parameters = {"num_deleted": 0, "num_feature": columns, "num_nodes": nodes, "size_leaf_vector": 1}
    told = b"".join(_key(name) + b"S" + _key(str(value)) for name, value in parameters.items())
    return _key("tree_param") + b"{" + told + b"}}"


class _Trees:
    """The nodes of all trees, one tree after the other."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self.sizes: list[int] = []
        self._found: dict[str, list[bytes]] = {name: [] for name in _READ}
        self.pieces = [(before, size, self._found.get(name)) for name, before, size in _COLUMNS_OF_NODES]
        """What stands before each array, the bytes of its elements, and where the arrays of all trees are gathered."""

    def are_sound(self) -> bool:
        """Whether each node but the roots is the child of one node before it, which is its parent, and each split is by
        a column that is there."""
        sizes = np.array(self.sizes)
        if not np.all(sizes > 0):
            return False
        arrays = {name: self._joined(name) for name in _READ}
        if any(len(one) != sizes.sum() for one in arrays.values()):
            return False
        left, right, column = arrays["left_children"], arrays["right_children"], arrays["split_indices"]
        first = np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = np.arange(len(left)) - first
        size = np.repeat(sizes, sizes)
        (inner,) = (left != -1).nonzero()
        if np.any((right != -1) != (left != -1)) or np.any((column < 0) | (column >= self._columns)):
            return False
        children, above = np.concatenate((left[inner], right[inner])), np.tile(inner, 2)
        if np.any((children <= place[above]) | (children >= size[above])):
            return False
        parents = np.full(len(left), -1)
        parents[children + first[above]] = place[above]
        is_child = place > 0
        return bool(
            len(children) == np.count_nonzero(is_child)
            and np.all(parents[is_child] >= 0)
            and np.array_equal(parents[is_child], arrays["parents"][is_child])
            and np.all(arrays["parents"][~is_child] == NO_PARENT)
            and np.all(arrays["default_left"] <= 1)
            and not np.any(arrays["split_type"])
        )

    def _joined(self, name: str) -> Any:
        return np.frombuffer(b"".join(self._found[name]), _KINDS.get(name, ">i4")).astype(np.int32)


def _whole(texts: Texts, name: bytes, otherwise: int | None = None) -> int:
    """A parameter that is a whole number."""
    if otherwise is not None and name not in texts:
        return otherwise
    if not _WHOLE.fullmatch(texts[name]):
        raise _Otherwise
    return int(texts[name])


def _is_of_learner(learner: Texts, columns: int, groups: int) -> bool:
    base = learner[b"base_score"]
    return (
        learner.keys() <= {b"base_score", b"boost_from_average", b"num_class", b"num_feature", b"num_target"}
        and _BASE.fullmatch(base) is not None
        and base.count(b",") + 1 in (1, groups)
        and learner.get(b"boost_from_average", b"1") in (b"0", b"1")
        and _whole(learner, b"num_feature") == columns
        and _whole(learner, b"num_target", 1) == 1
    )
