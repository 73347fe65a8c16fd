"""Finds out what a fitted scikit-learn estimator takes in its columns: names, text, booleans, documents or records.

It reads what `fit` has left (`transformers_`, `categories_`, `statistics_`) and calls nothing. An estimator of numbers
alone has nothing to be found, and is served from arrays.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from torpor_container.content.reading.cells import Cell, TypedColumns, cell_of
from torpor_container.frozen_class import frozen

TELLING = frozenset({
    "ColumnTransformer", "_BaseEncoder", "_VectorizerMixin", "DictVectorizer", "FeatureHasher", "SimpleImputer",
    "BaseHistGradientBoosting",
})  # fmt: skip
"""scikit-learn's base classes of estimators that may take other cells than numbers."""
PRESERVING = frozenset({"SimpleImputer", "FunctionTransformer"})
"""Steps of a pipeline that pass their columns on unchanged."""
WITHIN = ("best_estimator_", "estimator_", "regressor_", "_preprocessor")
"""The attributes in which estimators keep another one that takes the same columns."""


class Form(Enum):
    """What `predict` takes."""

    FRAME = "a data frame with the columns' names"
    ARRAY = "an array of cells of any type"
    DOCUMENTS = "one text a row"
    RECORDS = "one record a row"


@frozen
class EstimatorColumns(TypedColumns):
    """What an estimator takes, if it is more than numbers."""

    form: Form = Form.ARRAY


def may_differ(kinds: Iterable[type]) -> bool:
    """Whether estimators of these types may take more than numbers. It is quick, and looks only at names."""
    return any(base.__name__ in TELLING for kind in kinds for base in kind.__mro__)


def taken_by(estimator: Any) -> EstimatorColumns | None:
    """What the estimator takes; None if it takes numbers in the order of its columns."""
    if (form := _whole(estimator)) is not None:
        return EstimatorColumns(form=form)
    names = getattr(estimator, "feature_names_in_", None)
    count = getattr(estimator, "n_features_in_", None)
    if count is None:
        return None
    known = None if names is None else tuple(map(str, names))
    found = _Found(list(known or ()))
    found.look(estimator, range(count))
    if not (found.by_name or any(cell is not Cell.NUMBER for cell in found.cells.values())):
        return None
    return EstimatorColumns(known, count, found.cells, Form.ARRAY if known is None else Form.FRAME)


def _whole(estimator: Any) -> Form | None:
    """Whether it takes one text, or one record, for each row."""
    bases = {base.__name__ for base in type(estimator).__mro__}
    if "_VectorizerMixin" in bases:
        return Form.DOCUMENTS
    if "DictVectorizer" in bases or ("FeatureHasher" in bases and estimator.input_type == "dict"):
        return Form.RECORDS
    if "ColumnTransformer" in bases:
        return None
    first = [*_steps(estimator)[:1], *_beside(estimator)]
    return next((form for one in first if (form := _whole(one)) is not None), None)


def _steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline that do anything."""
    return [step for _, step in getattr(estimator, "steps", ()) if step is not None and step != "passthrough"]


def _beside(estimator: Any) -> Iterator[Any]:
    """The estimators inside that take the same columns."""
    fitted = vars(estimator) if hasattr(estimator, "__dict__") else {}
    yield from (fitted[name] for name in WITHIN if fitted.get(name) is not None)
    yield from (one for _, one in fitted.get("transformer_list", ()) if not isinstance(one, str))
    if "estimators" in fitted:  # a vote or a stack, and no ensemble of its own making
        yield from (one for one in fitted.get("estimators_", ()) if not isinstance(one, str | list))


class _Found:
    """What a walk through the estimator has found so far."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.by_name = False
        self.cells: dict[int, Cell] = {}

    def look(self, estimator: Any, places: Sequence[int]) -> None:
        """Visit an estimator. `places` are its columns among those of the whole."""
        if hasattr(estimator, "transformers_"):
            for _, part, columns in estimator.transformers_:
                self._look_at_part(part, columns, places)
            return
        for step in _steps(estimator):
            self.look(step, places)
            if not PRESERVING.intersection(base.__name__ for base in type(step).__mro__):
                break
        for one in _beside(estimator):
            self.look(one, places)
        self._note(estimator, places)

    def _look_at_part(self, part: Any, columns: Any, places: Sequence[int]) -> None:
        if isinstance(part, str) and part == "drop":
            return
        asked = [columns] if np.isscalar(columns) else columns
        if not isinstance(asked, slice) and any(isinstance(one, str) for one in asked):
            self.by_name = True
        chosen = self._places(asked, places)
        if not isinstance(part, str):
            self.look(part, chosen)

    def _places(self, columns: Any, places: Sequence[int]) -> list[int]:
        if isinstance(columns, slice):
            return list(places[columns])
        chosen = list(columns)
        if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
            return [place for place, taken in zip(places, chosen, strict=True) if taken]
        # An earlier step made a name that the whole does not have, so it says nothing about the body.
        known = [one for one in chosen if not isinstance(one, str) or one in self.names]
        return [self.names.index(one) if isinstance(one, str) else places[int(one)] for one in known]

    def _note(self, estimator: Any, places: Sequence[int]) -> None:
        for place, cell in zip(places, _cells(estimator), strict=False):
            self.cells.setdefault(place, cell)


def _cells(estimator: Any) -> list[Cell]:
    """The values that an encoder, an imputer or a vectorizer was fitted with, for each of its columns."""
    if any(base.__name__ == "_VectorizerMixin" for base in type(estimator).__mro__):
        return [Cell.DOCUMENT]
    categories = getattr(estimator, "categories_", None)
    if isinstance(categories, list):
        return [cell_of(values) for values in categories]
    statistics = getattr(estimator, "statistics_", None)
    if isinstance(statistics, np.ndarray) and statistics.dtype == object:
        return [Cell.TEXT if isinstance(value, str) else Cell.ANY for value in statistics.tolist()]
    return []
