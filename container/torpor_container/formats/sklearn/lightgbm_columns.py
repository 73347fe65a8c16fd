"""Finds out what a LightGBM model takes: the names of its columns, and the categories of pandas that it has learned.

LightGBM keeps the categories of all columns in one list, without the columns' places: these are in the text of the
model, where the range of a column of categories is a list of codes.
"""

from collections.abc import Sequence
from typing import Any

from torpor_container.content.column_names import numbered
from torpor_container.content.reading.categories import Categories
from torpor_container.formats.frameworks import inherits

INFOS = "feature_infos="
CONSTANT = "none"
"""The range of a column with one value, of whichever kind."""


def names_of(native: Any) -> tuple[str, ...] | None:
    """The names that it was trained with; None if LightGBM has numbered the columns of an array."""
    booster = _booster(native)
    names = list(booster.feature_name()) if hasattr(booster, "feature_name") else None
    return None if names is None or numbered(names) == names else tuple(names)


def categories_of(native: Any) -> Categories | None:
    """The categories of a model that was trained on a data frame with some; None without, and where nothing says to
    which columns they belong: it takes codes then."""
    booster = _booster(native)
    learned = getattr(booster, "pandas_categorical", None)
    if not learned:
        return None
    line = next(
        (line for line in booster.model_to_string(num_iteration=1).splitlines() if line.startswith(INFOS)), INFOS
    )
    places = places_of(line.removeprefix(INFOS).split(" "), len(learned))
    if places is None:
        return None
    return Categories(booster.num_feature(), dict(zip(places, learned, strict=True)), names_of(native))


def _booster(native: Any) -> Any:
    return native if inherits(native, "lightgbm", "Booster") else getattr(native, "booster_", None)


def places_of(infos: Sequence[str], count: int) -> list[int] | None:
    """The places of so many columns of categories, by all columns' ranges; None if constant columns hide which they
    are."""
    sure = [place for place, info in enumerate(infos) if info != CONSTANT and not info.startswith("[")]
    possible = [place for place, info in enumerate(infos) if not info.startswith("[")]
    return next((places for places in (sure, possible) if len(places) == count), None)
