"""Finds out what a CatBoost model takes: the names of its columns, and which of them are labels or texts.

`n_features_in_` is 0 for a model that was loaded from a file, and the names say how many columns there are.
"""

from typing import Any

from torpor_container.content.reading.cells import Cell
from torpor_container.formats.sklearn.fitted_columns import EstimatorColumns


def names_of(native: Any) -> tuple[str, ...] | None:
    """The names that it was trained with; None if CatBoost has numbered the columns of an array."""
    names = getattr(native, "feature_names_", None)
    return (
        None if names is None or list(names) == [str(place) for place in range(len(names))] else tuple(map(str, names))
    )


def count_of(native: Any) -> int | None:
    names = getattr(native, "feature_names_", None)
    return len(names) if names else None


def taken_by(native: Any) -> EstimatorColumns | None:
    """What it takes, if some columns are labels (its categorical features) or texts; None if it takes numbers alone."""
    labels = list(getattr(native, "get_cat_feature_indices", list)())
    texts = list(getattr(native, "get_text_feature_indices", list)())
    if not labels and not texts:
        return None
    count = count_of(native) or 0
    cells = dict.fromkeys(range(count), Cell.NUMBER)
    cells |= dict.fromkeys(labels, Cell.LABEL) | dict.fromkeys(texts, Cell.DOCUMENT)
    return EstimatorColumns(names_of(native), count, cells)
