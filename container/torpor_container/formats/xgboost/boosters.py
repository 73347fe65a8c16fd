"""Serves XGBoost boosters, however they were saved.

The answer is the objective's own output, as `Booster.predict` gives it. After early stopping it is that of the best
iteration, as in SageMaker's container.
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from math import nan
from typing import Any, TypeVar

import numpy as np

from torpor_container.content import RowLayout, Rows
from torpor_container.formats.format import Conventions
from torpor_container.formats.naming import lazily, names_lazily
from torpor_container.formats.served import ServedModel
from torpor_container.formats.xgboost import aws_image, dense, learned_categories, selectable
from torpor_container.frozen_class import frozen

XGBOOST = "xgboost"

PIECE_ROWS = 4096
"""More rows than this are predicted in pieces of this many."""

T = TypeVar("T")


@frozen
class BoosterTraits:
    """What decides how a booster reads and predicts: its kind, and which boosting rounds count; (0, 0) means all."""

    kind: str = "gbtree"
    iterations: tuple[int, int] = (0, 0)
    categorical: bool = False
    """Whether some columns are categories."""

    @classmethod
    def of(cls, booster: Any) -> "BoosterTraits":
        types = booster.feature_types or ()
        return cls(_kind(booster), _iterations(booster), learned_categories.CATEGORICAL in types)


@frozen
class Member:
    """A booster and its traits, ready to predict on one thread."""

    booster: Any
    missing: float = nan
    """The number that stands for a missing value."""
    traits: BoosterTraits | None = None
    pickled: bool = False
    """Whether it was pickled: SageMaker's container checks the columns of such a booster differently."""
    note: str = ""

    @property
    def columns(self) -> int:
        return int(self.booster.num_features())

    def objective(self) -> str:
        return str(self.configuration()["objective"]["name"])

    def classes(self) -> int:
        return int(self.configuration()["learner_model_param"].get("num_class", 0))

    def configuration(self) -> Any:
        """The learner's configuration, by XGBoost. It takes a call on another thread."""
        return in_thread_of_boosters(lambda: json.loads(self.booster.save_config())["learner"])

    def asked(self) -> "Member":
        """The same with its traits: a booster whose bytes do not tell them is asked."""
        return (
            self if self.traits else replace(self, traits=in_thread_of_boosters(lambda: BoosterTraits.of(self.booster)))
        )

    def predictor(self) -> Callable[[Rows], Any]:
        return _predictor(self.booster, self.traits or BoosterTraits(), self.missing)

    def margins(self, first: int, last: int) -> Callable[[Rows], Any]:
        """Predicts the margins of dense rows by some boosting rounds alone."""
        return dense.predictor(self.booster, (first, last), self.missing, margins=True)


def serve(
    booster: Any,
    conventions: Conventions,
    missing: float = nan,
    traits: BoosterTraits | None = None,
    pickled: bool = False,
) -> ServedModel[Rows]:
    """Serve a booster. Asks the booster for its traits if they are not given. Raises LoadFailed."""
    return serve_members([Member(booster, missing, traits, pickled)], conventions)


def serve_members(
    members: Sequence[Member], conventions: Conventions, combined: Callable[[list[Any]], Any] | None = None
) -> ServedModel[Rows]:
    """Serve one or several boosters; `combined` makes one prediction of all theirs. Raises LoadFailed."""
    from xgboost.core import XGBoostError

    for member in members:
        # XGBoost need not validate these parameters, which would take a fifth of a millisecond.
        member.booster.set_param({"nthread": 1, "device": "cpu", "validate_parameters": False})
    members = [member.asked() for member in members]
    first = members[0]
    layout = _layout(first)
    answers = conventions.xgboost
    if conventions.inference_output:
        answers = selectable.answers(conventions, first.objective(), first.classes())
    return ServedModel(
        format=XGBOOST,
        native=[member.booster for member in members],
        read=aws_image.reader(layout, conventions, first.pickled),
        predict=in_pieces(_combined([member.predictor() for member in members], combined)),
        answers=answers,
        refusals=(XGBoostError,),  # SageMaker's container too answers 400 for whatever XGBoost finds in the rows
        types=aws_image.types(conventions),
        layout=layout,
        rowwise=True,
        freed=in_thread_of_boosters,
        note="; ".join(member.note for member in members if member.note),
    )


def _layout(member: Member) -> RowLayout:
    names = names_lazily(member.booster, lambda asked: asked.feature_names, on=in_thread_of_boosters)
    layout = RowLayout(columns=member.columns, names=names)
    if member.traits and member.traits.categorical:
        return replace(layout, categories=lazily(member.booster, learned_categories.of, on=in_thread_of_boosters))
    return layout


def _combined(
    predictors: list[Callable[[Rows], Any]], combined: Callable[[list[Any]], Any] | None
) -> Callable[[Rows], Any]:
    if combined is None:
        (predict,) = predictors
        return predict
    return lambda rows: combined([predict(rows) for predict in predictors])


def in_pieces(predict: Callable[[Rows], Any]) -> Callable[[Rows], Any]:
    """The same answers, in pieces: a row has the same answer alone and among others.

    XGBoost keeps a booster's last answer for the thread that asked, also once another thread has freed the booster: it
    may not be large.
    """

    def predicted(rows: Rows) -> Any:
        count = rows.shape[0]  # a sparse matrix has no len
        if count <= PIECE_ROWS:
            return predict(rows)
        starts = range(0, count, PIECE_ROWS)
        return np.concatenate([predict(rows[start : start + PIECE_ROWS]) for start in starts])

    return predicted


def _predictor(booster: Any, traits: BoosterTraits, missing: float) -> Callable[[Rows], Any]:
    iterations = traits.iterations

    def by_matrix(rows: Rows) -> Any:
        """Predict, also for a sparse matrix, whose absent cells are missing values to XGBoost."""
        from xgboost import DMatrix

        matrix = DMatrix(rows, missing=missing, nthread=1)
        # The names of the columns were matched when the rows were read.
        return booster.predict(matrix, iteration_range=iterations, validate_features=False)

    if traits.kind != "gbtree":
        return (
            by_matrix  # XGBoost does not predict in place with gblinear, and adds dart's trees in another order there
        )
    in_place = dense.predictor(booster, iterations, missing)
    return lambda rows: in_place(rows) if isinstance(rows, np.ndarray) else by_matrix(rows)


def _iterations(booster: Any) -> tuple[int, int]:
    best = booster.attr("best_iteration")
    return (0, 0) if best is None else (0, int(best) + 1)


def _kind(booster: Any) -> str:
    return str(json.loads(booster.save_config())["learner"]["gradient_booster"]["name"])


def in_thread_of_boosters(work: Callable[[], T]) -> T:
    """Run work on the one thread that queries boosters and frees them.

    XGBoost keeps what a booster answered a thread until that thread frees it. If another does, it is kept for ever:
    most of a kilobyte a load.
    """
    return _the_thread().submit(work).result()


@cache
def _the_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "boosters")
