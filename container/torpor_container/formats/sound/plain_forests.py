"""Tells of a pickle, also of one that joblib dumped, whether its bytes show that it holds a tree or a forest of
scikit-learn, and does no harm.

A pickle runs what it names, and scikit-learn walks trees as they stand in a file: both are tried in a process of their
own first. What passes here needs no trial. It is read with stand-ins for the few classes that it may name, which take
only what those of numpy and scikit-learn take without harm; each tree has the nodes and values that it says, its
children and columns exist and no path is a circle; all else is numbers, texts and plain arrays. Anything else is tried.
"""

import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from torpor_container.errors import LoadFailed
from torpor_container.formats.sound.joblib_stand_ins import COMPRESSED, DumpReader, unpacked
from torpor_container.formats.sound.known_instructions import BEGINNINGS, UnknownInstructions
from torpor_container.formats.sound.pickle_stand_ins import (
    CLASSIFIERS,
    MEMBERS,
    NODE,
    NODES,
    TEXTS,
    Estimator,
    Otherwise,
    PlainArray,
    PlainScalar,
    PlainTree,
)
from torpor_container.formats.xgboost.soundness import Arrays, prove_trees

FILES_BEGIN = (BEGINNINGS[0], *COMPRESSED)
"""How the files begin that are looked at here."""
VALUES_MAX = 100_000
"""The most values of all estimators' attributes, each in a list by itself."""
RAISED = (
    Otherwise,
    UnknownInstructions,
    zlib.error,
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What arbitrary instructions, and what they leave, may raise."""


def is_sound(content: bytes) -> bool:
    """Whether Python or joblib loads this pickle without harm, and scikit-learn predicts with it, as far as its bytes
    show."""
    try:
        plain = unpacked(content)
        return plain.startswith(BEGINNINGS[0]) and _is_fitted(DumpReader(plain).load())
    except RAISED:
        return False


def _is_fitted(estimator: object) -> bool:
    """Whether it is a tree or a forest with one output that predicts rows of the columns that it says."""
    if not isinstance(estimator, Estimator) or not all(map(_is_plain, _estimators_in(estimator))):
        return False
    kind, state = type(estimator).__name__, estimator.state
    forest = next((name for name in MEMBERS if kind.startswith(name)), "")
    members = state["estimators_"] if forest else [estimator]
    member = kind.replace(forest, MEMBERS[forest]) if forest else kind
    columns, outputs, names = state["n_features_in_"], state["n_outputs_"], state.get("feature_names_in_")
    if type(columns) is not int or type(outputs) is not int or outputs != 1:
        return False
    if type(members) is not list or not members or any(type(one).__name__ != member for one in members):
        return False
    if names is not None and not (type(names) is PlainArray and names.code == TEXTS and names.shape == (columns,)):
        return False
    values = _values(state) if kind in CLASSIFIERS else 1
    _prove([_tree_of(one, columns, values, kind in CLASSIFIERS) for one in members], columns)
    return True


def _tree_of(member: Estimator, columns: int, values: int, classifies: bool) -> PlainTree:
    state = member.state
    tree = state["tree_"]
    if type(tree) is not PlainTree or not tree.count or (tree.columns, tree.values) != (columns, values):
        raise Otherwise
    if state["n_features_in_"] != columns or state["n_outputs_"] != 1 or (classifies and _values(state) != values):
        raise Otherwise
    return tree


def _values(state: Mapping[str, Any]) -> int:
    """How many classes there are, with a name each."""
    classes, count = state["classes_"], state["n_classes_"]
    count = count.number if type(count) is PlainScalar else count
    if type(classes) is not PlainArray or type(count) is not int or classes.shape != (count,) or classes.code == NODES:
        raise Otherwise
    return count


def _estimators_in(first: Estimator) -> Iterator[Estimator]:
    """It and all that its attributes have. Raises Otherwise for very many values: estimators may share a list."""
    waiting, seen, left = [first], {id(first)}, VALUES_MAX
    while waiting:
        one = waiting.pop()
        yield one
        for value in one.state.values():
            several = value if isinstance(value, list | tuple) else (value,)
            if (left := left - len(several)) < 0:
                raise Otherwise
            for each in several:
                if isinstance(each, Estimator) and id(each) not in seen:
                    seen.add(id(each))
                    waiting.append(each)


def _is_plain(estimator: Estimator) -> bool:
    return all(type(name) is str and _is_value(value) for name, value in estimator.state.items())


def _is_value(value: object) -> bool:
    """Whether it is a number, a text, an array, a tree or an estimator, or several of these."""
    if type(value) is tuple or type(value) is list:
        return all(type(one) in SINGLE or isinstance(one, Estimator) for one in value)
    if type(value) is PlainArray:
        return value.is_whole()
    if type(value) is PlainTree:
        return hasattr(value, "count")
    return type(value) in SINGLE or isinstance(value, Estimator)


SINGLE = {bool, int, float, str, type(None), PlainScalar}


def _prove(trees: Sequence[PlainTree], columns: int) -> None:
    if len(set(map(id, trees))) < len(trees):
        raise Otherwise
    nodes = np.frombuffer(b"".join(tree.nodes for tree in trees), NODE)
    sizes = np.array([tree.count for tree in trees])
    left, right, feature = (Arrays(nodes[name], sizes) for name in ("left_child", "right_child", "feature"))
    try:
        prove_trees(left, right, feature, columns)
    except LoadFailed as error:
        raise Otherwise from error
