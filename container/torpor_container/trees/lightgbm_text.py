"""Reads LightGBM's text format, of versions 2 to 4, which LightGBM 2.2 to 4.7 have written. It reads
what a prediction needs, and computes nothing.

It is stricter than LightGBM, which takes missing lines for zeros and never looks at an index: sizes, places and numbers
are checked, so that a text is either the model that LightGBM would load, or refused with its line.
"""

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.frozen_class import frozen

FIRST_LINES = tuple(b"tree\nversion=v%d\n" % version for version in (2, 3, 4))
"""How a text of a version that can be read begins."""
TREE = b"\nTree="
CATEGORIES = b"\npandas_categorical:"

CATEGORICAL = 1
DEFAULT_LEFT = 2
MISSING_IS_ZERO = 4
MISSING_IS_NAN = 8
"""The bits of a split's `decision_type`."""
DECISIONS = frozenset(
    number for number in range(12) if number & (MISSING_IS_ZERO | MISSING_IS_NAN) != MISSING_IS_ZERO | MISSING_IS_NAN
)

NUMBERS = re.compile(r"(?:[-+0-9.eE]+|-?inf)(?: (?:[-+0-9.eE]+|-?inf))*")
WHOLE_NUMBERS = re.compile(r"-?[0-9]{1,10}(?: -?[0-9]{1,10})*")


class UnreadableText(ValueError):
    """The text is not a model of LightGBM, or has what cannot be predicted here. The message says where and what."""


@frozen
class TextTree:
    """One tree. A child is the number of a split, or the complement (`~`) of the number of a leaf, as LightGBM has it.

    A tree of one leaf has no splits.
    """

    leaves: NDArray[np.float64]
    columns: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    """Of a split by categories: the place of these in `categories`."""
    decisions: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    categories: tuple[NDArray[np.int64], ...] = ()
    """By split of categories: those that go left, ascending."""


@frozen
class TextModel:
    """A whole model. Tree number t adds to output t % outputs."""

    columns: int
    names: tuple[str, ...]
    infos: tuple[str, ...]
    """The range of each column, as LightGBM writes it."""
    outputs: int
    objective: str
    """Its name; empty where a model answers its sums as they are."""
    parameters: Mapping[str, str]
    """The objective's parameters. One without a value has the empty text."""
    average: bool
    trees: tuple[TextTree, ...] = field(repr=False)
    pandas_categories: Any = None
    """Of a model that was trained on a data frame with categories: these, for each such column."""


def read(content: bytes) -> TextModel:
    """The model in a text. Raises UnreadableText."""
    if not content.startswith(FIRST_LINES):
        raise UnreadableText("it does not begin as a text of version v2, v3 or v4")
    start = content.find(TREE) + 1
    if not start:
        raise UnreadableText("it has no tree")
    head = _lines(content[:start], "its head")
    columns = _whole(head, "max_feature_idx", "its head") + 1
    outputs = _whole(head, "num_tree_per_iteration", "its head")
    names = tuple(_member(head, "feature_names", "its head").split(" "))
    infos = tuple(_member(head, "feature_infos", "its head").split(" "))
    if columns < 1 or outputs < 1 or not len(names) == len(infos) == columns:
        raise UnreadableText("the numbers of columns and of outputs in its head do not fit the rest")
    trees = tuple(_tree(block, f"tree {number}", columns) for number, block in enumerate(_blocks(content, start, head)))
    if len(trees) % outputs:
        raise UnreadableText(f"it has {len(trees)} trees, and {outputs} outputs")
    objective, *parameters = head.get("objective", "").split(" ")
    return TextModel(
        columns=columns,
        names=names,
        infos=infos,
        outputs=outputs,
        objective=objective,
        parameters={name: value for name, _, value in (one.partition(":") for one in parameters)},
        average="average_output" in head,
        trees=trees,
        pandas_categories=_pandas_categories(content),
    )


# -- lines -------------------------------------------------------------------------------------------------------------
def _lines(block: bytes, where: str) -> dict[str, str]:
    """The lines by what stands before their `=`."""
    try:
        text = block.decode()
    except UnicodeDecodeError as error:
        raise UnreadableText(f"{where} is not UTF-8") from error
    members: dict[str, str] = {}
    for line in filter(None, text.split("\n")):
        name, _, value = line.partition("=")
        if name in members:
            raise UnreadableText(f"{where} has {name} twice")
        members[name] = value
    return members


def _member(members: Mapping[str, str], name: str, where: str) -> str:
    if name not in members:
        raise UnreadableText(f"{where} has no {name}")
    return members[name]


def _whole(members: Mapping[str, str], name: str, where: str) -> int:
    (number,) = _whole_numbers(members, name, where, 1)
    return int(number)


def _whole_numbers(members: Mapping[str, str], name: str, where: str, count: int) -> NDArray[np.int64]:
    return _array(members, name, where, count, WHOLE_NUMBERS, np.int64)


