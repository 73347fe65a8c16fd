"""Serves an estimator as flat trees: the same rows, refusals, predictions and types, without scikit-learn."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from torpor_container.content import RowLayout, Rows, decode
from torpor_container.content.reading.npz_rows import densely
from torpor_container.formats.flat_rows import RowsRefused, summed
from torpor_container.formats.format import Conventions, Mapped
from torpor_container.formats.served import ServedModel
from torpor_container.formats.sklearn.estimators import SCIKIT_LEARN
from torpor_container.frozen_class import frozen
from torpor_container.trees import flat_trees
from torpor_container.trees.flat_trees import Array, FlatTrees
from torpor_container.typed_json import read


@frozen
class Labels:
    """The classes of one output, in their order."""

    kind: str
    """The type of their array, as numpy writes it."""
    values: list[Any]


@frozen
class EstimatorFacts:
    """What an instance wants to know of an estimator besides its trees."""

    float32: bool
    averaged: int
    link: str
    choice: str
    """As in `EstimatorTrees`."""
    labels: list[Labels]
    """Of each output of a classifier."""
    names: list[str] | None
    no_missing: str | None
    """What it says to a missing value; None if it takes these."""
    no_infinity: str | None
    missing_first: bool
    """Whether it tells of a missing value also where an infinite one stands before it."""
    sparse: bool
    """Whether it takes a sparse matrix."""
    note: str
    """How its answers were proved."""


def predictor(trees: FlatTrees, facts: EstimatorFacts, layout: RowLayout) -> Callable[[Any], Rows]:
    """Predicts rows, dense or sparse, on several threads at the same time. Raises RowsRefused, and BadInput for a
    sparse matrix that must become dense and is too large."""
    sums = margins(trees, facts, layout)
    if not facts.choice:
        return lambda rows: _numbers(sums(rows), facts.link)
    labels = [np.array(one.values, dtype=one.kind) for one in facts.labels]
    return lambda rows: _labels(sums(rows), facts.choice, labels)


def margins(trees: FlatTrees, facts: EstimatorFacts, layout: RowLayout) -> Callable[[Any], Rows]:
    """The sums, or means, by row and output."""
    of_cells = summed(trees, layout, np.float32 if facts.float32 else np.float64, checked(facts))

    def of(rows: Any) -> Rows:
        if not facts.sparse and not isinstance(rows, np.ndarray):
            rows = densely(rows, layout)
        sums = of_cells(rows)
        if facts.averaged > 1:
            sums /= facts.averaged
        return sums

    return of


def checked(facts: EstimatorFacts) -> Callable[[Array], None]:
    """Raises RowsRefused for rows with a cell that the estimator does not take."""
    if facts.no_missing is None and facts.no_infinity is None:
        return lambda cells: None

    def check(cells: Array) -> None:
        refused = ~np.isfinite(cells) if facts.no_missing is not None else np.isinf(cells)
        if np.count_nonzero(refused):
            missing = np.isnan(cells[refused])
            told = missing.any() if facts.missing_first else missing[0]
            raise RowsRefused(facts.no_missing if told else facts.no_infinity)

    return check


def _numbers(sums: Rows, link: str) -> Rows:
    numbers: Rows = np.exp(sums) if link else sums
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers


def _labels(sums: Rows, choice: str, labels: list[Array]) -> Rows:
    """The class of each row; of several outputs, each with as many sums as the one of most classes, by output."""
    if choice != "most":
        chosen = sums[:, 0] >= 0 if choice == "at least 0" else sums[:, 0] > 0
        sums = np.stack([~chosen, chosen], axis=1)
    width = sums.shape[1] // len(labels)
    found: Rows = np.empty((len(sums), len(labels)), labels[0].dtype)
    for output, classes in enumerate(labels):
        found[:, output] = classes.take(sums[:, output * width :][:, : len(classes)].argmax(axis=1))
    return found[:, 0] if len(labels) == 1 else found


def serve(file: Any, mapped: Mapped, conventions: Conventions) -> ServedModel[Any]:
    """Serve the estimator in the bytes of its mapped file. Raises UnsoundTrees."""
    trees, told = flat_trees.read(file)
    facts = read(EstimatorFacts, told)

    @cache
    def names() -> list[str] | None:
        """Read when a body needs them: models with many columns would hold more names than nodes."""
        return read(EstimatorFacts, flat_trees.facts(file)).names

    layout = layout_of(trees, names)
    return ServedModel(
        format=SCIKIT_LEARN,
        native=None,
        read=lambda call: decode(call.body, call.content_type, layout),
        predict=predictor(trees, facts, layout),
        answers=conventions.toolkit,
        refusals=(RowsRefused,),
        layout=layout,
        rowwise=True,
        note=facts.note,
        mapped=mapped,
    )


def layout_of(trees: FlatTrees, names: Callable[[], list[str] | None] = lambda: None) -> RowLayout:
    return RowLayout(np.float64, columns=trees.columns, absent=0.0, names=names)
