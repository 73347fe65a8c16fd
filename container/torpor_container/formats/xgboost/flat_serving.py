"""Serves a booster as flat trees: the same rows, refusals, answers and shapes as XGBoost's own, without XGBoost."""

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isinf, isnan, nan
from typing import Any

import numpy as np

from torpor_container.content import RowLayout, Rows
from torpor_container.formats.flat_rows import RowsRefused
from torpor_container.formats.format import Conventions, Mapped
from torpor_container.formats.served import ServedModel
from torpor_container.formats.xgboost import aws_image, selectable
from torpor_container.formats.xgboost.boosters import XGBOOST
from torpor_container.formats.xgboost.dense import INFINITE
from torpor_container.frozen_class import frozen
from torpor_container.image.aws_images import XGBOOST_IMAGE
from torpor_container.invocation import Invocation
from torpor_container.trees import flat_trees, walking
from torpor_container.trees.flat_trees import FlatTrees
from torpor_container.typed_json import read

INFINITE_SPARSE = f"Check failed: valid: {INFINITE}"
COLUMNS_DIFFER = (
    "Check failed: n_features_data == n_features_model (%d vs. %d) : Number of columns in data must equal to the "
    "trained model."
)
REFUSALS = (RowsRefused,)
LAYOUTS_MAX = 256
SPARSE_CELLS_MAX = 1024 * 1024
"""A sparse matrix becomes dense in pieces of at most this many cells."""


@frozen
class BoosterFacts:
    """What an instance wants to know of a booster besides its trees."""

    objective: str
    classes: int
    missing: float
    """The number that stands for a missing value."""
    pickled: bool
    names: list[str] | None
    note: str
    """How its answers were proved."""


def _sigmoid(out: Rows) -> Any:
    walking.extension().sigmoid(out)
    return _squeezed(out)


def _exp(out: Rows) -> Any:
    walking.extension().exp(out)
    return _squeezed(out)


def _double_exp(out: Rows) -> Any:
    walking.extension().double_exp(out)
    return _squeezed(out)


def _softmax(out: Rows) -> Any:
    walking.extension().softmax(out, out.shape[1])
    return out


def _class(out: Rows) -> Any:
    return out.argmax(axis=1).astype(np.float32)


def _hinge(out: Rows) -> Any:
    return _squeezed((out > 0).astype(np.float32))


def _squeezed(out: Rows) -> Any:
    return out[:, 0] if out.shape[1] == 1 else out


TRANSFORMS: Mapping[str, Callable[[Rows], Any]] = {
    "reg:squarederror": _squeezed,
    "reg:linear": _squeezed,
    "reg:squaredlogerror": _squeezed,
    "reg:pseudohubererror": _squeezed,
    "reg:absoluteerror": _squeezed,
    "reg:quantileerror": _squeezed,
    "reg:expectileerror": _squeezed,
    "reg:logistic": _sigmoid,
    "reg:gamma": _exp,
    "reg:tweedie": _exp,
    "binary:logistic": _sigmoid,
    "binary:logitraw": _squeezed,
    "binary:hinge": _hinge,
    "count:poisson": _exp,
    "survival:cox": _exp,
    "survival:aft": _double_exp,
    "multi:softmax": _class,
    "multi:softprob": _softmax,
    "rank:pairwise": _squeezed,
    "rank:ndcg": _squeezed,
    "rank:map": _squeezed,
}
"""What each objective makes of the sums of leaves."""


class FlatPredictor:
    """Predicts rows, dense or sparse, on several threads at the same time. `transform` makes answers of the sums of
    leaves; None: as the objective does. Raises RowsRefused.

    An instance has thousands: it keeps no closures and no facts.
    """

    __slots__ = ("_any_infinite", "_columns", "_finite", "_missing", "_outputs", "_transform", "_walker")

    def __init__(self, trees: FlatTrees, facts: BoosterFacts, transform: Callable[[Rows], Any] | None = None) -> None:
        self._walker, self._transform = walking.walker(trees), transform or TRANSFORMS[facts.objective]
        self._columns, self._outputs = trees.columns, trees.outputs
        self._finite, self._any_infinite = not isinf(facts.missing), walking.extension().any_infinite
        self._missing = None if isnan(facts.missing) else np.float32(facts.missing)

    def __call__(self, rows: Rows) -> Any:
        return self._dense(rows, INFINITE) if isinstance(rows, np.ndarray) else _sparse(rows, self._dense)

    def _dense(self, rows: Rows, infinite: str) -> Any:
        rows = np.ascontiguousarray(rows, np.float32)
        if self._finite and self._any_infinite(rows):
            raise RowsRefused(infinite)
        if rows.shape[1] != self._columns:
            raise RowsRefused(COLUMNS_DIFFER % (rows.shape[1], self._columns))
        if self._missing is not None:
            rows = np.where(rows == self._missing, np.float32(nan), rows)
        out = np.empty((rows.shape[0], self._outputs), np.float32)
        self._walker.predict(rows, out)
        return self._transform(out)


class _NamesInFile:
    """The names of a booster's columns, read when a body needs them: many columns have more names than nodes."""

    __slots__ = ("_file", "_read")

    def __init__(self, file: Any) -> None:
        self._file = file
        self._read: list[str] | None = None

    def __call__(self) -> list[str] | None:
        if self._read is None:
            self._read = read(BoosterFacts, flat_trees.facts(self._file)).names
        return self._read


def _sparse(matrix: Any, predict: Callable[[Rows, str], Any]) -> Any:
    """Predict a matrix of compressed rows, whose absent cells are missing values."""
    count, columns = matrix.shape
    step = max(1, SPARSE_CELLS_MAX // columns)
    pieces = (matrix[start : start + step] for start in range(0, count, step))
    return np.concatenate([predict(_dense(piece), INFINITE_SPARSE) for piece in pieces])


def _dense(matrix: Any) -> Rows:
    rows = np.full(matrix.shape, nan, np.float32)
    with np.errstate(over="ignore"):  # what becomes infinite is refused
        rows[np.repeat(np.arange(len(rows)), np.diff(matrix.indptr)), matrix.indices] = matrix.data
    return rows


def serve(file: Any, mapped: Mapped, conventions: Conventions) -> ServedModel[Rows]:
    """Serve the booster in the bytes of its mapped file. Raises UnsoundTrees, and LoadFailed for an output that it does
    not have."""
    trees, told = flat_trees.read(file)
    facts = read(BoosterFacts, told)
    if facts.names is None and conventions.image != XGBOOST_IMAGE:
        reader, layout = _nameless(trees.columns, conventions, facts.pickled)
    else:
        layout = RowLayout(columns=trees.columns, names=_NamesInFile(file))
        reader = aws_image.reader(layout, conventions, facts.pickled)
    answers = conventions.xgboost
    if conventions.inference_output:
        answers = selectable.answers(conventions, facts.objective, facts.classes)
    return ServedModel(
        format=XGBOOST,
        native=None,
        read=reader,
        predict=FlatPredictor(trees, facts),
        answers=answers,
        refusals=REFUSALS,
        types=aws_image.types(conventions),
        layout=layout,
        rowwise=True,
        note=sys.intern(facts.note),
        mapped=mapped,
    )


@lru_cache(maxsize=LAYOUTS_MAX)
def _nameless(columns: int, conventions: Conventions, pickled: bool) -> tuple[Callable[[Invocation], Rows], RowLayout]:
    """How models of so many columns without names are read: most models of an instance have these in common."""
    layout = RowLayout(columns=columns)
    return aws_image.reader(layout, conventions, pickled), layout