def _numbers(members: Mapping[str, str], name: str, where: str, count: int) -> NDArray[np.float64]:
    return _array(members, name, where, count, NUMBERS, np.float64)


def _array(
    members: Mapping[str, str], name: str, where: str, count: int, form: re.Pattern[str], kind: Any
) -> NDArray[Any]:
    """So many numbers, each the nearest to its text."""
    text = _member(members, name, where).rstrip(" ")
    try:
        array = np.array(text.split(" ") if form.fullmatch(text) else [], dtype=kind)
    except ValueError:
        array = np.empty(0)
    if len(array) != count:
        raise UnreadableText(f"{where}: {name} is not {count} numbers")
    return array


# -- trees -------------------------------------------------------------------------------------------------------------
def _blocks(content: bytes, start: int, head: Mapping[str, str]) -> Iterable[bytes]:
    """The text of each tree, by the sizes in the head. LightGBM too goes by these."""
    text = _member(head, "tree_sizes", "its head")
    sizes = _whole_numbers(head, "tree_sizes", "its head", text.count(" ") + 1)
    if content.count(TREE) != len(sizes):
        raise UnreadableText(f"it has {content.count(TREE)} trees, and its head says {len(sizes)}")
    for number, size in enumerate(sizes.tolist()):
        first = b"Tree=%d\n" % number
        if size < len(first) or not content.startswith(first, start) or start + size > len(content):
            raise UnreadableText(f"tree {number} is not where its head says")
        yield content[start : start + size]
        start += size


def _tree(block: bytes, where: str, columns: int) -> TextTree:
    members = _lines(block, where)
    if members.get("is_linear", "0") != "0":
        raise UnreadableText(f"{where} is linear: its leaves have models of their own (linear_tree), not values")
    count = _whole(members, "num_leaves", where)
    if count < 1:
        raise UnreadableText(f"{where} has no leaf")
    leaves = _numbers(members, "leaf_value", where, count)
    if count == 1:
        none = np.empty(0, np.int64)
        return TextTree(leaves, none, np.empty(0), none, none, none)
    splits = count - 1
    tree = TextTree(
        leaves=leaves,
        columns=_whole_numbers(members, "split_feature", where, splits),
        thresholds=_numbers(members, "threshold", where, splits),
        decisions=_whole_numbers(members, "decision_type", where, splits),
        left=_whole_numbers(members, "left_child", where, splits),
        right=_whole_numbers(members, "right_child", where, splits),
        categories=_categories(members, where),
    )
    _check(tree, where, columns)
    return tree


def _check(tree: TextTree, where: str, columns: int) -> None:
    """Raise UnreadableText unless each place is one of the model's."""
    splits = len(tree.columns)
    if not _within(tree.columns, 0, columns):
        raise UnreadableText(f"{where} splits by a column that the model does not have")
    if not DECISIONS.issuperset(tree.decisions.tolist()):
        raise UnreadableText(f"{where} has a decision_type that LightGBM does not write")
    if not (_within(tree.left, ~splits, splits) and _within(tree.right, ~splits, splits)):
        raise UnreadableText(f"{where} has a child that is no split and no leaf of it")
    places = tree.thresholds[tree.decisions & CATEGORICAL > 0]
    if not _within(places, 0, len(tree.categories)) or (places != np.trunc(places)).any():
        raise UnreadableText(f"{where} splits by categories that it does not have")


def _within(numbers: NDArray[Any], least: int, end: int) -> bool:
    return bool(((numbers >= least) & (numbers < end)).all())


def _categories(members: Mapping[str, str], where: str) -> tuple[NDArray[np.int64], ...]:
    """The sets of categories, which the text has as bits of 32-bit words."""
    count = _whole(members, "num_cat", where)
    if count < 1:
        return ()
    ends = _whole_numbers(members, "cat_boundaries", where, count + 1)
    if ends[0] or (np.diff(ends) < 1).any():
        raise UnreadableText(f"{where}: cat_boundaries do not ascend from 0")
    words = _whole_numbers(members, "cat_threshold", where, int(ends[-1]))
    if not _within(words, 0, 2**32):
        raise UnreadableText(f"{where}: cat_threshold is not 32-bit words")
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    sets = tuple(np.flatnonzero(bits[32 * first : 32 * end]) for first, end in itertools.pairwise(ends))
    if not all(map(len, sets)):
        raise UnreadableText(f"{where} splits by no category")
    return sets


# -- categories of pandas ----------------------------------------------------------------------------------------------
def _pandas_categories(content: bytes) -> Any:
    """LightGBM's Python package writes them behind the model."""
    at = content.rfind(CATEGORIES)
    if at < 0:
        return None
    line, _, _ = content[at + len(CATEGORIES) :].partition(b"\n")
    try:
        learned = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnreadableText("its line pandas_categorical is not JSON") from error
    if learned is not None and not (isinstance(learned, list) and all(isinstance(one, list) for one in learned)):
        raise UnreadableText("its line pandas_categorical has no lists of categories")
    return learned
